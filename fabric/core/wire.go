package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
)

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
		f.needs.Queues, f.needs.Crossed = true, true
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
		f.in[p].until, f.in[p].delay = -1, int32(t.CreditLatency)+credit
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

// Ports of switches tell probes and routings what they have and have done. What is
// counted for nobody else is counted here: where a channel's flits are is known from when they
// crossed and from what has not left.

// countPorts has the network keep what probes and the routing ask of ports, which does not make
// terminals decide ahead.
func (f *Fabric) countPorts() {
	c, n := &f.Config, &f.needs
	if n.Sent && (f.escape != nil || n.HeldSlots) {
		f.misuse("declares Needs.Sent, and is a fabric.EscapeRouting or declares HeldSlots: what waits, which is no longer what has not left, says what has")
	}
	n.Sent, n.Marked = n.Sent || c.Probed(fabric.Sent), n.Marked || c.Probed(fabric.Marked)
	n.Queues = n.Queues || n.Sent || c.Probed(fabric.Waiting)
	n.Credits = n.Credits || c.Probed(fabric.Outstanding)
	if n.Crossed = n.Crossed && n.Queues || n.Sent; n.Crossed {
		f.crossed = make([]int32, f.graph.NumPorts()*f.vcs)
	}
	if n.Marked && c.Switch.Marks() {
		f.marked = make([]uint32, f.graph.NumPorts())
	}
}
