package experiments

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/results"
)

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
			if _, err := Load("x.toml", head+c.text, Options{}); fmt.Sprint(err) != c.want {
				t.Errorf("error %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestResolvedWithoutUnused: the resolved file leaves out what no point uses, so
// that it can be run; results of earlier versions, whose files have it, are read.
func TestResolvedWithoutUnused(t *testing.T) {
	f, err := Load("x.toml", "kind = \"traffic\"\n[topology]\ntype = \"mesh\"\n[routing]\ntype = \"dor\"\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(f.Resolved(), "vc_rule") {
		t.Errorf("the resolved file has vc_rule:\n%s", f.Resolved())
	}
	again, err := Load("resolved.toml", f.Resolved(), Options{})
	if err != nil || hashOf(again.Points) != hashOf(f.Points) {
		t.Errorf("another experiment: %v", err)
	}
	before := strings.Replace(f.Resolved(), "[routing]\n", "[routing]\nvc_rule = \"dateline\"\n", 1)
	if _, err := Load("resolved.toml", before, Options{}); err == nil {
		t.Error("vc_rule is not refused")
	}
	if again, err = Load("resolved.toml", before, Options{finished: true}); err != nil || hashOf(again.Points) != hashOf(f.Points) {
		t.Errorf("of an earlier version: %v", err)
	}
}

// TestUnaskedTable: a figure of a table that no point writes is a problem of the file,
// known before anything runs; asked for by one point of a sweep it is none.
func TestUnaskedTable(t *testing.T) {
	const plot = "[[plot]]\ntable = \"links\"\nx = \"from\"\ny = \"flits\"\nstyle = \"bar\"\n"
	for text, want := range map[string]string{
		plot:                               "x.toml:2:1: plot[0].table = \"links\": nothing in the file asks for this table: set measure.links",
		"[measure]\nlinks = true\n" + plot: "",
		"[sweep]\nmeasure.links = [false, true]\n" + plot: "",
	} {
		_, err := Load("x.toml", text, Options{})
		if got := errorText(err); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
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
		for table, key := range k.asked {
			if !slices.Contains(k.tables, table) {
				t.Errorf("kind %s: table %q is not listed", c.kind, table)
			}
			switch key {
			case "measure.find":
			case "measure.queues":
				set = append(set, key+"=50ns")
			case "trace.packets":
				set = append(set, key+"=5")
			default:
				set = append(set, key+"=true")
			}
		}
		slices.Sort(set)
		f := load(t, text, Options{Set: slices.Compact(set)})
		o := execute(t, f, Execution{})
		if len(o.Failures) > 0 {
			t.Fatalf("kind %s: %s", c.kind, o.Failures[0].Reason)
		}
		written, all := results.SortedKeys(o.Tables), slices.Sorted(slices.Values(k.tables))
		if !slices.Equal(written, all) {
			t.Errorf("kind %s wrote %s of %s", c.kind, strings.Join(written, ", "), strings.Join(all, ", "))
		}
	}
	for name, k := range kinds {
		known := map[string]bool{}
		for _, s := range resolve(k.defaults()) {
			known[s.key] = true
		}
		for table, key := range k.asked {
			if !known[key] {
				t.Errorf("kind %s: %q is asked for by %s, which is no setting", name, table, key)
			}
		}
	}
}
