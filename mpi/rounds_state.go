package mpi

import "github.com/weft-sim/weft/sim/snapshot"

// Archive implements [KeptWorkload]: how far each rank has come. What a round consists of
// follows from the schedule.
func (w *ScheduleRun) Archive(a *snapshot.Archive) {
	snapshot.Array(a, "ranks", w.ranks, snapshot.Value)
	ends := append([]int64(nil), w.PhaseEnds()...)
	snapshot.Array(a, "phases", ends, snapshot.Int)
	if !a.Reading() {
		return
	}
	copy(w.phaseEnd, ends)
	w.left = 0
	for r := range w.ranks {
		if w.ranks[r].open > 0 {
			w.left++
		}
	}
}
