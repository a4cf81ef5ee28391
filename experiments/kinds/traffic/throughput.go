package traffic

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/param"
)

// Where a routing hashes the ends of packets, the loads of every pair are followed by
// themselves only up to so many terminals. Above, flows count as split evenly.
const (
	evenEnds  = 1000 // where a forecast is wanted at once
	exactEnds = 1700 // where a bound must be proven: some seconds
)

// loadHops is the number of hops a terminal that channel loads may follow where that is more
// than a certificate may: a fiftieth of what it costs to simulate such a network for 100 us.
// Only tests change it.
var loadHops = 2500

// matrix is the matrix of the point's traffic, and says why there is none.
func (c *trafficConfig) matrix(parts *trafficParts) (traffic.Matrix, error) {
	if c.Program.Type.Name() != openLoop {
		return nil, fmt.Errorf("program %q sends packets beside those of the pattern", c.Program.Type.Name())
	}
	return c.patternMatrix(parts)
}

// patternMatrix is the matrix of what a program sends by the pattern.
func (c *trafficConfig) patternMatrix(parts *trafficParts) (traffic.Matrix, error) {
	matrix, ok := parts.pattern.(traffic.Matrix)
	switch {
	case len(c.Phase) > 0:
		return nil, fmt.Errorf("the traffic changes")
	case !ok:
		return nil, fmt.Errorf("the traffic matrix of pattern %q is not known", c.Traffic.Pattern.Name())
	case len(parts.Periods) > 1:
		return nil, fmt.Errorf("faults come and go")
	case len(parts.Periods) == 1:
		return network.Joined(matrix, parts.Periods[0].Down, parts.topology.Graph()), nil
	}
	return matrix, nil
}

// loads computes the channel loads of the point's traffic, once for all points with the same
// network and pattern. even tells that flows were split evenly over paths that the routing hashes
// them to, for there are more than most terminals: no proof of a bound, but what is to be expected.
func (c *trafficConfig) loads(shared *experiments.Shared, n *network.Spec, parts *trafficParts, most int) (loads *routing.Load, even bool, err error) {
	matrix, err := c.matrix(parts)
	if err != nil {
		return nil, false, err
	}
	o := parts.opened()
	wide := routing.Widened(o.Routing)
	if even = wide != nil && o.Graph.Terminals() > most; even {
		o.Routing = wide
	}
	if c, err := n.Prove(shared); err == nil && !c.Fits {
		if routing.WalkExceeds(o.Graph, o.Routing, o.VCs, loadHops*o.Graph.Terminals()) {
			return nil, false, fmt.Errorf("too many paths to follow all of them")
		}
	}
	loads, err = c.walked(shared, fmt.Sprintf("loads %v", even), n, o, matrix, 0)
	return loads, even, err
}

// walked is the loads of a matrix, named for the cache. A walk of more than most hops, if that is not 0, is an error.
func (c *trafficConfig) walked(shared *experiments.Shared, name string, n *network.Spec, o routing.Routed, matrix traffic.Matrix, most int) (*routing.Load, error) {
	key := c.loadKey(name, n)
	load, err := experiments.Cached(shared, key, func() (keptLoad, error) {
		if most > 0 && routing.WalkExceeds(o.Graph, o.Routing, o.VCs, most) {
			return keptLoad{}, errors.New("the walk takes long")
		}
		load, err := routing.Loads(o.Graph, o.Routing, o.VCs, matrix)
		if err != nil {
			return keptLoad{}, err
		}
		return keptLoad{load.Port, load.Injection}, nil
	})
	if err != nil {
		return nil, err
	}
	return experiments.Share(shared, "load "+key, func() (*routing.Load, error) { return routing.NewLoad(o.Graph, load.Port, load.Injection), nil })
}

// loadKey names loads of the point's traffic.
func (c *trafficConfig) loadKey(name string, n *network.Spec) string {
	pattern := &c.Traffic.Pattern
	return fmt.Sprintf("%s %s\n%s %d", name, n.Fingerprint(), pattern.Fingerprint(), param.SeedFor(pattern.Config(), n.Seed()))
}

// keptLoad is what a cache keeps of a [routing.Load].
type keptLoad struct{ Port, Injection []float64 }

// weighted makes what [routing.Load.Caps] asks for of a way to find loads; nil where that takes
// long.
func (c *trafficConfig) weighted(parts *trafficParts, find func(traffic.Matrix) (*routing.Load, error)) func() *routing.Load {
	return func() *routing.Load {
		matrix, err := c.matrix(parts)
		if err != nil || parts.topology.Graph().Terminals() > exactEnds {
			return nil
		}
		load, err := find(routing.Weighted(matrix))
		if err != nil {
			return nil
		}
		return load
	}
}

// terminalLoads are the loads of the terminals' own channels, which hold for any routing; nil
// where the traffic is not known.
func (c *trafficConfig) terminalLoads(parts *trafficParts) *routing.Load {
	matrix, err := c.matrix(parts)
	if err != nil {
		return nil
	}
	return routing.TerminalLoads(parts.topology.Graph(), matrix)
}

// limits are what the point's packets take of channels.
func (parts *trafficParts) limits(timings []fabric.ChannelTiming) *routing.Limits {
	return network.Limits(&parts.fabric.Switch, parts.opened(), timings, parts.sizes.Mean())
}

// throughput is what loads tell about the throughput of a point.
type throughput struct {
	bound float64 // load that fills the first channel, in flits per terminal and cycle
	worst topology.PortID
	caps  bool    // the mean throughput is not above it
	slow  float64 // cycles that a switch takes for a flit of that channel, where the channel takes less; 0
}

// throughputOf is newThroughput, once for all points with the same load, as walked has it, and limits.
func throughputOf(shared *experiments.Shared, load *routing.Load, limits *routing.Limits, weighted func() *routing.Load) throughput {
	x, _ := experiments.Share(shared, fmt.Sprintf("throughput %p %v", load, *limits), func() (throughput, error) { return newThroughput(load, limits, weighted), nil })
	return x
}

// newThroughput finds it; weighted is as [routing.Load.Caps] wants it.
func newThroughput(load *routing.Load, limits *routing.Limits, weighted func() *routing.Load) throughput {
	x := throughput{caps: load.Caps(limits, weighted)}
	x.bound, x.worst = load.Bound(limits)
	if free, _ := load.Bound(&routing.Limits{Class: limits.Class}); free > x.bound*(1+1e-9) {
		x.slow = limits.Part[load.PartOf(x.worst)]
	}
	return x
}

// curve names the points whose load rises towards the same bound.
func (x *throughput) curve(c *trafficConfig, n *network.Spec) string {
	return n.Fingerprint() + c.Traffic.Pattern.Fingerprint() + fmt.Sprint(x.bound)
}

// describe is the bound in words.
func (x *throughput) describe(g *topology.Graph) string {
	full := "only the terminals' own channels are full"
	if x.worst != topology.NoPort {
		full = g.PortName(x.worst) + " is full first"
		if peer, ok := g.PeerPort(x.worst); ok {
			full += ", the channel to " + g.SwitchName(g.PortSwitch[peer])
		}
	}
	if x.slow > 0 {
		full += fmt.Sprintf("; switch.route_cycles and vc_alloc_cycles take %.3g cycles for each flit of a channel", x.slow)
	}
	if x.caps {
		return fmt.Sprintf("at most %.4g flits per terminal and cycle: %s", x.bound, full)
	}
	return fmt.Sprintf("%.4g flits per terminal and cycle is the load that fills the first channel, no bound on the mean: %s", x.bound, full)
}

// bisectionBound bounds the mean of uniform traffic by the channels between two halves of n
// terminals, p and q: a terminal of the former sends q/(n-1) of its flits to the latter, so that
// together they send p/n of them at most cut*(n-1)/q, the others likewise, and the mean is at
// most cut*(n-1)/(p*q). Halves of an odd number of switches may differ by the terminals of
// one. 0: no bound is known.
func (c *trafficConfig) bisectionBound(parts *trafficParts, timings []fabric.ChannelTiming) (bound float64, cut int) {
	matrix, err := c.matrix(parts)
	even, ok := matrix.(routing.EvenMatrix)
	if err != nil || !ok {
		return 0, 0
	}
	for _, t := range timings {
		if t.CyclesPerFlit != 1 {
			return 0, 0 // which classes are cut is not known
		}
	}
	g := parts.topology.Graph()
	cut = parts.topology.Facts().Bisection
	apart := 0
	if g.Switches()%2 == 1 {
		apart = slices.Max(g.TerminalCounts())
	}
	weight, _ := even.Even()
	n, difference := float64(g.Terminals()), float64(apart)
	return max(0, float64(cut)/weight*4/(n*n-difference*difference)), cut
}

// LoadBound is a load beyond which the point's network does not keep up with all terminals,
// proven: by the channel loads of an oblivious routing, by the terminals' own channels, or by
// the bisection under uniform traffic. 0: none is known. Cost: a walk of the channel loads, once
// for all points that share network and pattern.
func (c *trafficConfig) LoadBound(seed uint64) (float64, error) {
	parts, err := c.build(seed)
	if err != nil {
		return 0, err
	}
	timings, err := parts.fabric.ChannelTimings(parts.topology.Graph())
	if err != nil {
		return 0, err
	}
	load, even, err := c.loads(c.Topology.Type.Shared(), c.Network(seed), parts, exactEnds)
	if even || err != nil {
		load = c.terminalLoads(parts)
	}
	least := math.Inf(1)
	if load != nil {
		least, _ = load.Bound(parts.limits(timings))
	}
	if bound, _ := c.bisectionBound(parts, timings); bound > 0 {
		least = min(least, bound)
	}
	if math.IsInf(least, 0) {
		return 0, nil
	}
	return least, nil
}
