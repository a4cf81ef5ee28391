package booksim

import (
	"io/fs"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-sim/weft/experiments"
)

const header = "offered_flits_per_node_cycle,status,avg_packet_latency_cycles,accepted_flits_per_node_cycle\n"

func folder(files map[string]string) fs.FS {
	f := fstest.MapFS{}
	for name, text := range files {
		f[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return f
}

// TestReadFolder: a file is a curve, or several with their seeds; the configuration
// is that of the curve's name; other tables and files are left aside.
func TestReadFolder(t *testing.T) {
	curves, ignored, err := ReadFolder(folder(map[string]string{
		"b.cfg": mesh, "a.cfg": mesh + "k = 4;", "README.md": "text", "speed.csv": "case,seconds\nx,1\n", "empty.csv": "",
		"b.csv":     header + "0.1,stable,27.5,0.0998\n0.5,saturated,,0.4\n0.6,saturated,nan,0.41\n",
		"seeds.csv": "curve,seed,status,offered_flits_per_node_cycle,accepted_flits_per_node_cycle,avg_packet_latency_cycles\na,1,stable,0.2,0.2,20\nb,1,stable,0.1,0.1,28\na,2,stable,0.2,0.21,21\n",
	}), "data")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"data/empty.csv", "data/speed.csv"}; !reflect.DeepEqual(ignored, want) {
		t.Errorf("left aside %v, want %v", ignored, want)
	}
	want := []Curve{
		{Name: "a", File: "seeds.csv", Points: []Point{{0.2, "1", false, false, false, 20, 0.2, 2}, {0.2, "2", false, false, false, 21, 0.21, 4}}},
		{Name: "b", File: "b.csv", Points: []Point{{0.1, "", false, false, false, 27.5, 0.0998, 2}, {0.5, "", true, false, false, -1, 0.4, 3}, {0.6, "", true, false, false, -1, 0.41, 4}}},
		{Name: "b", File: "seeds.csv", Points: []Point{{0.1, "1", false, false, false, 28, 0.1, 3}}},
	}
	for i := range curves {
		if k := curves[i].Config.whole("k"); k != map[string]int{"a": 4, "b": 8}[curves[i].Name] {
			t.Errorf("%s has k = %d", curves[i].Name, k)
		}
		curves[i].Config = nil
		for j, p := range curves[i].Points {
			if math.IsNaN(p.Latency) {
				curves[i].Points[j].Latency = -1
			}
		}
	}
	if !reflect.DeepEqual(curves, want) {
		t.Errorf("got  %+v\nwant %+v", curves, want)
	}
}

// readable is what is wrong with a folder if no curve can be judged.
func readable(files map[string]string) error {
	r, err := open(folder(files), "data")
	if err == nil {
		err = r.Check()
	}
	return err
}

func TestReadFolderProblems(t *testing.T) {
	one := func(table string) map[string]string { return map[string]string{"a.cfg": mesh, "a.csv": table} }
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"a.cfg": mesh}, `data: holds no curves; want CSV tables with the columns offered_flits_per_node_cycle, status,`},
		{map[string]string{"a.csv": header + "0.1,stable,20,0.1\n"}, `data/a.csv:2: is of curve a, and there is no data/a.cfg beside it`},
		{one(header), `data/a.csv: holds no point`},
		{one("status,seed\nstable,1\n"), `data/a.csv:1: has no column offered_flits_per_node_cycle, avg_packet_latency_cycles, accepted_flits_per_node_cycle`},
		{one(header + "0.1,stable,20\n"), `data/a.csv:2: 3 cells, want 4: the line is cut`},
		{one(header + "\n0.1,fine,20,0.1\n"), `data/a.csv:3: status = "fine": want stable, overloaded, saturated or deadlock`},
		{one(header + "0,stable,20,0.1\n"), `data/a.csv:2: offered_flits_per_node_cycle = "0": want a load above 0, at most 1`},
		{one(header + "1.1,stable,20,0.1\n"), `data/a.csv:2: offered_flits_per_node_cycle = "1.1": want a load above 0, at most 1`},
		{one(header + "0.1,stable,nan,0.1\n"), `data/a.csv:2: avg_packet_latency_cycles = "nan": want cycles, at least 0`},
		{one(header + "0.1,stable,,0.1\n"), `data/a.csv:2: avg_packet_latency_cycles = "": want cycles, at least 0`},
		{one(header + "0.1,stable,20,-1\n"), `data/a.csv:2: accepted_flits_per_node_cycle = "-1": want a load from 0 on`},
		{one(header + "0.1,stable,20,0.1\n0.10,stable,21,0.1\n"), `data/a.csv:3: repeats the load and the seed of line 2`},
		{one("curve," + header + "../../x,0.1,stable,20,0.1\n"), `data/a.csv:2: curve = "../../x": want a name of letters, digits and`},
		{map[string]string{"a.cfg": "num_vc = 1;", "a.csv": header + "0.1,stable,20,0.1\n"}, `data/a.cfg:1: num_vc is not a setting of BookSim2`},
		{one("\xff\xfea\x00"), `data/a.csv: not a CSV table: the file is UTF-16`},
	} {
		err := readable(c.files)
		if _, ok := err.(experiments.Problems); !ok || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v\nwant %s", c.files, err, c.want)
		}
	}
	err := readable(map[string]string{"a.cfg": "x_y = 1;", "a.csv": header + "2,fine,20,0.1\n"})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("not all problems of all files together: %v", err)
	}
}

// FuzzReadFolder: any table is curves, or something else, or problems that name it.
func FuzzReadFolder(f *testing.F) {
	f.Add(header + "0.1,stable,20,0.1\n")
	f.Add("curve,seed," + header + "a,1,0.1,saturated,,0.1\n")
	f.Add("a,b\n\"")
	f.Fuzz(func(t *testing.T, table string) {
		files := map[string]string{"a.cfg": mesh, "a.csv": table}
		curves, _, _ := ReadFolder(folder(files), "data")
		if err := readable(files); err != nil {
			for _, problem := range err.(experiments.Problems) {
				if !strings.HasPrefix(problem.At, "data") {
					t.Errorf("problem %v names no place", problem)
				}
			}
			return
		}
		for _, c := range curves {
			if c.Config == nil || len(c.Points) == 0 || strings.ContainsAny(c.Name, "/\\") {
				t.Errorf("curve %+v", c)
			}
		}
	})
}
