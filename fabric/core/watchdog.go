package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Watchdog finds out whether packets have stopped for good: all, or some that wait for each other
// while others go by.
type Watchdog struct {
	f       *Fabric  `snap:"-"`
	limit   int64    `snap:"-"` // cycles without a move that no channel explains
	moved   Counters // at the last sign of life
	movedAt int64
	waits   []Wait `snap:"-"` // a wait-for cycle, as seen at waitsAt
	waitsAt int64
}

// stallCycles without any movement are a deadlock: longer than any channel in use.
const stallCycles = 5000

// Watch begins to watch f.
func (f *Fabric) Watch() *Watchdog { return &Watchdog{f: f, limit: stallCycles + f.LongestLatency()} }

// Look returns a *DeadlockError if nothing has moved, or the same packets have waited for each
// other in a circle, for longer than any channel takes, and no credit is on its way (late ones of
// credit sensing can take longer). Call it now and then. Cost: a [Fabric.WaitForCycle] in 5,000
// cycles.
func (w *Watchdog) Look() error {
	f := w.f
	if now := f.Counters; now != w.moved || f.InFlight() == 0 {
		w.moved, w.movedAt = now, f.cycle
	} else if f.cycle-w.movedAt > w.limit && !f.CreditsUnderWay() {
		return f.deadlock(f.cycle - w.movedAt)
	}
	if f.cycle-w.waitsAt <= w.limit {
		return nil
	}
	waits := f.WaitForCycle()
	if len(waits) > 0 && slices.Equal(waits, w.waits) && f.stuck(waits) {
		return &DeadlockError{Cycles: f.cycle - w.waitsAt, Partial: true, Packets: f.InFlight(), Waits: waits, graph: f.graph}
	}
	w.waits, w.waitsAt = waits, f.cycle
	return nil
}

// stuck tells that what a wait-for cycle's packets want is full: all missing credits are flits in
// the buffer.
func (f *Fabric) stuck(waits []Wait) bool {
	for i, w := range waits {
		credits := int(f.OutVC[f.ov(w.Wants.Port, int(w.Wants.VC))].credits)
		if credits+waits[(i+1)%len(waits)].Flits < int(f.buffer) {
			return false
		}
	}
	return true
}

// LongestLatency is the latency of the slowest channel, in cycles.
func (f *Fabric) LongestLatency() int64 {
	longest := int64(0)
	for i := range f.Out {
		longest = max(longest, f.Latency(&f.Out[i])+f.Pace(&f.Out[i]).Interval>>IntervalShift)
	}
	return longest
}

// ArchiveNetwork writes the state of w's network, and what w has seen of it, between two cycles, or
// reads both into a network that is attached and has not run.
func (w *Watchdog) ArchiveNetwork(a *snapshot.Archive) { w.archive(w.f.archive(a, nil)) }

func (w *Watchdog) archive(x *Archiver) {
	snapshot.Value(x.Archive, w)
	snapshot.List(x.Archive, &w.waits, func(a *snapshot.Archive, wait *Wait) {
		snapshot.Value(a, wait)
		x.Packets.idOrNone(a, &wait.packet)
	})
}

// Wait is a packet at the front of a buffer that cannot go on: a step of a cycle.
type Wait struct {
	Holds    topology.Channel    // that the buffer belongs to
	Wants    topology.Channel    // that the packet needs next
	Flits    int                 // in the buffer
	Src, Dst topology.TerminalID // of the packet
	// Multicast packets have no Dst, and may wait for several channels at once: this is one.
	Multicast bool
	packet    int32 `snap:"-"` // Holder is the buffer whose packet holds Wants, where that is another
	// one; otherwise the packet has the channel and waits for a credit, and Holder equals Holds.
	Holder topology.Channel
}

// Dependency is the edge of the channel dependency graph that the packet waits along.
func (w Wait) Dependency() topology.Dependency {
	return topology.Dependency{Held: w.Holds, Wanted: w.Wants}
}

// WaitForCycle finds packets that wait for each other in a circle: each needs a channel whose
// buffer is headed by the next. It returns nil if there are none. A cycle is a deadlock only if
// nothing has moved for longer than the longest credit round trip. Cost: linear in ports*vcs.
func (f *Fabric) WaitForCycle() []Wait {
	if d := f.domains[0]; d.Unit != nil {
		d.Unit.settleAll(d)
	}
	w := waitWalk{f: f, seen: make([]bool, f.graph.NumPorts()*f.vcs), depth: map[int]int{}}
	for at := range w.seen {
		if cycle := w.from(at); cycle != nil {
			return cycle
		}
	}
	return nil
}

// waitWalk is a depth-first search over buffers, from each to those that its front packet waits
// for.
type waitWalk struct {
	f     *Fabric
	seen  []bool      // by buffer
	depth map[int]int // of the buffers on the way: how many came before
	chain []Wait
}

// from returns the first cycle found from a buffer on.
func (w *waitWalk) from(at int) []Wait {
	if w.seen[at] {
		return nil
	}
	w.seen[at] = true
	w.depth[at] = len(w.chain)
	defer delete(w.depth, at)
	for _, step := range w.f.waitsOf(topology.PortID(at/w.f.vcs), at%w.f.vcs) {
		w.chain = append(w.chain, step.Wait)
		if depth, on := w.depth[step.next]; on {
			return w.chain[depth:]
		}
		if cycle := w.from(step.next); cycle != nil {
			return cycle
		}
		w.chain = w.chain[:len(w.chain)-1]
	}
	return nil
}

// waitStep is what a packet waits for, and the buffer behind that.
type waitStep struct {
	Wait
	next int
}

// waitsOf tells what the front packet of buffer (in, vc) waits for: one thing, or one for each
// multicast branch that cannot go on.
func (f *Fabric) waitsOf(in topology.PortID, vc int) []waitStep {
	upstream, between := f.graph.PeerPort(in)
	q := f.queueOf(in, vc)
	v := &f.Queues[q]
	if !between || v.Count == 0 || f.Masks[q>>6].route>>(q&63)&1 != 0 {
		return nil // behind a terminal's own channel, empty, or just arrived
	}
	w := Wait{
		Holds: topology.Channel{Port: upstream, VC: uint8(vc)}, Flits: int(v.Count), packet: v.Packet,
		Src: f.Packet(v.Packet >> PacketBits).Src, Dst: topology.TerminalID(v.dst),
	}
	if d := f.domainAt(int32(f.graph.PortSwitch[in])); d.Unit != nil {
		if w.Flits = d.Unit.queuedFlits(d, q); w.Flits == 0 {
			return nil // on its way
		}
	}
	port0 := f.Switches[f.graph.PortSwitch[in]].Port0
	if v.dst >= 0 {
		held := v.Out >= 0 && v.Packet&f.Combined == 0
		return f.waitFor(nil, w, in, topology.PortID(port0+int32(v.Hop>>16)), v.Hop, held)
	}
	w.Dst, w.Multicast = 0, true
	m := f.domainAt(int32(f.graph.PortSwitch[in])).multicast
	i := m.under[q]
	if i == 0 {
		return nil // has not been looked up
	}
	var all []waitStep
	for _, b := range m.work[i-1].branches {
		if b.lov < 0 {
			all = f.waitFor(all, w, in, topology.PortID(port0+int32(b.output)), v.State, false)
		}
	}
	return all
}

// waitFor adds what a front packet of a buffer behind port in waits for on its way to port out: a
// virtual channel of a set, held already or not.
func (f *Fabric) waitFor(all []waitStep, w Wait, in, out topology.PortID, vcs uint32, held bool) []waitStep {
	peer, between := f.graph.PeerPort(out)
	if !between {
		return all // terminals take every flit that comes
	}
	q := f.queueOf(in, int(w.Holds.VC))
	for c := range f.vcs {
		o := &f.OutVC[f.ov(out, c)]
		switch {
		case held && o.owner == q && o.credits == 0:
		case !held && vcs>>c&1 != 0 && o.credits < f.bufferOf(out): // taken, or short of room for the whole packet
		default:
			continue
		}
		w.Wants = topology.Channel{Port: out, VC: uint8(c)}
		w.Holder = w.Holds
		if o.owner >= 0 && o.owner != q {
			w.Holder = f.channelInto(o.owner, in)
		}
		return append(all, waitStep{w, int(peer)*f.vcs + c})
	}
	return all
}

// channelInto is the channel that ends in queue q of port's switch. A terminal's channel is named
// by the switch port that leads to it.
func (f *Fabric) channelInto(q int32, port topology.PortID) topology.Channel {
	s := &f.Switches[f.graph.PortSwitch[port]]
	local := q - s.Queue0
	in := topology.PortID(s.Port0 + local/int32(f.vcs))
	if peer, ok := f.graph.PeerPort(in); ok {
		in = peer
	}
	return topology.Channel{Port: in, VC: uint8(local % int32(f.vcs))}
}

// DeadlockError ends a run in which nothing moves any more.
type DeadlockError struct {
	Cycles  int64  // since the last flit moved
	Partial bool   // since one of Waits moved: other packets still do
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
	if e.Partial {
		fmt.Fprintf(&b, "deadlock: some packets have not moved for %d cycles while others went by, %d packets in the network", e.Cycles, e.Packets)
	} else {
		fmt.Fprintf(&b, "deadlock: no flit has moved for %d cycles with %d packets in the network", e.Cycles, e.Packets)
	}
	if len(e.Waits) > 0 {
		fmt.Fprintf(&b, "; a cycle of %d buffers, each waiting for the next:", len(e.Waits))
	}
	g := e.graph
	for _, w := range e.Waits {
		to := "a group"
		if !w.Multicast {
			to = g.TerminalName(w.Dst)
		}
		fmt.Fprintf(&b, "\n  VC %d of %s: %d flits; the packet in front, %s to %s, ", w.Holds.VC, g.PortName(w.Holds.Port), w.Flits, g.TerminalName(w.Src), to)
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

// Rest audits a fabric that a kernel has driven to its end: packets still in it are deadlocked,
// otherwise all flits and credits must be accounted for.
func (f *Fabric) Rest() error {
	if f.InFlight() > 0 {
		return f.deadlock(stallCycles)
	}
	return f.Audit()
}
