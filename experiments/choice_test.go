package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestChoicesInTablesOfNames: a table of which a file has several has choices and
// defaults as others do, is swept, resolved and documented.
func TestChoicesInTablesOfNames(t *testing.T) {
	text := "kind = \"parts\"\n[part.a]\n[part.b]\ntype = \"ring\"\nk = 5\ncount = 1\n[sweep]\n\"part.a.type\" = [\"box\", \"ring\"]\n"
	f := load(t, text)
	simtest.FatalIf(t, len(f.Points) != 2 || f.Points[0].Hash == f.Points[1].Hash, "%d points", len(f.Points))
	// The default of count is 3; b has its own.
	for _, want := range []string{"[part.a]\ncount = 3\n", "[part.b]\ntype = \"ring\"\nk = 5\ncount = 1\n"} {
		simtest.ErrorIf(t, !strings.Contains(f.Resolved(), want), "the resolved file lacks %q:\n%s", want, f.Resolved())
	}
	simtest.ErrorIf(t, !samePoints(load(t, f.Resolved()), f), "the resolved file has other points")
	_, err := Load("x.toml", "kind = \"parts\"\n[part.a]\ntype = \"bx\"\n[part.b]\np = 1\nq = 1\n", Options{})
	want := "x.toml:3:1: part.a.type = \"bx\": unknown shape (did you mean \"box\"?): known are box, ring\n" +
		"x.toml:6:1: part.b.q is not a key of [part.b] (did you mean \"p\"?): allowed are count, p, type"
	simtest.ErrorIf(t, fmt.Sprint(err) != want, "got\n%v\nwant\n%s", err, want)
	for _, table := range kinds["parts"].settings() {
		if table.Header() == "part.NAME" && len(table.Choices) == 1 && table.Choices[0].Default == "box" {
			return
		}
	}
	t.Error("the choice is not documented")
}

// TestChoicesWithoutRegistry: a table of names whose choice nobody has given a registry is told
// to the one who declares it.
func TestChoicesWithoutRegistry(t *testing.T) {
	simtest.Panics(t, func() { newElement(reflect.TypeFor[bare]()) }, "setting type of experiments.bare chooses from nothing")
}

type bare struct {
	Type Choice[int, fmt.Stringer] `toml:"type" doc:"kind of shape"`
}

// A topology file is found beside the experiment file, wherever weft is
// started, and a point is another one when the content of the file changes.
func TestInputsByContent(t *testing.T) {
	network := func(latency string) string {
		return `{"format": "weft-topology", "version": 1, "classes": [{"name": "c", "latency": ` + latency + `}], "switches": [{}],
"terminals": [{"switch": 0, "class": "c"}, {"switch": 0, "class": "c"}], "links": []}`
	}
	write := func(path, text string) { simtest.Check(t, os.WriteFile(path, []byte(text), 0o644)) }
	dir := t.TempDir()
	write(filepath.Join(dir, "net.json"), network("1"))
	write(filepath.Join(dir, "x.toml"), "kind = \"traffic\"\n[topology]\ntype = \"file\"\npath = \"net.json\"\n[routing]\ntype = \"table\"\n")
	hash := func() string {
		f := simtest.Must(ReadFile(filepath.Join(dir, "x.toml"), Options{}))(t)
		return f.Points[0].Hash
	}
	before := hash()
	simtest.Equal(t, hash(), before, "the same file is another point")
	write(filepath.Join(dir, "net.json"), network("2"))
	simtest.ErrorIf(t, hash() == before, "the point is the same after its topology file has changed")
}

// The same for a setting with the tag file:"read", of a name with several forms: the
// next hops of ugal-l on a random graph of 4 switches of degree 3, each joined to all.
func TestTaggedInputs(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("x.toml", "kind = \"traffic\"\n[topology]\ntype = \"random-regular\"\nswitches = 4\ndegree = 3\n[routing]\ntype = \"ugal-l\"\nnext_hops = \"next.txt\"\n")
	read := func() (string, error) {
		f, err := ReadFile(filepath.Join(dir, "x.toml"), Options{})
		if err != nil {
			return "", err
		}
		return f.Points[0].Hash, nil
	}
	simtest.Refuse(read())(t, "routing.next_hops", filepath.Join(dir, "next.txt"))
	direct := "-1 1 2 3\n0 -1 2 3\n0 1 -1 3\n0 1 2 -1\n"
	write("next.txt", direct)
	before := simtest.Must(read())(t)
	write("next.txt", strings.Replace(direct, "-1 1 2 3", "-1 2 2 3", 1))
	after, err := read()
	simtest.ErrorIf(t, err != nil || after == before, "the point is the same after its file has changed (%v)", err)
	write("next.txt", strings.Replace(direct, "-1 1 2 3", "-1 9 2 3", 1))
	simtest.Refuse(read())(t, `next.txt:1: column 2: "9", want a switch, 0 to 3, or -1`)
}

// TestUnusedSettings: a parameter that no point of a file makes use of is refused
// at its place; one that some point of a sweep uses is not.
func TestUnusedSettings(t *testing.T) {
	const head = "kind = \"traffic\"\n"
	for _, c := range []struct{ name, text, want string }{
		{"a form of another topology",
			"[topology]\ntype = \"dragonfly\"\n[routing]\ntype = \"val\"\nvc_rule = \"dateline\"\n",
			"x.toml:6:1: routing.vc_rule is not used by what it stands with: leave it out"},
		{"the other way round",
			"[topology]\ntype = \"torus\"\n[routing]\ntype = \"val\"\nintermediate = \"group\"\nspread_vcs = true\n",
			"x.toml:6:1: routing.intermediate is not used by what it stands with: leave it out\n" +
				"x.toml:7:1: routing.spread_vcs is not used by what it stands with: leave it out"},
		{"no rings", "[topology]\ntype = \"mesh\"\n[routing]\ntype = \"dor\"\nvc_rule = \"none\"\n",
			"x.toml:6:1: routing.vc_rule is not used by what it stands with: leave it out"},
		{"rings", "[topology]\ntype = \"torus\"\n[routing]\ntype = \"dor\"\nvc_rule = \"by-coordinates\"\n", "<nil>"},
		{"other settings", "[topology]\ntype = \"torus\"\n[routing]\ntype = \"adaptive-escape\"\nescape = \"up-down\"\nvc_rule = \"dateline\"\n",
			"x.toml:7:1: routing.vc_rule is not used by what it stands with: leave it out"},
		{"swept", "[topology]\ntype = \"mesh\"\n[routing]\ntype = \"dor\"\n[sweep]\n\"routing.vc_rule\" = [\"dateline\", \"by-coordinates\"]\n",
			"x.toml:7:1: routing.vc_rule is not used by what it stands with: leave it out"},
		{"used by some points",
			"[topology]\ntype = \"mesh\"\n[routing]\ntype = \"val\"\nvc_rule = \"by-coordinates\"\n[sweep]\n\"topology.type\" = [\"mesh\", \"torus\", \"dragonfly\"]\n", "<nil>"},
		{"held slots", "[topology]\ntype = \"dragonfly\"\n[routing]\ntype = \"ugal-l-cr\"\nsensing = \"credits\"\nheld_slots = \"counted\"\n",
			"x.toml:7:1: routing.held_slots is not used by what it stands with: leave it out"},
		{"weight", "[topology]\ntype = \"dragonfly\"\n[routing]\ntype = \"ugal-g\"\nestimate = \"path-queues\"\nweight = \"hops\"\n",
			"x.toml:7:1: routing.weight is not used by what it stands with: leave it out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load("x.toml", head+c.text, Options{})
			simtest.ErrorIf(t, fmt.Sprint(err) != c.want, "error %v\nwant %s", err, c.want)
		})
	}
}

// TestResolvedWithoutUnused: the resolved file leaves out what no point uses, so
// that it can be run; results of earlier versions, whose files have it, are read.
func TestResolvedWithoutUnused(t *testing.T) {
	f := simtest.Must(Load("x.toml", "kind = \"traffic\"\n[topology]\ntype = \"mesh\"\n[routing]\ntype = \"dor\"\n", Options{}))(t)
	simtest.ErrorIf(t, strings.Contains(f.Resolved(), "vc_rule"), "the resolved file has vc_rule:\n%s", f.Resolved())
	again, err := Load("resolved.toml", f.Resolved(), Options{})
	simtest.ErrorIf(t, err != nil || !samePoints(again, f), "another experiment: %v", err)
	before := strings.Replace(f.Resolved(), "[routing]\n", "[routing]\nvc_rule = \"dateline\"\n", 1)
	simtest.Refuse(Load("resolved.toml", before, Options{}))(t, "")
	again, err = LoadFinished("resolved.toml", before)
	simtest.ErrorIf(t, err != nil || !samePoints(again, f), "of an earlier version: %v", err)
}

// TestUnaskedTable: a figure of a table that no point writes is a problem of the file,
// known before anything runs; asked for by one point of a sweep it is none.
func TestUnaskedTable(t *testing.T) {
	const plot = "[[plot]]\ntable = \"links\"\nx = \"from\"\ny = \"flits\"\nstyle = \"bar\"\n"
	for text, want := range map[string]string{
		plot:                               "x.toml:2:1: plot[0].table = \"links\": nothing in the file asks for this table: set measure.links",
		"[measure]\nlinks = true\n" + plot: "<nil>",
		"[sweep]\nmeasure.links = [false, true]\n" + plot: "<nil>",
	} {
		_, err := Load("x.toml", text, Options{})
		simtest.ErrorIf(t, fmt.Sprint(err) != want, "%s\ngot  %v\nwant %s", text, err, want)
	}
}

// TestTablesOfKinds: what a kind asks for it lists, under a setting that it has, and
// all that it can be asked for it can write.
func TestTablesOfKinds(t *testing.T) {
	for _, c := range []struct{ kind, text string }{
		{"traffic", "[topology]\ntype = \"dragonfly\"\np = 1\na = 2\nh = 1\n[program]\ntype = \"infiniband\"\n[measure]\nwarmup = 100\nwindow = 200\nfind = \"saturation\"\nload_precision = 0.5\n"},
		{"multicast-latency", "[topology]\ntype = \"fat-tree\"\nk = 4\nn = 2\n[messages]\ncount = 2\n"},
		{"multicast-routing", "[topology]\ntype = \"fat-tree\"\nk = 4\nn = 2\n[groups]\npattern = \"blocks\"\nsize = 4\n"},
		{"mpi", "[job]\nranks = 4\nmachine = \"fabric\"\n"},
	} {
		k := kinds[c.kind]
		text := "kind = \"" + c.kind + "\"\n" + c.text
		var set []string
		var all []string
		for _, further := range k.tables {
			all = append(all, further.Name)
			switch key := further.Asked; key {
			case "", "measure.find":
			case "measure.queues", "measure.time_lapse":
				set = append(set, key+"=50ns")
			case "measure.pairs":
				set = append(set, key+`=["*,1"]`)
			case "trace.packets":
				set = append(set, key+"=5")
			default:
				set = append(set, key+"=true")
			}
		}
		slices.Sort(set)
		f := load(t, text, slices.Compact(set)...)
		var written []string
		for _, table := range compute(t, f, f.Points[0]).Tables {
			written = append(written, table.Name)
		}
		slices.Sort(written)
		slices.Sort(all)
		simtest.EqualSlices(t, written, all, "kind %s wrote %s of %s", c.kind, strings.Join(written, ", "), strings.Join(all, ", "))
	}
	for name, k := range kinds {
		known := map[string]bool{}
		for _, s := range resolve(k.defaults()) {
			known[s.Key] = true
		}
		for _, further := range k.tables {
			simtest.ErrorIf(t, further.Asked != "" && !known[further.Asked],
				"kind %s: %q is asked for by %s, which is no setting", name, further.Name, further.Asked)
			undocumented := slices.ContainsFunc(further.Columns, func(c Column) bool { return c.Name == "" || c.Doc == "" })
			simtest.ErrorIf(t, further.Doc == "" || undocumented, "kind %s: table %q is not documented", name, further.Name)
		}
	}
}

// TestWorkloads: weft bench can run what it lists.
func TestWorkloads(t *testing.T) {
	for _, w := range Workloads {
		load(t, w.text)
	}
}
