package core

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
)

// network is what stays as it is from the first cycle on: the graph, the settings,
// the routing, and the tables made of them. Every domain has a copy of its own, some
// hundred bytes beside the tables, so that what is read for each flit is found
// without following a pointer.
type network struct {
	vcs            int
	buffer         int32 // flits a queue holds
	terminalOV0    int32
	TerminalOut0   int32  // a terminal's sending end is state.out[terminalOut0+t]
	allVCs         uint32 // set of the virtual channels that unicast packets may use
	injection      uint32 // virtual channels that terminals may inject on; 0: asked for each packet
	RouteDelay     uint32 // steps
	VADelay        uint32 // likewise
	Combined       int32  // headFlit: heads are given a virtual channel as they win the crossbar; 0: in a stage of their own
	cutThrough     bool
	storeForward   bool
	large          bool         // ask for memory ahead
	needs          fabric.Needs // of the routing
	watched        bool         // the routing, or who looks on, may read queues or credits
	received       int32        // buffer of a virtual channel at a terminal
	paces          []pace
	leastWindow    int64 // of them
	creditInterval int64 // of a credit on its wires, in cycles << intervalShift
	Switches       []SwitchState
	WordSwitch     []int32 // switch of each mask word
	routing        fabric.Routing
	departer       fabric.Departer // nil: packets leave their terminals undecided
	departsAhead   bool            // it reads queues: terminals send and decide before anything arrives
	lead           int64           // cycles from its decision until the head can enter the channel: 1, where departsAhead and injection takes that long
	memory         fabric.Memory   // of a Learner
	escape         *escape         // nil unless the routing is an EscapeRouting

	graph      *topology.Graph
	Config     fabric.Config
	seed       uint64
	unicastVCs int   // of every channel, that unicast packets may use
	mostPorts  int32 // of a switch
	horizon    int64 // cycles that wheels file ahead
}

func (n *network) Pace(o *OutPort) *pace { return check.At(n.paces, uint32(o.pace)) }

// Latency is how many cycles a channel takes.
func (n *network) Latency(o *OutPort) int64 { return int64(n.Pace(o).latency) }

func (n *network) ov(p topology.PortID, vc int) int32 { return int32(p)*int32(n.vcs) + int32(vc) }

func (n *network) terminalOV(t topology.TerminalID, vc int) int32 {
	return n.terminalOV0 + int32(t)*int32(n.vcs) + int32(vc)
}

// queueOf is the queue of virtual channel vc at input port p.
func (n *network) queueOf(p topology.PortID, vc int) int32 {
	s := &n.Switches[n.graph.PortSwitch[p]]
	return s.Queue0 + (int32(p)-s.Port0)*int32(n.vcs) + int32(vc)
}

// portOf is the port of a queue.
func (n *network) portOf(queue int32) int32 {
	sw := &n.Switches[n.WordSwitch[queue>>6]]
	return sw.Port0 + (queue-sw.Queue0)/int32(n.vcs)
}

// PlaceOf is the input port and the virtual channel of a queue.
func (n *network) PlaceOf(queue int32) (topology.PortID, int) {
	sw := &n.Switches[n.WordSwitch[queue>>6]]
	local := int(queue - sw.Queue0)
	return topology.PortID(int(sw.Port0) + local/n.vcs), local % n.vcs
}

// bufferOf is the number of flits that one virtual channel behind port p
// holds.
func (n *network) bufferOf(p topology.PortID) int32 {
	if n.graph.Peer[p] < 0 {
		return n.received
	}
	return n.buffer
}

// receives tells whether terminals have buffers to receive at, and return credits.
func (n *network) receives() bool { return n.received < unboundedCredits }

// unboundedCredits stands for a receiver that takes every flit: a terminal without.
const unboundedCredits = 1 << 30

// paceOf numbers the pace of a channel with room for so many flits behind the
// crossbar; 0: for any number.
func (n *network) paceOf(t fabric.ChannelTiming, limit int64) uint16 {
	interval := intervalOf(t)
	p := pace{Interval: interval, window: fabric.Never, travel: (t.Latency+1)<<IntervalShift - 1, latency: int32(t.Latency)}
	if limit > 0 && limit <= fabric.Never/interval {
		p.window = limit * interval
	}
	i := slices.Index(n.paces, p)
	if i < 0 {
		i = len(n.paces)
		n.paces = append(n.paces, p)
		n.leastWindow = min(n.leastWindow, p.window)
	}
	return uint16(i)
}

// ask finds out what a routing needs.
func (f *Fabric) ask(routing fabric.Routing) {
	f.injection = routing.InjectionVCs(f.vcs) & f.allVCs
	f.needs = fabric.NeedsOf(routing)
	if f.needs.Departs {
		r, ok := routing.(fabric.Departer)
		if !ok {
			f.misuse("declares Needs.Departs and is no fabric.Departer")
		}
		f.departer, f.injection = r, 0
		if f.departsAhead = f.needs.Queues || f.needs.Credits; f.departsAhead {
			f.lead = int64(min(1, f.Config.Terminal.InjectionCycles))
		}
		f.departures = make([]sim.Stream, f.graph.Terminals())
		for t := range f.departures {
			f.departures[t] = sim.NewStream(f.seed, "departure", t)
		}
	}
	if r, ok := routing.(fabric.EscapeRouting); ok {
		f.escape = newEscape(&f.network, r)
	}
	if f.Config.Switch.Marks() { // by what waits, which does not make terminals decide ahead
		f.needs.Queues = true
	}
	f.countPorts()
	f.watched = f.needs.Queues || f.escape != nil || f.needs.Credits
}

// layOutSwitches numbers the switches and their queues.
func (f *Fabric) layOutSwitches() {
	g, vcs := f.graph, int32(f.vcs)
	f.Switches = make([]SwitchState, g.Switches())
	f.streams = make([]sim.Stream, g.Switches())
	word := int32(0)
	for s := range f.Switches {
		first, end := g.Ports(topology.SwitchID(s))
		n := int32(end - first)
		words := (n*vcs + 63) / 64
		f.Switches[s] = SwitchState{Queue0: word * 64, Port0: int32(first), Ports: n}
		f.streams[s] = sim.NewStream(f.seed, "routing", s)
		word += words
		f.mostPorts = max(f.mostPorts, n)
	}
	f.Queues = make([]InVC, word*64)
	f.waitNext = make([]int32, len(f.Queues))
	f.acceptOV = make([]int32, len(f.Queues))
	f.Upcoming = newUpcoming(&f.network, len(f.Queues))
	f.Masks = make([]masks, word)
	f.WordSwitch = make([]int32, word)
	for q := range f.Queues {
		f.Queues[q].Out = -1
	}
}

// wire fills in both ends of every channel.
func (f *Fabric) wire(timings []fabric.ChannelTiming) {
	g, vcs := f.graph, f.vcs
	ports, terminals := g.NumPorts(), g.Terminals()
	f.received = unboundedCredits
	if n := f.Config.Terminal.BufferFlits; n > 0 {
		f.received = int32(n)
	}
	f.TerminalOut0, f.terminalOV0 = int32(ports), int32(ports*vcs)
	f.OutVC = make([]outVC, (ports+terminals)*vcs)
	f.Out = make([]OutPort, ports+terminals)
	f.in = make([]inPort, ports)
	for s := range f.Switches {
		sw := &f.Switches[s]
		end := int32(len(f.Queues))
		if s+1 < len(f.Switches) {
			end = f.Switches[s+1].Queue0
		}
		sw.masks = f.Masks[sw.Queue0/64 : end/64]
		if sw.Ports > 0 {
			port0, ports := int(sw.Port0), int(sw.Ports)
			sw.queues, sw.outVCs = check.Of(f.Queues[sw.Queue0:end]), check.Of(f.OutVC[port0*vcs:][:ports*vcs])
			sw.outs, sw.ins = check.Of(f.Out[port0:][:ports]), check.Of(f.in[port0:][:ports])
		}
		for w := range sw.masks {
			f.WordSwitch[int(sw.Queue0/64)+w] = int32(s)
		}
	}
	f.Terminals = make([]terminal, terminals)
	credit := int32(f.Config.Switch.CreditCycles)
	limit := int64(f.Config.Switch.OutputBufferFlits)
	// Where a terminal's buffers are unbounded, what waits for its channel is
	// bounded at the switch: by what a switch would have room for, but not so that
	// flits on their way through the crossbar keep the channel from being full.
	terminalLimit := limit
	if limit == 0 && !f.receives() {
		terminalLimit = max(int64(f.buffer)*int64(vcs), f.Config.Switch.CrossingCycles()+2)
	}
	for p := range ports {
		port := topology.PortID(p)
		t := timings[g.PortClass[p]]
		o := OutPort{until: -1, free: 1<<vcs - 1, pace: f.paceOf(t, limit)}
		f.in[p].until, f.in[p].delay = -1, int32(t.Latency)+credit
		if peer, ok := g.PeerPort(port); ok {
			o.dest, o.Bounded, o.wheel = f.queueOf(peer, 0), 1, toSwitches
			f.in[p].upstream = f.ov(peer, 0)
		} else {
			terminal, _ := g.PeerTerminal(port)
			o.dest, o.pace = ^int32(terminal), f.paceOf(t, terminalLimit)
			f.in[p].upstream = f.terminalOV(terminal, 0)
			f.Out[ports+int(terminal)] = OutPort{until: -1, dest: f.queueOf(port, 0), pace: f.paceOf(t, 0)}
		}
		f.Out[p] = o
		for vc := range vcs {
			f.OutVC[f.ov(port, vc)] = outVC{credits: f.bufferOf(port), owner: ^f.Switches[g.PortSwitch[p]].Queue0}
		}
	}
	for ov := f.terminalOV0; int(ov) < len(f.OutVC); ov++ {
		f.OutVC[ov].credits = f.buffer
	}
}

// reach bounds how far ahead the fabric files flits and credits in the usual
// case: the longest channel, with some flits waiting for it.
func (f *Fabric) reach(timings []fabric.ChannelTiming) int64 {
	reach := int64(0)
	for _, t := range timings {
		reach = max(reach, t.Latency+4*intervalOf(t)>>IntervalShift)
	}
	s := &f.Config.Switch
	pipeline := s.RouteCycles + s.VCAllocCycles + s.SwitchAllocCycles + s.CrossbarCycles + s.CreditCycles
	return reach + int64(pipeline) + int64(f.Config.Terminal.InjectionCycles) + 16
}
