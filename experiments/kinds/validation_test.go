package kinds

import (
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
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
		points[i] = booksim.Point{Load: load[i], Latency: latency[i], Accepted: accepted[i], Saturated: accepted[i] < 0.95*load[i]}
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
				if d := got.Latency/peer[i].Latency - 1; math.Abs(d) > 0.03 {
					t.Errorf("load %v: mean latency %.2f, the peer's %.2f (%+.1f %%)", got.Load, got.Latency, peer[i].Latency, 100*d)
				}
			}
			last := peer[len(peer)-1]
			got := c.run(t, 5000, []float64{last.Load})[0]
			if d := got.Accepted/last.Accepted - 1; math.Abs(d) > 0.05 {
				t.Errorf("load %v: accepted %.4f, the peer %.4f (%+.1f %%)", last.Load, got.Accepted, last.Accepted, 100*d)
			}
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
					fmt.Sprint(p.Load), fmt.Sprintf("%.4f", p.Accepted), fmt.Sprintf("%.2f", p.Latency), fmt.Sprint(p.Saturated)})
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
