package core

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// faults is the state of a network with faults. It stands in for the routing,
// to see where packets are sent. All domains share it; it changes, and packets are
// discarded, while they stand still.
type faults struct {
	fabric.Routing                   // that switches go by
	fabric         *Fabric           //
	plan           *fabric.FaultPlan //
	down           *topology.Down    // now
	whole          bool              // nothing was down at first
	origin         int64             // cycle that the periods count from; Never: it has not come
	now            int               // period
	known          int               // period that the routing goes by
	part           []int32           // components of known, by switch
	senders        []sender          // by terminal
	doomed         []int32           // packets to be discarded at the beginning of this cycle
}

// SetFaults makes things fail during the run. It must be called before
// [Fabric.Attach]. Credit sensing, whose record of round trips a discarded
// packet would leave open, is an error where something fails during the run.
func (f *Fabric) SetFaults(plan *fabric.FaultPlan) error {
	if len(plan.Periods) == 0 || len(plan.Periods) != len(plan.Routing) || plan.Periods[0].From != 0 {
		panic("core: a fault plan without a period, or a routing for every period, from cycle 0 on")
	}
	if f.unit != nil {
		return fmt.Errorf("packets as the unit cannot be discarded on their way: set fabric.unit = \"flit\", or let faults last for the whole run and cut nobody off")
	}
	if f.sensing != nil && len(plan.Periods) > 1 {
		return fmt.Errorf("credit sensing cannot follow packets that are discarded: set switch.credit_sensing = \"off\", or let faults last for the whole run")
	}
	if (f.lanes != nil || f.laneQueues != nil) && len(plan.Periods) > 1 {
		return fmt.Errorf("arbitration between lanes cannot follow packets that are discarded while they cross a switch: leave out switch.vlarb_high and vlarb_low, or let faults last for the whole run")
	}
	for _, r := range plan.Routing {
		if err := checkRouting(f.graph, r); err != nil {
			return err
		}
	}
	x := &faults{fabric: f, plan: plan, down: plan.Periods[0].Down, whole: plan.Periods[0].Down.None(), senders: make([]sender, f.graph.Terminals())}
	if plan.AfterWarmup {
		x.origin = fabric.Never
	}
	x.learn(0)
	f.Faults, f.routing = x, x
	if f.departer != nil {
		f.departer = x
	}
	f.SourcePackets = &sourcePacketTable{}
	return nil
}

// FaultTally is what has become of packets so far; zero without faults.
func (f *Fabric) FaultTally() fabric.FaultTally {
	tally := fabric.FaultTally{}
	for _, d := range f.domains {
		if d.retry != nil {
			tally.Add(d.retry.tally)
		}
	}
	return tally
}

// Route implements [fabric.Routing]: packets that are sent to a channel that is down
// are discarded.
func (x *faults) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	hop := x.Routing.Route(v, h)
	if hop.Port != topology.NoPort && x.down.Port(hop.Port) {
		return fabric.Discard
	}
	return hop
}

// Depart implements [fabric.Departer].
func (x *faults) Depart(v *fabric.View, h *fabric.Head) uint32 {
	return x.Routing.(fabric.Departer).Depart(v, h)
}

// ReadsWithin implements [fabric.RemoteReader] for the routings of all periods.
func (x *faults) ReadsWithin(domain []int) bool {
	for _, routing := range x.plan.Routing {
		if r, ok := routing.(fabric.RemoteReader); ok && !r.ReadsWithin(domain) {
			return false
		}
	}
	return true
}

// learn lets switches and terminals go by the faults of a period.
func (x *faults) learn(period int) {
	x.known = period
	x.Routing = x.plan.Routing[period]
	x.part = x.plan.Periods[period].Down.Components()
}

// reachable tells whether terminals know of a path from src to dst.
func (x *faults) reachable(g *topology.Graph, src, dst topology.TerminalID) bool {
	from, to := g.TerminalSwitch(src), g.TerminalSwitch(dst)
	return !x.down.Switch(from) && x.part[from] >= 0 && x.part[from] == x.part[to]
}

// WarmedUp tells a network that its warm-up has ended, if that is news: what is to fail
// after it counts from the present cycle.
func (f *Fabric) WarmedUp() {
	if f.Faults != nil && f.Faults.origin == fabric.Never {
		f.Faults.origin = f.Cycle()
	}
}

// changes is the first cycle of the period behind one, and heard the one in which the routing
// goes by it; Never: there is none, or it is not known yet.
func (x *faults) changes(period int) int64 {
	if period+1 >= len(x.plan.Periods) || x.origin == fabric.Never {
		return fabric.Never
	}
	return x.origin + x.plan.Periods[period+1].From
}

func (x *faults) heard(period int) int64 {
	if c := x.changes(period); c < fabric.Never {
		return c + x.plan.Reroute
	}
	return fabric.Never
}

// next is the next cycle in which something changes.
func (x *faults) next() (cycle int64, any bool) {
	cycle = min(x.heard(x.known), x.changes(x.now))
	return cycle, cycle < fabric.Never
}

// tick is what happens at the beginning of cycle c, before anything arrives: in all
// domains, none of which simulates meanwhile. It tells whether packets are discarded.
func (x *faults) tick(c int64) (discards bool) {
	for x.changes(x.now) <= c {
		x.now++
		before := x.down
		x.down = x.plan.Periods[x.now].Down
		x.fabric.deliverHanded()
		x.failSince(before, x.down, c)
	}
	for x.heard(x.known) <= c {
		x.learn(x.known + 1)
	}
	for _, d := range x.fabric.domains {
		x.doomed = append(x.doomed, d.doomed...)
		d.doomed = d.doomed[:0]
	}
	if len(x.doomed) == 0 {
		return false
	}
	x.fabric.deliverHanded()
	slices.Sort(x.doomed)
	x.purge(slices.Compact(x.doomed), c)
	x.doomed = x.doomed[:0]
	return true
}

// window is tick for domains that are about to simulate the cycles behind from, until some
// cycle at most, and tells until which they can without hearing of each other. A packet is
// discarded wherever it is in the cycle after a switch finds that it can go nowhere:
// where that can happen a window is a cycle long. It cannot in a network in which nothing
// has failed yet.
func (x *faults) window(from, until int64) int64 {
	if x.tick(from + 1) {
		for _, d := range x.fabric.domains {
			d.purged = from + 1
		}
	}
	if x.now > 0 || x.known > 0 || !x.whole {
		return from + 1
	}
	return max(min(until, x.changes(0)-1), from+1)
}

// doom has a packet discarded.
func (x *faults) doom(packet int32) { x.doomed = append(x.doomed, packet) }

// discard takes a head out of the running for which the routing has no way:
// what is left of its packet is discarded in the next cycle. A decision of no
// virtual channels, here of port 1 (0 alone would be a multicast packet's), waits
// until then without being granted anything. Not inlined: the loop over arrivals keeps
// more in registers without it.
//
//go:noinline
func (d *Domain) discard(head *Queued) {
	head.Hop = 1 << 16
	d.doomed = append(d.doomed, head.Packet>>PacketBits)
}

// failSince dooms the packets that what has failed between two states of the
// network, the second of which begins with cycle c, takes with it.
func (x *faults) failSince(before, now *topology.Down, c int64) {
	f, g := x.fabric, x.fabric.graph
	failed := make([]bool, g.NumPorts())
	for p := range failed {
		port := topology.PortID(p)
		if failed[p] = now.Port(port) && !before.Port(port); !failed[p] {
			continue
		}
		// What waited behind the crossbar is gone.
		f.Out[p].NextFree = min(f.Out[p].NextFree, c<<IntervalShift)
		if t, ok := g.PeerTerminal(port); ok {
			o, te := &f.Out[f.TerminalOut0+int32(t)], &f.Terminals[t]
			o.NextFree = min(o.NextFree, c<<IntervalShift)
			if te.Packet >= 0 {
				x.doom(te.Packet)
			}
		}
	}
	for _, d := range f.domains {
		for _, w := range d.Flits {
			if w == nil {
				continue
			}
			w.Each(func(e Flit) {
				if e.Queue < 0 && failed[g.TerminalPort[^e.Queue]] || e.Queue >= 0 && failed[f.portOf(e.Queue)] {
					x.doom(e.Packet >> PacketBits)
				}
			})
		}
		x.failSwitches(d, before, now, failed, c)
	}
}

// failSwitches dooms packets in the switches of a domain, from cycle c on.
func (x *faults) failSwitches(d *Domain, before, now *topology.Down, failed []bool, c int64) {
	for _, s := range d.Mine {
		sw := &d.Switches[s]
		whole := now.Switch(topology.SwitchID(s)) && !before.Switch(topology.SwitchID(s))
		for local := range uint32(sw.Ports) * uint32(d.vcs) {
			v := sw.Queue(local)
			if d.holdsVC(sw, local, v) && failed[sw.Port0+int32(v.Hop>>16)] {
				x.doom(v.Packet >> PacketBits)
			}
			d.EachQueued(v, func(q *Queued) {
				if whole || failed[sw.Port0+int32(q.Hop>>16)] && q.Hop&(1<<16-1) != 0 {
					x.doom(q.Packet >> PacketBits)
				}
			})
		}
	}
}

// holdsVC tells whether the packet at the front of a queue, or whose later flits
// are still to come, holds an output virtual channel.
func (d *Domain) holdsVC(sw *SwitchState, local uint32, v *InVC) bool {
	return v.Out >= 0 && sw.outVC(uint32(v.Out)).owner == sw.Queue0+int32(local)
}

// EachQueued visits the flits of a queue from the front.
func (d *Domain) EachQueued(v *InVC, visit func(*Queued)) {
	if v.Count == 0 {
		return
	}
	visit(&v.Queued)
	if v.Count == 1 {
		return
	}
	n := d.Pool[v.Last-1].Next
	for range v.Count - 1 {
		b := &d.Pool[n-1]
		visit(&b.Queued)
		n = b.Next
	}
}
