package atlas

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
)

// Starts of the search for a small cut.
const cutStarts = 60

// metrics say what weft has for a metric of targets.csv, as written there: a number, or the
// ends of a range.
var metrics = map[string]func(r *Reference, n *subject) (string, float64, error){
	"routers":                   count(func(n *subject) int { return n.graph.Switches() }),
	"terminals":                 count(func(n *subject) int { return n.graph.Terminals() }),
	"gpus":                      count(func(n *subject) int { return n.graph.Terminals() }),
	"max_terminals":             count(func(n *subject) int { return n.graph.Terminals() }),
	"links":                     count(func(n *subject) int { return n.graph.SwitchLinks() }),
	"router_links":              count(func(n *subject) int { return n.graph.SwitchLinks() }),
	"leaf_routers":              count(func(n *subject) int { return n.metrics().Leaves }),
	"diameter":                  count(diameter),
	"diameter_leaf_to_leaf":     count(diameter),
	"diameter_terminal_routers": count(diameter),
	"network_degree": func(_ *Reference, n *subject) (string, float64, error) {
		d := n.metrics().Degree
		if d[0] < d[1] {
			return fmt.Sprintf("%d..%d", d[0], d[1]), math.NaN(), nil
		}
		return "", float64(d[0]), nil
	},
	"mean_distance":                    number(func(n *subject) float64 { return n.metrics().MeanDistance }),
	"mean_distance_leaf_to_leaf":       number(func(n *subject) float64 { return n.metrics().MeanDistance }),
	"mean_distance_distinct_routers":   number(func(n *subject) float64 { return n.metrics().MeanDistance }),
	"mean_router_hops_uniform_visited": number(func(n *subject) float64 { return n.metrics().UniformHops + 1 }),
	"uniform_capacity_bound":           number(func(n *subject) float64 { return n.metrics().UniformCapacity }),
	"moore_bound_efficiency":           number(func(n *subject) float64 { return n.metrics().MooreEfficiency() }),
	"algebraic_connectivity":           number(func(n *subject) float64 { return topology.AlgebraicConnectivity(n.graph) }),
	"bisection_lower_spectral":         number(spectralBisection),
	"bisection_lower_bound": number(func(n *subject) float64 {
		return math.Ceil(spectralBisection(n) - 1e-6) // whole cables
	}),
	"bisection_best_cut_found": count(func(n *subject) int { return bestCut(n.graph, cutStarts) }),
	"bisection": func(_ *Reference, n *subject) (string, float64, error) {
		if n.topology == nil || n.topology.Facts().Bisection < 0 {
			return "", 0, fmt.Errorf("no closed form")
		}
		return "", float64(n.topology.Facts().Bisection), nil
	},
	"nodes": func(_ *Reference, n *subject) (string, float64, error) {
		x, ok := n.topology.(*topology.RailOptimised)
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
	return topology.AlgebraicConnectivity(n.graph) * topology.Halving(n.graph.Switches())
}

// onLevel counts the switches of a level of a tree.
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
			f = fixedFlows(n.graph, destinations)
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
		return "", saturation(f, byTable(next)), nil
	}
}
