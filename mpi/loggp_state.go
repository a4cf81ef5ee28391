package mpi

import (
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Archive implements [Stater].
func (t *loggpTransport) Archive(a *snapshot.Archive, known Known) {
	a.Mark("loggp")
	t.known = known
	snapshot.Array(a, "adapters", t.nodes, func(a *snapshot.Archive, h *hca.HCA) { h.Archive(a, t.archiveMark) })
	stats := t.nodes[0].Stats()
	stats.Archive(a)
	if a.Reading() {
		t.nodes[0].SetStats(stats)
	}
	snapshot.Array(a, "adapters", t.waking, snapshot.Bool)
}

// archiveMark archives what a request is, and where it goes.
func (t *loggpTransport) archiveMark(a *snapshot.Archive, m *hca.Request) {
	snapshot.Int(a, &m.Peer)
	snapshot.Int(a, &m.ID)
	snapshot.Int(a, &m.To)
	snapshot.Int(a, &m.Process)
	snapshot.Int(a, &m.Asks)
	snapshot.Bool(a, &m.Quiet)
	if a.Reading() && a.Err() == nil {
		ok := m.Bytes <= maxMessage && m.To >= 0 && int(m.To) < len(t.nodes) && t.known.Transfer(m.ID, m.To, m.Quiet)
		a.Check(ok && t.known.Process(m.Process, m.To) && t.asks(m.Asks), "transfer %d to process %d on node %d", m.ID, m.Process, m.To)
	}
}

// asks tells whether somebody can ask for a connection.
func (t *loggpTransport) asks(asks int32) bool { return asks == 0 || t.known.Process(asks-1, -1) }

// Event implements [Stater].
func (t *loggpTransport) Event(a *snapshot.Archive, e *sim.Event) (part int) {
	snapshot.Int(a, &e.Arg)
	if !a.Reading() || a.Err() != nil {
		return 0
	}
	switch e.Kind {
	case loggpDelivered:
		process, asks := int32(e.Arg), int32(e.Arg>>32)
		ok := t.known.Transfer(e.Target, -1, false) && t.known.Process(process, -1) && t.asks(asks)
		a.Check(ok, "transfer %d to process %d", e.Target, process)
	case loggpFree:
		// The argument is for looking ahead only.
		ok := e.Target >= 0 && int(e.Target) < len(t.nodes) && t.waking[e.Target]
		a.Check(ok && uint32(e.Arg>>16) < uint32(len(t.nodes)), "adapter %d gets free", e.Target)
	default:
		a.Fail("an event %d of a transport", e.Kind)
	}
	return 0
}
