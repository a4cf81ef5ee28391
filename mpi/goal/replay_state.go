package goal

import "github.com/weft-sim/weft/sim/snapshot"

// Archive implements [mpi.KeptWorkload]: what every operation still needs, and since when it
// has had the rest. Operations that wait for as much as at the start are many.
func (w *replay) Archive(a *snapshot.Archive) {
	i := int32(-1)
	snapshot.Array(a, "operations", w.needs, func(a *snapshot.Archive, needs *int32) {
		i++
		met := w.ops.at(i).needs - *needs
		snapshot.Int(a, &met)
		if *needs = w.ops.at(i).needs - met; met > 0 {
			snapshot.Int(a, &w.ready[i])
		}
	})
	if !a.Reading() {
		return
	}
	w.left = 0
	for _, needs := range w.needs {
		if needs > 0 {
			w.left++
		}
	}
}
