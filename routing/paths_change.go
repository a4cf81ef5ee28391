package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// Routed is a network with its routing.
type Routed struct {
	Graph   *topology.Graph
	Routing fabric.Routing
	VCs     int
}

// PathChanges compare the paths of all pairs of terminals that two networks share.
type PathChanges struct {
	Pairs int // that both have, and that were followed
	// Destinations of Of were followed.
	Destinations, Of int
	// Of those, how many a path joins before and after.
	Before, After int
	// Same go by the same cables, Moved by others of as many hops, Shorter and Longer by fewer and
	// more; pairs that have a path before and after are one of these.
	Same, Moved, Shorter, Longer int
	// HopsBefore and HopsAfter are the mean cables between switches, on the shortest path that the
	// routing may take, of the pairs with a path then; MostBefore and MostAfter the largest.
	HopsBefore, HopsAfter float64
	MostBefore, MostAfter int
}

// ComparePaths compares the paths of two routings on two networks; changes lead from one network to
// the other. A pair's paths are those of all choices together; a packet without a hop has no path.
// It stops before the next destination once it has compared budget pairs (0: no limit); the
// destinations are taken in a random order, the same in every run. Cost: all paths of every pair
// are followed, pair by pair.
func ComparePaths(a, b Routed, changes *topology.Changes, budget int) (*PathChanges, error) {
	before, err := newTracer(a, func(s topology.SwitchID) uint64 {
		if to := changes.SwitchTo[s]; to >= 0 {
			return uint64(to)
		}
		return 1<<40 + uint64(s)
	})
	if err != nil {
		return nil, err
	}
	after, err := newTracer(b, func(s topology.SwitchID) uint64 { return uint64(s) })
	if err != nil {
		return nil, err
	}
	shared := lists.Filter(topology.Numbers[topology.TerminalID](len(changes.TerminalTo)), func(t topology.TerminalID) bool {
		return changes.TerminalTo[t] >= 0
	})
	c := &PathChanges{}
	sums := [2]int{}
	c.Destinations, c.Of, err = sample(shared, budget, func(dst topology.TerminalID) (int, error) {
		for _, src := range shared {
			if src == dst {
				continue
			}
			x, err := before.trace(src, dst)
			if err != nil {
				return 0, err
			}
			y, err := after.trace(changes.TerminalTo[src], changes.TerminalTo[dst])
			if err != nil {
				return 0, err
			}
			c.add(x, y, &sums)
		}
		return len(shared), nil
	})
	c.HopsBefore, c.HopsAfter = float64(sums[0])/float64(max(1, c.Before)), float64(sums[1])/float64(max(1, c.After))
	return c, err
}

// add counts a pair with its paths before and after.
func (c *PathChanges) add(x, y trace, sums *[2]int) {
	c.Pairs++
	if x.hops >= 0 {
		c.Before++
		sums[0] += x.hops
		c.MostBefore = max(c.MostBefore, x.hops)
	}
	if y.hops >= 0 {
		c.After++
		sums[1] += y.hops
		c.MostAfter = max(c.MostAfter, y.hops)
	}
	switch {
	case x.hops < 0 || y.hops < 0:
	case x == y:
		c.Same++
	case x.hops == y.hops:
		c.Moved++
	case x.hops > y.hops:
		c.Shorter++
	default:
		c.Longer++
	}
}

// trace is what is kept of a pair's paths: equal for equal sets of cables, but for one in 2^64.
type trace struct {
	hops   int // of the shortest; -1: none
	cables uint64
}

type tracer struct {
	*walker
	cable []uint64 // a number for each port that is the same in both networks
	depth []int    // by head
	pair  uint32   // number of the pair at hand
	taken []uint32 // len = ports: last pair that took the port
}

// newTracer follows the paths of r; number numbers switches alike in both networks.
func newTracer(r Routed, number func(topology.SwitchID) uint64) (*tracer, error) {
	w, err := newWalker(r.Graph, r.Routing, r.VCs)
	if err != nil {
		return nil, err
	}
	t := &tracer{walker: w, taken: make([]uint32, r.Graph.NumPorts())}
	for p := range topology.PortID(r.Graph.NumPorts()) {
		local := uint64(r.Graph.LocalPort(p))
		if n := r.Graph.Names; n != nil && n.Port != nil {
			local = uint64(n.Port[p])
		}
		t.cable = append(t.cable, scramble(number(r.Graph.PortSwitch[p])<<10|local))
	}
	return t, nil
}

// scramble makes sums of numbers as good as unique (finaliser of SplitMix64).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// trace follows all paths of a pair, breadth first.
func (t *tracer) trace(src, dst topology.TerminalID) (trace, error) {
	t.depth = append(t.depth[:0], 0)
	t.pair++ // comes round after 2^32 pairs: more than are ever followed
	found := trace{hops: -1}
	_, err := t.walk(t.headsTo(dst, []topology.TerminalID{src})[:1], func(m *move) error {
		if t.taken[m.hop.Port] != t.pair {
			t.taken[m.hop.Port] = t.pair
			found.cables += t.cable[m.hop.Port]
		}
		switch {
		case !m.arrived && m.fresh:
			t.depth = append(t.depth, t.depth[m.at]+1)
		case m.arrived && found.hops < 0:
			found.hops = t.depth[m.at]
		}
		return nil
	})
	return found, err
}
