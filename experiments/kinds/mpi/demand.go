package mpi

import (
	"crypto/sha256"
	"fmt"
	"math"
	"time"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// fabricDemand is the work of [Config.DemandOf] so far.
type fabricDemand struct {
	g         *topology.Graph
	adapter   *hca.Config
	flit      int64
	clock     float64 // ps
	timings   []fabric.ChannelTiming
	nodes     []nodeDemand
	switches  []cutDemand // of the channels to and from other switches
	far       [][]int16   // distances, by switch; nil: flitHops is not wanted
	neighbors *topology.Neighbors
	flitHops  float64
}

type nodeDemand struct {
	terminal topology.TerminalID
	out, in  portDemand
}

type portDemand struct{ bytes, requests, packets, flits int64 }

type cutDemand struct{ out, in int64 } // flits

// Demand is what a program asks of a fabric, whatever happens there.
type Demand struct {
	Seconds float64 // that it takes at least
	Hops    float64 // flits that cross a switch on shortest ways; 0 where that is not wanted
	mpi.Ways
}

// NotWalked is what points lack whose programs a check does not go through.
const NotWalked = "have no least time here and are not counted below"

// Walks names all that a demand reads but the program and its nodes, which jobs have by themselves: of switches the time to
// cross them, of routings nothing.
func (c *Config) Walks(p *experiments.Preflight, config *fabric.Config) string {
	read := *c
	read.Switch, read.Routing, read.Placement.Nodes = fabric.SwitchConfig{}, network.RoutingTable{}, nil
	return fmt.Sprintln(p.Shared().Fingerprint(&read), config.Switch.Cycles(), config.Switch.CyclesVary(), p.Seed)
}

// Walk names a program for [experiments.Preflight.Later], the same for points with the same names of what a demand reads.
func Walk(p *experiments.Preflight, begin func() mpi.Workload, program string, others ...any) (name string, operations float64) {
	operations, _ = experiments.Share(p.Shared(), "operations "+program, func() (float64, error) { return mpi.OperationsOf(begin()), nil })
	digest := sha256.Sum256(fmt.Appendln([]byte(program), others...)) // short: there may be many
	return string(digest[:]), operations
}

// SharedDemand is DemandOf with hops for a preflight, once for a walk.
func (c *Config) SharedDemand(p *experiments.Preflight, walk string, begin func() mpi.Workload, levels int) (Demand, error) {
	return experiments.Share(p.Shared(), "demand "+walk, func() (Demand, error) {
		adapter, err := c.Adapter()
		if err != nil {
			return Demand{}, err
		}
		t, config, _, err := c.FabricParts(&adapter, p.Seed, levels)
		if err != nil {
			return Demand{}, err
		}
		return c.DemandOf(begin(), t.Graph(), &config, &adapter, p.Seed, true)
	})
}

// DemandOf works out what a program asks for, and uses it up.
func (c *Config) DemandOf(w mpi.Workload, g *topology.Graph, config *fabric.Config, adapter *hca.Config, seed uint64, hops bool) (Demand, error) {
	timings, err := config.ChannelTimings(g)
	if err != nil {
		return Demand{}, err
	}
	runtime, err := c.Runtime(seed)
	if err != nil {
		return Demand{}, err
	}
	d := &fabricDemand{
		g: g, adapter: adapter, flit: int64(c.Fabric.FlitBytes), clock: float64(c.Fabric.Clock), timings: timings,
		switches: make([]cutDemand, g.Switches()),
	}
	if hops {
		d.far, d.neighbors = make([][]int16, g.Switches()), g.Neighbors()
	}
	d.nodes = append(d.nodes, lists.Map(g.Hosts(), func(rails []topology.TerminalID) nodeDemand { return nodeDemand{terminal: rails[0]} })...)
	all, err := runtime.Demand(w, d.add, func(bytes int64) sim.Time { return d.idle(bytes, config) })
	if err != nil {
		return Demand{}, err
	}
	least := max(lists.Most(float64(all.Alone), all.CPU, func(cpu mpi.CPUTime) float64 { return float64(cpu.Busy) }), d.busiest())
	if last := core.Last(c.Fabric.Clock); least > float64(last) {
		return Demand{}, &param.ParamError{Key: "fabric.clock", Value: c.Fabric.Clock, Want: fmt.Sprintf("longer: a program takes %.4g s at least, and with this clock %.4g s can be simulated", least*1e-12, last.Seconds())}
	}
	return Demand{least * 1e-12, d.flitHops, all.Ways}, nil
}

// flits is the number of flits that a transfer of so many bytes takes on a channel, at least 1.
func (d *fabricDemand) flits(bytes int64) int64 { return max(1, (bytes+d.flit-1)/d.flit) }

// add counts so many transfers between two nodes.
func (d *fabricDemand) add(from, to int32, bytes, count int64) {
	a, b := &d.nodes[from], &d.nodes[to]
	mtu := int64(d.adapter.MTU)
	x := portDemand{bytes: bytes * count, requests: count, packets: max(1, (bytes+mtu-1)/mtu) * count, flits: d.flits(bytes) * count}
	a.out.add(&x)
	b.in.add(&x)
	s, t := d.g.TerminalSwitch(a.terminal), d.g.TerminalSwitch(b.terminal)
	if s != t {
		d.switches[s].out += x.flits
		d.switches[t].in += x.flits
	}
	if d.far == nil {
		return
	}
	if d.far[s] == nil {
		d.far[s] = d.neighbors.DistancesFrom(s, nil)
	}
	d.flitHops += float64(x.flits) * float64(1+d.far[s][t])
}

func (p *portDemand) add(x *portDemand) {
	p.bytes += x.bytes
	p.requests += x.requests
	p.packets += x.packets
	p.flits += x.flits
}

// idle is less than or equal to the time of a transfer on an idle network, across one switch.
func (d *fabricDemand) idle(bytes int64, config *fabric.Config) sim.Time {
	class := d.timings[d.g.PortClass[d.g.TerminalPort[d.nodes[0].terminal]]]
	mtu := int64(d.adapter.MTU)
	last := bytes - max(0, bytes-1)/mtu*mtu // bytes of the last packet, whose flits may be faster than the engine
	cycles := float64(config.Terminal.InjectionCycles) + 2*float64(class.Latency) + float64(d.flits(last)-1)*class.CyclesPerFlit
	if !config.Switch.CyclesVary() {
		cycles += float64(config.Switch.Cycles())
	}
	before := d.adapter.RequestTime + d.adapter.SendLatency + sim.Time(d.adapter.Rate().PicosecondsFor(sim.Bytes(bytes-last)))
	return before + sim.Time(cycles*d.clock) + d.adapter.RecvLatency
}

// busiest is the least time, in ps, of the adapter, the terminal's link or the channels around a switch
// that have the most to do. What leaves a switch for others shares the channels there,
// whatever the routing; of the flits on a channel the first does not wait for others.
func (d *fabricDemand) busiest() (least float64) {
	for i := range d.nodes {
		n := &d.nodes[i]
		link := d.timings[d.g.PortClass[d.g.TerminalPort[n.terminal]]].CyclesPerFlit * d.clock
		for _, p := range []*portDemand{&n.out, &n.in} {
			engine := math.Floor(d.adapter.Rate().PicosecondsFor(sim.Bytes(p.bytes))) + float64(p.packets)*float64(d.adapter.PacketTime)
			least = max(least, engine, float64(p.flits-1)*link)
		}
		least = max(least, d.adapter.Rate().PicosecondsFor(sim.Bytes(n.out.bytes))+float64(n.out.requests)*float64(d.adapter.RequestTime))
	}
	for s := range d.switches {
		channels, perCycle := 0, 0.0
		for p := range d.g.Links(topology.SwitchID(s)) {
			channels++
			perCycle += 1 / d.timings[d.g.PortClass[p]].CyclesPerFlit
		}
		if flits := max(d.switches[s].out, d.switches[s].in) - int64(channels); flits > 0 {
			least = max(least, float64(flits)/perCycle*d.clock)
		}
	}
	return least
}

// predictWork estimates what the point costs, all its replications, where packets take shortest ways.
func (c *Config) predictWork(p *experiments.Preflight) error {
	adapter, err := c.Adapter()
	if err != nil {
		return err
	}
	t, config, r, err := c.FabricParts(&adapter, p.Seed, 1)
	if err != nil {
		return err
	}
	program, err := c.program()
	if err != nil {
		return err
	}
	begin := func() mpi.Workload { return program.Run(sim.Picosecond, c.Workload.Costs()) }
	walk, operations := Walk(p, begin, c.Walks(p, &config), c.Placement.Nodes)
	mtu, bytes := adapter.MTU, network.Memory(t.Graph(), max(r.VCs(), c.Switch.VCs))
	p.Later(map[string]float64{walk: operations}, NotWalked, func(float64) error {
		d, err := c.SharedDemand(p, walk, begin, 1)
		if err != nil {
			return err
		}
		p.Note("latency", "the program takes %.4g us at least: its slowest message, or the busiest CPU, adapter or channels of a switch (bound_s)", d.Seconds*1e6)
		p.WarnOf(c.IdleMessages(d.Ways))
		d.Hops *= float64(c.Measure.Replications)
		if c.Measure.Blame {
			network.NoteBlame(p)
		}
		c.Work(p, d.Hops, mtu, bytes)
		return nil
	})
	return nil
}

// predictMessages estimates what a schedule costs on a machine without a network of flits, all its replications, and
// finds settings of messages that change nothing where its program is short.
func (c *Config) predictMessages(p *experiments.Preflight) error {
	program, err := c.program()
	s, ok := program.(collectives.Schedule)
	if err != nil || !ok || !p.Thorough {
		return err
	}
	// Every point has a program of its own; the rounds of all ranks are counted.
	p.Later(map[string]float64{fmt.Sprintf("%p", c): 300 + float64(s.Ranks())}, "are not counted below", func(most float64) error {
		program, err := c.program() // again: the points may be many
		if err != nil {
			return err
		}
		adapter, err := c.Adapter()
		if err != nil {
			return err
		}
		s := program.(collectives.Schedule)
		const some = 17 // ranks and rounds of each: a number that grids and rounds that alternate do not divide
		l := c.Protocol.LoadOf(s, c.Connections.Mode == mpi.UD, adapter.Quantum, some, some)
		// Calibrated, in ns: NAS FT and LU of 512 to 16,384 ranks took 0.7 to 1.4 times as long, more where
		// caches do not hold the ranks.
		takes := 140 * l.Operations
		if c.Job.Machine == "loggp" {
			misses := 1 + 0.2*max(0, math.Log2(float64(s.Ranks())/2048))
			takes = misses*(240*l.Operations+800*l.Rendezvous) + 75*l.Bursts
		}
		times := float64(c.Measure.Replications)
		p.Messages(times*l.Sends, time.Duration(times*takes), rankBytes*float64(s.Ranks()))
		const worth = 0.01 // of what a check has: warnings are less than a least time
		if c.Job.Machine == "loggops" || l.Operations > worth*most {
			return nil
		}
		runtime, err := c.Runtime(p.Seed)
		if err != nil {
			return err
		}
		anything := func(_, _ int32, _, _ int64) {}
		d, err := runtime.Demand(program.Run(sim.Picosecond, c.Workload.Costs()), anything, func(int64) sim.Time { return 0 })
		if err == nil {
			p.WarnOf(c.IdleMessages(d.Ways))
		}
		return err
	})
	return nil
}

// Work tells a preflight about so many flits that cross a switch, in full packets, and about memory.
func (c *Config) Work(p *experiments.Preflight, hops float64, mtu sim.Bytes, bytes float64) {
	if c.Fabric.Unit == fabric.UnitPacket {
		p.Packets(max(1, math.Ceil(float64(mtu)/float64(c.Fabric.FlitBytes))))
	}
	p.Work(hops, hops, bytes)
}
