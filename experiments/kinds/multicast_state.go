package kinds

import (
	"maps"
	"slices"

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
	s.loop.carrier.archive(a)
	s.hosts.archive(a)
	if a.Err() != nil {
		return
	}
	s.fabric.ArchiveWithModel(a, s.watch, s.hosts)
	sim.ArchiveKernels(a, []*sim.Kernel{s.kernel}, func(a *snapshot.Archive, e *sim.Event) int {
		snapshot.Int(a, &e.Arg)
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
}

func (l *multicastLoop) group(a *snapshot.Archive, g *loopGroup) {
	sim.ArchiveStream(a, &g.random)
	snapshot.Int(a, &g.sent)
	snapshot.Int(a, &g.posted)
	snapshot.List(a, &g.latency, snapshot.Int)
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

// archive implements carrier.
func (c *softwareCarrier) archive(a *snapshot.Archive) {
	a.Mark("broadcasts")
	snapshot.Array(a, "groups", c.groups, func(a *snapshot.Archive, g *softwareGroup) { g.archive(a) })
	snapshot.Value(a, &c.flows)
	snapshot.Value(a, &c.free)
	delivered := c.delivered()
	if snapshot.Int(a, &delivered); a.Reading() {
		c.parts[0].delivered = delivered
	}
}

func (g *softwareGroup) archive(a *snapshot.Archive) {
	snapshot.Int(a, &g.sender)
	snapshot.Int(a, &g.left)
	snapshot.Int(a, &g.last)
	snapshot.Array(a, "members", g.ranks, func(a *snapshot.Archive, r *softwareRank) { r.archive(a) })
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
	})
	if a.Reading() {
		*counts = map[int32]int{}
		for _, c := range list {
			(*counts)[c.key] = c.n
		}
	}
}

func (h *hosts) archive(a *snapshot.Archive) {
	a.Mark("hosts")
	for t := range h.nodes {
		h.node(a, topology.TerminalID(t))
	}
	unicast := h.unicast()
	snapshot.Value(a, &unicast)
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
		snapshot.Value(a, &p.spec)
	})
	if a.Reading() {
		n.packets, n.head = waiting, 0
	}
}

// ArchiveTag implements core.Packets.
func (h *hosts) ArchiveTag(a *snapshot.Archive, tag *uint64) { snapshot.Int(a, tag) }
