package opensm

import (
	"cmp"
	"slices"
)

// grow searches paths from a node to all others: Dijkstra's algorithm over channels, with
// sssp's heap. Once nothing is left to look at, a switch without a path is reached by
// leading a neighbour another way, and the search goes on from there; if there is no such
// way, all paths follow the tree of escape.
func (w *nueSearch) grow(source int32) {
	w.source = source
	for n := range w.used {
		w.used[n], w.dist[n], w.found[n], w.others[n] = -1, Infinity, -1, w.others[n][:0]
	}
	w.heap.clear()
	w.dist[source] = 0
	color := w.newMark()
	c := w.imaginary(source)
	w.begins(c, color)
	w.far[c] = 0
	missing := len(w.order) - 1
	for turns := int32(0); ; {
		missing -= w.settle(c, turns, color)
		switch {
		case w.heap.size() > 0:
			c = w.heap.pop()
			continue
		case missing > 0:
			if c = w.backtrack(color); c >= 0 {
				missing--
				turns++
				continue
			}
			w.follow()
		}
		break
	}
	w.keep(source, w.used)
}

// settle goes on from a channel: by the dependencies that are in the graph, then by the
// others. turns counts how many times paths were led another way before. reached is how
// many nodes were found.
func (w *nueSearch) settle(c, turns, color int32) (reached int) {
	n := w.peer[c]
	for _, known := range []bool{true, false} {
		for next := w.start[n]; next < w.start[n+1]; next++ {
			slot := w.at(c, next)
			now := w.color(slot)
			if next == w.back[c] || known && now < nueEscape || !known && now != nueUnused {
				continue
			}
			to := w.peer[next]
			d := w.far[c] + w.weight[next]
			switch {
			case d >= w.dist[to]:
				if now > nueUnused && (turns == 0 || w.used[to] < 0) {
					w.far[next] = d
					w.other(to, next)
				}
				continue
			case !w.add(c, next, color):
				continue
			case turns > 0 && w.used[to] >= 0 && w.found[to] != turns:
				if !w.shortcut(to, next, color) {
					continue
				}
			default:
				if old := w.used[to]; old < 0 {
					reached++
					w.found[to] = turns
				} else {
					w.heap.remove(old)
					if before := w.used[w.begin[old]]; before >= 0 {
						w.undo(w.at(before, old))
					}
				}
				w.far[next] = d
				w.heap.insert(next, d)
			}
			w.used[to], w.dist[to] = next, d
		}
	}
	return reached
}

// other notes a further channel into a node.
func (w *nueSearch) other(n, c int32) {
	if !slices.Contains(w.others[n], c) {
		w.others[n] = append(w.others[n], c)
	}
}

// after appends to list[:0] the channels by which paths go on from a node, one for each
// cable to the next.
func (w *nueSearch) after(n int32, list []int32) []int32 {
	list = list[:0]
	for l := w.start[n]; l < w.start[n+1]; l++ {
		if c := w.used[w.peer[l]]; c >= 0 && w.begin[c] == n {
			list = append(list, c)
		}
	}
	return list
}

// turn is a way to an unreached node: another channel into a neighbour, and the one from
// there.
type turn struct{ in, out int32 }

// backtrack leads a neighbour of an unreached node another way, from which it can go on
// to that node, and returns the channel into it; -1 if no unreached node has such a
// neighbour. The other way is one that the search has seen, behind which the graph has
// all that paths from the neighbour go on by. Of several the one is taken that leaves
// the neighbour nearest; the others are noted for the node.
func (w *nueSearch) backtrack(color int32) int32 {
	var turns []turn
	var after []int32
	for _, n := range w.order {
		if w.dist[n] != Infinity {
			continue
		}
		turns = turns[:0]
		for l := w.start[n]; l < w.start[n+1]; l++ {
			near := w.peer[l]
			if w.dist[near] == Infinity {
				continue
			}
			after = w.after(near, after)
			for _, in := range w.others[near] {
				if !slices.ContainsFunc(after, func(c int32) bool { return w.peer[c] == w.begin[in] || w.color(w.at(in, c)) < nueEscape }) {
					turns = append(turns, turn{in, w.back[l]})
				}
			}
		}
		slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(w.far[a.in], w.far[b.in]) })
		reached := int32(-1)
		for _, t := range turns {
			if !w.turn(t, color) {
				continue
			}
			w.far[t.out] = w.far[t.in] + w.weight[t.out]
			if reached >= 0 {
				w.other(n, t.out)
				continue
			}
			reached = t.out
			near := w.begin[t.out]
			w.used[n], w.dist[n] = t.out, w.far[t.out]
			w.used[near], w.dist[near] = t.in, w.far[t.in]
		}
		if reached >= 0 {
			return reached
		}
	}
	return -1
}

// turn enters the dependencies of a way to an unreached node; none if one closes a cycle.
// Ways from the source itself are not taken.
func (w *nueSearch) turn(t turn, color int32) (ok bool) {
	from := w.begin[t.in]
	if w.color(w.at(t.in, t.out)) == nueBlocked || from == w.source {
		return false
	}
	before := w.used[from]
	if w.begin[before] == w.peer[t.in] {
		return false
	}
	slot := w.at(before, t.in)
	entered := w.wet[slot]
	if w.color(slot) == nueBlocked || !w.add(before, t.in, color) {
		return false
	}
	if !w.add(t.in, t.out, color) {
		if !entered {
			w.undo(slot)
		}
		return false
	}
	return true
}

// shortcut tells whether a node that was reached before paths were led another way can
// be reached by a channel instead: if no path from there closes a cycle. As in OpenSM, the
// dependencies of these paths on the new channel are taken out again if this search has
// entered them, and those on the old one stay. Paths go on by the former, so that a later
// destination can close a cycle with them.
func (w *nueSearch) shortcut(n, c, color int32) bool {
	after := w.after(n, nil)
	entered := make([]bool, len(after))
	for i, d := range after {
		if d == w.back[c] {
			return false
		}
		entered[i] = w.wet[w.at(c, d)]
	}
	for i, d := range after {
		if w.color(w.at(c, d)) != nueBlocked && w.add(c, d, color) {
			continue
		}
		for j, d := range after[:i] {
			if slot := w.at(c, d); !entered[j] && w.color(slot) != nueBlocked {
				w.undo(slot)
			}
		}
		return false
	}
	old := w.used[n]
	if before := w.used[w.begin[old]]; before >= 0 {
		w.undo(w.at(before, old))
	}
	for _, d := range after {
		w.undo(w.at(c, d))
	}
	return true
}
