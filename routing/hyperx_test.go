package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
)

func hyperX(t testing.TB, terminals int, dims ...int) topology.Hamming {
	t.Helper()
	return build(t, "hyperx", func(c *topology.HyperXConfig) { c.Dims, c.Terminals = dims, terminals }).(topology.Hamming)
}

// TestHyperXNeeds: virtual channels as in vcs.csv of the atlas's reference data, where
// the argument is given for each; and with one fewer a cycle, as its cdg_checks.csv
// found for 3x3 and 3x3x3 (other rows: found here).
func TestHyperXNeeds(t *testing.T) {
	for _, c := range []struct {
		name     string
		need     map[int]int // by dimensions
		settings []param.Setting
	}{
		{"dor", map[int]int{2: 1, 3: 1}, nil},
		{"o1turn", map[int]int{2: 2, 3: 2}, nil},
		{"val", map[int]int{2: 2, 3: 2}, nil},
		{"ugal-l", map[int]int{2: 2, 3: 2}, nil},
		{"table", map[int]int{2: 2, 3: 3}, []param.Setting{param.Set("ties", "least-occupied")}}, // MIN-adaptive
		{"adaptive-escape", map[int]int{2: 2, 3: 2}, nil},                                        // the same with an escape
		{"dal", map[int]int{2: 4, 3: 6}, nil},
		{"dal", map[int]int{2: 2, 3: 2}, []param.Setting{param.Set("channels", "escape")}},
		{"dimwar", map[int]int{2: 2, 3: 2}, nil},
		{"omniwar", map[int]int{2: 4, 3: 6}, nil},
		{"omniwar", map[int]int{2: 3, 3: 4}, []param.Setting{param.Set("deroutes", 1)}},
	} {
		for n, need := range c.need {
			topo := hyperX(t, 1, []int{3, 3, 3}[:n]...)
			r := must(t, topo, 0, c.name, c.settings...)
			if r.VCs() != need {
				t.Errorf("%s %v needs %d virtual channels in %d dimensions, want %d", c.name, c.settings, r.VCs(), n, need)
			}
			if cert, _ := routingtest.Certificate(t, topo, r, need); !cert.Acyclic() {
				t.Errorf("%s %v in %d dimensions: %s", c.name, c.settings, n, cert.Describe(topo.Graph()))
			}
			if _, escapes := r.(fabric.EscapeRouting); escapes || need == 1 {
				continue
			}
			if c.name == "omniwar" && c.settings == nil {
				continue // takes fewer deroutes
			}
			r = must(t, topo, need-1, c.name, c.settings...)
			if cert, _ := routingtest.Certificate(t, topo, r, need-1); cert.Acyclic() {
				t.Errorf("%s %v in %d dimensions: no cycle with %d virtual channels", c.name, c.settings, n, need-1)
			}
		}
	}
}

// TestDeroutes walks all paths between two corners of a 4x3x3 HyperX. DimWAR takes the
// dimensions in order and at most two hops in each; DAL at most two in each, in any
// order; OmniWAR at most n+m, and none twice running away from the destination in a
// dimension. There are as many paths as hand counts give: DimWAR has in each dimension
// of S switches the direct hop or one over S-2 others: 3*2*2.
func TestDeroutes(t *testing.T) {
	topo := hyperX(t, 1, 4, 3, 3)
	dst := topology.TerminalID(topo.Graph().Terminals() - 1)
	for _, c := range []struct {
		name     string
		settings []param.Setting
		longest  int
		paths    int // 0: not counted
	}{
		{"dimwar", nil, 6, 3 * 2 * 2},
		{"dal", nil, 6, 0},
		{"omniwar", []param.Setting{param.Set("deroutes", 0)}, 3, 6},
		{"omniwar", []param.Setting{param.Set("deroutes", 2)}, 5, 0},
	} {
		r := must(t, topo, 0, c.name, c.settings...)
		count, longest := 0, 0
		paths(topo, r, r.VCs(), 0, dst, func(path []step, _ uint32) {
			count++
			longest = max(longest, len(path)-1)
			var turns []int
			for _, s := range path[:len(path)-1] {
				for d := range topo.Dims() {
					if topo.Coordinate(s.to, d) != topo.Coordinate(s.from, d) {
						turns = append(turns, d)
					}
				}
			}
			checkTurns(t, c.name, turns)
		})
		if longest != c.longest || c.paths != 0 && count != c.paths {
			t.Errorf("%s %v: %d paths of up to %d hops, want %d and %d", c.name, c.settings, count, longest, c.paths, c.longest)
		}
	}
}

// checkTurns holds the dimensions of a path's hops to the rules.
func checkTurns(t *testing.T, name string, turns []int) {
	t.Helper()
	count := map[int]int{}
	for i, d := range turns {
		count[d]++
		if name == "dimwar" && i > 0 && d < turns[i-1] {
			t.Fatalf("dimwar: dimensions %v", turns)
		}
		if name != "omniwar" && count[d] > 2 {
			t.Fatalf("%s: dimensions %v", name, turns)
		}
	}
}

// toSwitch sends from each of the terminals of a 4x4 HyperX, 4 on a switch, to the one at its
// place on the switch that to gives.
func toSwitch(to func(x, y int) int) (p permutation) {
	for t := range 64 {
		p = append(p, topology.TerminalID(4*to(t/4%4, t/16)+t%4))
	}
	return p
}

// TestHyperXCurves holds the routings on HyperX to points of the atlas's reference on
// a 4x4 HyperX of 4 terminals, by BookSim2's flattened butterfly: latency within 3 %,
// switches visited within 2 %; and what each must do: dimension order takes a quarter
// of a shift by one, Valiant and UGAL nearly a half, DimWAR of the transpose no more
// than dimension order where OmniWAR and DAL go on.
func TestHyperXCurves(t *testing.T) {
	topo := hyperX(t, 4, 4, 4)
	credits := param.Set("sensing", "credits")
	shift := toSwitch(func(x, y int) int { return 4*y + (x+1)%4 })
	rotate := toSwitch(func(x, y int) int { return 4*x + y })
	for _, c := range []struct {
		name                string
		pattern             measure.Pattern
		load, latency, hops float64
		settings            []param.Setting
	}{
		{"dor", shift, 0.2, 9.46388, 2, nil},
		{"o1turn", rotate, 0.3, 9.9532, 2.5, nil},
		{"val", uniformly(64), 0.3, 14.8614, 3.739, nil},
		{"val", shift, 0.3, 14.3441, 3.621, nil},
		{"ugal-l", shift, 0.3, 10.3652, 2.277, []param.Setting{credits, param.Set("through", "aligned"), param.Set("threshold", 2)}},
		{"table", uniformly(64), 0.5, 10.717, 2.501, []param.Setting{param.Set("ties", "least-occupied"), param.Set("spread_vcs", false)}},
	} {
		onCurve(t, topo, c.name, c.settings, c.pattern, c.load, 2000, c.latency, c.hops)
	}
	for _, c := range []struct {
		name        string
		pattern     measure.Pattern
		least, most float64 // accepted of 0.6 offered
		settings    []param.Setting
	}{
		{"dor", shift, 0.249, 0.251, nil},
		{"val", shift, 0.42, 0.5, nil},
		{"ugal-l", shift, 0.42, 0.5, []param.Setting{credits, param.Set("through", "aligned"), param.Set("threshold", 2)}},
		{"dimwar", shift, 0.42, 0.51, nil},
		// 12 of the 16 switches are off the diagonal: a quarter of the load of each
		// enters by the 3 cables of its row, whichever they are; the others are local.
		{"dor", rotate, 0.25, 0.25*0.75 + 0.6*0.25 + 0.01, nil},
		{"dimwar", rotate, 0.2, 0.25*0.75 + 0.6*0.25 + 0.01, nil},
		{"omniwar", rotate, 0.5, 0.6, nil},
		{"dal", rotate, 0.5, 0.6, nil},
	} {
		if m := measured(t, topo, must(t, topo, 4, c.name, c.settings...), c.pattern, 0.6, 1500); m.Accepted < c.least || m.Accepted > c.most {
			t.Errorf("%s accepts %.3f of 0.6, want %.3f to %.3f", c.name, m.Accepted, c.least, c.most)
		}
	}
}
