package kinds

import (
	"maps"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// This file writes the state of a point of kind multicast-latency, and reads it: what the
// groups have done, what hosts and carriers keep, the network, and the events to come.

// state is written between two slices, when the hosts have done all up to the present
// cycle: it is the same for any number of threads.
func (s *latencySimulation) state(a *snapshot.Archive) error {
	s.archive(a)
	return a.Err()
}

// restore makes a simulation that has not begun go on from a state.
func (s *latencySimulation) restore(a *snapshot.Archive) error {
	if s.archive(a); a.End() != nil {
		return a.Err()
	}
	if s.thinned {
		s.thin()
	}
	return nil
}

func (s *latencySimulation) archive(a *snapshot.Archive) {
	s.loop.archive(a)
	snapshot.Bool(a, &s.thinned)
	a.Check(!s.thinned || s.loop.left == 0, "the background ended while %d groups lacked messages", s.loop.left)
	s.loop.carrier.archive(a)
	s.hosts.archive(a)
	if a.Err() != nil {
		return
	}
	s.fabric.ArchiveConducted(a, s.watch, s.hosts)
	due := make([]bool, len(s.loop.groups))
	sim.ArchiveKernels(a, []*sim.Kernel{s.kernel}, func(a *snapshot.Archive, e *sim.Event) int {
		snapshot.Int(a, &e.Arg)
		if e.Handler != s.loop.name {
			s.loop.carrier.event(a, e)
			return 0
		}
		group := int(e.Target)
		if a.Check(e.Kind <= loopDone && group >= 0 && group < len(due) && !due[group] && e.Arg == 0, "an event of group %d", group); a.Err() == nil {
			due[group] = true
		}
		return 0
	})
}

func (l *multicastLoop) archive(a *snapshot.Archive) {
	a.Mark("groups")
	snapshot.Array(a, "groups", l.groups, func(a *snapshot.Archive, g *loopGroup) { l.group(a, g) })
	snapshot.Int(a, &l.left)
	l.latency.Archive(a)
	snapshot.Int(a, &l.sum)
	snapshot.Int(a, &l.longest)
	snapshot.Int(a, &l.first)
	snapshot.Int(a, &l.last)
	left := 0
	for i := range l.groups {
		if len(l.groups[i].latency) < l.wanted {
			left++
		}
	}
	a.Check(l.left == left, "%d groups lack messages, not %d", left, l.left)
}

func (l *multicastLoop) group(a *snapshot.Archive, g *loopGroup) {
	sim.ArchiveStream(a, &g.random)
	snapshot.Int(a, &g.sent)
	snapshot.Int(a, &g.posted)
	snapshot.List(a, &g.latency, snapshot.Int)
	a.Check(g.sent >= 0 && len(g.latency) <= min(g.sent, l.wanted), "a group has sent %d messages and measured %d", g.sent, len(g.latency))
}

// archive implements carrier.
func (c *hardwareCarrier) archive(a *snapshot.Archive) {
	a.Mark("multicast")
	snapshot.Array(a, "groups", c.routes, func(a *snapshot.Archive, r *groupRoute) { r.archive(a) })
	delivered, redundant := c.counts()
	snapshot.Int(a, &delivered)
	snapshot.Int(a, &redundant)
	if a.Reading() {
		c.parts[0].delivered, c.parts[0].redundant = delivered, redundant
	}
}

func (r *groupRoute) archive(a *snapshot.Archive) {
	snapshot.Int(a, &r.pending)
	snapshot.Int(a, &r.last)
	snapshot.Array(a, "members", r.heard, snapshot.Int)
	snapshot.Array(a, "members", r.sent, snapshot.Int)
}

// event implements carrier: there are no events.
func (c *hardwareCarrier) event(a *snapshot.Archive, e *sim.Event) {
	a.Check(false, "an event of handler %d", e.Handler)
}

// sent implements carrier.
func (c *hardwareCarrier) sent(group int32, src, dst topology.TerminalID) bool {
	if group < 0 || int(group) >= len(c.routes) || dst != ^topology.TerminalID(c.routes[group].mlid) {
		return false
	}
	_, member := slices.BinarySearch(c.loop.groups[group].members, src)
	return member
}

// vcs implements carrier.
func (c *hardwareCarrier) vcs(group int32) uint32 { return c.routes[group].vcs }

// archive implements carrier.
func (c *softwareCarrier) archive(a *snapshot.Archive) {
	a.Mark("broadcasts")
	snapshot.Array(a, "groups", c.groups, func(a *snapshot.Archive, g *softwareGroup) { g.archive(a) })
	snapshot.List(a, &c.flows, c.flow)
	snapshot.List(a, &c.free, snapshot.Int)
	unused := make([]bool, len(c.flows))
	for _, flow := range c.free {
		if a.Check(flow >= 0 && int(flow) < len(unused) && !unused[flow], "message %d is free", flow); a.Err() != nil {
			return
		}
		unused[flow] = true
		a.Check(c.flows[flow].packets == 0, "message %d is free and under way", flow)
	}
	delivered := c.delivered()
	if snapshot.Int(a, &delivered); a.Reading() {
		c.parts[0].delivered = delivered
	}
}

func (c *softwareCarrier) flow(a *snapshot.Archive, f *softwareFlow) {
	snapshot.Int(a, &f.group)
	snapshot.Int(a, &f.from)
	snapshot.Int(a, &f.to)
	snapshot.Int(a, &f.packets)
	if a.Check(f.group >= 0 && int(f.group) < len(c.groups), "a message of group %d", f.group); a.Err() == nil {
		ranks := int32(len(c.groups[f.group].ranks))
		a.Check(f.from >= 0 && f.from < ranks && f.to >= 0 && f.to < ranks && f.packets >= 0, "a message of group %d: %+v", f.group, *f)
	}
}

func (g *softwareGroup) archive(a *snapshot.Archive) {
	snapshot.Int(a, &g.sender)
	snapshot.Int(a, &g.left)
	snapshot.Int(a, &g.last)
	a.Check(g.sender >= 0 && g.sender < len(g.ranks) && g.left >= 0 && g.left <= len(g.ranks), "member %d sends, %d members lack the message", g.sender, g.left)
	snapshot.Array(a, "members", g.ranks, func(a *snapshot.Archive, r *softwareRank) { r.archive(a) })
	for r := range g.ranks {
		rank := &g.ranks[r]
		a.Check(rank.round >= -1 && rank.round <= g.schedule.Rounds(r) && rank.waiting >= 0, "member %d is in round %d", r, rank.round)
	}
}

func (r *softwareRank) archive(a *snapshot.Archive) {
	snapshot.Int(a, &r.round)
	snapshot.Int(a, &r.waiting)
	archiveCounts(a, &r.early)
	archiveCounts(a, &r.posted)
}

// archiveCounts archives those counts that are not 0, by ascending key.
func archiveCounts(a *snapshot.Archive, counts *map[int32]int) {
	type count struct {
		key int32
		n   int
	}
	var list []count
	for _, key := range slices.Sorted(maps.Keys(*counts)) {
		if n := (*counts)[key]; n != 0 {
			list = append(list, count{key, n})
		}
	}
	snapshot.List(a, &list, func(a *snapshot.Archive, c *count) {
		snapshot.Int(a, &c.key)
		snapshot.Int(a, &c.n)
		a.Check(c.n > 0, "%d of %d", c.n, c.key)
	})
	if a.Reading() {
		*counts = map[int32]int{}
		for _, c := range list {
			(*counts)[c.key] = c.n
		}
	}
}

// event implements carrier.
func (c *softwareCarrier) event(a *snapshot.Archive, e *sim.Event) {
	target := int(e.Target)
	if e.Handler == c.heard {
		a.Check(e.Kind == softwareArrived && e.Arg == 0 && target >= 0 && target < len(c.flows) && c.flows[target].packets == 0 && !slices.Contains(c.free, e.Target), "message %d has arrived", target)
		return
	}
	a.Check(e.Kind == softwareOver && target >= 0 && target < len(c.groups) && e.Arg >= 0 && int(e.Arg) < len(c.groups[target].ranks), "an event of member %d of group %d", e.Arg, target)
}

// sent implements carrier.
func (c *softwareCarrier) sent(flow int32, src, dst topology.TerminalID) bool {
	if flow < 0 || int(flow) >= len(c.flows) {
		return false
	}
	f := &c.flows[flow]
	return f.packets > 0 && c.member(int(f.group), int(f.from)) == src && c.member(int(f.group), int(f.to)) == dst
}

// vcs implements carrier.
func (c *softwareCarrier) vcs(int32) uint32 { return 0 }

func (h *hosts) archive(a *snapshot.Archive) {
	a.Mark("hosts")
	for t := range h.nodes {
		h.node(a, topology.TerminalID(t))
	}
	unicast := h.unicast()
	unicast.archive(a)
	if a.Reading() {
		h.sinks[0].unicast = unicast
	}
	if h.background == nil {
		return
	}
	var births []byte
	if !a.Reading() {
		births = h.background.AppendState(nil)
	}
	snapshot.Blob(a, &births)
	if a.Reading() && a.Err() == nil {
		if err := h.background.RestoreState(births); err != nil {
			a.Fail("%v", err)
		}
	}
}

// node archives a host, with the packets that it has not handed over.
func (h *hosts) node(a *snapshot.Archive, t topology.TerminalID) {
	n := &h.nodes[t]
	snapshot.Int(a, &n.reading)
	snapshot.Int(a, &n.writing)
	waiting := n.packets[n.head:]
	snapshot.List(a, &waiting, func(a *snapshot.Archive, p *hostPacket) {
		snapshot.Int(a, &p.posted)
		p.spec.Archive(a)
	})
	if a.Reading() {
		n.packets, n.head = waiting, 0
	}
	before := int64(0)
	for i := range waiting {
		s := &waiting[i].spec
		dst := s.Dst
		if s.VCs != 0 {
			dst = ^topology.TerminalID(s.MLID)
		}
		a.Check(s.Birth >= before && s.Birth < fabric.Never && s.Tag>>32 != backgroundTag && h.Sent(s.Tag, t, dst, s.Flits) && s.VCs == h.carrier.vcs(int32(s.Tag>>32)-1), "host %d has to send %+v", t, *s)
		before = s.Birth
	}
}

func (m *backgroundMeter) archive(a *snapshot.Archive) {
	snapshot.Int(a, &m.packets)
	snapshot.Int(a, &m.latency)
}

// ArchiveTag implements core.Packets.
func (h *hosts) ArchiveTag(a *snapshot.Archive, tag *uint64) { snapshot.Int(a, tag) }

// Sent implements core.Packets.
func (h *hosts) Sent(tag uint64, src, dst topology.TerminalID, flits int32) bool {
	if tag>>32 == backgroundTag {
		return h.background != nil && tag == 0 && dst >= 0
	}
	bytes := int64(uint32(tag))
	return bytes <= int64(h.MTU) && flits == h.flitsOf(bytes) && h.carrier.sent(int32(tag>>32)-1, src, dst)
}
