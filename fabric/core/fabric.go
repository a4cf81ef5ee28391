package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Fabric is a network in simulation. It advances cycle by cycle with
// [Fabric.Advance], or as a clocked component of a kernel. Memory grows with
// ports*vcs and with the flits in flight, not with the depth of buffers.
//
// It is made of a network, which does not change while it runs, the state of the
// hardware, and domains: the parts of the network that threads simulate. There is one,
// unless it is divided among threads ([Fabric.Open], [Fabric.DivideFor]).
type Fabric struct {
	hardware
	observer  Observer    // nil: nobody looks
	Faults    *faults     // nil: none
	multicast *multicast  // nil: off
	hold      *holds      // what those of domains are made of; nil: packets hold no ports
	unit      *packetUnit // likewise; nil: flits are simulated
	domains   []*Domain
	workers
	cycle     int64 // that all domains have simulated
	checkAt   int64 // cycle of the next check of all, in the checked build
	source    fabric.Source
	hostModel HostModel  // nil: none
	probes    []*sampler // also among the observers
	Counters
}

// New builds the network of g in its idle state. Problems of the settings are
// returned together, each a *param.ParamError with its dotted key; a routing of
// another network is an error. Cost: linear in ports*vcs.
func New(g *topology.Graph, config fabric.Config, routing fabric.Routing, seed uint64) (*Fabric, error) {
	if err := config.CheckSettings(routing); err != nil {
		return nil, err
	}
	config.Switch.Hold = config.Holds()
	if err := checkRouting(g, routing); err != nil {
		return nil, err
	}
	timings, err := config.ChannelTimings(g)
	if err != nil {
		return nil, err
	}
	vcs := config.Switch.VCs
	if vcs == 0 {
		vcs = max(1, routing.VCs())
	}
	f := &Fabric{
		hardware: hardware{network: network{
			graph: g, Config: config, routing: routing, seed: seed, vcs: vcs, buffer: int32(config.Switch.BufferFlits),
			cutThrough: config.Switch.FlowControl == "cut-through", storeForward: config.Switch.Forwarding == fabric.StoreAndForward,
			allVCs: 1<<vcs - 1, unicastVCs: vcs, leastWindow: fabric.Never,
			RouteDelay:     uint32(config.Switch.RouteCycles),
			VADelay:        uint32(config.Switch.VCAllocCycles),
			creditInterval: creditIntervalOf(config.Switch.CreditsPerCycle),
		}},
		cycle: -1,
	}
	f.packets = &packetTable{}
	if config.Switch.VCAllocCycles == 0 {
		f.Combined = HeadFlit
	}
	f.ask(routing)
	f.labels = newLabels(&f.network)
	f.layOutSwitches()
	f.wire(timings)
	if r, ok := routing.(fabric.Learner); ok {
		f.memory = r.NewMemory(func(p topology.PortID) int64 { return f.Latency(&f.Out[p]) })
	}
	if f.allocators, err = newAllocators(&f.network); err != nil {
		return nil, err
	}
	f.lanes, f.laneQueues = newLanes(&f.network), newLaneQueues(&f.network)
	f.large = f.isLarge()
	if config.Switch.SensesCredits(routing) {
		f.sensing = newSensing(&f.network)
	}
	if config.Switch.Hold {
		f.hold = newHolds(f)
	}
	f.horizon = f.reach(timings)
	if config.Fabric.Unit == fabric.UnitPacket {
		f.unit = newPacketUnit(f)
		f.horizon += f.unit.reach(f)
	}
	f.divideInto(make([]uint8, len(f.Switches)), 1, 1, fabric.Never)
	if config.Switch.Marks() {
		m, err := newMarker(f)
		if err != nil {
			return nil, err
		}
		f.Observe(m)
	}
	if err := f.newProbes(); err != nil {
		return nil, err
	}
	return f, nil
}

// Graph is the network's graph.
func (n *network) Graph() *topology.Graph { return n.graph }

// Routing is the network's routing.
func (f *Fabric) Routing() fabric.Routing { return f.routing }

// Seed is what its streams of random numbers are derived from.
func (f *Fabric) Seed() uint64 { return f.seed }

// Learns tells whether its switches do.
func (f *Fabric) Learns() bool { return f.memory != nil }

// VCs is the number of virtual channels of every channel.
func (n *network) VCs() int { return n.vcs }

// Cycle is the number of cycles simulated so far.
func (f *Fabric) Cycle() int64 { return f.cycle + 1 }

// Clock is the length of a cycle.
func (f *Fabric) Clock() sim.Time { return f.Config.Fabric.Clock }

// InjectionCycles is the time from a packet's birth until it can enter the channel.
func (f *Fabric) InjectionCycles() int64 { return int64(f.Config.Terminal.InjectionCycles) }

// checkRouting reports a routing that was made for another network.
func checkRouting(g *topology.Graph, r fabric.Routing) error {
	made, ok := r.(fabric.GraphRouting)
	if !ok || sameNetwork(g, made.Graph()) {
		return nil
	}
	other := made.Graph()
	return fmt.Errorf("the routing was made for another network, of %d switches and %d terminals; this one has %d and %d, and other cables",
		other.Switches(), other.Terminals(), g.Switches(), g.Terminals())
}

// sameNetwork tells whether two graphs have the same cables.
func sameNetwork(a, b *topology.Graph) bool {
	return a == b || slices.Equal(a.PortStart, b.PortStart) && slices.Equal(a.Peer, b.Peer)
}

// sizedSource is implemented by sources that are made for so many terminals.
type sizedSource interface{ Terminals() int }

// CheckSource tells why f cannot be started with a source; nil: it can.
func (f *Fabric) CheckSource(source fabric.Source) error {
	if f.source != nil {
		return errors.New("the fabric has been run or attached before; a run needs a new one")
	}
	if s, ok := source.(sizedSource); ok && s.Terminals() != f.graph.Terminals() {
		return fmt.Errorf("the source has %d terminals, the network %d", s.Terminals(), f.graph.Terminals())
	}
	return nil
}

// misuse panics with what the routing has done.
func (n *network) misuse(format string, args ...any) {
	panic(&fabric.Misuse{Of: "routing", By: n.routing, Did: fmt.Sprintf(format, args...)})
}

// badHop reports a routing that breaks its contract.
func (n *network) badHop(h *fabric.Head, hop fabric.Hop) {
	if hop == fabric.Discard {
		n.misuse("discards a packet for terminal %d at %s, in a network without faults: a packet may be discarded (fabric.Discard) only where faults leave it no path; return a port", h.Dst, n.graph.SwitchName(h.Switch))
	}
	n.misuse("sent a packet for terminal %d at %s, virtual channel %d, state %#x, to port %d, virtual channels %#b: want a port of that switch, and some of its %d virtual channels",
		h.Dst, n.graph.SwitchName(h.Switch), h.VC, h.State, hop.Port, hop.VCs, n.unicastVCs)
}

// misdelivered reports a routing that led a packet to the wrong terminal.
func (n *network) misdelivered(d *fabric.Delivery, want topology.TerminalID) {
	n.misuse("delivered a packet from terminal %d for %d to %d", d.Src, want, d.Dst)
}
