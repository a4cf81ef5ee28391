package results

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestSeriesProblems: damaged files are told by what is wrong.
func TestSeriesProblems(t *testing.T) {
	for text, want := range map[string]string{
		"from,to,class\n":               "3 columns",
		"from,to,class,0-9,8-20\n":      "want an interval that begins at 9",
		"from,to,class,0-0\n":           "want an interval that begins at 0",
		"from,to,class,x\n":             `column "x"`,
		"from,to,class,0-9\na,b,c,-1\n": `"-1" flits from a to b`,
	} {
		table := simtest.Must(ReadTable("series", strings.NewReader(text)))(t)
		simtest.Refuse(ParseSeries(table))(t, want)
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
		s, err := ParseSeries(table)
		if err != nil {
			return
		}
		last := int64(0)
		for _, end := range s.Ends {
			simtest.ErrorIf(t, end <= last, "ends %v", s.Ends)
			last = end
		}
		for _, c := range s.Channels {
			simtest.ErrorIf(t, len(c.Flits) != len(s.Ends), "%d loads", len(c.Flits))
			for _, x := range c.Flits {
				simtest.ErrorIf(t, !(x >= 0) || math.IsInf(x, 0), "load %v", x)
			}
		}
	})
}

// TestHottest: a channel of two virtual channels that carries 30 and 20 % of what it can is hotter
// than one of 40 % between switches; in flits a cycle, as earlier tables have it alone, it is not.
func TestHottest(t *testing.T) {
	const text = "point,from,to,flits_per_cycle,percent,between_switches\n0,a,b,0.4,40,true\n0,x,a,0.15,30,false\n0,x,a,0.1,20,false\n1,b,a,0.3,30,true\n"
	table := simtest.Must(ReadTable("links", strings.NewReader(text)))(t)
	if point, c, ok := Hottest(table, false); !ok || point != 0 || c != (ChannelLoad{"x", "a", 0.5, false}) {
		t.Errorf("point %d: %+v, %v", point, c, ok)
	}
	if point, c, ok := Hottest(table, true); !ok || point != 0 || c != (ChannelLoad{"a", "b", 0.4, true}) {
		t.Errorf("between switches, point %d: %+v, %v", point, c, ok)
	}
	old := simtest.Must(ReadTable("links", strings.NewReader("point,from,to,flits_per_cycle\n0,a,b,0.4\n0,x,a,0.25\n")))(t)
	if _, c, ok := Hottest(old, false); !ok || c != (ChannelLoad{"a", "b", 0.4, false}) {
		t.Errorf("of an earlier table: %+v, %v", c, ok)
	}
	if _, _, ok := Hottest(old, true); ok {
		t.Error("an earlier table tells which cables join switches")
	}
}
