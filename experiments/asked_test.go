package experiments

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/results"
)

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
