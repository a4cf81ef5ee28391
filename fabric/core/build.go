package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
)

// This file lays out what [New] makes: the network and the state of its hardware.

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
			f.lead = int64(min(1, f.config.Terminal.InjectionCycles))
		}
		f.departures = make([]sim.Stream, f.graph.Terminals())
		for t := range f.departures {
			f.departures[t] = sim.NewStream(f.seed, "departure", t)
		}
	}
	if r, ok := routing.(fabric.EscapeRouting); ok {
		f.escape = newEscape(&f.network, r)
	}
	if f.config.Switch.Marks() { // by what waits, which does not make terminals decide ahead
		f.needs.Queues = true
	}
	f.countPorts()
}

// layOutSwitches numbers the switches and their queues.
func (f *Fabric) layOutSwitches() {
	g, vcs := f.graph, int32(f.vcs)
	f.switches = make([]switchState, g.Switches())
	f.streams = make([]sim.Stream, g.Switches())
	word := int32(0)
	for s := range f.switches {
		first, end := g.Ports(topology.SwitchID(s))
		n := int32(end - first)
		words := (n*vcs + 63) / 64
		f.switches[s] = switchState{queue0: word * 64, port0: int32(first), ports: n}
		f.streams[s] = sim.NewStream(f.seed, "routing", s)
		word += words
		f.mostPorts = max(f.mostPorts, n)
	}
	f.queues = make([]inVC, word*64)
	f.waitNext = make([]int32, len(f.queues))
	f.acceptOV = make([]int32, len(f.queues))
	f.upcoming = newUpcoming(&f.network, len(f.queues))
	f.masks = make([]masks, word)
	f.wordSwitch = make([]int32, word)
	for q := range f.queues {
		f.queues[q].out = -1
	}
}

// wire fills in both ends of every channel.
func (f *Fabric) wire(timings []timing) {
	g, vcs := f.graph, f.vcs
	ports, terminals := g.NumPorts(), g.Terminals()
	f.received = unboundedCredits
	if n := f.config.Terminal.BufferFlits; n > 0 {
		f.received = int32(n)
	}
	f.terminalOut0, f.terminalOV0 = int32(ports), int32(ports*vcs)
	f.outVC = make([]outVC, (ports+terminals)*vcs)
	f.out = make([]outPort, ports+terminals)
	f.in = make([]inPort, ports)
	for s := range f.switches {
		sw := &f.switches[s]
		end := int32(len(f.queues))
		if s+1 < len(f.switches) {
			end = f.switches[s+1].queue0
		}
		sw.masks = f.masks[sw.queue0/64 : end/64]
		if sw.ports > 0 {
			port0, ports := int(sw.port0), int(sw.ports)
			sw.queues, sw.outVCs = check.Of(f.queues[sw.queue0:end]), check.Of(f.outVC[port0*vcs:][:ports*vcs])
			sw.outs, sw.ins = check.Of(f.out[port0:][:ports]), check.Of(f.in[port0:][:ports])
		}
		for w := range sw.masks {
			f.wordSwitch[int(sw.queue0/64)+w] = int32(s)
		}
	}
	f.terminals = make([]terminal, terminals)
	credit := int32(f.config.Switch.CreditCycles)
	limit := int64(f.config.Switch.OutputBufferFlits)
	// Where a terminal's buffers are unbounded, what waits for its channel is
	// bounded at the switch: by what a switch would have room for, but not so that
	// flits on their way through the crossbar keep the channel from being full.
	terminalLimit := limit
	if limit == 0 && !f.receives() {
		terminalLimit = max(int64(f.buffer)*int64(vcs), f.config.Switch.CrossingCycles()+2)
	}
	for p := range ports {
		port := topology.PortID(p)
		t := timings[g.PortClass[p]]
		o := outPort{until: -1, free: 1<<vcs - 1, pace: f.paceOf(t, limit)}
		f.in[p].until, f.in[p].delay = -1, t.latency+credit
		if peer, ok := g.PeerPort(port); ok {
			o.dest, o.bounded, o.wheel = f.queueOf(peer, 0), 1, toSwitches
			f.in[p].upstream = f.ov(peer, 0)
		} else {
			terminal, _ := g.PeerTerminal(port)
			o.dest, o.pace = ^int32(terminal), f.paceOf(t, terminalLimit)
			f.in[p].upstream = f.terminalOV(terminal, 0)
			f.out[ports+int(terminal)] = outPort{until: -1, dest: f.queueOf(port, 0), pace: f.paceOf(t, 0)}
		}
		f.out[p] = o
		for vc := range vcs {
			f.outVC[f.ov(port, vc)] = outVC{credits: f.bufferOf(port), owner: ^f.switches[g.PortSwitch[p]].queue0}
		}
	}
	for ov := f.terminalOV0; int(ov) < len(f.outVC); ov++ {
		f.outVC[ov].credits = f.buffer
	}
}

// reach bounds how far ahead the fabric files flits and credits in the usual
// case: the longest channel, with some flits waiting for it.
func (f *Fabric) reach(timings []timing) int64 {
	reach := int64(0)
	for _, t := range timings {
		reach = max(reach, int64(t.latency)+(4*t.interval)>>intervalShift)
	}
	s := &f.config.Switch
	pipeline := s.RouteCycles + s.VCAllocCycles + s.SwitchAllocCycles + s.CrossbarCycles + s.CreditCycles
	return reach + int64(pipeline) + int64(f.config.Terminal.InjectionCycles) + 16
}
