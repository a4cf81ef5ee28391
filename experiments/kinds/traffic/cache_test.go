package traffic

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/routing"
	_ "github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestCache: results and preflight are the same without a cache, when it is filled, when it
// is read, and when all that is in it is damaged. Two networks under one pattern are two
// certificates, two tables of loads and, of the ring, where those of terminals are not full first,
// one of weighted loads.
func TestCache(t *testing.T) {
	const text = smallTorus + `
[sweep]
"topology.dims" = [[8], [4, 4]]
"traffic.load" = [0.1, 0.2]
`
	var warnings []string
	cache := &experiments.Cache{Dir: t.TempDir(), Limit: 1 << 20, Warn: func(m string) { warnings = append(warnings, m) }}
	run := func(c *experiments.Cache) string {
		f := simtest.Must(experiments.Load("x.toml", text, experiments.Options{Cache: c}))(t)
		report := simtest.Must(f.Preflight(true))(t)
		return notesOf(report) + fmt.Sprint(enginetest.Execute(t, f, engine.Execution{}).Results.Rows)
	}
	want := run(nil)
	for _, when := range []string{"filled", "read", "damaged"} {
		paths := simtest.Must(filepath.Glob(filepath.Join(cache.Dir, "*")))(t)
		simtest.FatalIf(t, when != "filled" && len(paths) != 5, "%s: %d entries, want 5", when, len(paths))
		for _, path := range paths {
			if when == "damaged" {
				simtest.Check(t, os.Truncate(path, 50))
			}
		}
		simtest.Equal(t, run(cache), want, "%s:", when)
	}
	simtest.ErrorIf(t, len(warnings) != 5, "warnings %q, want one for each damaged entry", warnings)
}

// Points share routings that depend on the network only, so that files of tables are read
// once; others, and those with settings of their own, are each point's own.
func TestPointsShareTables(t *testing.T) {
	for _, c := range []struct {
		sweep string
		same  bool
	}{
		{"\"traffic.load\" = [0.1, 0.2]\n\"routing.type\" = [\"opensm-lash\"]", true},
		{"\"routing.data_lanes\" = [4, 8]\n\"routing.type\" = [\"opensm-lash\"]", false},
		{"\"switch.vcs\" = [6, 8]\n\"routing.type\" = [\"opensm-lash\"]", true},
		{"\"topology.dims\" = [[3, 3], [3, 4]]\n\"routing.type\" = [\"opensm-lash\"]", false},
		{"\"traffic.load\" = [0.1, 0.2]\n\"routing.type\" = [\"dor\"]", false},
	} {
		f := enginetest.Load(t, "kind = \"traffic\"\n[topology]\ntype = \"torus\"\ndims = [3, 3]\n[sweep]\n"+c.sweep+"\n")
		var built [2]any
		for i := range built {
			parts := simtest.Must(f.Points[i].Config().(*trafficConfig).build(f.Points[i].Seed))(t)
			built[i] = parts.Routing
		}
		simtest.Equal(t, built[0] == built[1], c.same, "%s: one routing is", c.sweep)
	}
}

// Points that differ by their seeds alone share what is known of their network and traffic, but
// where a routing or a pattern is drawn from the seed: then that is found for each.
func TestSeedsShare(t *testing.T) {
	loads := func(settings string) (found [2]*routing.Load) {
		f := enginetest.Load(t, "kind = \"traffic\"\n[topology]\ntype = \"random-regular\"\nswitches = 16\ndegree = 4\nterminals = 2\n"+settings+"[sweep]\nseed = [1, 2]\n")
		shared := new(experiments.Shared)
		for i, p := range f.Points {
			c := p.Config().(*trafficConfig)
			parts := simtest.Must(c.build(p.Seed))(t)
			load, _, err := c.loads(shared, c.Network(p.Seed), parts, evenEnds)
			simtest.Check(t, err)
			found[i] = load
		}
		return found
	}
	for _, c := range []struct {
		settings string
		same     bool
	}{
		{"[routing]\ntype = \"table\"\n", true},
		{"[routing]\ntype = \"fatpaths\"\nchoice = \"hashed\"\n", false},
		{"[traffic]\npattern = \"permutation\"\n[routing]\ntype = \"table\"\n", false},
		{"[traffic]\npattern = \"switch-permutation\"\n[routing]\ntype = \"table\"\n", false},
	} {
		found := loads(c.settings)
		simtest.Equal(t, slices.Equal(found[0].Port, found[1].Port), c.same, "%s: the channel loads of both seeds are the same:", c.settings)
	}
}

// Networks of several tests, with which files begin.
const (
	torusDOR  = "topology = { type = \"torus\" }\nrouting = { type = \"dor\" }\n"
	filling   = enginetest.Dragonfly + "[channel.global]\nlatency = \"100ns\"\n[switch]\nbuffer_flits = 256\n"
	oneSwitch = "routing = { type = \"table\" }\n[topology]\ntype = \"single-switch\"\n"
)

// notesOf are the notes of a report, a line each.
func notesOf(report *experiments.Report) string {
	var b strings.Builder
	for _, n := range report.Notes {
		fmt.Fprintf(&b, "%s %s: %s\n", n.Topic, n.Where, n.Text)
	}
	return b.String()
}

// warnings counts those of a file that are about a key.
func warnings(f *experiments.File, key string) (n int) {
	for _, w := range f.Warnings {
		if w.Key == key {
			n++
		}
	}
	return n
}

// TestRoutingThatFits: a file that names no routing has one of its topology, the kind's own where that fits.
func TestRoutingThatFits(t *testing.T) {
	for topology, want := range map[string]string{"dragonfly": "min", "torus": "dor", "fat-tree": "nca", "slim-fly": "table", "single-switch": "table"} {
		f := enginetest.Load(t, "kind = \"traffic\"\n[topology]\ntype = \""+topology+"\"\n")
		simtest.Equal(t, f.Points[0].Config().(*trafficConfig).Routing.Type.Name(), want, "%s: routing", topology)
	}
	// What a file gives stays, whether it fits or not.
	enginetest.Refused(t, "kind = \"traffic\"\n[topology]\ntype = \"torus\"\n[routing]\ntype = \"min\"\n", "needs a topology with groups")
}
