package atlas

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	members "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
)

// Starts of the search for a small cut.
const cutStarts = 60

// measures are weft's values for metrics of targets.csv, as written there: numbers, or a range's
// ends.
var measures = map[string]func(r *Reference, n *subject) (string, float64, error){
	"routers":      count(func(n *subject) int { return n.graph.Switches() }),
	"terminals":    count(func(n *subject) int { return n.graph.Terminals() }),
	"links":        count(func(n *subject) int { return n.graph.SwitchLinks() }),
	"leaf_routers": count(func(n *subject) int { return n.metrics().Leaves }),
	"diameter":     count(diameter),
	"network_degree": func(_ *Reference, n *subject) (string, float64, error) {
		d := n.metrics().Degree
		if d[0] < d[1] {
			return fmt.Sprintf("%d..%d", d[0], d[1]), math.NaN(), nil
		}
		return "", float64(d[0]), nil
	},
	"mean_distance":                    number(func(n *subject) float64 { return n.metrics().MeanDistance }),
	"mean_router_hops_uniform_visited": number(func(n *subject) float64 { return n.metrics().UniformHops + 1 }),
	"uniform_capacity_bound":           number(func(n *subject) float64 { return n.metrics().UniformCapacity }),
	"moore_bound_efficiency":           number(func(n *subject) float64 { return n.metrics().MooreEfficiency() }),
	"algebraic_connectivity":           number(func(n *subject) float64 { return metrics.AlgebraicConnectivity(n.graph) }),
	"bisection_lower_spectral":         number(spectralBisection),
	"bisection_lower_bound":            number(func(n *subject) float64 { return math.Ceil(spectralBisection(n) - 1e-6) }), // whole cables
	"bisection_best_cut_found":         count(func(n *subject) int { return bestCut(n.graph, cutStarts) }),
	"bisection": func(_ *Reference, n *subject) (string, float64, error) {
		if n.topology == nil || n.topology.Facts().Bisection < 0 {
			return "", 0, fmt.Errorf("no closed form")
		}
		return "", float64(n.topology.Facts().Bisection), nil
	},
	"nodes": func(_ *Reference, n *subject) (string, float64, error) {
		x, ok := n.topology.(*members.RailOptimised)
		if !ok {
			return "", 0, fmt.Errorf("no nodes")
		}
		return "", float64(x.Nodes * x.Units), nil
	},
	"leaf_switches":  count(onLevel(0)),
	"spine_switches": count(onLevel(1)),
	"core_switches":  count(onLevel(2)),

	"min_table_uniform_saturation":  byRouting(true, false, tablePaths),
	"min_table_rperm_saturation":    byRouting(false, false, tablePaths),
	"min_perhop_uniform_saturation": byRouting(true, false, hopPaths),
	"min_ecmp_uniform_saturation":   byRouting(true, false, allPaths),
	"min_ecmp_rperm_saturation":     byRouting(false, false, allPaths),
	"val_uniform_saturation":        byRouting(true, true, tablePaths),
	"val_rperm_saturation":          byRouting(false, true, tablePaths),
}

func count(of func(*subject) int) func(*Reference, *subject) (string, float64, error) {
	return number(func(n *subject) float64 { return float64(of(n)) })
}

func number(of func(*subject) float64) func(*Reference, *subject) (string, float64, error) {
	return func(_ *Reference, n *subject) (string, float64, error) { return "", of(n), nil }
}

func diameter(n *subject) int { return n.metrics().Diameter() }

func spectralBisection(n *subject) float64 {
	return metrics.AlgebraicConnectivity(n.graph) * metrics.Halving(n.graph.Switches())
}

func onLevel(level int) func(n *subject) int {
	return func(n *subject) int {
		tree, found := n.topology.(topology.Tree), 0
		for s := range topology.SwitchID(n.graph.Switches()) {
			if tree.LevelOf(s) == level {
				found++
			}
		}
		return found
	}
}

// Ways that packets take.
const (
	tablePaths = iota // one next hop a destination
	hopPaths          // evenly over the next hops of shortest paths, at each switch
	allPaths          // evenly over all shortest paths
)

// byRouting is the load at which the first channel is full.
func byRouting(uniform, valiant bool, ways int) func(*Reference, *subject) (string, float64, error) {
	return func(r *Reference, n *subject) (string, float64, error) {
		if n.file == "" {
			return "", 0, fmt.Errorf("no graph of the folder")
		}
		f := uniformFlows(n.graph)
		if !uniform {
			destinations, err := r.destinations(n.file, "rperm", n.graph.Terminals())
			if err != nil {
				return "", 0, err
			}
			f = square[float64](n.graph.Switches())
			for t, d := range destinations {
				f[n.graph.TerminalSwitch(topology.TerminalID(t))][n.graph.TerminalSwitch(topology.TerminalID(d))]++
			}
		}
		if valiant {
			f = f.valiant()
		}
		if ways != tablePaths {
			return "", saturation(f, byShortest(n.graph, ways == allPaths)), nil
		}
		next, err := r.nextHops(n)
		if err != nil {
			return "", 0, err
		}
		return "", saturation(f, func(s, d int, hop func(int, float64)) { hop(next[s][d], 1) }), nil
	}
}

// Plain channel loads: of graphs with the same number of terminals a switch, flow by flow,
// independent of package routing's channel loads.

// flows are the flits a cycle from switch to switch if every terminal sends one: flows[s][d].
// Packets within a switch count for nothing.
type flows [][]float64

func square[T any](n int) [][]T { return lists.Make(n, func(i int) []T { return make([]T, n) }) }

// uniformFlows sends evenly to all terminals, the own one among them.
func uniformFlows(g *topology.Graph) flows {
	n := g.Switches()
	return lists.Make(n, func(int) []float64 {
		return slices.Repeat([]float64{float64(g.Terminals()) / float64(n) / float64(n)}, n)
	})
}

// valiant replaces each flow by two, over every switch but the source and the destination.
func (f flows) valiant() flows {
	n := len(f)
	twice := square[float64](n)
	for s, row := range f {
		for d, flow := range row {
			if s == d || flow == 0 {
				continue
			}
			for via := range n {
				if via != s && via != d {
					twice[s][via] += flow / float64(n-2)
					twice[via][d] += flow / float64(n-2)
				}
			}
		}
	}
	return twice
}

// saturation is the offered load at which the first channel is full, if split divides a packet's
// flow for d at s over the next switches.
func saturation(f flows, split func(s, d int, next func(to int, share float64))) float64 {
	n := len(f)
	load := square[float64](n)
	most := 0.0
	for d := range n {
		now := lists.Make(n, func(s int) float64 { return f[s][d] })
		for step := 0; step < n; step++ {
			next, moved := make([]float64, n), false
			for s, flow := range now {
				if s == d || flow == 0 {
					continue
				}
				moved = true
				split(s, d, func(to int, share float64) {
					load[s][to] += flow * share
					next[to] += flow * share
				})
			}
			if !moved {
				break
			}
			now = next
		}
	}
	for _, row := range load {
		most = max(most, slices.Max(row))
	}
	return 1 / most
}

// byShortest goes by shortest paths: at each switch evenly over the next switches, or all paths
// alike.
func byShortest(g *topology.Graph, paths bool) func(s, d int, hop func(int, float64)) {
	neighbors := g.Neighbors()
	n := g.Switches()
	distance, count := make([][]int16, n), make([][]float64, n)
	for d := range n {
		distance[d] = neighbors.DistancesFrom(topology.SwitchID(d), nil)
		order := topology.Numbers[int](n)
		slices.SortFunc(order, func(a, b int) int { return int(distance[d][a]) - int(distance[d][b]) })
		count[d] = make([]float64, n) // paths from s to d
		count[d][d] = 1
		for _, s := range order[1:] {
			for _, t := range neighbors.Of(topology.SwitchID(s)) {
				if distance[d][t] == distance[d][s]-1 {
					count[d][s] += count[d][t]
				}
			}
		}
	}
	return func(s, d int, hop func(int, float64)) {
		total := 0.0
		weight := func(t topology.SwitchID) float64 {
			switch {
			case distance[d][t] != distance[d][s]-1:
				return 0
			case paths:
				return count[d][t]
			}
			return 1
		}
		for _, t := range neighbors.Of(topology.SwitchID(s)) {
			total += weight(t)
		}
		for _, t := range neighbors.Of(topology.SwitchID(s)) {
			if w := weight(t); w > 0 {
				hop(int(t), w/total)
			}
		}
	}
}

// bestCut is the fewest cables found between two halves of the switches (one larger by one if odd):
// from random halves, pairs are swapped as long as that cuts fewer (Kernighan and Lin 1970, pass by
// pass). An upper bound of the bisection.
func bestCut(g *topology.Graph, starts int) int {
	n := g.Switches()
	cables := square[int](n)
	for p := range topology.PortID(g.NumPorts()) {
		if peer, ok := g.PeerPort(p); ok {
			cables[g.PortSwitch[p]][g.PortSwitch[peer]]++
		}
	}
	stream := sim.NewStream(1, "atlas cut", 0)
	order := topology.Numbers[int](n)
	best := g.SwitchLinks()
	for range starts {
		sim.Shuffle(&stream, order)
		side := make([]bool, n)
		for i, s := range order {
			side[s] = i < n/2
		}
		for improveCut(cables, side) {
		}
		cut := 0
		for s, row := range cables {
			for t, k := range row[:s] {
				if side[s] != side[t] {
					cut += k
				}
			}
		}
		best = min(best, cut)
	}
	return best
}

// improveCut makes one pass: the best pair is swapped, again and again, each switch once; then
// swaps after the best state are undone. It tells whether that is an improvement.
func improveCut(cables [][]int, side []bool) bool {
	n := len(side)
	gain := make([]int, n) // cables fewer if the switch changed sides
	for s, row := range cables {
		for t, k := range row {
			if side[s] != side[t] {
				gain[s] += k
			} else {
				gain[s] -= k
			}
		}
	}
	moved := make([]bool, n)
	var swaps [][2]int
	sum, best, at := 0, 0, 0
	for {
		a, b, most := -1, -1, 0
		for s := range n {
			if moved[s] || !side[s] {
				continue
			}
			for t := range n {
				if moved[t] || side[t] {
					continue
				}
				if x := gain[s] + gain[t] - 2*cables[s][t]; a < 0 || x > most {
					a, b, most = s, t, x
				}
			}
		}
		if a < 0 {
			break
		}
		for _, s := range []int{a, b} {
			side[s] = !side[s]
			moved[s] = true
			for t, k := range cables[s] {
				if side[s] == side[t] {
					gain[t] -= 2 * k
				} else {
					gain[t] += 2 * k
				}
			}
		}
		swaps = append(swaps, [2]int{a, b})
		if sum += most; sum > best {
			best, at = sum, len(swaps)
		}
	}
	for _, swap := range swaps[at:] {
		side[swap[0]], side[swap[1]] = !side[swap[0]], !side[swap[1]]
	}
	return best > 0
}
