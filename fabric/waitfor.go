package fabric

import (
	"fmt"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
)

// Wait is a packet at the front of a buffer that cannot go on: a step of a
// wait-for cycle.
type Wait struct {
	Holds    topology.Channel    // that the buffer belongs to
	Wants    topology.Channel    // that the packet needs next
	Flits    int                 // in the buffer
	Src, Dst topology.TerminalID // of the packet
	// Holder is the buffer whose packet holds Wants, where that is another
	// one; otherwise the packet has the channel and waits for a credit, and
	// Holder equals Holds.
	Holder topology.Channel
}

// Dependency is the edge of the channel dependency graph that the packet waits
// along.
func (w Wait) Dependency() topology.Dependency {
	return topology.Dependency{Held: w.Holds, Wanted: w.Wants}
}

// WaitForCycle finds packets that wait for each other in a circle: each needs a
// channel whose buffer is headed by the next. It returns nil if there are none.
// Only when nothing has moved for longer than the longest credit round trip is
// a cycle a deadlock; before, the credits may be on their way. Cost: linear in
// ports*vcs.
func (f *Fabric) WaitForCycle() []Wait {
	walkOf := make([]int, f.graph.NumPorts()*f.vcs) // walk that came by the buffer first, from 1
	for start := range walkOf {
		walk := start + 1
		var chain []Wait
		at := start
		for walkOf[at] == 0 {
			walkOf[at] = walk
			w, next := f.waitOf(topology.PortID(at/f.vcs), at%f.vcs)
			if next < 0 {
				break
			}
			chain = append(chain, w)
			at = next
		}
		if walkOf[at] != walk {
			continue // leads into an earlier walk, which found no cycle
		}
		for i := range chain {
			if f.bufferBehind(chain[i].Holds) == at {
				return chain[i:]
			}
		}
	}
	return nil
}

// bufferBehind numbers the buffer that a channel between switches leads to.
func (f *Fabric) bufferBehind(c topology.Channel) int {
	peer, _ := f.graph.PeerPort(c.Port)
	return int(peer)*f.vcs + int(c.VC)
}

// waitOf tells what the packet at the front of buffer (in, vc) waits for, and
// the number of the buffer behind that; -1 if it waits for nothing.
func (f *Fabric) waitOf(in topology.PortID, vc int) (w Wait, next int) {
	upstream, between := f.graph.PeerPort(in)
	q := f.queueOf(in, vc)
	v := &f.queues[q]
	if !between || v.count == 0 || f.masks[q>>6].route>>(q&63)&1 != 0 {
		return w, -1 // behind a terminal's own channel, empty, or just arrived
	}
	out := topology.PortID(f.switches[f.graph.PortSwitch[in]].port0 + int32(v.hop>>16))
	peer, between := f.graph.PeerPort(out)
	if !between {
		return w, -1 // terminals take every flit
	}
	w = Wait{
		Holds: topology.Channel{Port: upstream, VC: uint8(vc)}, Flits: int(v.count),
		Src: f.packets[v.packet>>packetBits].src, Dst: topology.TerminalID(v.dst),
	}
	held := v.out >= 0 && v.packet&f.combined == 0
	for c := range f.vcs {
		o := &f.outVC[f.ov(out, c)]
		switch {
		case held && o.owner == q && o.credits == 0:
		case !held && v.hop>>c&1 != 0 && o.credits < f.bufferOf(out): // taken, or short of room for the whole packet
		default:
			continue
		}
		w.Wants = topology.Channel{Port: out, VC: uint8(c)}
		w.Holder = w.Holds
		if o.owner >= 0 && o.owner != q {
			w.Holder = f.channelInto(o.owner, in)
		}
		return w, int(peer)*f.vcs + c
	}
	return w, -1
}

// channelInto is the channel that ends in queue q of the switch that port is
// on. Where a terminal's channel does, it is the channel out of the switch's
// port, which leads to that terminal.
func (f *Fabric) channelInto(q int32, port topology.PortID) topology.Channel {
	s := &f.switches[f.graph.PortSwitch[port]]
	local := q - s.queue0
	in := topology.PortID(s.port0 + local/int32(f.vcs))
	if peer, ok := f.graph.PeerPort(in); ok {
		in = peer
	}
	return topology.Channel{Port: in, VC: uint8(local % int32(f.vcs))}
}

// DeadlockError ends a run in which nothing moves any more.
type DeadlockError struct {
	Cycles  int64  // since the last flit moved
	Packets int    // in the network
	Waits   []Wait // the wait-for cycle, each waiting for the next, the last for the first
	graph   *topology.Graph
}

func (f *Fabric) deadlock(cycles int64) error {
	return &DeadlockError{Cycles: cycles, Packets: f.InFlight(), Waits: f.WaitForCycle(), graph: f.graph}
}

// Error lists the cycle, a line for each buffer.
func (e *DeadlockError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "deadlock: no flit has moved for %d cycles with %d packets in the network", e.Cycles, e.Packets)
	if len(e.Waits) > 0 {
		fmt.Fprintf(&b, "; a cycle of %d buffers, each waiting for the next:", len(e.Waits))
	}
	g := e.graph
	for _, w := range e.Waits {
		fmt.Fprintf(&b, "\n  VC %d of %s: %d flits; the packet in front, %s to %s, ", w.Holds.VC, g.PortName(w.Holds.Port), w.Flits, g.TerminalName(w.Src), g.TerminalName(w.Dst))
		if w.Holder == w.Holds {
			fmt.Fprintf(&b, "waits for a credit on VC %d of %s", w.Wants.VC, g.PortName(w.Wants.Port))
			continue
		}
		fmt.Fprintf(&b, "wants VC %d of %s, held by a packet from ", w.Wants.VC, g.PortName(w.Wants.Port))
		if t, ok := g.PeerTerminal(w.Holder.Port); ok {
			b.WriteString(g.TerminalName(t))
		} else {
			fmt.Fprintf(&b, "VC %d of %s", w.Holder.VC, g.PortName(w.Holder.Port))
		}
	}
	return b.String()
}
