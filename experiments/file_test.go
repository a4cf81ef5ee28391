package experiments

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestProblems: every problem names its place, key and value and what is allowed.
// The columns of the expected places count from 1.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name, text string
		set        []string
		want       []string // complete lines, in order
	}{
		{"not TOML", "kind = \"toy\"\n[shape\np = 1\n", nil, []string{
			`x.toml:2:7: not valid TOML: expected '.' or ']' to end table name, but got '\n' instead`}},
		{"misspelt key", "kind = \"toy\"\n[traffic]\nlaod = 0.3\n", nil, []string{
			`x.toml:3:1: traffic.laod is not a key of [traffic] (did you mean "load"?): allowed are delay, dims, limit, load, mode, rate, size`}},
		{"misspelt table", "kind = \"toy\"\n[trafic]\nload = 0.3\n", nil, []string{
			`x.toml:2:1: trafic is not a table of kind "toy" (did you mean "traffic"?): allowed are shape, traffic, channel, sweep, plot, expect, quick`}},
		{"tables of another kind", "kind = \"toy\"\ncable.length = 3\n[fault.a]\nfraction = 0.1\n[fault.b]\nfraction = 0.1\n[[trace]]\npackets = 3\n[sweep]\n\"hca.preset\" = [\"ndr\"]\n", nil, []string{
			`x.toml:2:1: cable is not a table of kind "toy": allowed are shape, traffic, channel, sweep, plot, expect, quick`,
			`x.toml:3:1: fault is not a table of kind "toy": allowed are shape, traffic, channel, sweep, plot, expect, quick`,
			`x.toml:7:1: trace is not a key of this file: allowed are channel, shape, traffic`,
			`x.toml:10:1: hca is not a table of kind "toy": allowed are shape, traffic, channel, sweep, plot, expect, quick`}},
		{"key outside its table", "kind = \"toy\"\nload = 0.3\n", nil, []string{
			`x.toml:2:1: load stands outside its table: it belongs under [traffic]`}},
		{"unknown kind", "kind = \"toi\"\n", nil, []string{
			`x.toml:1:1: kind = "toi": unknown kind (did you mean "toy"?): known are ` + strings.Join(KindNames(), ", ")}},
		{"unknown choice", "kind = \"toy\"\n[shape]\ntype = \"rin\"\nk = 3\n", nil, []string{
			`x.toml:3:1: shape.type = "rin": unknown shape (did you mean "ring"?): known are box, ring`}},
		{"parameter of another choice", "kind = \"toy\"\n[shape]\ntype = \"ring\"\np = 3\n", nil, []string{
			`x.toml:4:1: shape.p is not a key of [shape] (did you mean "k"?): allowed are k, type`}},
		{"out of range, all together, integers with an exponent among them", "kind = \"toy\"\n[shape]\np = 0\n[traffic]\nload = 1.7\nmode = \"x\"\ndims = [1e0, 0.0]\n", nil, []string{
			`x.toml:3:1: shape.p = 0: want 1 to 100`,
			`x.toml:5:1: traffic.load = 1.7: want 0 to 1`,
			`x.toml:6:1: traffic.mode = "x": want "", fail, panic, break, misuse, wait`,
			`x.toml:7:1: traffic.dims[1] = 0: want at least 1`}},
		{"types", "kind = \"toy\"\nseed = -1\n[traffic]\nload = \"high\"\nlimit = 1.5\ndims = \"3\"\n", nil, []string{
			`x.toml:2:1: seed = -1: want an integer that is not negative`,
			`x.toml:4:1: traffic.load = "high": want a number`,
			`x.toml:5:1: traffic.limit = 1.5: want an integer`,
			`x.toml:6:1: traffic.dims = "3": want an integer`}},
		{"units", "kind = \"toy\"\n[traffic]\ndelay = 3\nsize = \"3q\"\nrate = 2.5\n[channel.local]\nlatency = \"5\"\n", nil, []string{
			`x.toml:3:1: traffic.delay = 3: want a time with its unit in quotes, for example "10ns" (ps, ns, us, ms, s)`,
			`x.toml:4:1: traffic.size = "3q" has an unknown unit "q": use B, kB, MB, GB, KiB, MiB or GiB`,
			`x.toml:5:1: traffic.rate = 2.5: want a data rate with its unit in quotes, for example "100Gb/s"`,
			`x.toml:7:1: channel.local.latency = "5" has no unit: write for example "10ns" (ps, ns, us, ms, s)`}},
		{"units that fit, numbers that do not", "kind = \"toy\"\n[traffic]\ndelay = \"..ns\"\n", nil, []string{
			`x.toml:3:1: traffic.delay = "..ns": ".." is not a number; want a time with its unit in quotes, for example "10ns" (ps, ns, us, ms, s)`}},
		{"half a list", "kind = \"toy\"\n[traffic]\ndims = [1, 2.5]\n", nil, []string{
			`x.toml:3:1: traffic.dims[1] = 2.5: want an integer`}},
		{"long values and keys", "kind = \"toy\"\n[traffic]\nload = \"" + strings.Repeat("y", 1000) + "\"\nlimit = " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "\n", nil, []string{
			`x.toml:3:1: traffic.load = "` + strings.Repeat("y", 199) + `...: want a number`,
			`x.toml:4:1: traffic.limit = [[[[[[[[[[...]]]]]]]]]]: want an integer; to sweep it write "traffic.limit" = [[[[[[[[[[...]]]]]]]]]] under [sweep]`}},
		{"list without sweep", "kind = \"toy\"\n[traffic]\nload = [0.1, 0.2]\n", nil, []string{
			`x.toml:3:1: traffic.load = [0.1, 0.2]: want a number; to sweep it write "traffic.load" = [0.1, 0.2] under [sweep]`}},
		{"table expected", "kind = \"toy\"\nshape = 3\n", nil, []string{`x.toml:2:1: shape = 3: want a table, [shape]`}},
		{"swept values", "kind = \"toy\"\n[sweep]\n\"traffic.load\" = [0.5, 1.5]\n\"traffic.laod\" = [1]\n", nil, []string{
			`x.toml:3:1: traffic.load = 1.5: want 0 to 1`,
			`x.toml:4:1: traffic.laod is not a key of [traffic] (did you mean "load"?): allowed are delay, dims, limit, load, mode, rate, size`}},
		{"sweep itself", "kind = \"toy\"\n[sweep]\n\"traffic.load\" = 0.5\n\"shape.p\" = []\n\"traffic.limit\" = { from = 1, to = 3 }\n\"title\" = [\"a\"]\n", nil, []string{
			`x.toml:3:1: sweep.traffic.load = 0.5: want a list such as [0.5] or a range { from = 0.1, to = 0.9, step = 0.1 }`,
			`x.toml:4:1: sweep.shape.p is an empty list: give at least one value`,
			`x.toml:5:1: sweep.traffic.limit is a range without "step": write { from = 0.1, to = 0.9, step = 0.1 }`,
			`x.toml:6:1: sweep.title cannot be swept`}},
		{"range", "kind = \"toy\"\n[sweep]\n\"traffic.load\" = { from = 1, to = 0, step = 0.1, stop = 4 }\n\"shape.p\" = { from = 3, to = 1, step = 1 }\n", nil, []string{
			`x.toml:3:50: sweep.traffic.load.stop is not a key of a range (did you mean "step"?): allowed are from, to, step`,
			`x.toml:4:1: sweep.shape.p = { from = 3, to = 1, step = 1 }: want a step that leads from the first to the last in at most 100000 steps`}},
		{"gone", "kind = \"toy\"\n[sweep]\n\"traffic.load\" = [0.1]\nfork = { warmup = { \"traffic.load\" = 0.3 }, settle = \"1us\" }\n", nil, []string{
			`x.toml:4:1: sweep.fork has gone: points warm up one by one; leave it out`}},
		{"one at a time", "kind = \"toy\"\n[[sweep.one_at_a_time]]\n\"traffic.load\" = [0.1]\n[[sweep.one_at_a_time]]\n\"traffic.limit\" = 3\n", nil, []string{
			`x.toml:3:1: sweep.one_at_a_time[0].traffic.load departs from a value that the file does not give: set traffic.load outside of [sweep]`,
			`x.toml:5:1: sweep.one_at_a_time[1].traffic.limit = 3: want a list such as [3] or a range { from = 0.1, to = 0.9, step = 0.1 }`}},
		{"lockstep", "kind = \"toy\"\n[sweep.lockstep]\n\"traffic.load\" = [0.1, 0.2]\n\"traffic.limit\" = [1, 2, 3]\n", nil, []string{
			`x.toml:4:1: sweep.lockstep.traffic.limit has 3 values; sweep.lockstep.traffic.load, in lockstep with it, has 2`}},
		{"set", "kind = \"toy\"\n", []string{"traffic.laod=1", "traffic.load=2", "nonsense", "kind.x=1"}, []string{
			`--set traffic.laod=1: traffic.laod is not a key of [traffic] (did you mean "load"?): allowed are delay, dims, limit, load, mode, rate, size`,
			`--set traffic.load=2: traffic.load = 2: want 0 to 1`,
			`--set nonsense: write KEY=VALUE with a dotted key, for example --set traffic.load=0.3`,
			`--set kind.x=1: kind.x cannot be set: kind is not a table`}},
		{"what the settings describe together", "kind = \"toy\"\n[shape]\ntype = \"ring\"\nk = 9\n[sweep]\n\"traffic.limit\" = [9, 8]\n", nil, []string{
			`x.toml:4:1: shape.k = 9: want at most traffic.limit = 8`}},
		{"plots", "kind = \"toy\"\n[[plot]]\nx = \"ofered_load\"\ny = \"latency_mean_ns\"\n[[plot]]\nx = \"offered_load\"\ny = \"draw\"\nby = \"shape.type\"\nlog = true\n", nil, []string{
			`x.toml:3:1: plot[0].x = "ofered_load": not a column of the results (did you mean "offered_load"?): there are point, seed, replications, offered_load, accepted_load, latency_mean_ns, draw, state`,
			`x.toml:8:1: plot[1].by = "shape.type": not a column of the results: there are point, seed, replications, offered_load, accepted_load, latency_mean_ns, draw, state`,
			`x.toml:9:1: plot[1].log is not a key of [plot[1]]: allowed are aggregate, annotate, bins, by, colour_by, file, font_size, formats, height, intervals, log_x, log_y, order, panel_columns, panels, percentiles, relative, size, style, table, title, width, x, x_label, x_range, y, y_label, y_max, y_range, z`}},
		{"files and tables of plots", "kind = \"toy\"\n[[plot]]\nfile = \"a\"\nx = \"seed\"\ny = \"draw\"\n[[plot]]\nfile = \"A\"\nx = \"seed\"\ny = \"draw\"\n" +
			"[[plot]]\nfile = \"..\"\ntable = \"link\"\nx = \"seed\"\ny = \"draw\"\n", nil, []string{
			`x.toml:7:1: plot[1].file = "A": an earlier figure has this name; give each a file of its own`,
			`x.toml:11:1: plot[2].file = "..": want a name of at most 240 bytes that does not begin with a dot`,
			`x.toml:12:1: plot[2].table = "link": not a table of kind "toy" (did you mean "links"?): there are results, links`}},
		{"expectations", "kind = \"toy\"\n[[expect]]\ntarget = \"dragonfly-fig8a-ur-mn-saturation-throughput\"\nmetric = \"latency_mean\"\nformula = \"a / c\"\nof = { a = { draw = 1 }, b = { shape.type = \"box\" } }\n", nil, []string{
			`x.toml:3:1: expect[0].target = "dragonfly-fig8a-ur-mn-saturation-throughput": no such target (did you mean "dragonfly-fig8a-ur-min-saturation-throughput"?)`,
			`x.toml:4:1: expect[0].metric = "latency_mean": not a column of the results (did you mean "latency_mean_ns"?): there are point, seed, replications, offered_load, accepted_load, latency_mean_ns, draw, state`,
			`x.toml:5:1: expect[0].formula = "a / c": has the unknown name "c" (did you mean "a"?): there are a, b`,
			`x.toml:6:32: expect[0].of.b.shape.type = "shape.type": not a column of the results: there are point, seed, replications, offered_load, accepted_load, latency_mean_ns, draw, state`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load("x.toml", c.text, Options{Set: c.set})
			simtest.Equal(t, fmt.Sprint(err), strings.Join(c.want, "\n"), "got\n")
		})
	}
}

// TestProblemsOfAbsentFile: a file that cannot be read is a problem like others.
func TestProblemsOfAbsentFile(t *testing.T) {
	_, err := ReadFile("no-such-file.toml", Options{})
	simtest.ErrorIf(t, fmt.Sprint(err) != "no-such-file.toml: cannot be read: no such file or directory", "got %v", err)
}

// load reads the text of a file, with settings laid over it, KEY=VALUE.
func load(t *testing.T, text string, set ...string) *File {
	return loadWith(t, text, Options{Set: set})
}

func loadWith(t *testing.T, text string, options Options) *File {
	t.Helper()
	return simtest.Must(Load("x.toml", text, options))(t)
}

// refused takes the text of a file that is refused, with a message that says what is wanted.
func refused(t *testing.T, text, want string) {
	t.Helper()
	simtest.Refuse(Load("x.toml", text, Options{}))(t, want)
}

// refusals is refused for files that begin alike.
func refusals(t *testing.T, head string, files map[string]string) {
	t.Helper()
	for text, want := range files {
		refused(t, head+text, want)
	}
}

// samePoints tells whether two files have the same points.
func samePoints(a, b *File) bool {
	return slices.EqualFunc(a.Points, b.Points, func(p, q *Point) bool { return p.Hash == q.Hash })
}

// compute computes a point, which may not fail.
func compute(t *testing.T, f *File, p *Point) *Record {
	t.Helper()
	finished, _, err := f.NewRun(p, Circumstances{}).Compute(t.Context())
	simtest.Check(t, err)
	return finished
}

// sweptRows shows the swept cells of every point, one line each.
func sweptRows(f *File) string {
	var rows []string
	for _, p := range f.Points {
		rows = append(rows, strings.Join(p.Swept, " "))
	}
	return strings.Join(rows, "\n")
}

// TestSweep: lists are crossed in the order of the file, the last varies
// fastest; lockstep lists vary together; ranges include their end in spite of
// binary fractions (0.1 + 2*0.1 is 0.30000000000000004).
func TestSweep(t *testing.T) {
	f := load(t, `
kind = "toy"
[sweep]
"traffic.load" = { from = 0.1, to = 0.3, step = 0.1 }
shape.type = ["box", "ring"]
[sweep.lockstep]
"traffic.limit" = { from = 10, to = 20, step = 10 }
"traffic.delay" = ["1ns", "2ns"]
`)
	want := strings.TrimSpace(`
0.1 box 10 1ns
0.1 box 20 2ns
0.1 ring 10 1ns
0.1 ring 20 2ns
0.2 box 10 1ns
0.2 box 20 2ns
0.2 ring 10 1ns
0.2 ring 20 2ns
0.3 box 10 1ns
0.3 box 20 2ns
0.3 ring 10 1ns
0.3 ring 20 2ns`)
	simtest.Equal(t, sweptRows(f), want, "got\n")
}

// TestOneAtATime: the first step is the file's own, and each other one departs from it by one
// table: 1 + 2 + 1 steps at 2 sizes. A pinned key takes its table along.
func TestOneAtATime(t *testing.T) {
	text := `
kind = "toy"
[traffic]
load  = 0.5
limit = 10
delay = "1ns"
[sweep]
"shape.p" = [1, 2]
[[sweep.one_at_a_time]]
"traffic.load" = [0.4, 0.6]
[[sweep.one_at_a_time]]
"traffic.limit" = [20]
"traffic.delay" = ["2ns"]
`
	want := strings.TrimSpace(`
1 0.5 10 1ns
1 0.4 10 1ns
1 0.6 10 1ns
1 0.5 20 2ns
2 0.5 10 1ns
2 0.4 10 1ns
2 0.6 10 1ns
2 0.5 20 2ns`)
	f := load(t, text)
	simtest.Equal(t, sweptRows(f), want, "got\n")
	again, err := Load("resolved.toml", f.Resolved(), Options{})
	simtest.ErrorIf(t, err != nil || sweptRows(again) != want, "resolved: %v\n%s", err, f.Resolved())
	pinned := load(t, text, "traffic.load=0.7", "shape.p=1")
	simtest.Equal(t, sweptRows(pinned), "1 0.7 10 1ns\n1 0.7 20 2ns", "pinned: got\n")
	none := load(t, text, "sweep.one_at_a_time=[]", "shape.p=1")
	simtest.Equal(t, sweptRows(none), "1", "without: got\n")
}

// TestSet: --set pins a swept key, adds an axis under sweep., and reads bare words as strings.
func TestSet(t *testing.T) {
	text := "kind = \"toy\"\n[sweep]\n\"traffic.load\" = [0.1, 0.2]\n\"shape.p\" = [1, 2]\n[quick]\n\"traffic.load\" = 0.7\nsweep.shape.p = [5]\n"
	for _, c := range []struct {
		name, want string
		options    Options
	}{
		{"pinned", "0.3 1\n0.3 2", Options{Set: []string{"traffic.load=0.3"}}},
		{"axis replaced", "0.1 9\n0.2 9", Options{Set: []string{"sweep.shape.p=[9]"}}},
		{"axis added", "0.1 1 box\n0.1 2 box\n0.2 1 box\n0.2 2 box", Options{Set: []string{`sweep.shape.type=["box"]`}}},
		{"quick", "0.7 5", Options{Quick: true}},
		{"set after quick", "0.4 5", Options{Quick: true, Set: []string{"sweep.traffic.load=[0.4]"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			simtest.Equal(t, sweptRows(loadWith(t, text, c.options)), c.want, "got\n")
		})
	}
	f := load(t, "kind = \"toy\"\n", "shape.type=ring", "shape.k=7", "traffic.delay=3us", "title=two words")
	simtest.ErrorIf(t, f.Title != "two words", "title %q", f.Title)
	simtest.Says(t, f.Resolved(), "type = \"ring\"\nk = 7\n", "delay = \"3us\"")
}

// TestUnknownToSomePoints: a parameter that one swept choice knows is no problem
// for the others, and does not change them.
func TestUnknownToSomePoints(t *testing.T) {
	f := load(t, "kind = \"toy\"\n[shape]\nk = 5\n[sweep]\n\"shape.type\" = [\"box\", \"ring\"]\n\"shape.p\" = [1, 2]\n")
	simtest.FatalIf(t, len(f.Points) != 4, "%d points", len(f.Points))
	// box p=1, box p=2, ring (p ignored) twice
	simtest.ErrorIf(t, f.Points[0].Hash == f.Points[1].Hash || f.Points[2].Hash != f.Points[3].Hash,
		"hashes do not follow the settings that count")
}

// TestResolved: the resolved file is accepted and gives the same points.
func TestResolved(t *testing.T) {
	for _, text := range []string{
		"kind = \"toy\"\n",
		"kind = \"toy\"\nseed = 7\ntitle = \"a \\\"quoted\\\" title\"\n[channel.local]\nlatency = \"5ns\"\n[traffic]\nsize = \"64B\"\nrate = \"10Gb/s\"\ndims = [2, 3]\n",
		"kind = \"toy\"\n[shape]\nk = 5\n[sweep]\n\"shape.type\" = [\"box\", \"ring\"]\n\"shape.p\" = [1, 2]\n[[plot]]\nx = \"offered_load\"\ny = [\"draw\"]\n[plot.where]\nshape.type = \"box\"\n",
		"kind = \"toy\"\n[[sweep.lockstep]]\n\"traffic.load\" = [0.1, 0.2]\n\"shape.p\" = [1, 2]\n[[sweep.lockstep]]\nseed = [1, 2]\n\"traffic.dims\" = [[1, 2], [3]]\n",
	} {
		f := load(t, text)
		again, err := Load("resolved.toml", f.Resolved(), Options{})
		if err != nil {
			t.Errorf("%v\n%s", err, f.Resolved())
			continue
		}
		simtest.ErrorIf(t, !samePoints(f, again) || sweptRows(f) != sweptRows(again) || len(f.Plots) != len(again.Plots),
			"the resolved file differs:\n%s\nof\n%s", f.Resolved(), text)
	}
}

// FuzzLoad: no text makes the loader panic or hang, and what loads also loads
// from its resolved form.
func FuzzLoad(f *testing.F) {
	f.Add("kind = \"toy\"\n[shape]\ntype = \"ring\"\nk = 5\n", "traffic.load=0.3")
	f.Add("kind = \"toy\"\n[sweep]\n\"traffic.load\" = { from = 0.1, to = 0.3, step = 0.1 }\n[[plot]]\nx = \"draw\"\ny = [\"draw\"]\n", "sweep.shape.p=[1,2]")
	f.Add("a = [{b = 1}, {c = [1, [2, \"]\"]]}]\n'q'.\"w\\u0041\" = '''x'''\n# end", "x")
	f.Fuzz(func(t *testing.T, text, set string) {
		file, err := Load("x.toml", text, Options{Set: []string{set}})
		if err != nil || len(file.Points) > 100 {
			return
		}
		if _, err := Load("resolved.toml", file.Resolved(), Options{}); err != nil {
			t.Errorf("%v\n%s", err, file.Resolved())
		}
	})
}

// TestDepth: what is nested 500 deep is read, one level more is refused at the place
// of that level, and so is what would overflow the stack of a parser.
func TestDepth(t *testing.T) {
	nest := func(open, close string, n int) string {
		return "kind = \"toy\"\ntraffic.x = " + strings.Repeat(open, n) + "1" + strings.Repeat(close, n) + "\n"
	}
	for name, c := range map[string]struct {
		text string
		want string // "": not refused for its depth
	}{
		"arrays":              {nest("[", "]", 500), ""},
		"one array more":      {nest("[", "]", 501), "x.toml:2:513: nested deeper than 500 levels"},
		"millions":            {nest("[", "]", 3_000_000), "x.toml:2:513: nested deeper than 500 levels"},
		"inline tables":       {nest("{a=", "}", 10_000), "x.toml:2:1513: nested deeper than 500 levels"},
		"a dotted key":        {strings.Repeat("a.", 10_000) + "b = 1\n", "x.toml:1:1002: nested deeper than 500 levels"},
		"a header":            {"[" + strings.Repeat("a.", 10_000) + "b]\n", "x.toml:1:1003: nested deeper than 500 levels"},
		"brackets in strings": {"kind = \"toy\"\ntitle = \"" + strings.Repeat("[", 1000) + "\" # " + strings.Repeat("{", 1000) + "\n", ""},
		"in long strings":     {"kind = \"toy\"\ntitle = '''\n" + strings.Repeat("[\n", 1000) + "'''\n", ""},
		"one after another":   {"kind = \"toy\"\ntraffic.x = [" + strings.Repeat("[1.5], ", 1000) + "]\n", ""},
	} {
		_, err := Load("x.toml", c.text, Options{})
		if text := fmt.Sprint(err); c.want != "" && text != c.want || c.want == "" && strings.Contains(text, "nested") {
			t.Errorf("%s: %.200s\nwant %q", name, text, c.want)
		}
	}
	simtest.Refuse2(document.ParseSetting("traffic.x="+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)))(t, "nested deeper")
}

// TestLongMessages: however large the input, what is said about it is not; no
// control character reaches a terminal.
func TestLongMessages(t *testing.T) {
	long := strings.Repeat("x", 5_000_000)
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "k%d = 1\n", i)
	}
	for name, text := range map[string]string{
		"value":     "kind = \"toy\"\n[traffic]\nload = \"" + long + "\"\n",
		"kind":      "kind = \"" + long + "\"\n",
		"key":       "kind = \"toy\"\n\"" + long + "\" = 1\n",
		"unknown":   "kind = \"toy\"\n[traffic]\n" + many.String(),
		"steering":  "kind = \"\\u001b[31m\"\n\"\\u009b31m\" = 1\n",
		"not TOML":  "kind = " + long + "\n",
		"title":     "title = \"a\\u0000b\"\nkind = \"toy\"\n",
		"direction": "kind = \"toy\"\n[traffic]\n\"\\u202e\" = 1\n",
	} {
		_, err := Load("x.toml", text, Options{})
		if err == nil {
			t.Errorf("%s: read", name)
			continue
		}
		message := err.Error()
		simtest.ErrorIf(t, len(message) > 50*9000 || strings.ContainsAny(message, "\x00\x1b\u009b\u202e"),
			"%s: %d bytes: %.300q", name, len(message), message)
		if name == "unknown" && !strings.HasSuffix(message, "\nand 980 more problems") {
			t.Errorf("1000 problems end with %.100q", message[max(0, len(message)-100):])
		}
	}
}

// TestGone: what has gone is no setting of any kind. A file that has it is refused with what is
// always so now; settings of results that are there may have it.
func TestGone(t *testing.T) {
	settings := map[string]bool{}
	for key := range everySetting {
		settings[key] = true
	}
	for key, now := range gone() {
		simtest.ErrorIf(t, settings[key], "%s is a setting", key)
		refused := false
		table, name, _ := strings.Cut(strings.ReplaceAll(key, "NAME", "one"), ".")
		if table == "job" {
			table, name = "job.one", strings.TrimPrefix(name, "one.")
		}
		for _, kind := range KindNames() {
			text := "kind = \"" + kind + "\"\n[" + table + "]\n" + name + " = 1\n"
			if _, err := Load("x.toml", text, Options{}); err != nil && strings.Contains(err.Error(), "x.toml:3:1: "+table+"."+name+" has gone: "+now+"; leave it out") {
				refused = true
				_, err := LoadFinished("x.toml", text)
				simtest.ErrorIf(t, table != "sweep" && err != nil && strings.Contains(err.Error(), "gone"),
					"settings of results: %v", err)
			}
		}
		simtest.ErrorIf(t, !refused, "%s is refused by no kind", key)
	}
}
