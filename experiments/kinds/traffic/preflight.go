package traffic

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing"
)

// Network names what the point's packets are routed through.
func (c *trafficConfig) Network(seed uint64) *network.Spec {
	return network.NewSpec(&c.Topology, &c.Routing, c.Switch.VCs, seed, c.Fabric.AllowDeadlock).Through(&c.Switch).WithFaults(c.Faults())
}

func (c *trafficConfig) Faults() *network.Faults {
	return &network.Faults{Tables: c.Fault, Recovery: c.Recovery}
}

func (parts *trafficParts) opened() routing.Routed {
	return network.Opened(parts.topology.Graph(), parts.Routing, parts.fabric.Switch.VCs)
}

func preflightTraffic(c *trafficConfig, p *experiments.Preflight) error {
	n := c.Network(p.Seed)
	if err := network.CheckCertified(p, n, c.Fabric.AllowDeadlock); err != nil || !p.Thorough {
		return err
	}
	parts, err := c.build(p.Seed)
	if err != nil {
		return err
	}
	for _, line := range c.Faults().Describe(parts.Periods) {
		p.Note("faults", "%s", line)
	}
	o := parts.opened()
	p.Note("channels", "virtual channels: %d, needed %d", o.VCs, o.Routing.VCs())
	timings, err := parts.fabric.ChannelTimings(o.Graph)
	if err != nil {
		return err
	}
	if bound, cut := c.bisectionBound(parts, timings); bound > 0 && bound < 1 {
		p.Note("throughput", "at most %.4g flits per terminal and cycle under any routing: %d cables between two halves", bound, cut)
	}
	far := parts.topology.Facts().Diameter
	if far < 0 { // no closed form is known
		far = int(slices.Max(o.Graph.DistancesFrom(0, nil)))
	}
	hops, bound := float64(far+1), 1.0
	limits := parts.limits(timings)
	load, even, err := c.loads(p.Shared(), n, parts, evenEnds)
	if err != nil {
		p.Note("throughput", "no bound from channel loads: %v", err)
		if terminals := c.terminalLoads(parts); terminals != nil {
			x := newThroughput(terminals, limits, c.weighted(parts, func(m traffic.Matrix) (*routing.Load, error) {
				return routing.TerminalLoads(o.Graph, m), nil
			}))
			bound = min(1, x.bound)
			if x.bound < 1 {
				p.Note("throughput", "%s (loads of the terminals' own channels, whatever the routing)", x.describe(o.Graph))
			}
			p.Load(x.curve(c, n), c.Traffic.Load, x.bound)
		}
	} else {
		f := newForecast(load, o.Graph, &parts.fabric, timings, parts.sizes)
		f.throughput = newThroughput(load, limits, c.weighted(parts, func(m traffic.Matrix) (*routing.Load, error) {
			if even {
				return nil, nil // where flows split unevenly is not known
			}
			return c.walked(p.Shared(), "weighted loads", n, o, m)
		}))
		hops, bound = f.hops, f.bound
		how := "exact"
		if even {
			how = "if its flows split evenly; hashed to single paths they come to a little more somewhere"
		}
		p.Note("throughput", "%s (channel loads of this traffic, %s)", f.describe(o.Graph), how)
		p.Note("latency", "%s", f.describeLatency(c.Fabric.Clock.Nanoseconds()))
		if warmup := c.Measure.Warmup; warmup >= firstArrival(o.Graph, timings) && warmup > 0 && float64(warmup) < f.latency {
			p.Warn("measure.warmup", "= %d: shorter than the %.4g cycles that a packet takes in an idle network; 0 warms up until the mean latency has settled", warmup, f.latency)
		}
		p.Load(f.curve(c, n), c.Traffic.Load, f.bound)
	}
	c.predictWork(p, o, parts, timings, hops, bound)
	return nil
}

// forecast is what channel loads tell about an oblivious routing.
type forecast struct {
	throughput
	hops    float64 // switches crossed, mean over packets
	latency float64 // cycles, mean over packets, in an idle network
	least   bool    // latency may be longer: flits wait for credits, or for room behind the crossbar
	most    bool    // latency may be shorter
}

// newForecast sums the hand formula of docs/model.md over all channels,
// weighted by the share of packets that take them. Flits behind the head add
// the interval of the slowest channel in use, in whole cycles: where rates
// differ not all packets meet it, and where an interval is no whole number only
// some flits wait so long; so they do at every switch that stores a packet before it sends
// it on. So it is where a cycle of the switch core has no fixed
// number of steps: latency is then an upper bound. Where a packet is longer than
// the buffers, and these are shorter than the credit round trip, it is a lower one.
func newForecast(load *routing.Load, g *topology.Graph, config *fabric.Config, timings []fabric.ChannelTiming, sizes *traffic.Sizes) forecast {
	cycles := cyclesPerFlit(timings)
	f := forecast{most: config.Switch.CyclesVary()}
	long := sizes.Max() > config.Switch.BufferFlits
	queued := sizes.Max() > 1 && config.Switch.OutputsHoldUp()
	uneven := false
	packets, slowest := 0.0, 0.0
	channel := func(class topology.ClassID, share, stages float64) {
		f.latency += share * (stages + float64(timings[class].Latency))
		if share > 0 {
			uneven = uneven || slowest != 0 && slowest != cycles[class] || cycles[class] != math.Ceil(cycles[class])
			slowest = max(slowest, cycles[class])
			trip := config.Switch.RoundTrip(timings[class].Latency)
			f.least = f.least || queued || long && float64(config.Switch.BufferFlits)*cycles[class] < float64(trip)
		}
	}
	for t, share := range load.Injection {
		packets += share
		channel(g.PortClass[g.TerminalPort[t]], share, 0)
	}
	for p, share := range load.Port {
		f.hops += share
		channel(g.PortClass[p], share, float64(config.Switch.Cycles()))
	}
	f.hops /= packets
	behind := (sizes.Mean() - 1) * math.Ceil(slowest) // from the head to the tail
	f.latency = f.latency/packets + float64(config.Terminal.InjectionCycles) + behind
	if config.Switch.Forwarding == fabric.StoreAndForward {
		f.latency += f.hops * behind
	}
	f.most = f.most || uneven && sizes.Max() > 1
	return f
}

// cyclesPerFlit is the capacity of the channel classes.
func cyclesPerFlit(timings []fabric.ChannelTiming) []float64 {
	cycles := make([]float64, len(timings))
	for i, t := range timings {
		cycles[i] = t.CyclesPerFlit
	}
	return cycles
}

// describeLatency is the latency in words; clock is that of a cycle in nanoseconds.
func (f *forecast) describeLatency(clock float64) string {
	bound := ""
	switch {
	case f.least && f.most:
		bound = "about "
	case f.least:
		bound = "at least "
	case f.most:
		bound = "at most "
	}
	return fmt.Sprintf("%s%.4g ns in an idle network, over %.3g switches in the mean", bound, f.latency*clock, f.hops)
}

// predictWork estimates what the point costs, all its replications, and of a search all loads
// tried. A run whose window is not fixed takes what its first verdict needs at least and its
// budget at most.
func (c *trafficConfig) predictWork(p *experiments.Preflight, o routing.Routed, parts *trafficParts, timings []fabric.ChannelTiming, hops, bound float64) {
	latency := int64(0)
	for _, t := range timings {
		latency = max(latency, t.Latency)
	}
	loads := []float64{c.Traffic.Load}
	if c.Measure.Find != "" {
		loads = c.searchedLoads(bound)
	}
	terminals, ports := float64(o.Graph.Terminals()), float64(o.Graph.NumPorts())
	least, most, highest := 0.0, 0.0, 0.0 // flit-hops
	for _, load := range loads {
		short, long := c.atLoad(load).cycles(latency, parts.workload.Closed())
		if c.Measure.Find != "" {
			sent := terminals * float64(long) * bound / parts.sizes.Mean()
			short += int64(float64(long-short) * min(1, budgetsOfSearch(bound/c.Measure.LoadPrecision, sent)/float64(len(loads))))
			long = short
		}
		if parts.workload.Closed() {
			load = 1 // at most
		}
		perCycle := min(load, bound) * terminals * hops * float64(c.Measure.Replications)
		least, most = least+perCycle*float64(short), most+perCycle*float64(long)
		highest = max(highest, load)
	}
	// Records of a flit in a buffer or on a channel, or of a packet where that
	// is the unit. They stay at a switch for a hundred cycles or so.
	bytes, flits := network.Memory(o.Graph, o.VCs), 1.0
	each := 60.0
	if c.Fabric.Unit == fabric.UnitPacket {
		flits, each = parts.sizes.Mean(), 200
		p.Packets(flits)
	}
	bytes += each / flits * min(ports*float64(o.VCs*c.Switch.BufferFlits), highest*terminals*hops*(99+flits))
	if c.Measure.Blame {
		network.NoteBlame(p)
		bytes += 64*(ports*float64(o.VCs+1)+terminals) + 32*highest*terminals*hops*10
	}
	p.Work(least, most, bytes)
}

// budgetsOfSearch estimates how many budgets a search takes, in all, beside the least cycles of each
// load. Loads near to the capacity take one each. Of the packets sent in a budget the share
// that is accepted varies by about 1/sqrt(sent); beside the step of the search, load/steps, this
// is how many loads are near. The numbers are those of 16 searches (torus, dragonfly, HyperX, fat
// tree; packets of 1 to 1,024 flits). A network that never saturates takes less.
func budgetsOfSearch(steps, sent float64) float64 {
	const least, most, half = 1, 5, 0.005
	near := steps * steps / sent
	return least + most*near/(near+half)
}

// cycles is how long a replication takes at least and at most, warm-up and
// window. Beside a fixed one of the two the budget bounds the other.
func (c *trafficConfig) cycles(latency int64, closed bool) (least, most int64) {
	load := c.Traffic.Load
	if closed {
		load = 0
	}
	warmup, window := c.Measure.Warmup, c.Measure.Window
	if warmup > 0 && window > 0 && c.Measure.Find == "" {
		return warmup + window, warmup + window
	}
	foundWarmup, foundWindow := measure.LeastCycles(c.longestPacket(), load, latency)
	least = cmp.Or(warmup, foundWarmup) + cmp.Or(window, foundWindow)
	return least, max(least, c.budget(latency, closed))
}
