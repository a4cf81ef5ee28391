// Tests read every example and paper, and hold all kinds, routings and skeletons to their contracts,
// wings included.
package kinds

import (
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/experiments/figures"
	_ "github.com/weft-sim/weft/experiments/flows"
	_ "github.com/weft-sim/weft/experiments/kinds/cost"
	_ "github.com/weft-sim/weft/experiments/kinds/jobs"
	"github.com/weft-sim/weft/experiments/results"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	_ "github.com/weft-sim/weft/mpi/replay"
	_ "github.com/weft-sim/weft/routing/lft"
	_ "github.com/weft-sim/weft/routing/opensm"
	_ "github.com/weft-sim/weft/routing/opensm/mcast"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

var updateValidation = flag.Bool("update-validation", false, "rewrite docs/validation.csv and its figure (takes a minute)")

// peerCase is a curve of BookSim2 with the settings that give the same switch and traffic here.
// booksim/curves holds the curves; they were measured with the public snapshot of 2017-06-27.
type peerCase struct {
	name, file, curve string
	set               []string
}

var peerCases = []peerCase{
	{"dragonfly, uniform, speedup 2", "examples/booksim-dragonfly", "dragonfly_k2_min_uniform_buf256_speedup2", []string{"switch.speedup=2", "traffic.pattern=uniform", "traffic.self=true"}},
	{"dragonfly, uniform, speedup 1", "examples/booksim-dragonfly", "dragonfly_k2_min_uniform_buf256_speedup1", []string{"switch.speedup=1", "traffic.pattern=uniform", "traffic.self=true"}},
	{"dragonfly, bad_dragon, speedup 2", "examples/booksim-dragonfly", "dragonfly_k2_min_bad_dragon_buf256_speedup2", []string{"switch.speedup=2", "traffic.pattern=worst-case"}},
	{"mesh, 1 flit, speedup 1", "examples/booksim-mesh", "mesh_8x8_dor_uniform_1flit_vc2_buf16_speedup1", []string{"switch.speedup=1", "traffic.packet_flits=1"}},
	{"mesh, 1 flit, speedup 2", "examples/booksim-mesh", "mesh_8x8_dor_uniform_1flit_vc2_buf16_speedup2", []string{"switch.speedup=2", "traffic.packet_flits=1"}},
	{"mesh, 8 flits, speedup 1", "examples/booksim-mesh", "mesh_8x8_dor_uniform_8flit_vc2_buf16_speedup1", []string{"switch.speedup=1", "traffic.packet_flits=8"}},
}

// TestUnknownTopology: kinds that choose a routing by the topology refuse one that is none.
func TestUnknownTopology(t *testing.T) {
	for _, kind := range []string{"traffic", "multicast-latency", "multicast-routing", "mpi", "sessions", "exchange"} {
		enginetest.Refused(t, "kind = \""+kind+"\"\ntopology = { type = \"nowhere\", dims = [4] }\n", "x.toml:2:14: topology.type = \"nowhere\": unknown topology")
	}
}

// TestDeadlocksRefused: every kind with a routing refuses a torus whose rings have one virtual channel, for a run and in a
// check, and warns where it is told to go on.
func TestDeadlocksRefused(t *testing.T) {
	for _, set := range []string{"kind=traffic", "kind=exchange", "kind=mpi job.machine=fabric", "kind=jobs", "kind=multicast-latency messages.unicast_load=0.1"} {
		f := enginetest.Load(t, "topology = { type = \"torus\", dims = [4, 4] }\nrouting = { type = \"dor\", vc_rule = \"none\" }\n", strings.Fields(set)...)
		for _, thorough := range []bool{false, true} {
			_, err := f.Preflight(thorough)
			simtest.Says(t, fmt.Sprint(set, thorough, err), `routing.type = "dor" can deadlock: a cycle of 4 channels`)
		}
		f = enginetest.Load(t, f.Resolved(), "fabric.allow_deadlock=true")
		report := simtest.Must(f.Preflight(false))(t)
		simtest.Alike(t, set, len(f.Cyclic), 1, len(report.Warnings), 1)
	}
}

func (c peerCase) points(t *testing.T) []booksim.Point {
	t.Helper()
	curves, _ := simtest.Must2(booksim.ReadFolder(booksim.Own(), "curves"))(t)
	return curves[slices.IndexFunc(curves, func(x booksim.Curve) bool { return x.File == c.curve+".csv" })].Points
}

// saturation is the highest accepted load of a curve.
func saturation(points []booksim.Point) float64 {
	most := 0.0
	for _, p := range points {
		most = max(most, p.Accepted)
	}
	return most
}

// run computes the case at the given loads.
func (c peerCase) run(t *testing.T, window int, loads []float64) []booksim.Point {
	t.Helper()
	list := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(loads), "[]")), ",")
	set := append([]string{fmt.Sprintf("measure.window=%d", window), "sweep.traffic.load=[" + list + "]"}, c.set...)
	f := simtest.Must(experiments.Open(c.file, experiments.Options{Set: set}))(t)
	r := enginetest.Execute(t, f, engine.Execution{}).Results
	load, latency, accepted := enginetest.Numbers(t, r, "offered_load"), enginetest.Numbers(t, r, "latency_mean_ns"), enginetest.Numbers(t, r, "accepted_load")
	points := make([]booksim.Point, len(load))
	for i := range points {
		points[i] = booksim.Point{Load: load[i], Latency: latency[i], Accepted: accepted[i], Saturated: math.IsNaN(latency[i]) || accepted[i] < 0.95*load[i]}
	}
	return points
}

// TestAgainstBookSim holds the switch model against the peer's curves: mean
// latency within 3 % up to 80 % of the peer's saturation load, accepted load
// within 5 % where the peer is most overloaded.
func TestAgainstBookSim(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates some seconds")
	}
	for _, c := range simtest.Some(t, 0, peerCases...) {
		t.Run(c.name, func(t *testing.T) {
			peer := c.points(t)
			limit := 0.8 * saturation(peer)
			var loads []float64
			for _, p := range peer {
				if p.Load <= limit {
					loads = append(loads, p.Load)
				}
			}
			for i, got := range c.run(t, 5000, loads) {
				d := got.Latency/peer[i].Latency - 1
				simtest.ErrorIf(t, math.Abs(d) > 0.03, "load %v: mean latency %.2f, the peer's %.2f (%+.1f %%)", got.Load, got.Latency, peer[i].Latency, 100*d)
			}
			last := peer[len(peer)-1]
			got := c.run(t, 5000, []float64{last.Load})[0]
			d := got.Accepted/last.Accepted - 1
			simtest.ErrorIf(t, math.Abs(d) > 0.05, "load %v: accepted %.4f, the peer %.4f (%+.1f %%)", last.Load, got.Accepted, last.Accepted, 100*d)
		})
	}
}

// TestValidationTable rewrites the table and figure of docs/validation.md, on request.
func TestValidationTable(t *testing.T) {
	if !*updateValidation {
		t.Skip("-update-validation rewrites the documentation")
	}
	table := &results.Table{Columns: []string{"case", "simulator", "offered_load", "accepted_load", "latency_mean_ns", "saturated"}}
	for _, c := range peerCases {
		peer := c.points(t)
		var loads []float64
		for _, p := range peer {
			loads = append(loads, p.Load)
		}
		for simulator, points := range [][]booksim.Point{c.run(t, 10_000, loads), peer} {
			for _, p := range points {
				table.Rows = append(table.Rows, []string{c.name, []string{"weft", "BookSim2"}[simulator],
					fmt.Sprint(p.Load), fmt.Sprintf("%.4f", p.Accepted), strings.TrimPrefix(fmt.Sprintf("%.2f", p.Latency), "NaN"), fmt.Sprint(p.Saturated)})
			}
		}
	}
	docs := filepath.Join("..", "..", "docs")
	simtest.Check(t, table.WriteFile(filepath.Join(docs, "validation.csv")))
	for _, family := range []string{"dragonfly", "mesh"} {
		part := &results.Table{Columns: table.Columns}
		for _, row := range table.Rows {
			if strings.HasPrefix(row[0], family) {
				part.Rows = append(part.Rows, row)
			}
		}
		p := figures.PlotConfig{X: "offered_load", Y: []string{"latency_mean_ns"}, By: []string{"simulator"}, Panels: "case", Height: 3.8, YMax: 450, Style: "line", Title: "weft and BookSim2: " + family}
		picture := simtest.Must(p.Draw(&figures.PlotSource{Table: part}, "png"))(t)
		simtest.Check(t, results.WriteFile(filepath.Join(docs, "validation-"+family+".png"), picture))
	}
}

// Keys are lower case, or one of the capitals by which the LogGP models name their
// parameters (L, G, O, S beside o and g).
var (
	kindName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	keyName  = regexp.MustCompile(`^([a-z][a-z0-9_]*|[A-Z])$`)
)

// TestConformance is the conformance suite of kinds: names that files and CSV can
// carry, everything documented, defaults that are valid, and no parameter of a
// choice hidden behind a key of its table or of another choice.
func TestConformance(t *testing.T) {
	for _, k := range experiments.DescribeKinds() {
		t.Run(k.Name, func(t *testing.T) {
			simtest.ErrorIf(t, !kindName.MatchString(k.Name) || k.Doc == "", "documented %q", k.Doc)
			seen := map[string]bool{"point": true, "seed": true, "replications": true}
			for _, c := range k.Columns {
				simtest.ErrorIf(t, !keyName.MatchString(c.Name) || c.Doc == "" || seen[c.Name], "column %q, documented %q, or twice", c.Name, c.Doc)
				seen[c.Name] = true
			}
			for _, table := range k.Tables {
				checkTable(t, &table)
			}
			f := simtest.Must(experiments.Load("defaults", fmt.Sprintf("kind = %q", k.Name), experiments.Options{}))(t)
			again := simtest.Must(experiments.Load("resolved.toml", f.Resolved(), experiments.Options{}))(t)
			simtest.ErrorIf(t, len(again.Warnings) > len(f.Warnings), "the resolved file, which says all, is warned of: %v", again.Warnings)
		})
	}
}

func checkTable(t *testing.T, table *experiments.TableDescription) {
	t.Helper()
	simtest.ErrorIf(t, table.Doc == "", "table %s has no documentation", table.Name)
	own := map[string]bool{}
	for _, p := range table.Params {
		checkParam(t, table.Name, p)
		own[p.Key] = true
	}
	others := map[string]string{}
	for _, c := range table.Choices {
		for _, e := range c.Entries {
			for _, p := range e.Params {
				where := table.Name + " " + e.Name
				checkParam(t, where, p)
				simtest.ErrorIf(t, own[p.Key] || others[p.Key] != "" && others[p.Key] != c.Key, "%s: %s is hidden by another key of the table", where, p.Key)
				others[p.Key] = c.Key
			}
		}
	}
}

func checkParam(t *testing.T, where string, p param.Param) {
	t.Helper()
	simtest.ErrorIf(t, !keyName.MatchString(p.Key) || p.Doc == "", "%s: key %q, documented %q", where, p.Key, p.Doc)
}

// TestEveryFabricIsCertified: every kind that runs a fabric refuses the torus
// without datelines, and takes it with AllowDeadlock.
func TestEveryFabricIsCertified(t *testing.T) {
	for _, kind := range []string{"traffic", "exchange"} {
		text := "kind = \"" + kind + "\"\n[topology]\ntype = \"torus\"\ndims = [4, 4]\n[routing]\ntype = \"dor\"\nvc_rule = \"none\"\n"
		_, err := enginetest.Load(t, text).Preflight(false)
		simtest.Fail(t, err, "can deadlock: a cycle of 4 channels (exact)")
		f := simtest.Must(experiments.Load("x", text+"[switch]\nvcs = 1\n", experiments.Options{AllowDeadlock: true}))(t)
		report, err := f.Preflight(false)
		simtest.ErrorIf(t, err != nil || len(report.Warnings) != 1, "%s: %+v, %v", kind, report, err)
		_, err = experiments.Load("x", strings.Replace(text, "none", "dateline", 1)+"[switch]\nvcs = 1\n", experiments.Options{})
		if err == nil || !strings.Contains(err.Error(), "switch.vcs = 1: want at least 2") || !strings.Contains(err.Error(), "a cycle of 4 channels (exact)\n  switch ") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
