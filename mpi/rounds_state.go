package mpi

import "github.com/weft-sim/weft/sim/snapshot"

// Archive implements [KeptWorkload]: how far each rank has come. What a round consists of
// follows from the schedule.
func (w *ScheduleRun) Archive(a *snapshot.Archive, underway []Underway) {
	a.Mark("schedule")
	var open []int32
	if a.Reading() {
		open = make([]int32, len(w.ranks))
	}
	for _, u := range underway {
		if !u.Over {
			open[u.Rank]++
		}
	}
	r := -1
	snapshot.Array(a, "ranks", w.ranks, func(a *snapshot.Archive, p *rankProgress) {
		r++
		p.archive(a)
		if a.Reading() && a.Err() == nil {
			a.Check(p.round >= 0 && int(p.round) <= w.s.Rounds(r) && p.ready >= 0 && p.ready <= int64(latest) && p.combine >= 0, "rank %d is in round %d of %d at %d", r, p.round, w.s.Rounds(r), p.ready)
			a.Check(p.open == open[r] && (p.open > 0) == (int(p.round) < w.s.Rounds(r)), "rank %d has %d operations under way in round %d of %d, of which there are %d", r, p.open, p.round, w.s.Rounds(r), open[r])
		}
	})
	for _, u := range underway {
		a.Check(u.Over || u.ID == w.ranks[u.Rank].round, "rank %d has an operation of round %d under way in round %d", u.Rank, u.ID, w.ranks[u.Rank].round)
	}
	ends := append([]int64(nil), w.PhaseEnds()...)
	snapshot.Array(a, "phases", ends, snapshot.Int)
	if !a.Reading() || a.Err() != nil {
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

func (p *rankProgress) archive(a *snapshot.Archive) {
	snapshot.Int(a, &p.round)
	snapshot.Int(a, &p.open)
	snapshot.Int(a, &p.ready)
	snapshot.Int(a, &p.combine)
}
