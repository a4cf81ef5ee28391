package core

import (
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

// Watchdog finds out whether packets have come to a halt for good: all of them,
// or some that wait for each other while others go by on other channels.
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
func (f *Fabric) Watch() *Watchdog {
	return &Watchdog{f: f, limit: stallCycles + f.LongestLatency()}
}

// Look returns a *DeadlockError if nothing has moved, or the same packets have
// waited for each other in a circle, for longer than any channel takes, and no
// credit is on its way: those that are sensed to be late can take longer than that.
// Call it every so often. Cost: once in 5,000 cycles that of
// [Fabric.WaitForCycle], otherwise nothing.
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

// stuck tells that what the packets of a wait-for cycle want is full: all
// credits that are missing stand for flits in the buffer.
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

// ArchiveNetwork writes the state of the network that w watches, and what w has seen of it, between two
// cycles, or reads both into a network that is attached and has not run.
func (w *Watchdog) ArchiveNetwork(a *snapshot.Archive) { w.archive(w.f.archive(a)) }

func (w *Watchdog) archive(x *Archiver) {
	snapshot.Value(x.Archive, w)
	snapshot.List(x.Archive, &w.waits, func(a *snapshot.Archive, wait *Wait) {
		snapshot.Value(a, wait)
		x.Packets.idOrNone(a, &wait.packet)
	})
}
