package goal

import (
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Archive implements [mpi.KeptWorkload]: what every operation still needs, and since when it
// has had the rest.
func (w *replay) Archive(a *snapshot.Archive, underway []mpi.Underway) {
	a.Mark("replay")
	i := int32(-1)
	snapshot.Array(a, "operations", w.needs, func(a *snapshot.Archive, needs *int32) {
		i++
		// Those that wait for as much as at the start are many.
		met := w.ops.at(i).needs - *needs
		snapshot.Int(a, &met)
		*needs = w.ops.at(i).needs - met
		a.Check(met >= 0 && *needs >= 0, "operation %d needs %d others", i, *needs)
		if met > 0 {
			snapshot.Int(a, &w.ready[i])
			a.Check(w.ready[i] >= 0, "operation %d is ready at %d", i, w.ready[i])
		}
	})
	if !a.Reading() || a.Err() != nil {
		return
	}
	w.left = 0
	for _, needs := range w.needs {
		if needs > 0 {
			w.left++
		}
	}
	seen := make([]bool, len(w.needs))
	for _, u := range underway {
		first, end := w.first[u.Rank], w.first[u.Rank+1]
		i := first + u.ID
		if ok := u.ID >= 0 && i < end && i >= first && w.needs[i] == 0 && (u.Over || !seen[i]); !ok {
			a.Fail("rank %d has operation %d under way", u.Rank, u.ID)
			return
		}
		seen[i] = seen[i] || !u.Over
	}
}
