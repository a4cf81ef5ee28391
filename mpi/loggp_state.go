package mpi

import (
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Archive implements [Stater].
func (t *loggpTransport) Archive(a *snapshot.Archive) {
	mark := func(a *snapshot.Archive, r *hca.Request) { snapshot.Value(a, &r.Mark) }
	snapshot.Array(a, "adapters", t.nodes, func(a *snapshot.Archive, h *hca.HCA) { h.Archive(a, mark) })
	stats := t.nodes[0].Stats()
	if snapshot.Value(a, &stats); a.Reading() {
		t.nodes[0].SetStats(stats)
	}
	snapshot.Array(a, "adapters", t.waking, snapshot.Bool)
}

// Event implements [Stater].
func (t *loggpTransport) Event(a *snapshot.Archive, e *sim.Event) (part int) {
	snapshot.Int(a, &e.Arg)
	return 0
}
