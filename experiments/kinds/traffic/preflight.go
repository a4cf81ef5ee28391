package traffic

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/marking"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/lists"
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
	e := expectation{hops: float64(far + 1), bound: 1}
	limits := parts.limits(timings)
	load, even, err := c.loads(p.Shared(), n, parts, evenEnds)
	if err != nil {
		p.Note("throughput", "no bound from channel loads: %v", err)
		at := c
		if c.Measure.Find != "" {
			at = c.atLoad(1) // a search spends its cycles on a full network
		}
		e = at.mixture(p.Shared(), n, parts, limits, e)
		terminals, _ := experiments.Share(p.Shared(), c.loadKey("terminal loads", n), func() (*routing.Load, error) { return c.terminalLoads(parts), nil })
		if terminals != nil {
			x := throughputOf(p.Shared(), terminals, limits, c.weighted(parts, func(m traffic.Matrix) (*routing.Load, error) {
				return routing.TerminalLoads(o.Graph, m), nil
			}))
			e.bound, e.proven = min(e.bound, x.bound), x.bound
			if x.bound < 1 {
				p.Note("throughput", "%s (loads of the terminals' own channels, whatever the routing)", x.describe(o.Graph))
			}
			p.Load(x.curve(c, n), c.leastLoad(), x.bound)
		}
	} else {
		f := newForecast(load, o.Graph, &parts.fabric, timings, parts.sizes)
		f.throughput = throughputOf(p.Shared(), load, limits, c.weighted(parts, func(m traffic.Matrix) (*routing.Load, error) {
			if even {
				return nil, nil // where flows split unevenly is not known
			}
			return c.walked(p.Shared(), "weighted loads", n, o, m, 0)
		}))
		e.hops, e.bound, e.idle = f.hops, f.bound, f.latency
		how := "exact"
		if e.proven = f.bound; even {
			e.proven = 0
			how = "if its flows split evenly; hashed to single paths they come to a little more somewhere"
		}
		p.Note("throughput", "%s (channel loads of this traffic, %s)", f.describe(o.Graph), how)
		p.Note("latency", "%s", f.describeLatency(c.Fabric.Clock.Nanoseconds()))
		if warmup := c.Measure.Warmup; warmup >= firstArrival(o.Graph, timings) && warmup > 0 && float64(warmup) < f.latency {
			p.Warn("measure.warmup", "= %d: shorter than the %.4g cycles that a packet takes in an idle network; 0 warms up until the mean latency has settled", warmup, f.latency)
		}
		p.Load(f.curve(c, n), c.leastLoad(), f.bound)
	}
	c.predictWork(p, o, parts, timings, e)
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

// newForecast sums the hand formula of docs/model.md over all channels, weighted by the share of
// packets that take them. Flits behind the head add the interval of the slowest channel in use, in
// whole cycles: where rates differ not all packets meet it, and where an interval is no whole
// number only some flits wait so long; so they do at every switch that stores a packet, which is
// routed meanwhile. So it is where a cycle of the switch core has no fixed number of steps: latency is
// then an upper bound. Where a packet is longer than the buffers, and these are shorter than the
// credit round trip, it is a lower one.
func newForecast(load *routing.Load, g *topology.Graph, config *fabric.Config, timings []fabric.ChannelTiming, sizes *traffic.Sizes) forecast {
	cycles := network.CyclesPerFlit(timings)
	f := forecast{hops: load.Hops(), most: config.Switch.CyclesVary()}
	queued := sizes.Max() > 1 && config.Switch.OutputsHoldUp()
	uneven := false
	packets, slowest := 0.0, 0.0
	channel := func(class topology.ClassID, share, stages float64, buffer int, trip int64) {
		f.latency += share * (stages + float64(timings[class].Latency))
		if share > 0 {
			uneven = uneven || slowest != 0 && slowest != cycles[class] || cycles[class] != math.Ceil(cycles[class])
			slowest = max(slowest, cycles[class])
			f.least = f.least || queued || sizes.Max() > buffer && float64(buffer)*cycles[class] < float64(trip)
		}
	}
	for t, share := range load.Injection {
		packets += share
		class := g.PortClass[g.TerminalPort[t]]
		channel(class, share, 0, config.Switch.BufferFlits, config.Switch.RoundTrip(timings[class], true))
	}
	for p, share := range load.Port {
		class, buffer, trip := g.PortClass[p], config.Switch.BufferFlits, int64(0)
		if g.Peer[p] >= 0 {
			trip = config.Switch.RoundTrip(timings[class], false)
		} else if buffer = config.Terminal.BufferFlits; buffer > 0 {
			trip = config.Switch.RoundTripToTerminal(timings[class])
		}
		channel(class, share, float64(config.Switch.Cycles()), buffer, trip)
	}
	behind := func(flits float64) float64 { return (flits - 1) * math.Ceil(slowest) } // from the head to the tail
	f.latency = f.latency/packets + float64(config.Terminal.InjectionCycles) + behind(sizes.Mean())
	if config.Switch.Forwarding == fabric.StoreAndForward {
		f.most = f.most || config.Switch.Speedup != math.Trunc(config.Switch.Speedup)
		f.latency += f.hops * sizes.MeanOf(func(flits int) float64 {
			return float64(config.Switch.CyclesBehind(behind(float64(flits))) - config.Switch.Cycles())
		})
	}
	f.most = f.most || uneven && sizes.Max() > 1
	return f
}

// describeLatency is the latency in words; clock is a cycle's length in nanoseconds.
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

// expectation is what the work of a point is estimated by.
type expectation struct {
	hops     float64 // of a flit, in the mean
	bound    float64 // load that fills the network, 1 at most
	proven   float64 // load that a search tries none above; 0: any
	idle     float64 // latency of an idle network in cycles; 0: not known
	fill     int64   // cycles until the network is in its mean state, where that takes long; 0
	adaptive bool    // the routing chooses between minimal paths and detours
}

// mixture is what is to be expected of an adaptive routing that gives as many packets their minimal
// path as these carry, and the others a detour; of others it is that of the pattern, whatever else a
// program sends. Where that is not known or takes long to find out, it is e. While the minimal paths are
// full, so are the buffers of the switch that they are narrowest behind, unless the routing sees that
// queue itself; they empty at a flit a cycle, and a run has to see that some times.
func (c *trafficConfig) mixture(shared *experiments.Shared, n *network.Spec, parts *trafficParts, limits *routing.Limits, e expectation) expectation {
	const times = 6 // figure 14 of the dragonfly paper, buffers of 16 to 64 flits: 5 to 9
	o := parts.opened()
	minimal, detour, ok := routing.Alternatives(o.Routing)
	matrix, err := c.patternMatrix(parts)
	if err != nil {
		return e
	}
	find := func(name string, r fabric.Routing) *routing.Load {
		o.Routing = r
		load, err := c.walked(shared, name, n, o, matrix, mixtureHops)
		if err != nil {
			return nil
		}
		return load
	}
	if !ok {
		if load := find("pattern loads", o.Routing); load != nil {
			bound, _ := load.Bound(limits)
			e.hops, e.bound = load.Hops(), min(1, bound)
		}
		return e
	}
	straight, bent := find("minimal loads", minimal), find("detour loads", detour)
	if straight == nil || bent == nil {
		return e
	}
	carried, narrow := straight.Bound(limits)
	most, _ := bent.Bound(limits)
	share := min(1, carried/c.Traffic.Load)
	e = expectation{hops: share*straight.Hops() + (1-share)*bent.Hops(), bound: min(1, max(carried, most)), adaptive: true}
	alone := lists.Make(o.Graph.Switches(), func(s int) int { return s })
	if r, ok := parts.Routing.(fabric.RemoteReader); share < 1 && narrow != topology.NoPort && (!ok || r.ReadsWithin(alone)) {
		e.fill = times * int64(c.Switch.BufferFlits*o.Graph.Degree(o.Graph.PortSwitch[narrow]))
	}
	return e
}

// mixtureHops bounds the walks of mixture: a second or two.
const mixtureHops = 20_000_000

// predictWork estimates what the point costs, all its replications, and of a search all loads
// tried. A run whose window is not fixed takes its budget at most.
func (c *trafficConfig) predictWork(p *experiments.Preflight, o routing.Routed, parts *trafficParts, timings []fabric.ChannelTiming, e expectation) {
	hops, bound := e.hops, e.bound
	latency := lists.Most(int64(0), timings, func(t fabric.ChannelTiming) int64 { return t.Latency })
	loads := []float64{c.Traffic.Load}
	if c.Measure.Find != "" {
		loads = c.searchedLoads(bound, e.proven)
	}
	terminals, ports := float64(o.Graph.Terminals())*parts.senders, float64(o.Graph.NumPorts())
	likely, most, highest := 0.0, 0.0, 0.0 // flit-hops
	for _, load := range loads {
		short, long := c.atLoad(load).cycles(latency, e, parts.closed())
		if c.Measure.Find != "" {
			if slices.Max(loads) > calmBelow*bound {
				sent := terminals * float64(long) * bound / parts.sizes.Mean() * float64(c.Measure.Replications)
				short += int64(float64(long-short) * nearShare(bound/c.Measure.LoadPrecision, sent, e.adaptive))
			}
			long = short
		}
		if parts.closed() {
			load = 1 // at most
		}
		short, long = short+int64(c.timeout(parts)), long+int64(c.timeout(parts))
		perCycle := min(load, bound) * terminals * hops * float64(c.Measure.Replications)
		likely, most = likely+perCycle*float64(short), most+perCycle*float64(long)
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
	bytes += keptBytes * c.kept(parts, highest)
	if c.Measure.Blame {
		network.NoteBlame(p)
		bytes += 64*(ports*float64(o.VCs+1)+float64(o.Graph.Terminals())) + 32*highest*terminals*hops*10
	}
	p.Work(likely, most, bytes)
}

// calmBelow is the share of the capacity below which a search finds steady loads at once.
const calmBelow = 0.9

// nearShare estimates which share of the loads that a search tries are so near to the capacity that
// they take a budget; the others take their least cycles. Of the packets sent in a budget the share
// that is accepted varies by about 1/sqrt(sent), and steps of the search make up the capacity: the
// more of them the less their loads are apart. What an adaptive routing accepts swings as a
// whole, in a large network as much as where few packets are sent. The numbers were counted in 26
// searches (torus, mesh, dragonfly, HyperX, fat tree; packets of 1 to 64 flits, cables of up to 5 us).
func nearShare(steps, sent float64, adaptive bool) float64 {
	const width, swinging = 12, 3.5e6
	if adaptive {
		sent = min(sent, swinging)
	}
	return 1 - math.Exp(-width*steps/math.Sqrt(sent))
}

// cycles is how long a replication takes as is to be expected and at most, warm-up and window. Beside
// a fixed one of the two the budget bounds the other. Below the load that fills the network, queues
// forget the more slowly the nearer it is, with 1/(1-load/bound)^2 as an M/M/1 queue does; where that is
// more than the budget, half of the points are found saturated before. The nearer to that load than
// 0.95, the more are; beyond it all, most within a 30th of the budget. The numbers are fitted to figure
// 8b of the dragonfly paper and 240 points of six networks. A search takes the least of each load beside
// its budgets.
func (c *trafficConfig) cycles(latency int64, e expectation, closed bool) (likely, most int64) {
	const slow, near = 0.08, 0.05
	load := c.Traffic.Load
	if closed {
		load = 0
	}
	warmup, window := c.Measure.Warmup, c.Measure.Window
	if warmup > 0 && window > 0 && c.Measure.Find == "" {
		return warmup + window, warmup + window
	}
	room := 1 - load/e.bound
	if c.Measure.Find == "" {
		load = min(load, e.bound)
	}
	foundWarmup, foundWindow := measure.LeastCycles(c.longestPacket(), load, latency, max(e.idle, float64(latency)))
	least := cmp.Or(warmup, foundWarmup) + cmp.Or(window, foundWindow)
	_, ofQueues := measure.LeastCycles(c.longestPacket(), load, latency, 0)
	if c.Measure.Find != "" && foundWindow == ofQueues {
		least += cmp.Or(window, foundWindow) // a steady run goes on until its window has doubled, but where cables are most of its latency
	}
	most = max(least, c.budget(latency, closed))
	if c.Measure.Find != "" {
		return least, most
	}
	beyond := max(least, most/30)
	if room < 0 {
		return beyond, most
	}
	settled := float64(least) * max(1, slow/(room*room))
	if room < near {
		peak, end := float64(least)*slow/(near*near), float64(beyond)
		settled = end + (peak-end)*room/near
	}
	if e.fill > 0 {
		settled *= measure.BesideFull // as many times as wide, and as long
	}
	if settled > float64(most) {
		settled = float64(least+most) / 2
	}
	return min(most, max(int64(settled), e.fill)), most
}

// deaf lists the programs that do not react to marks.
var deaf = []string{openLoop, "request-reply", "closed-loop"}

// builtTraffic is a point and what it builds.
type builtTraffic struct {
	*trafficConfig
	parts *trafficParts
}

// idle warns of the settings of the point that change nothing.
func (c *trafficConfig) idle(parts *trafficParts) []experiments.Warning {
	use := network.Use{Config: &parts.fabric, Routing: parts.Routing, Faults: c.Faults(), Sized: parts.topology.Graph(),
		Unnamed: !c.Measure.Links && c.Trace.Packets == 0,
		Reacts:  !slices.Contains(deaf, c.Program.Type.Name()) || c.Measure.Queues > 0 && slices.Contains(c.Measure.QueueSamples, "marked")}
	if c.Program.Type.Name() == "open-loop" {
		use.Longest = c.longestPacket()
	}
	return experiments.IdleOf(experiments.IdleOf(use.Idle(nil), idleTraffic, builtTraffic{c, parts}), telemetry.IdleTrace, &c.Trace)
}

var idleTraffic = []experiments.Idle[builtTraffic]{
	{Key: "traffic.load", When: builtTraffic.searches, Because: "measure.find looks for the load"},
	{Key: "traffic.load traffic.process", When: builtTraffic.closed, Because: "the program is closed and offers no load"},
	{Key: "traffic.packet_weights", When: func(b builtTraffic) bool { return len(b.Traffic.PacketFlits) == 1 }, Because: "packets have one size"},
	{Key: "switch.marking", When: builtTraffic.unmarked, Because: "no packet is marked: threshold is 0, or packet_size above that of all packets"},
	{Key: "measure.budget", When: func(b builtTraffic) bool { return !b.searches() && b.Measure.Warmup > 0 && b.Measure.Window > 0 }, Because: "measure.warmup and measure.window are given"},
	{Key: "measure.load_precision", When: func(b builtTraffic) bool { return !b.searches() }, Because: "measure.find looks for no load"},
	{Key: "measure.queue_ports measure.queue_samples", When: func(b builtTraffic) bool { return b.Measure.Queues == 0 }, Because: "measure.queues is 0"},
}

// unmarked tells whether policy infiniband marks no packet of program infiniband.
func (b builtTraffic) unmarked() bool {
	policy, ok := b.Switch.Marking.Config().(*marking.InfiniBand)
	program, heeded := b.Program.Type.Config().(*terminal.InfiniBand)
	return ok && heeded && (policy.Threshold == 0 ||
		int64(max(b.longestPacket(), program.Notification))*int64(b.parts.fabric.Fabric.FlitBytes) < 64*policy.PacketSize)
}

func (b builtTraffic) searches() bool { return b.Measure.Find != "" }
func (b builtTraffic) closed() bool   { return b.parts.closed() }
