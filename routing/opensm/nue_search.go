package opensm

import (
	"math"

	"github.com/weft-sim/weft/routing/opensm/sssp"
)

// search grows paths from the source: Dijkstra's algorithm over channels, with sssp's
// heap. A channel goes on by those whose dependency on it is in the graph already, then
// by those whose dependency closes no cycle.
func (w *nueSearch) search(source int32) {
	w.source, w.late = source, false
	for n := range w.used {
		w.used[n], w.dist[n], w.islands[n] = -1, sssp.Infinity, false
	}
	w.heap.Clear()
	w.dist[source] = 0
	for _, again := range []bool{true, false} {
		for l := w.c.start[source]; l < w.c.start[source+1]; l++ {
			if d := w.paths.Weight(l); w.first[l] == again && d < w.dist[w.c.peer[l]] {
				w.reach(l, d)
			}
		}
	}
	w.settle()
}

// settle empties the heap.
func (w *nueSearch) settle() {
	for w.heap.Len() > 0 {
		l := w.heap.Pop()
		n := w.c.peer[l]
		if w.used[n] != l {
			continue
		}
		for _, known := range []bool{true, false} {
			for next := w.c.start[n]; next < w.c.start[n+1]; next++ {
				slot := w.graph.at(l, next)
				if next == w.c.back[l] || w.c.peer[next] == w.source || (w.graph.uses[slot] > 0) != known {
					continue
				}
				w.relax(l, next, slot)
			}
		}
	}
}

// relax takes channel next behind l if that is a shorter way and closes no cycle.
func (w *nueSearch) relax(l, next, slot int32) {
	n, to := w.c.peer[l], w.c.peer[next]
	d := w.dist[n] + w.paths.Weight(next)
	if d >= w.dist[to] {
		return
	}
	if w.late && w.used[to] >= 0 && w.used[to] != next && (!w.islands[n] || !w.leads(next, to)) {
		return
	}
	if w.graph.uses[slot] == 0 {
		if w.blocked[slot] {
			return
		}
		if !w.graph.add(l, next) {
			w.blocked[slot] = true
			return
		}
		w.tried = append(w.tried, slot)
		w.trial[slot] = true
	}
	w.reach(next, d)
}

// reach makes l the channel that its node is reached by. The one before it leaves the
// heap, and its dependency the graph if this search has entered it.
func (w *nueSearch) reach(l int32, d uint64) {
	n := w.c.peer[l]
	if old := w.used[n]; old >= 0 && old != l {
		if w.heap.Has(old) {
			w.heap.Remove(old)
		}
		if before := w.before(n); before >= 0 {
			if slot := w.graph.at(before, old); w.trial[slot] {
				w.trial[slot] = false
				w.graph.uses[slot] = 0
			}
		}
	}
	w.used[n], w.dist[n] = l, d
	if w.heap.Has(l) {
		w.heap.Lower(l, d)
	} else {
		w.heap.Insert(l, d)
	}
}

// leads tells whether the paths that go on from node n could do so behind channel l: by
// dependencies that are in the graph.
func (w *nueSearch) leads(l, n int32) bool {
	for next := w.c.start[n]; next < w.c.start[n+1]; next++ {
		if w.used[w.c.peer[next]] == next && (next == w.c.back[l] || w.graph.uses[w.graph.at(l, next)] == 0) {
			return false
		}
	}
	return true
}

// resolve finds ways to the switches that the search has left without one; each is
// tried once. ok is false if some stay without.
func (w *nueSearch) resolve() (ok bool) {
	w.late = true
	for n := range int32(len(w.used)) {
		if w.used[n] < 0 && n != w.source && w.backtrack(n) {
			w.settle()
		}
	}
	return !w.stuck()
}

// stuck tells whether switches are left without a path.
func (w *nueSearch) stuck() bool {
	for n, l := range w.used {
		if l < 0 && int32(n) != w.source {
			return true
		}
	}
	return false
}

// backtrack leads a neighbour of an unreached switch another way, from which it can go
// on to that switch: by a channel that the graph has in use already behind the path to
// where it begins, and from which the graph has the ways to all switches behind the
// neighbour in use. Of several, the neighbour and channel are taken that leave the
// neighbour nearest.
func (w *nueSearch) backtrack(island int32) bool {
	best := uint64(math.MaxUint64)
	in, out := int32(-1), int32(-1)
	for b := w.c.start[island]; b < w.c.start[island+1]; b++ {
		near, onward := w.c.peer[b], w.c.back[b]
		if near == w.source || w.used[near] < 0 {
			continue
		}
		for a := w.c.start[near]; a < w.c.start[near+1]; a++ {
			from, l := w.c.peer[a], w.c.back[a]
			if from == island || l == w.used[near] || from != w.source && w.used[from] < 0 || w.behind(from, near) {
				continue
			}
			d := w.dist[from] + w.paths.Weight(l)
			if d >= best || from != w.source && w.graph.uses[w.graph.at(w.used[from], l)] == 0 || !w.leads(l, near) {
				continue
			}
			slots := w.addAll([]dependency{{l, onward}})
			if slots == nil {
				continue
			}
			for _, slot := range slots {
				w.graph.uses[slot] = 0
			}
			best, in, out = d, l, onward
		}
	}
	if in < 0 {
		return false
	}
	for _, slot := range w.addAll([]dependency{{in, out}}) {
		w.tried = append(w.tried, slot)
		w.trial[slot] = true
	}
	near := w.c.peer[in]
	w.used[near], w.dist[near] = in, best
	w.islands[island] = true
	w.reach(out, best+w.paths.Weight(out))
	return true
}

// behind tells whether the path to a node leads over another.
func (w *nueSearch) behind(n, over int32) bool {
	for n != w.source {
		if n == over {
			return true
		}
		n = w.c.begin[w.used[n]]
	}
	return false
}
