package kinds

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// This file writes the state of a point of kind multicast-latency, and reads it: what the
// groups have done, what hosts and carriers keep, the network, and the events to come.

// AppendState implements fabric.Kept, when the hosts have done all up to the present
// cycle: it is the same for any number of threads.
func (s *latencySimulation) AppendState(b []byte) []byte {
	a := snapshot.Writer()
	s.archive(a)
	return append(b, a.Bytes()...)
}

// RestoreState implements fabric.Kept.
func (s *latencySimulation) RestoreState(b []byte) error {
	a := snapshot.Reader(b)
	s.archive(a)
	s.thin()
	return a.End()
}

func (s *latencySimulation) archive(a *snapshot.Archive) {
	s.loop.archive(a)
	s.carrier.archive(a)
	s.hosts.archive(a)
	sim.ArchiveKernels(a, []*sim.Kernel{s.kernel}, func(a *snapshot.Archive, e *sim.Event) int {
		snapshot.Int(a, &e.Arg)
		return 0
	})
}

func (l *multicastLoop) archive(a *snapshot.Archive) {
	a.Mark("groups")
	snapshot.Array(a, "groups", l.groups, func(a *snapshot.Archive, g *loopGroup) { l.group(a, g) })
	snapshot.Int(a, &l.left)
	snapshot.Int(a, &l.measured)
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
}

// archive archives those counts that are not 0, by ascending ranks.
func (g *softwareGroup) archive(a *snapshot.Archive) {
	snapshot.Int(a, &g.sender)
	g.run.Archive(a)
	pairs := slices.DeleteFunc(slices.SortedFunc(maps.Keys(g.met), softwarePair.compare), func(p softwarePair) bool { return g.met[p] == 0 })
	snapshot.List(a, &pairs, func(a *snapshot.Archive, p *softwarePair) {
		n := g.met[*p]
		snapshot.Value(a, p)
		snapshot.Int(a, &n)
		g.met[*p] = n
	})
}

func (p softwarePair) compare(q softwarePair) int {
	return cmp.Or(cmp.Compare(p.from, q.from), cmp.Compare(p.to, q.to))
}

func (h *hosts) archive(a *snapshot.Archive) {
	a.Mark("hosts")
	for t := range h.nodes {
		h.node(a, topology.TerminalID(t))
	}
	tally := h.tally()
	if snapshot.Value(a, &tally); a.Reading() {
		h.before = tally
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
