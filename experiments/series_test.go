package experiments

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/results"
)

// TestSeriesFile: the intervals of a channel carry what links.csv says that it
// carried in the window, and read back as flits per cycle.
func TestSeriesFile(t *testing.T) {
	dir := t.TempDir()
	f := load(t, `
[topology]
type = "mesh"
dims = [3, 3]
[routing]
type = "dor"
[traffic]
load = 0.4
[measure]
warmup = 100
window = 1000
links = true
series = 8
[sweep]
"traffic.load" = [0.2, 0.4]
`, Options{})
	o := execute(t, f, Execution{Dir: dir})
	folder, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := folder.Series(1)
	if err != nil {
		t.Fatal(err)
	}
	// 125 cycles each; 24 channels between switches, 18 at terminals.
	if len(s.Ends) != 8 || s.Ends[0] != 125 || s.Ends[7] != 1000 || len(s.Channels) != 24+18 {
		t.Fatalf("%d channels, intervals end at %v", len(s.Channels), s.Ends)
	}
	want := map[string]float64{}
	for _, r := range o.Tables["links"].Rows {
		if r[0] == "1" {
			want[r[len(r)-6]+" to "+r[len(r)-5]] += results.Number(r[len(r)-1])
		}
	}
	for _, c := range s.Channels {
		mean := 0.0
		for _, x := range c.Flits {
			mean += x / 8
		}
		if name := c.From + " to " + c.To; math.Abs(mean-want[name]) > 1e-9 || mean == 0 {
			t.Errorf("%s carries %v, want %v", name, mean, want[name])
		}
	}
	if none, err := folder.Series(2); none != nil || err != nil {
		t.Errorf("a series of no point: %v, %v", none, err)
	}
}

// TestSeriesProblems: damaged files are told by what is wrong.
func TestSeriesProblems(t *testing.T) {
	for text, want := range map[string]string{
		"from,to,class\n":               "3 columns",
		"from,to,class,0-9,8-20\n":      "want an interval that begins at 9",
		"from,to,class,0-0\n":           "want an interval that begins at 0",
		"from,to,class,x\n":             `column "x"`,
		"from,to,class,0-9\na,b,c,-1\n": `"-1" flits from a to b`,
	} {
		table, err := ReadTable("series", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseSeries(table); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParseSeries: what is read has intervals that follow one another and as
// many loads of each channel.
func FuzzParseSeries(f *testing.F) {
	f.Add("from,to,class,0-9,9-20\na,b,c,1,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ReadTable("series", strings.NewReader(text))
		if err != nil {
			return
		}
		s, err := parseSeries(table)
		if err != nil {
			return
		}
		last := int64(0)
		for _, end := range s.Ends {
			if end <= last {
				t.Errorf("ends %v", s.Ends)
			}
			last = end
		}
		for _, c := range s.Channels {
			if len(c.Flits) != len(s.Ends) {
				t.Errorf("%d loads", len(c.Flits))
			}
			for _, x := range c.Flits {
				if !(x >= 0) || math.IsInf(x, 0) {
					t.Errorf("load %v", x)
				}
			}
		}
	})
}
