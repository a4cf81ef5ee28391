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
	check := func(name, text string, set []string, want string) {
		t.Run(name, func(t *testing.T) {
			_, err := Load("x.toml", text, Options{Set: set})
			simtest.Equal(t, fmt.Sprint(err), want, "got\n")
		})
	}
	for _, c := range simtest.Cases(t, "testdata/problems.txt") {
		var set []string
		for strings.HasPrefix(c.Given, "--set ") {
			setting, text, _ := strings.Cut(strings.TrimPrefix(c.Given, "--set "), "\n")
			set, c.Given = append(set, setting), text
		}
		check(c.Name, c.Given, set, strings.Replace(c.Want, "KINDS", strings.Join(KindNames(), ", "), 1))
	}
	check("long values and keys", "kind = \"toy\"\n[traffic]\nload = \""+strings.Repeat("y", 1000)+"\"\nlimit = "+strings.Repeat("[", 300)+strings.Repeat("]", 300)+"\n", nil,
		`x.toml:3:1: traffic.load = "`+strings.Repeat("y", 199)+`...: want a number`+"\n"+
			`x.toml:4:1: traffic.limit = [[[[[[[[[[...]]]]]]]]]]: want an integer; to sweep it write "traffic.limit" = [[[[[[[[[[...]]]]]]]]]] under [sweep]`)
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
	want := strings.ReplaceAll("0.1 box 10 1ns; 0.1 box 20 2ns; 0.1 ring 10 1ns; 0.1 ring 20 2ns; 0.2 box 10 1ns; 0.2 box 20 2ns; 0.2 ring 10 1ns; 0.2 ring 20 2ns; 0.3 box 10 1ns; 0.3 box 20 2ns; 0.3 ring 10 1ns; 0.3 ring 20 2ns", "; ", "\n")
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
	want := strings.ReplaceAll("1 0.5 10 1ns; 1 0.4 10 1ns; 1 0.6 10 1ns; 1 0.5 20 2ns; 2 0.5 10 1ns; 2 0.4 10 1ns; 2 0.6 10 1ns; 2 0.5 20 2ns", "; ", "\n")
	f := load(t, text)
	simtest.Equal(t, sweptRows(f), want, "got\n")
	again, err := Load("resolved.toml", f.Resolved(), Options{})
	simtest.ErrorIf(t, err != nil || sweptRows(again) != want, "resolved: %v\n%s", err, f.Resolved())
	pinned := load(t, text, "traffic.load=0.7", "shape.p=1")
	simtest.Equal(t, sweptRows(pinned), "1 0.7 10 1ns\n1 0.7 20 2ns", "pinned: got\n")
	simtest.Equal(t, sweptRows(load(t, text, "sweep.one_at_a_time=[]", "shape.p=1")), "1", "without: got\n")
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
	simtest.ErrorIf(t, f.Points[0].Hash == f.Points[1].Hash || f.Points[2].Hash != f.Points[3].Hash, "hashes do not follow the settings that count")
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
		text := fmt.Sprint(err)
		simtest.ErrorIf(t, c.want != "" && text != c.want || c.want == "" && strings.Contains(text, "nested"), "%s: %.200s\nwant %q", name, text, c.want)
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
	for key, now := range gone() {
		simtest.ErrorIf(t, len(settingsCalled(key)) > 0, "%s is a setting", key)
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
				simtest.ErrorIf(t, table != "sweep" && err != nil && strings.Contains(err.Error(), "gone"), "settings of results: %v", err)
			}
		}
		simtest.ErrorIf(t, !refused, "%s is refused by no kind", key)
	}
}
