// Package exchange is the kind exchange: an all-to-all through a fabric, or through a distributed
// full switch in sessions.
package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-sim/weft/collectives/dswitch"
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/kinds/sessions"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

func init() {
	experiments.Register(experiments.Kind[exchangeConfig, exchangeRow]{
		Name: "exchange",
		Doc:  "all-to-all, one packet from every terminal to every other: its time and the channels it takes, through buffered switches or in the sessions of a distributed full switch",
		Defaults: func() exchangeConfig {
			d, s := fabric.DefaultConfig(), dswitch.DefaultSessionsConfig()
			return exchangeConfig{
				Topology: network.TopologyTable{Type: experiments.Choose(topology.Registry, "fat-tree")},
				Fabric:   d.Fabric, Switch: d.Switch, Terminal: d.Terminal,
				Routing: network.RoutingTable{Type: experiments.Choose(routing.Registry, "nca")}, Recovery: network.DefaultRecovery(),
				Exchange: exchangeTable{Through: "fabric", Order: "ring", Schedule: "accelerated", Addressing: s.Addressing, PacketFlits: 16},
			}
		},
		Complete: func(c *exchangeConfig, given func(string) bool) {
			if c.Exchange.Through == "fabric" {
				network.FollowTopology(&c.Routing, &c.Topology, given)
			}
			network.FollowClock(&c.Fabric, &c.Topology, c.Channel, given)
		},
		Check: checkExchange,
		Preflight: func(c *exchangeConfig, p *experiments.Preflight) error {
			if c.Exchange.Through == "sessions" {
				return nil // without buffers nothing waits
			}
			return network.CheckCertified(p, c.Network(p.Seed), c.Fabric.AllowDeadlock)
		},
		Run: runExchange,
		PointBeginsAgain: func(c *exchangeConfig) string {
			if c.Exchange.Through == "sessions" {
				return sessions.Again
			}
			return ""
		},
	})
}

type exchangeConfig struct {
	Topology network.TopologyTable           `toml:"topology" doc:"switches, terminals and channels"`
	Fabric   fabric.PhysicalConfig           `toml:"fabric" doc:"what a flit and a cycle are"`
	Switch   fabric.SwitchConfig             `toml:"switch" doc:"input-queued virtual-channel switch; stages of a distributed full switch take as many cycles as it does, and have no buffers"`
	Terminal fabric.TerminalConfig           `toml:"terminal" doc:"sources and sinks"`
	Channel  map[string]fabric.ChannelConfig `toml:"channel" names:"CLASS" doc:"channels, by the classes that the topology names"`
	Routing  network.RoutingTable            `toml:"routing" doc:"the way of packets through the fabric"`
	Fault    map[string]network.FaultTable   `toml:"fault" names:"NAME" doc:"fabric: things that fail, under names of your own, as in kind traffic"`
	Recovery network.RecoveryTable           `toml:"recovery" doc:"what is done about faults"`
	Exchange exchangeTable                   `toml:"exchange" doc:"what is sent, and how"`
}

func (c *exchangeConfig) AllowDeadlock() *bool { return &c.Fabric.AllowDeadlock }

// Network names what packets are routed through, for the certificate and weft topology.
func (c *exchangeConfig) Network(seed uint64) *network.Spec {
	return network.NewSpec(&c.Topology, &c.Routing, c.Switch.VCs, seed, c.Fabric.AllowDeadlock).Through(&c.Switch).WithFaults(c.Faults())
}

// Faults has the tables of what fails. There is no warm-up that they could count from.
func (c *exchangeConfig) Faults() *network.Faults {
	return &network.Faults{Tables: c.Fault, Recovery: c.Recovery, NoWarmup: true}
}

type exchangeTable struct {
	Through        string   `toml:"through" doc:"fabric: switches with buffers, flit by flit; sessions: the bufferless distributed full switch of topology pcc or pk, flit by flit" choices:"fabric|sessions"`
	PacketFlits    int      `toml:"packet_flits" doc:"size of a packet" unit:"flits" min:"1" max:"65536"`
	ChannelLatency sim.Time `toml:"channel_latency" doc:"latency of all channels that [channel] says nothing about, so that families with different classes can be swept; 0s: the topology's" min:"0ns"`
	Order          string   `toml:"order" doc:"fabric: in which order a terminal sends: ring: terminal i to i+1, i+2, ...; random: each in an order of its own" choices:"ring|random"`
	Schedule       string   `toml:"schedule" doc:"sessions: as in kind sessions; with cyclic, processors have one port and splitter/joiners are parts of the network, with the others they have m" choices:"accelerated|digits|digits-short|cyclic|sigma"`
	Addressing     string   `toml:"addressing" doc:"sessions: indirect or direct addresses; sigma needs direct" choices:"indirect|direct"`
	Drain          bool     `toml:"drain" doc:"sessions: start a session only when the network is empty again"`
}

type exchangeRow struct {
	Network        string  `column:"network" doc:"topology and routing, or topology and schedule"`
	Terminals      int64   `column:"terminals" doc:"terminals, or processors"`
	Packets        int64   `column:"packets" doc:"different packets received: terminals * (terminals - 1)"`
	Sessions       float64 `column:"sessions" doc:"sessions of the schedule; empty for the fabric"`
	Cycles         int64   `column:"cycles" doc:"from the start until the last packet has arrived"`
	Time           float64 `column:"time_ns" doc:"cycles, in time" best:"lowest time of the exchange"`
	PortLimit      float64 `column:"port_limit_cycles" doc:"(terminals - 1) * packet_flits / ports of a terminal: below this no network can be"`
	Efficiency     float64 `column:"efficiency" doc:"port_limit_cycles / cycles"`
	Latency        float64 `column:"network_latency_mean_ns" doc:"mean from a packet's entering the network to its tail's arrival"`
	LatencyMax     float64 `column:"network_latency_max_ns" doc:"largest time from a packet's entering the network to its tail's arrival"`
	Hops           float64 `column:"hops_mean" doc:"mean number of switches crossed, splitters and joiners among them"`
	TerminalPorts  int64   `column:"terminal_ports" doc:"channels of a terminal"`
	Switches       int64   `column:"switches" doc:"switches; of a distributed full switch the m x m ones, its splitter/joiners not counted"`
	Channels       int64   `column:"channels" doc:"duplex channels, those of the terminals among them"`
	Utilisation    float64 `column:"channel_utilisation" doc:"channels crossed by the flits of the packets received, in sum / flits that all channels could have carried (in both directions) until the end"`
	ChannelsPerEnd float64 `column:"channels_per_terminal" doc:"channels / terminals"`
	CyclesPerFlit  float64 `column:"cycles_per_flit" doc:"cycles / ((terminals - 1) * packet_flits): what a flit of each terminal costs in time"`
	ChannelCost    float64 `column:"channel_cycles_per_flit" doc:"channels * cycles / flits delivered: what a flit costs in channels times time"`
	Retransmitted  int64   `column:"packets_retransmitted" doc:"transmissions that repeated one which faults had taken, or whose acknowledgement was late"`
	GivenUp        int64   `column:"packets_given_up" doc:"packets that did not arrive because of faults; what is counted per flit counts them as delivered"`
}

// exchangeParts is what a configuration builds.
type exchangeParts struct {
	topology       topology.Topology
	fabric         fabric.Config
	network.Routed // through the fabric
	// of sessions: the schedule, and the time of a flit's way.
	sessions dswitch.SessionsConfig
	onePort  bool
	path     int64 // cycles from the processor's decision to send until the head's arrival
}

func (c *exchangeConfig) build(seed uint64) (*exchangeParts, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return nil, err
	}
	p := &exchangeParts{topology: t, fabric: fabric.Config{Fabric: c.Fabric, Switch: c.Switch, Terminal: c.Terminal, Channels: c.channels(t.Graph())}}
	switch n := t.Graph().Terminals(); {
	case n < 2:
		return nil, document.At("topology.type", fmt.Errorf("has %d terminal; an exchange needs two", n))
	case c.Exchange.Through == "sessions" && len(c.Fault) > 0:
		return nil, document.At("fault", errors.New("takes down parts of a fabric; kind sessions has faults of its own"))
	case c.Exchange.Through == "sessions":
		return p, p.buildSessions(&c.Exchange, c.Topology.Type.Name(), seed)
	case int64(n)*int64(n)*int64(c.Exchange.PacketFlits) > maxExchangeFlits:
		return nil, &param.ParamError{Key: "exchange.packet_flits", Value: c.Exchange.PacketFlits, Want: fmt.Sprintf("fewer flits or terminals: more than %d in all would be simulated", int64(maxExchangeFlits))}
	}
	if p.Routed, err = c.Network(seed).Build(t, &p.fabric); err != nil {
		return nil, err
	}
	return p, errors.Join(p.fabric.Check(t.Graph(), p.Routing), network.CheckFit(&c.Fabric, &c.Switch, c.Exchange.PacketFlits))
}

// maxExchangeFlits bounds an exchange to about a day.
const maxExchangeFlits = 1 << 36

// channels lays channel_latency under the [channel] tables.
func (c *exchangeConfig) channels(g *topology.Graph) map[string]fabric.ChannelConfig {
	all := map[string]fabric.ChannelConfig{}
	maps.Copy(all, c.Channel)
	for _, class := range g.Classes {
		channel := all[class.Name]
		channel.Latency = cmp.Or(channel.Latency, c.Exchange.ChannelLatency)
		all[class.Name] = channel
	}
	return all
}

// buildSessions sets up the sessions and sums the way of a flit: every stage takes the time of the
// fabric's switch, every cable its latency. The splitters of processors with m ports are parts of
// the processors, so that no terminal cable lies before them.
func (p *exchangeParts) buildSessions(x *exchangeTable, name string, seed uint64) error {
	s, ok := p.topology.(*topology.DistributedSwitch)
	if !ok {
		return document.At("topology.type", fmt.Errorf("= %q: exchange.through = \"sessions\" needs a distributed full switch, pcc or pk", name))
	}
	p.sessions = dswitch.DefaultSessionsConfig()
	p.sessions.Schedule, p.sessions.Addressing = x.Schedule, x.Addressing
	p.sessions.PacketFlits, p.sessions.Drain = x.PacketFlits, x.Drain
	if p.onePort = x.Schedule == "cyclic"; p.onePort {
		p.sessions.FirstStage = "single"
	}
	timings, err := p.fabric.ChannelTimings(s.Graph())
	if err = errors.Join(err, document.Under("exchange", "exchange.schedule", dswitch.CheckSessions(s, p.sessions, seed))); err != nil {
		return err
	}
	stages := int64(2*s.Cascades() + 1)
	p.path = int64(p.fabric.Terminal.InjectionCycles) + stages*p.fabric.Switch.Cycles()
	for i, class := range s.Graph().Classes {
		if timings[i].CyclesPerFlit != 1 {
			return &param.ParamError{Key: "channel." + class.Name + ".cycles_per_flit", Value: timings[i].CyclesPerFlit, Want: "1: sessions move a flit a cycle on every channel"}
		}
		switch {
		case class.Name == "internal":
			p.path += int64(2*s.Cascades()) * timings[i].Latency
		case p.onePort:
			p.path += 2 * timings[i].Latency
		}
	}
	return nil
}

func checkExchange(c *exchangeConfig, seed uint64) ([]experiments.Warning, error) {
	p, err := c.build(seed)
	if err != nil {
		return nil, network.ExplainVCs(err, c.Network(seed))
	}
	if s, ok := p.topology.(*topology.DistributedSwitch); ok && c.Exchange.Through == "sessions" {
		warnings := sessions.Warnings(s, c.Exchange.Schedule)
		for i := range warnings {
			warnings[i].Key = "exchange.schedule"
		}
		return experiments.IdleOf(warnings, idleExchange, c), nil
	}
	use := network.Use{Config: &p.fabric, Routing: p.Routing, Faults: c.Faults(), Sized: p.topology.Graph(), Longest: c.Exchange.PacketFlits}
	return experiments.IdleOf(use.Idle(network.BufferWarnings(&p.fabric, p.topology.Graph())), idleExchange, c), nil
}

var idleExchange = []experiments.Idle[*exchangeConfig]{
	{Key: "exchange.schedule exchange.addressing exchange.drain", When: (*exchangeConfig).buffered, Because: `it is of exchange.through = "sessions"`},
	{Key: "exchange.channel_latency", When: (*exchangeConfig).latenciesGiven, Because: "[channel] says the latency of every class"},
	{Key: "channel.terminal.latency", When: func(c *exchangeConfig) bool { return !c.buffered() && !c.onePort() }, Because: "splitters of processors with several ports are parts of them"},
	{Key: "channel.terminal.credit_latency channel.internal.credit_latency exchange.order routing.* recovery.* fabric.unit terminal.buffer_flits terminal.vlarb_high terminal.vlarb_low terminal.vl_high_limit " +
		"switch.vcs switch.buffer_flits switch.credit_cycles switch.credits_per_cycle switch.input_speedup switch.allocator switch.iterations switch.vc_allocator switch.vc_reuse switch.output_buffer_flits " +
		"switch.marking switch.credit_sensing switch.credits_undelayed switch.vlarb_high switch.vlarb_low switch.vl_high_limit switch.flow_control switch.hold switch.pipeline switch.forwarding",
		When: func(c *exchangeConfig) bool { return !c.buffered() }, Because: `it is of exchange.through = "fabric"`},
}

func (c *exchangeConfig) buffered() bool { return c.Exchange.Through == "fabric" }

// onePort tells whether the sessions' processors have one port, with a cable.
func (c *exchangeConfig) onePort() bool { return c.Exchange.Schedule == "cyclic" }

// latenciesGiven tells whether [channel] says the latencies of all classes that packets cross.
func (c *exchangeConfig) latenciesGiven() bool {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	return err == nil && !slices.ContainsFunc(t.Graph().Classes, func(class topology.Class) bool {
		return c.Channel[class.Name].Latency == 0 && (c.buffered() || c.onePort() || class.Name == "internal")
	})
}

func runExchange(ctx context.Context, c *exchangeConfig, run *experiments.Run) (exchangeRow, error) {
	p, err := c.build(run.Seed)
	if err != nil {
		return exchangeRow{}, err
	}
	var row exchangeRow
	if c.Exchange.Through == "sessions" {
		row, err = p.runSessions(ctx, c, run)
	} else {
		row, err = p.runFabric(ctx, c, run)
	}
	if err != nil {
		return exchangeRow{}, err
	}
	flits := float64(row.Terminals-1) * float64(c.Exchange.PacketFlits)
	row.Time = float64(row.Cycles) * c.Fabric.Clock.Nanoseconds()
	row.PortLimit = flits / float64(row.TerminalPorts)
	row.Efficiency = row.PortLimit / float64(row.Cycles)
	row.Utilisation /= 2 * float64(row.Channels) * float64(row.Cycles)
	row.ChannelsPerEnd = float64(row.Channels) / float64(row.Terminals)
	row.CyclesPerFlit = float64(row.Cycles) / flits
	row.ChannelCost = float64(row.Channels) * float64(row.Cycles) / (flits * float64(row.Terminals))
	return row, nil
}

// runFabric and runSessions leave in Utilisation the number of flits that crossed channels.

func (p *exchangeParts) runFabric(ctx context.Context, c *exchangeConfig, run *experiments.Run) (exchangeRow, error) {
	g := p.topology.Graph()
	f, err := p.Routed.Fabric(g, p.fabric, run.Seed)
	if err != nil {
		return exchangeRow{}, err
	}
	x := newExchange(g.Terminals(), c.Exchange.PacketFlits, c.Exchange.Order, run.Seed)
	count := network.Counter(f, run)
	all := int64(g.Terminals()) * int64(g.Terminals()-1)
	progress := func() {
		count()
		run.Advance(x.all().packets, all, "packets")
	}
	run.OnOneThread(f.DivideFor(run.Threads, fabric.Never, network.WorthBusy, nil))
	kept := run.Checkpoint()
	if err := measure.RunToEnd(ctx, f, x, measure.ToEnd{Progress: progress, From: kept.Open(), Snapshot: kept.SaveTo}); err != nil {
		return exchangeRow{}, err
	}
	count()
	faults := f.FaultTally()
	if err := x.complete(faults.Lost + faults.Unreachable); err != nil {
		return exchangeRow{}, err
	}
	arrived := x.all()
	clock := c.Fabric.Clock.Nanoseconds()
	return exchangeRow{
		Network:   c.Topology.Type.Name() + " " + c.Routing.Type.Name(),
		Terminals: int64(g.Terminals()), Packets: arrived.packets, Sessions: math.NaN(), Cycles: arrived.last,
		Latency: float64(arrived.latency) / float64(arrived.packets) * clock, LatencyMax: float64(arrived.latencyMax) * clock,
		Hops: float64(arrived.hops) / float64(arrived.packets), TerminalPorts: 1,
		Switches: int64(g.Switches()), Channels: int64(g.SwitchLinks() + g.Terminals()), Utilisation: float64(arrived.channelFlits),
		Retransmitted: faults.Retransmitted, GivenUp: faults.Lost + faults.Unreachable,
	}, nil
}

func (p *exchangeParts) runSessions(ctx context.Context, c *exchangeConfig, run *experiments.Run) (exchangeRow, error) {
	run.OnOneThread("sessions are not simulated in parts")
	s := p.topology.(*topology.DistributedSwitch)
	r, err := dswitch.RunSessions(ctx, s, p.sessions, run.Seed, sessions.Progress(run))
	if err != nil {
		return exchangeRow{}, err
	}
	o, stages := r.Row, int64(2*s.Cascades()+1)
	if o.MissingPairs > 0 {
		return exchangeRow{}, fmt.Errorf("schedule %q left %d pairs of %s without their packet", c.Exchange.Schedule, o.MissingPairs, s.Name())
	}
	flits := int64(o.Received) * int64(c.Exchange.PacketFlits)
	run.Count(stages*flits, stages*flits)
	// The model counts a cycle a stage; waits counts how often the whole way is waited for.
	waits := int64(1)
	if c.Exchange.Drain {
		waits = int64(o.Sessions)
	}
	row := exchangeRow{
		Network:   c.Topology.Type.Name() + " " + c.Exchange.Schedule,
		Terminals: int64(o.Processors), Packets: int64(o.Received), Sessions: float64(o.Sessions),
		Cycles: int64(o.Cycles) + waits*(p.path-stages), Hops: float64(stages),
		TerminalPorts: int64(s.Radix()), Switches: int64(s.Copies(0)), Channels: int64(s.Facts().Links),
		Utilisation: float64(flits) * float64(2*s.Cascades()),
	}
	if p.onePort {
		row.TerminalPorts = 1
		row.Channels += row.Terminals
		row.Utilisation += 2 * float64(flits)
	}
	row.Latency = float64(p.path-int64(p.fabric.Terminal.InjectionCycles)+int64(c.Exchange.PacketFlits)-1) * c.Fabric.Clock.Nanoseconds()
	row.LatencyMax = row.Latency
	return row, nil
}

// exchange is the source and the sink of an all-to-all through the fabric:
// every terminal sends one packet to every other, back to back, as fast as the
// network takes them. All packets are born in cycle 0.
type exchange struct {
	terminals int
	flits     int32
	order     [][]int32 // by terminal: destinations; nil: in ring order
	sent      []int32   // by terminal

	missing []int32 // by destination: packets not yet there
	before  arrived // those that had come in the snapshot that it goes on from
	parts   []*exchanged
}

// exchanged is a part of the sink.
type exchanged struct {
	exchange *exchange
	arrived
}

// arrived is what has reached some terminals.
type arrived struct {
	packets            int64
	last               int64 // cycle of the last arrival
	latency            int64 // in the network, sum
	latencyMax         int64
	hops, channelFlits int64
}

func (a *arrived) add(b *arrived) {
	a.packets += b.packets
	a.last = max(a.last, b.last)
	a.latency += b.latency
	a.latencyMax = max(a.latencyMax, b.latencyMax)
	a.hops += b.hops
	a.channelFlits += b.channelFlits
}

// newExchange prepares the order in which terminals send: "ring": terminal i to i+1, i+2, ..., so
// that at each step all destinations differ; "random": each terminal in an order of its own.
func newExchange(terminals, flits int, order string, seed uint64) *exchange {
	x := &exchange{terminals: terminals, flits: int32(flits), sent: make([]int32, terminals), missing: slices.Repeat([]int32{int32(terminals - 1)}, terminals)}
	if order == "random" {
		x.order = make([][]int32, terminals)
		for t := range x.order {
			for i := range terminals - 1 {
				x.order[t] = append(x.order[t], x.ring(t, i))
			}
			stream := sim.NewStream(seed, "exchange-order", t)
			sim.Shuffle(&stream, x.order[t])
		}
	}
	return x
}

func (x *exchange) ring(t, i int) int32 { return int32((t + 1 + i) % x.terminals) }

func (x *exchange) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	i := int(x.sent[t])
	*spec = fabric.PacketSpec{}
	switch {
	case i == x.terminals-1:
		spec.Birth = fabric.Never
		return false
	case until < 0:
		return false
	}
	x.sent[t]++
	to := x.ring(int(t), i)
	if x.order != nil {
		to = x.order[t][i]
	}
	spec.Dst, spec.Flits = topology.TerminalID(to), x.flits
	return true
}

func (x *exchange) Part(int) fabric.Ends {
	p := &exchanged{exchange: x}
	x.parts = append(x.parts, p)
	return fabric.Ends{Source: x, Sink: p}
}

func (a *exchanged) Deliver(d *fabric.Delivery) {
	a.exchange.missing[d.Dst]--
	latency := d.Cycle - d.Inject
	a.add(&arrived{1, d.Cycle, latency, latency, int64(d.Hops), int64(d.Hops+1) * int64(d.Flits)})
}

// all sums up what has arrived.
func (x *exchange) all() arrived {
	sum := x.before
	for _, a := range x.parts {
		sum.add(&a.arrived)
	}
	return sum
}

func (x *exchange) Archive(a *snapshot.Archive) {
	a.Mark("exchange")
	snapshot.Array(a, "terminals", x.sent, snapshot.Int)
	snapshot.Array(a, "terminals", x.missing, snapshot.Int)
	sum := x.all()
	if snapshot.Value(a, &sum); a.Reading() {
		x.before = sum
	}
}

// complete finds out whether the terminals have all of their packets but those that faults have had
// given up. Every packet was sent once, so that counting them is enough.
func (x *exchange) complete(givenUp int64) error {
	missing := lists.Sum(x.missing, func(n int32) int64 { return int64(n) })
	if missing != givenUp {
		return fmt.Errorf("the network came to rest while terminals still lacked %d packets, of which %d were given up", missing, givenUp)
	}
	return nil
}
