package booksim

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
	_ "github.com/weft-sim/weft/experiments/kinds" // tests read experiment files
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/cables"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

func parse(t *testing.T, text string) *Config {
	t.Helper()
	return simtest.Must(ParseConfig("a.cfg", text))(t)
}

// TestParseConfig: comments, several settings on a line, one over two lines, a later
// value, lists of one, defaults.
func TestParseConfig(t *testing.T) {
	c := parse(t, "\ufeff// a comment; with = in it\nk = 4; n=1;  // the size; of it\nnum_vcs\n =\n 3 ;\r\nk = 16;\npacket_size = { 8 };\ninternal_speedup = 2.0;\ninjection_rate = {0.1,0.2};")
	for name, want := range map[string]float64{"k": 16, "n": 1, "num_vcs": 3, "packet_size": 8, "internal_speedup": 2, "vc_buf_size": 8, "routing_delay": 1} {
		simtest.Equal(t, c.number(name), want, "%s =", name)
	}
	simtest.Equal(t, c.Text("topology"), "torus", "topology =")
}

func TestParseConfigProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"k = 8;\nvc_buffers = 4;", `a.cfg:2: vc_buffers is not a setting of BookSim2`},
		{"num_vc = 4;", `a.cfg:1: num_vc is not a setting of BookSim2 (did you mean "num_vcs"?)`},
		{"num_vcs = many;", `a.cfg:1: num_vcs = "many": want a whole number`},
		{"num_vcs = 1e99;", `a.cfg:1: num_vcs = "1e99": want a whole number, at most 9 digits`},
		{"internal_speedup = fast;", `a.cfg:1: internal_speedup = "fast": want a number`},
		{"packet_size = {1;", `a.cfg:1: packet_size = "{1": want a whole number, or a list of them in braces`},
		{"\nk = ;", `a.cfg:2: k has no value; want a whole number`},
		{"\n\nrouting delay;", `a.cfg:3: "routing delay" is not a setting; want name = value;`},
		{"k = 8;\nn = 2", `a.cfg:2: "n = 2" has no ; at its end`},
		{"topology = a = b;", `a.cfg:1: topology = "a = b": want a name`},
		{"k\x00 = 8\x00;\x00", "a.cfg: the file is UTF-16"},
	} {
		_, err := ParseConfig("a.cfg", c.text)
		_, ok := err.(document.Problems)
		simtest.ErrorIf(t, !ok || !strings.HasPrefix(err.Error(), c.want), "%q: %v\nwant %s", c.text, err, c.want)
	}
	_, err := ParseConfig("a.cfg", "x_y = 1;\nnum_vcs = z;")
	simtest.ErrorIf(t, strings.Count(fmt.Sprint(err), "\n") != 1, "not all problems together: %v", err)
}

// FuzzParseConfig: any text is a configuration or problems that name the file, and a
// configuration is carried over or refused.
func FuzzParseConfig(f *testing.F) {
	for _, text := range []string{"k = 8;", "topology = mesh;\nrouting_function = dim_order;\nk = 4; // c", "sw_allocator = islip(2);", "packet_size={8};x", "\ufeffk=1;"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig("a.cfg", text)
		if err != nil {
			for _, problem := range err.(document.Problems) {
				simtest.ErrorIf(t, !strings.HasPrefix(problem.At, "a.cfg"), "problem %v names no place", problem)
			}
			return
		}
		if _, _, _, err := c.Experiment("a", []float64{0.1}, 1); err != nil && err.Error() == "" {
			t.Error("refused without a reason")
		}
	})
}

// mesh is a configuration that weft has a counterpart of.
const mesh = "topology = mesh; routing_function = dim_order; num_vcs = 2;"

// TestExperiment: settings carry over one to one. What is not in a file has BookSim2's default
// (routing_delay 1, credit_delay 0, vc_buf_size 8), and the experiments are ones that weft accepts.
func TestExperiment(t *testing.T) {
	for _, c := range []struct {
		name, config string
		want         []string
		canDeadlock  bool
	}{
		{"defaults", mesh, []string{"type = \"mesh\"\ndims = [8, 8]\n", "vcs = 2\nbuffer_flits = 8\nroute_cycles = 1\nvc_alloc_cycles = 1\nswitch_alloc_cycles = 1\ncrossbar_cycles = 1\ncredit_cycles = 0\nspeedup = 1\n",
			"type = \"dor\"\n", "pattern = \"uniform\"\npacket_flits = 1\nself = true\n", "warmup = 3000\nwindow = 7000\n", "credits_per_cycle = 1\npipeline = \"serial\"\n", "[terminal]\nbuffer_flits = 8\n", "\"traffic.load\" = [0.1, 0.25]\nseed = [1, 2]\n"}, false},
		{"stages", mesh + "st_prepare_delay = 1; st_final_delay = 0; credit_delay = 6; routing_delay = 0;",
			[]string{"route_cycles = 0\nvc_alloc_cycles = 1\nswitch_alloc_cycles = 1\ncrossbar_cycles = 1\ncredit_cycles = 6\n"}, false},
		{"periods", mesh + "sample_period = 400; warmup_periods = 2; max_samples = 5;", []string{"warmup = 800\nwindow = 1200\n"}, false},
		{"iterations", mesh + "sw_allocator = islip(2); vc_allocator = islip(1); alloc_iters = 7;", []string{"iterations = 2\n"}, false},
		{"alloc_iters does nothing", mesh + "alloc_iters = 7;", []string{"iterations = 1\n"}, false},
		{"speedup", mesh + "internal_speedup = 1.5; packet_size = {8};", []string{"speedup = 1.5\n", "packet_flits = 8\n"}, false},
		{"torus", "topology = torus; k = 4; n = 3; routing_function = dim_order; num_vcs = 4;", []string{"dims = [4, 4, 4]", "vc_rule = \"by-coordinates\"", "[channel.grid]\nlatency = \"2ns\"\n"}, false},
		{"torus of unit channels", "topology = torus; routing_function = dim_order; num_vcs = 4; use_noc_latency = 0;", []string{"buffer_flits = 8"}, false},
		{"concentration of a mesh does nothing", mesh + "c = 4;", []string{"type = \"mesh\"\ndims = [8, 8]\n\n"}, false},
		{"tail credit", mesh + "wait_for_tail_credit = 1;", []string{"vc_allocator = \"output-first\"\nvc_reuse = \"credits-back\"\ninput_speedup = 1\n"}, false},
		{"separable, inputs first", mesh + "vc_allocator = separable_input_first; sw_allocator = separable_input_first(round_robin);", []string{"allocator = \"input-first-output\"\niterations = 1\nvc_allocator = \"input-first\"\nvc_reuse = \"tail-sent\"\n"}, false},
		{"separable, outputs first", mesh + "vc_allocator = separable_output_first; sw_allocator = separable_output_first;", []string{"allocator = \"islip\"\niterations = 1\nvc_allocator = \"output-first\"\n"}, false},
		{"wavefront", mesh + "sw_allocator = wavefront;", []string{"allocator = \"wavefront\"\niterations = 1\nvc_allocator = \"output-first\"\n"}, false},
		{"input speedup", mesh + "input_speedup = 2; hold_switch_for_packet = 1;", []string{"input_speedup = 2\ncredits_per_cycle = 0\n"}, false},
		{"concentrated mesh", "topology = cmesh; routing_function = dor_no_express; k = 4; c = 4; x = 4; y = 4; xr = 2; yr = 2; traffic = bitcomp;", []string{"type = \"mesh\"\ndims = [4, 4]\nterminals = 4\n\n[channel.grid]\nlatency = \"2ns\"\n", "pattern = \"bit-complement\""}, false},
		{"flattened butterfly", "topology = flatfly; routing_function = ran_min; k = 4; c = 4; x = 4; y = 4; xr = 2; yr = 2;", []string{"type = \"hyperx\"\ndims = [4, 4]\nterminals = 4\nrow_cycles = 2\n"}, false},
		{"flattened butterfly of unit channels", "topology = flatfly; routing_function = ran_min; k = 4; n = 3; c = 16; xr = 4; yr = 4; use_noc_latency = 0;", []string{"dims = [4, 4, 4]\nterminals = 16\n\n"}, false},
		{"crossbar", "topology = fly; routing_function = dest_tag; k = 10; n = 1;", []string{"type = \"single-switch\"\nterminals = 10\n"}, false},
		{"fat tree", "topology = fattree; k = 4; n = 3; routing_function = nca;", []string{"m = [4, 4, 4]\nw = [1, 4, 4]\n", "type = \"nca\"\nup = \"random\"\n"}, false},
		{"dragonfly", "topology = dragonflynew; k = 2; n = 1; routing_function = min; num_vcs = 3; traffic = bad_dragon;",
			[]string{"p = 2\na = 4\nh = 2\n", "[channel.local]\nlatency = \"10ns\"", "[channel.global]\nlatency = \"100ns\"", "pattern = \"worst-case\"\npacket_flits = 1\n"}, false},
		{"UGAL", "topology = dragonflynew; k = 2; n = 1; routing_function = ugal; num_vcs = 3;", []string{"threshold = 30\nintermediate = \"any-router\"\ndetour_vc = \"booksim2\"\n"}, true},
		{"patterns", mesh + "traffic = neighbor;", []string{"pattern = \"neighbour\"\npacket_flits = 1\n\n"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, _, canDeadlock, err := parse(t, c.config).Experiment("test", []float64{0.1, 0.25}, 2)
			simtest.FatalIf(t, err != nil || canDeadlock != c.canDeadlock, "can deadlock: %v, error %v", canDeadlock, err)
			for _, want := range c.want {
				simtest.ErrorIf(t, !strings.Contains(text, want), "no %q in\n%s", want, text)
			}
			simtest.ErrorIf(t, c.name == "torus of unit channels" && strings.Contains(text, "channel"), "channels of another latency than 1:\n%s", text)
			file, err := experiments.Load("test.toml", text, experiments.Options{AllowDeadlock: canDeadlock})
			simtest.FatalIf(t, err != nil, "%v\n%s", err, text)
			simtest.ErrorIf(t, len(file.Points) != 4, "%d points, want 2 loads with 2 seeds", len(file.Points))
		})
	}
}

// TestPatternsAreTheSame: the patterns that are a permutation lead where BookSim2's definitions do,
// on an 8x8 mesh, whose node number is x + 8y. By hand, of node 11 = (3, 1) = 0b001011: bit
// complement 52; reversed 0b110100 = 52; rotated left 22; halves swapped 0b011001 = 25; ceil(8/2) -
// 1 = 3 on in both, (6, 4) = 38; one on in both, (4, 2) = 20.
func TestPatternsAreTheSame(t *testing.T) {
	for name, want := range map[string]int{"bitcomp": 52, "bitrev": 52, "shuffle": 22, "transpose": 25, "tornado": 38, "neighbor": 20} {
		grid := simtest.Must(param.Make(topology.Registry, "mesh", struct{}{}, func(c *topology.GridConfig) { c.Dims = []int{8, 8} }))(t)
		config := simtest.Must(traffic.Patterns.Config(patterns[name]))(t)
		pattern := simtest.Must(traffic.Patterns.Build(patterns[name], config, traffic.Env{Topology: grid, Seed: 1}))(t)
		simtest.Equal(t, int(pattern.Destination(11, nil)), want, "%s (%s here): node 11 sends to", name, patterns[name])
	}
}

// TestNotMapped: what has no counterpart is refused by name.
func TestNotMapped(t *testing.T) {
	for _, c := range simtest.Table(t, "testdata/not_mapped.csv") {
		_, _, _, err := parse(t, c["config"]).Experiment("test", []float64{0.1}, 1)
		simtest.ErrorIf(t, !strings.HasPrefix(fmt.Sprint(err), c["error"]), "%s\ngot  %v\nwant %s", c["config"], err, c["error"])
	}
}

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
	simtest.Check(t, err)
	simtest.EqualSlices(t, ignored, []string{"data/empty.csv", "data/speed.csv"}, "left aside")
	want := []Curve{
		{Name: "a", File: "seeds.csv", Points: []Point{{0.2, "1", false, false, false, 20, 0.2, 2}, {0.2, "2", false, false, false, 21, 0.21, 4}}},
		{Name: "b", File: "b.csv", Points: []Point{{0.1, "", false, false, false, 27.5, 0.0998, 2}, {0.5, "", true, false, false, -1, 0.4, 3}, {0.6, "", true, false, false, -1, 0.41, 4}}},
		{Name: "b", File: "seeds.csv", Points: []Point{{0.1, "1", false, false, false, 28, 0.1, 3}}},
	}
	for i := range curves {
		simtest.Equal(t, curves[i].Config.Whole("k"), map[string]int{"a": 4, "b": 8}[curves[i].Name], "%s has k", curves[i].Name)
		curves[i].Config = nil
		for j, p := range curves[i].Points {
			if math.IsNaN(p.Latency) {
				curves[i].Points[j].Latency = -1
			}
		}
	}
	simtest.ErrorIf(t, !reflect.DeepEqual(curves, want), "got  %+v\nwant %+v", curves, want)
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
		_, ok := err.(document.Problems)
		simtest.ErrorIf(t, !ok || !strings.HasPrefix(err.Error(), c.want), "%q: %v\nwant %s", c.files, err, c.want)
	}
	err := readable(map[string]string{"a.cfg": "x_y = 1;", "a.csv": header + "2,fine,20,0.1\n"})
	simtest.ErrorIf(t, err == nil || strings.Count(err.Error(), "\n") != 2, "not all problems of all files together: %v", err)
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
			for _, problem := range err.(document.Problems) {
				simtest.ErrorIf(t, !strings.HasPrefix(problem.At, "data"), "problem %v names no place", problem)
			}
			return
		}
		for _, c := range curves {
			simtest.ErrorIf(t, c.Config == nil || len(c.Points) == 0 || strings.ContainsAny(c.Name, "/\\"), "curve %+v", c)
		}
	})
}

// TestHalfWidth: by hand, with Student's quantiles for 99 % of 1, 2 and 3 degrees of freedom,
// 63.657, 9.9248 and 5.8409. {10, 12} and {11, 13} have variances of 2: sqrt(2/2 + 2/2) with (1 +
// 1)^2 / (1/1 + 1/1) = 2 degrees; a single value is taken to have the other's variance: sqrt(2 (1/1
// + 1/2)) with 1. {1, 2, 3, 4} has 5/3, and sqrt(5/3 (1 + 1/4)) with 3.
func TestHalfWidth(t *testing.T) {
	for _, c := range []struct {
		peer, own sample
		want      float64
	}{
		{sample{10, 12}, sample{11, 13}, math.Sqrt2 * 9.9248},
		{sample{10}, sample{11, 13}, math.Sqrt(3) * 63.657},
		{sample{11, 13}, sample{10}, math.Sqrt(3) * 63.657},
		{sample{2}, sample{1, 2, 3, 4}, math.Sqrt(5./3*1.25) * 5.8409},
		{sample{10}, sample{11}, 0},
		{sample{10, 10}, sample{11, 11}, 0},
	} {
		simtest.Near(t, halfWidth(c.peer, c.own), c.want, 1e-4*c.want, "%v and %v:", c.peer, c.own)
	}
}

// tableOf is the content of verdicts.csv.
func tableOf(rows []Row) *results.Table {
	var all []judge.Row
	for _, r := range rows {
		all = append(all, r.verdict())
	}
	return judge.TableOf(Columns, all)
}

// TestJudge: a point is judged by its share or its interval, whichever is wider. The
// two runs here at load 0.1 do not vary at all: 3 % of 100 cycles and 1.5 % of 0.1
// are allowed. At 0.2, {100, 102} here and a single 150 there: sqrt(2 (1 + 1/2)) *
// 63.657 = 110.26 cycles are. Beyond saturation the accepted load may differ by 5 %,
// and latency is not judged. The run at load 0.4 failed.
func TestJudge(t *testing.T) {
	measured := &results.Table{Columns: []string{"seed", "offered_load", "latency_mean_ns", "accepted_load"}, Rows: [][]string{
		{"1", "0.1", "102.9", "0.1014"}, {"2", "0.1", "102.9", "0.1014"},
		{"1", "0.2", "100", "0.2"}, {"2", "0.2", "102", "0.2"},
		{"1", "0.3", "500", "0.26"}, {"2", "0.3", "500", "0.26"},
		{"1", "0.5", "", "0.5"}, {"2", "0.5", "", "0.5"},
	}}
	c := Curve{Name: "a", File: "b.csv", Points: []Point{
		{Load: 0.1, Latency: 100, Accepted: 0.1}, {Load: 0.2, Latency: 150, Accepted: 0.205},
		{Load: 0.3, Seed: "1", Latency: 300, Accepted: 0.25}, {Load: 0.3, Seed: "2", Saturated: true, Latency: 400, Accepted: 0.25},
		{Load: 0.4, Latency: 100, Accepted: 0.4}, {Load: 0.5, Latency: 50, Accepted: 0.5},
	}}
	rows := simtest.Must(c.Judge(Run{Results: measured}))(t)
	var got []string
	for _, row := range tableOf(rows).Rows {
		got = append(got, row[2]+" "+row[3]+" "+row[12]+" "+row[13]+" "+row[14])
	}
	simtest.EqualSlices(t, got, []string{
		"0.1 latency 2.9 3 agrees", "0.1 accepted 1.4 1.5 agrees",
		"0.2 latency -32.667  not-judged", "0.2 accepted -2.439 1.5 differs",
		"0.3 latency 42.857  not-judged", "0.3 accepted 4 5 agrees",
		"0.4 latency   not-run", "0.4 accepted   not-run",
		"0.5 latency   differs", "0.5 accepted 0 1.5 agrees", // no latency where BookSim2 has one
	}, "rows")
	simtest.Alike(t, "notes", rows[2].Note, "noise: seeds leave 74 % open (1 of BookSim2's, 2 of weft's), more than the 9 % that are judged",
		rows[4].Note, "saturated in 1 of BookSim2's 2 runs")
	rows, _ = c.Judge(Run{Why: errors.New("no such topology")})
	simtest.Alike(t, "without results", len(rows), 1, rows[0].Verdict, judge.NotRun, tableOf(rows).Rows[0][15], "no such topology")
	simtest.Refuse(c.Judge(Run{Results: &results.Table{Columns: []string{"a"}}}))(t, "")
}

// TestNoiseIsBounded: the means of torus_4x4x4_dor_uniform_4flit_vc2_buf8_speedup2 at load 0.8.
// BookSim2's three seeds are those of curves/longpackets_seeds.csv: 108.01, 119.96 and 98.47
// cycles, a mean of 108.81 and a variance of 115.9. Two seeds beside them of 77 and 79 cycles,
// 28 % less: (2*115.9 + 2) / 3 = 77.9 with 3 degrees of freedom, sqrt(77.9 (1/3 + 1/2)) * 5.8409 =
// 47 cycles, 43 %: no agreement, and not clear enough to differ. Twenty such seeds, of a variance
// of 20/19: (231.8 + 20) / 21 = 11.99, sqrt(11.99 (1/3 + 1/20)) * 2.831 = 6.07 cycles, 5.6 %:
// they differ.
func TestNoiseIsBounded(t *testing.T) {
	peer := sample{108.014, 119.957, 98.4712}
	row := Row{Load: 0.8, Peer: peer, Own: sample{77, 79}}
	row.compare(0.03, 0)
	simtest.Equal(t, row.Verdict, judge.NotJudged, "with two seeds it is")
	simtest.Says(t, row.Note, "43 % open (3 of BookSim2's, 2 of weft's), more than the 9 %")
	simtest.EqualSlices(t, MoreSeeds([]Row{row, row}, 20), []float64{0.8}, "more seeds at")
	simtest.EqualSlices(t, MoreSeeds([]Row{row}, 3), nil, "more seeds at") // (231.8 + 4) / 4 = 59, sqrt(59 (1/3 + 1/3)) * 4.604 = 29 cycles
	for i := range 18 {
		row.Own = append(row.Own, 77+2*float64(i%2))
	}
	row.compare(0.03, 0)
	simtest.ErrorIf(t, row.Verdict != judge.Differs || math.Abs(row.Allowed-6.07) > 0.01, "%s, allowed %v", row.Verdict, row.Allowed)
	// What is known of the peer's noise apart from its seeds is bounded too: 2.576 * 4 % is 10 %.
	row = Row{Peer: sample{100}, Own: sample{101, 101}}
	row.compare(0.03, 0.04)
	simtest.ErrorIf(t, row.Verdict != judge.NotJudged || MoreSeeds([]Row{row}, 20) != nil, "%+v", row)
}

// TestSaturatedIsNotSteady: a latency of a saturated run of either program is judged against
// none, whatever weft writes there.
func TestSaturatedIsNotSteady(t *testing.T) {
	for _, latency := range []string{"", "100", "500"} {
		for _, state := range []string{"saturated", "steady"} {
			results := &results.Table{Columns: []string{"seed", "offered_load", "latency_mean_ns", "accepted_load", "state"}, Rows: [][]string{
				{"1", "0.7", "100", "0.7", "steady"}, {"2", "0.7", latency, "0.7", state},
			}}
			for _, peer := range []bool{false, true} {
				c := Curve{Points: []Point{{Load: 0.7, Latency: 100, Accepted: 0.7, Saturated: peer}}}
				rows := simtest.Must(c.Judge(Run{Results: results}))(t)
				saturated := peer || state == "saturated"
				found := rows[0].Verdict == judge.NotJudged && strings.HasPrefix(rows[0].Note, "saturated")
				simtest.ErrorIf(t, found != saturated || rows[1].Verdict != judge.Agrees,
					"latency %q, %s, BookSim2 saturated %v: %+v", latency, state, peer, rows)
			}
		}
	}
}

// TestDeadlocks: a deadlock of BookSim2's agrees with a certificate that refuses or a watchdog
// that stops the run.
func TestDeadlocks(t *testing.T) {
	c := Curve{Points: []Point{{Load: 0.5, Latency: 20, Accepted: 0.5}, {Load: 0.6, Deadlock: true, Latency: math.NaN(), Accepted: math.NaN()}}}
	results := &results.Table{Columns: []string{"offered_load", "latency_mean_ns", "accepted_load"}, Rows: [][]string{{"0.5", "20", "0.5"}}}
	for _, x := range []struct {
		run           Run
		verdict, note string
	}{
		{Run{Results: results, Refused: "a cycle of two channels"}, judge.Agrees, "weft refuses the network: a cycle of two channels"},
		{Run{Results: results, Stopped: map[float64]string{0.6: "no flit has moved"}}, judge.Agrees, "watchdog stops the run: no flit"},
		{Run{Results: results, Stopped: map[float64]string{0.5: "no flit has moved"}}, judge.Differs, "goes on to the end"},
		{Run{Results: results}, judge.Differs, "finds no cycle"},
		{Run{Results: results, Why: errors.New("too large")}, judge.NotRun, "too large"},
	} {
		rows := simtest.Must(c.Judge(x.run))(t)
		cells := tableOf(rows).Rows[2]
		simtest.Alike(t, x.note, len(rows), 3, rows[2].Metric, "deadlock", rows[2].Verdict, x.verdict, cells[2], "0.6", cells[12], "", cells[13], "")
		simtest.Says(t, rows[2].Note, x.note)
	}
}

const anynet = "topology = anynet; routing_function = min; network_file = net; num_vcs = 2;"

// TestAnynet: a ring of four routers, a cable of which takes 3 cycles, and a fifth behind it. By
// cycles, from 0 to 3 the way is over 1 and 2, 1+1+1 = 3, as short as the cable of 3 itself: router
// 1 is settled first, then 2 finds 3 at 3, which the cable from 0 found before. So the cable is
// taken. From 3 to 0 it is found first, too. Behind 3 lies 4.
func TestAnynet(t *testing.T) {
	const net = "router 0 node 0 router 1 router 3 3\nrouter 3 router 0 3\nrouter 1 node 1 router 2\nrouter 2 node 2 router 3\nrouter 3 node 3 router 4\nrouter 4 node 4\n"
	c := parse(t, anynet)
	c.graph = net
	_, files, canDeadlock, err := c.Experiment("test", []float64{0.1}, 1)
	simtest.Check(t, err)
	const want = "-1 1 1 3 3\n0 -1 2 2 2\n1 1 -1 3 3\n0 2 2 -1 4\n3 3 3 3 -1\n"
	simtest.Alike(t, "a ring and one behind", canDeadlock, true, string(files["network.nexthop"]), want, string(files["network.anynet"]), net)
	// Ties go by the number of the router that is settled first: 0 reaches 3 over 1, not over 2.
	g := simtest.Must(cables.ReadAnynet("net", []byte("router 0 node 0 router 2 router 1\nrouter 3 node 1 router 2 router 1\n")))(t).Graph()
	got := string(nextHops(g))
	simtest.ErrorIf(t, !strings.HasPrefix(got, "-1 1 2 1\n"), "next hops %q", got)
}

// TestAnynetNotMapped: what weft has no counterpart of, by the file and its line.
func TestAnynetNotMapped(t *testing.T) {
	for net, want := range map[string]string{
		"router 0 node 0 router 1 5\nrouter 1 node 1 router 0 7\n": "net: 1 cables have other cycles one way",
		"router 0 node 0 router 1 5\nrouter 1 node 1\n":            "net: 1 cables have other cycles one way",
		"router 0 node 0 node 1 5\n":                               "net: 5 cycles to node 1, which BookSim2 does not read as such",
		"router 0 node 0 node\n":                                   `net:1: "node": want router or node and its number`,
	} {
		c := parse(t, anynet)
		c.graph = net
		_, _, _, err := c.Experiment("test", []float64{0.1}, 1)
		simtest.Fail(t, err, want)
	}
	files := map[string]string{"a.cfg": anynet, "a.csv": header + "0.1,stable,20,0.1\n"}
	curves, _, _ := ReadFolder(folder(files), "data")
	_, _, _, err := curves[0].Config.Experiment("test", []float64{0.1}, 1)
	simtest.Fail(t, err, "network_file = net: file does not exist")
	files["net"] = "router 0 node 0 node 1\n"
	curves, _, _ = ReadFolder(folder(files), "data")
	_, _, _, err = curves[0].Config.Experiment("test", []float64{0.1}, 1)
	simtest.Check(t, err)
}
