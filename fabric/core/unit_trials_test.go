package core_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/marking"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// unitChecks compare flits and packets as the unit: the times of every packet, the same with packets to groups among
// the others, which share their virtual channels or do not, and what blame and traces say of every packet and channel.
var unitChecks = map[string]struct {
	check  func(t testing.TB, tr *routingtest.Trial, cycles int64) (packets int)
	cycles int64
	least  int // packets of all trials
}{
	"unicast":   {checkUnits, 1000, 100_000},
	"multicast": {checkMulticastUnits, 600, 100_000},
	"observed":  {checkObservedUnits, 400, 40_000},
}

// TestUnits: flits and packets as the unit give the same on random networks of all families under all routings.
func TestUnits(t *testing.T) {
	for name, c := range unitChecks {
		t.Run(name, func(t *testing.T) {
			packets, seeds := 0, simtest.Seeds(t, 60, 3)
			for _, seed := range seeds {
				packets += c.check(t, drawUnitTrial(t, seed), c.cycles)
			}
			simtest.ErrorIf(t, packets < c.least*len(seeds)/60, "%d packets are not a test of all", packets)
		})
	}
}

// FuzzUnits compares the units on the random network of any seed.
func FuzzUnits(f *testing.F) {
	for seed := range uint64(2) {
		f.Add(1000 + seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, c := range unitChecks {
			c.check(t, drawUnitTrial(t, seed), 1000)
		}
	})
}

// drawUnitTrial draws a network as routingtest.DrawTrial does, with switches that hold ports for whole packets, and
// with times that are whole cycles: what flits and packets as the unit must agree on.
func drawUnitTrial(t testing.TB, seed uint64) *routingtest.Trial {
	tr, stream := routingtest.DrawTrial(t, seed), sim.NewStream(seed, "units", 0)
	some := func(least, most int) int { return least + stream.IntN(most-least+1) }
	s := &tr.Config.Switch
	s.Hold, s.FlowControl, s.CreditSensing = true, "cut-through", "off"
	s.BufferFlits = some(1, 24)
	tr.Flits = some(1, s.BufferFlits)
	s.SwitchAllocCycles = some(1, 3)
	s.CreditsPerCycle = some(0, 1)
	if stream.IntN(3) == 0 {
		s.Forwarding = "store-and-forward"
	}
	if s.OutputBufferFlits > 0 {
		s.OutputBufferFlits += 6 // more than there are stages
	}
	for _, class := range tr.Graph().Classes {
		channel := fabric.ChannelConfig{Latency: sim.Time(some(1, 12)) * sim.Nanosecond}
		if stream.IntN(3) == 0 {
			channel.CyclesPerFlit = float64(some(1, 4))
		}
		tr.Config.Channels[class.Name] = channel
	}
	return tr
}

// upTo draws packets of one to so many flits.
type upTo int

func (most upTo) Draw(r *sim.Stream) int { return 1 + r.IntN(int(most)) }

// ledger numbers the packets of a source, and keeps what becomes of them.
type ledger struct {
	*measure.OpenLoop
	sent   []uint64 // by terminal
	got    map[arrival]fabric.Delivery
	groups *groups // nil: no packet is for a group
}

// arrival is a packet of a source, numbered, at a terminal.
type arrival struct {
	src, dst topology.TerminalID
	number   uint64
}

func (l *ledger) Next(t topology.TerminalID, until int64, p *fabric.PacketSpec) bool {
	ok := l.OpenLoop.Next(t, until, p)
	if ok {
		p.Tag = l.sent[t]
		l.sent[t]++
		if l.groups != nil {
			l.groups.divert(t, p)
		}
	}
	return ok
}

func (l *ledger) Deliver(d *fabric.Delivery) { l.got[arrival{d.Src, d.Dst, d.Tag}] = *d }

// groups are multicast trees of random members on a network, under random roots.
type groups struct {
	trees   *trees
	members [][]topology.TerminalID // by MLID
	of      [][]int32               // MLIDs, by terminal
	vcs     int                     // of all channels
	unicast int                     // of these
	random  []sim.Stream            // by terminal
}

// drawGroups gives a network multicast trees, and a virtual channel or two more for them.
// (That they can deadlock does not matter: both units must do so in the same cycle.)
func drawGroups(tr *routingtest.Trial) *groups {
	g := tr.Graph()
	x, r := &groups{trees: newTrees(g), of: make([][]int32, g.Terminals())}, sim.NewStream(tr.Seed, "groups", 0)
	for t := range g.Terminals() {
		x.random = append(x.random, sim.NewStream(tr.Seed, "group", t))
	}
	for range 1 + r.IntN(6) {
		members := topology.Numbers[topology.TerminalID](g.Terminals())
		sim.Shuffle(&r, members)
		members = members[:1+r.IntN(len(members))]
		mlid := x.trees.plant(topology.SwitchID(r.IntN(g.Switches())), members)
		x.members = append(x.members, members)
		for _, t := range members {
			x.of[t] = append(x.of[t], mlid)
		}
	}
	x.unicast = min(tr.VCs, fabric.MaxVCs-2)
	x.vcs = x.unicast + 1 + r.IntN(2)
	return x
}

// divert turns one in four packets of a member of groups into one to a group, on all
// virtual channels that are not for unicast packets or, on one in three networks, on all.
func (x *groups) divert(t topology.TerminalID, p *fabric.PacketSpec) {
	r := &x.random[t]
	if own := x.of[t]; len(own) > 0 && r.IntN(4) == 0 {
		p.MLID, p.VCs = own[r.IntN(len(own))], 1<<x.vcs-1
		if x.vcs%3 != 0 {
			p.VCs &^= 1<<x.unicast - 1
		}
	}
}

// newLedger is a source of uniform traffic at a load, of packets of one to so many flits.
func newLedger(tr *routingtest.Trial, load float64, flits int, x *groups) *ledger {
	n := tr.Graph().Terminals()
	source := measure.NewOpenLoop(n, routingtest.Uniform(n), routingtest.AtRate(2*load/float64(1+flits)), upTo(flits), 5)
	return &ledger{source, make([]uint64, n), map[arrival]fabric.Delivery{}, x}
}

// checkUnits compares a network of flits with one of packets, cycle for cycle: every packet's
// route, and when it entered and left the network, at a moderate load and beyond saturation.
func checkUnits(t testing.TB, tr *routingtest.Trial, cycles int64) (packets int) {
	t.Helper()
	return compareLoads(t, tr, func(config fabric.Config, load float64) (*core.Fabric, *ledger) {
		return tr.With(t, config), newLedger(tr, load, tr.Flits, nil)
	}, cycles)
}

// checkMulticastUnits is checkUnits with packets to groups among the others.
func checkMulticastUnits(t testing.TB, tr *routingtest.Trial, cycles int64) (packets int) {
	t.Helper()
	return compareLoads(t, tr, func(config fabric.Config, load float64) (*core.Fabric, *ledger) {
		f, x := multicastNetwork(t, tr, config)
		return f, newLedger(tr, load, tr.Flits, x)
	}, cycles)
}

// loads are a moderate one, and one beyond saturation.
var loads = []float64{0.3, 1}

func compareLoads(t testing.TB, tr *routingtest.Trial, build func(config fabric.Config, load float64) (*core.Fabric, *ledger), cycles int64) (packets int) {
	t.Helper()
	for _, load := range loads {
		var of [2]*ledger
		var counters [2]core.Counters
		for i, unit := range []string{fabric.UnitFlit, fabric.UnitPacket} {
			config := tr.Config
			config.Fabric.Unit = unit
			f, l := build(config, load)
			simtest.Check(t, f.Attach(fabric.Ends{Source: l, Sink: l}))
			f.Advance(cycles)
			of[i], counters[i] = l, f.Counters
		}
		packets += compareUnits(t, tr, load, of, counters)
	}
	return packets
}

// compareUnits wants the same packets of both units.
func compareUnits(t testing.TB, tr *routingtest.Trial, load float64, of [2]*ledger, counters [2]core.Counters) (packets int) {
	t.Helper()
	flits, packet := of[0].got, of[1].got
	simtest.ErrorIf(t, len(flits) == 0, "%v: nothing arrived", tr)
	first, differ := fabric.Delivery{Cycle: fabric.Never}, 0
	for key, want := range flits {
		if packet[key] != want {
			differ++
			if want.Cycle < first.Cycle {
				first = want
			}
		}
	}
	if differ > 0 || len(packet) != len(flits) {
		t.Errorf("%v, load %g: %d of %d packets differ, of %d, the first\n%+v, is as a packet\n%+v\n%+v\n%+v", tr, load, differ, len(flits), len(packet),
			first, packet[arrival{first.Src, first.Dst, first.Tag}], tr.Config.Switch, tr.Config.Channels)
	}
	simtest.ErrorIf(t, counters[0].Packets != counters[1].Packets, "%v, load %g: counters %+v, as packets %+v", tr, load, counters[0], counters[1])
	return len(flits)
}

// markPorts has the ports of a trial mark packets, with settings that it draws; false, if its routing
// does not go with that.
func markPorts(tr *routingtest.Trial) bool {
	if _, escapes := tr.Routing.(fabric.EscapeRouting); escapes {
		return false
	}
	stream, choice := sim.NewStream(tr.Seed, "marks", 0), &tr.Config.Switch.Marking
	if err := choice.Choose([]string{"threshold", "red", "infiniband"}[stream.IntN(3)]); err != nil {
		panic(err)
	}
	switch c := choice.Config().(type) {
	case *marking.Threshold:
		*c = marking.Threshold{Flits: 1 + stream.IntN(20)}
	case *marking.InfiniBand:
		*c = marking.InfiniBand{Threshold: 8 + stream.IntN(8), Rate: stream.IntN(3), VictimMask: []string{"0x0", "0x1e"}[stream.IntN(2)]}
	case *marking.RED:
		*c = marking.RED{From: stream.IntN(8), To: 8 + stream.IntN(20), Probability: stream.Float64(), Weight: []float64{1, 0.25}[stream.IntN(2)]}
	}
	return true
}

// multicastNetwork builds the network of a trial with trees, and settings that multicast packets go with.
func multicastNetwork(t testing.TB, tr *routingtest.Trial, config fabric.Config) (*core.Fabric, *groups) {
	t.Helper()
	x, s := drawGroups(tr), &config.Switch
	s.VCs = x.vcs
	s.VLArbHigh, s.VLArbLow, s.VLHighLimit = "", "", 0 // of unicast packets
	if s.Hold && s.OutputBufferFlits > 0 {
		s.OutputBufferFlits += s.BufferFlits // room for copies as a whole
	}
	f := tr.With(t, config)
	err := f.SetMulticast(x.trees.tables, x.unicast)
	simtest.FatalIf(t, err != nil, "%v: %v", tr, err)
	return f, x
}

// multicastTrial is the network of a trial, under cut-through, and a source of packets, of which
// those to groups are some.
func multicastTrial(t testing.TB, tr *routingtest.Trial, load float64) (*core.Fabric, numbered) {
	t.Helper()
	config := tr.Config
	config.Switch.FlowControl = fabric.CutThrough
	f, x := multicastNetwork(t, tr, config)
	return f, newLedger(tr, load, min(tr.Flits, config.Switch.BufferFlits), x)
}

// numbered is a source, for Terminals terminals, that numbers the packets of each.
type numbered interface {
	fabric.Source
	snapshot.Archiver
	Terminals() int
}

// Archive implements snapshot.Archiver.
func (l *ledger) Archive(a *snapshot.Archive) {
	l.OpenLoop.Archive(a)
	snapshot.Array(a, "terminals", l.sent, snapshot.Int)
	snapshot.Array(a, "terminals", l.groups.random, sim.ArchiveStream)
}

// trees are multicast trees on a graph, as the forwarding tables of its switches.
type trees struct {
	g      *topology.Graph
	tables []fabric.MulticastTable // by switch
}

// newTrees is no tree yet.
func newTrees(g *topology.Graph) *trees {
	return &trees{g, make([]fabric.MulticastTable, g.Switches())}
}

// plant adds a row of the next MLID to every switch between the members and
// the root: of the tree of first shortest paths from it.
func (m *trees) plant(root topology.SwitchID, members []topology.TerminalID) (mlid int32) {
	for _, t := range m.tables {
		for _, used := range t.MLIDs {
			mlid = max(mlid, used+1)
		}
	}
	up := make([]topology.PortID, m.g.Switches()) // port towards the root
	seen := make([]bool, len(up))
	seen[root] = true
	for queue := []topology.SwitchID{root}; len(queue) > 0; queue = queue[1:] {
		for p, s := range m.g.Links(queue[0]) {
			if !seen[s] {
				seen[s], up[s] = true, topology.PortID(m.g.Peer[p])
				queue = append(queue, s)
			}
		}
	}
	rows := map[topology.SwitchID][]topology.PortID{}
	add := func(p topology.PortID) {
		if s := m.g.PortSwitch[p]; !slices.Contains(rows[s], p) {
			rows[s] = append(rows[s], p)
		}
	}
	for _, t := range members {
		add(m.g.TerminalPort[t])
		for s := m.g.PortSwitch[m.g.TerminalPort[t]]; s != root; {
			peer, _ := m.g.PeerPort(up[s])
			add(up[s])
			add(peer)
			s = m.g.PortSwitch[peer]
		}
	}
	for s, ports := range rows {
		slices.Sort(ports)
		m.tables[s].MLIDs = append(m.tables[s].MLIDs, mlid)
		m.tables[s].Ports = append(m.tables[s].Ports, ports)
	}
	return mlid
}

// seen is all that observers say of a run in which every packet is measured.
type seen struct {
	ledger  *ledger
	parts   map[arrival]core.Parts
	blame   *observe.Blame
	traces  map[arrival]*observe.PacketTrace
	drained bool // all packets have arrived
}

// checkObservedUnits compares what observers say of a network of flits and of one of packets: the parts of every
// packet's latency and of every channel's, the roots of all waiting, and the life of every packet, head and tail. The
// network is filled for so many cycles and emptied again, at a moderate load and beyond saturation.
func checkObservedUnits(t testing.TB, tr *routingtest.Trial, cycles int64) (packets int) {
	t.Helper()
	for _, load := range loads {
		flits, whole := observeUnit(t, tr, fabric.UnitFlit, load, cycles), observeUnit(t, tr, fabric.UnitPacket, load, cycles)
		packets += compareUnits(t, tr, load, [2]*ledger{flits.ledger, whole.ledger}, [2]core.Counters{})
		compareObserved(t, tr, load, flits, whole)
	}
	return packets
}

// observeUnit runs a trial with one unit and looks on.
func observeUnit(t testing.TB, tr *routingtest.Trial, unit string, load float64, cycles int64) *seen {
	t.Helper()
	config := tr.Config
	config.Fabric.Unit = unit
	f, l := tr.With(t, config), newLedger(tr, load, tr.Flits, nil)
	s, meter := &seen{l, map[arrival]core.Parts{}, nil, map[arrival]*observe.PacketTrace{}, false}, measure.NewMeter(cycles)
	meter.Open(0)
	s.blame = observe.StartBlame(f, meter)
	s.blame.OnPacket = func(d *fabric.Delivery, parts *core.Parts) { s.parts[arrival{d.Src, d.Dst, d.Tag}] = *parts }
	tracer := observe.StartTrace(f, meter, observe.TracePlan{Packets: 1 << 20})
	simtest.Check(t, f.Attach(fabric.Ends{Source: l, Sink: l}))
	f.Advance(cycles)
	l.Stop(0)
	for i := 0; f.InFlight() > 0 && i < 100; i++ { // some of these networks deadlock
		f.Advance(cycles)
	}
	s.drained = f.InFlight() == 0
	for _, p := range tracer.Packets() {
		for i := range p.Path {
			// One that ends in the cycle that it begins in, since a channel is let go, shows or
			// not by the order in which the flits of a step cross.
			h := &p.Path[i]
			h.Waits = slices.DeleteFunc(h.Waits, func(w observe.TraceWait) bool { return w.From == w.To })
			if len(h.Waits) == 0 {
				h.Waits = nil
			}
		}
		s.traces[arrival{p.Src, p.Dst, p.Tag}] = p
	}
	return s
}

// compareObserved wants the same of both units.
func compareObserved(t testing.TB, tr *routingtest.Trial, load float64, flits, packets *seen) {
	t.Helper()
	told := 0
	for key, want := range flits.parts {
		if got := packets.parts[key]; got != want && told < 3 {
			told++
			t.Errorf("%v, load %g: packet %+v\nhas parts %v\nas a packet %v\n%+v\n%+v", tr, load, key, want, got, tr.Config.Switch, *flits.traces[key])
		}
	}
	for key, want := range flits.traces {
		if got := packets.traces[key]; !reflect.DeepEqual(got, want) && told < 3 {
			told++
			t.Errorf("%v, load %g: life\n%+v\nas a packet\n%+v\n%+v", tr, load, *want, got, tr.Config.Switch)
		}
	}
	simtest.ErrorIf(t, len(packets.parts) != len(flits.parts) || len(packets.traces) != len(flits.traces) || len(flits.traces) == 0,
		"%v, load %g: %d packets in parts, %d lives; with packets as the unit %d and %d", tr, load, len(flits.parts), len(flits.traces), len(packets.parts), len(packets.traces))
	simtest.ErrorIf(t, packets.drained != flits.drained, "%v, load %g: drained: %v, with packets as the unit %v", tr, load, flits.drained, packets.drained)
	if told == 0 && flits.drained && (!reflect.DeepEqual(packets.blame.Links(), flits.blame.Links()) || packets.blame.Classes != flits.blame.Classes || !reflect.DeepEqual(packets.blame.Roots(), flits.blame.Roots())) {
		t.Errorf("%v, load %g: channels or roots differ: %v, %v", tr, load, packets.blame.Classes, flits.blame.Classes)
	}
}
