package opensm

import (
	"cmp"
	"slices"
)

// nueGraph is the channel dependency graph of a lane, with OpenSM's colours. What is in the graph
// has the colour of the destination that it was entered for last, or of the tree of escape. Parts
// of different colours are taken for parts without a way between them, so that a dependency between
// them needs no search for a cycle; it makes the colours one. Colours that were merged twice for
// one destination are not all known as one until the next, as in OpenSM.
//
// Channel links+n is an imaginary one into node n: paths to n begin there.
type nueGraph struct {
	*channels
	// Each channel and dependency has a mark; alias is a mark's colour, real the one it was merged
	// into.
	channelMark, mark []int32 // by channel, by slot
	channelWet, wet   []bool  // by channel, by slot: entered for the destination at hand
	wetChannels       []int32 // all of these, and some that are no more
	wetSlots          []int32
	alias, real       []int32 // by mark, by colour
	seen              []int32 // by channel: the last search that came by
	searches          int32
	stack             []int32
}

// Marks and colours that are no destination's.
const (
	nueBlocked = iota // closes a cycle
	nueUnused
	nueEscape
	nueFirst // of the first destination
)

func newNueGraph(s *Subnet) *nueGraph {
	g := &nueGraph{channels: newChannels(s)}
	for n := range s.nodes() {
		g.channels.add(n, n, -1)
	}
	g.channelMark, g.channelWet, g.seen = make([]int32, len(g.peer)), make([]bool, len(g.peer)), make([]int32, len(g.peer))
	g.mark, g.wet = make([]int32, g.slots), make([]bool, g.slots)
	return g
}

func (g *nueGraph) clear() {
	for c := range g.channelMark {
		g.channelMark[c] = nueUnused
	}
	for slot := range g.mark {
		g.mark[slot] = nueUnused
	}
	g.alias, g.real = g.alias[:0], g.real[:0]
	for g.newMark() < nueEscape {
	}
}

// newMark is a mark with a colour of its own.
func (g *nueGraph) newMark() int32 {
	m := int32(len(g.alias))
	g.alias, g.real = append(g.alias, m), append(g.real, m)
	return m
}

// imaginary is the channel into a node at which paths to it begin.
func (g *nueGraph) imaginary(n int32) int32 { return int32(len(g.slot)) - int32(len(g.start)) + 1 + n }

func (g *nueGraph) color(slot int32) int32     { return g.real[g.alias[g.mark[slot]]] }
func (g *nueGraph) channelColor(c int32) int32 { return g.real[g.alias[g.channelMark[c]]] }

// add enters the dependency of channel c on channel d for a colour's destination; not ok if it is
// known to close a cycle.
func (g *nueGraph) add(c, d, color int32) (ok bool) {
	slot := g.at(c, d)
	if g.color(slot) > nueUnused {
		return true
	}
	switch g.channelColor(d) {
	case color:
		if g.leads(d, c) {
			g.mark[slot] = nueBlocked
			return false
		}
	case nueUnused:
		g.channelMark[d], g.channelWet[d] = g.channelMark[c], true
		g.wetChannels = append(g.wetChannels, d)
	default:
		g.real[g.alias[g.channelMark[d]]] = g.alias[g.channelMark[c]]
	}
	g.mark[slot], g.wet[slot] = g.channelMark[c], true
	g.wetSlots = append(g.wetSlots, slot)
	return true
}

// undo takes a dependency out that was entered for the destination at hand.
func (g *nueGraph) undo(slot int32) {
	if g.wet[slot] {
		g.mark[slot], g.wet[slot] = nueUnused, false
	}
}

// leads tells whether dependencies lead from a channel to another.
func (g *nueGraph) leads(from, to int32) bool {
	g.searches++
	g.stack = append(g.stack[:0], from)
	g.seen[from] = g.searches
	for len(g.stack) > 0 {
		c := g.stack[len(g.stack)-1]
		g.stack = g.stack[:len(g.stack)-1]
		n := g.peer[c]
		slot := g.slot[c]
		for d := g.start[n]; d < g.start[n+1]; d, slot = d+1, slot+1 {
			if g.mark[slot] <= nueUnused || g.seen[d] == g.searches {
				continue
			}
			if d == to {
				return true
			}
			g.seen[d] = g.searches
			g.stack = append(g.stack, d)
		}
	}
	return false
}

// keep leaves the dependencies of a node's paths, by used channels, in the graph if they are there,
// and takes out all others entered for the destination.
func (g *nueGraph) keep(source int32, used []int32) {
	for _, l := range used {
		if l < 0 {
			continue
		}
		before := g.imaginary(source)
		if n := g.begin[l]; n != source {
			before = used[n]
		}
		g.channelWet[l], g.wet[g.at(before, l)] = false, false
	}
	for _, slot := range g.wetSlots {
		g.undo(slot)
	}
	for _, c := range g.wetChannels {
		if g.channelWet[c] {
			g.channelMark[c], g.channelWet[c] = nueUnused, false
		}
	}
	g.wetSlots, g.wetChannels = g.wetSlots[:0], g.wetChannels[:0]
	for m, color := range g.alias {
		g.alias[m] = g.real[color]
	}
}

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
	if w.channelColor(c) > nueUnused {
		w.real[w.alias[w.channelMark[c]]] = color
	} else {
		w.channelMark[c] = color
	}
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
			// All paths from the source lead along the escape tree: the tree's path to the source is reversed.
			copy(w.used, w.tree)
			l := w.used[w.source]
			for w.used[w.source] = -1; l >= 0; {
				n := w.begin[l]
				w.used[n], l = w.back[l], w.used[n]
			}
		}
		break
	}
	w.keep(source, w.used)
}

// settle goes on from a channel, first by dependencies in the graph. turns counts how often paths
// were led another way before; reached is the nodes found.
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

func (w *nueSearch) other(n, c int32) {
	if !slices.Contains(w.others[n], c) {
		w.others[n] = append(w.others[n], c)
	}
}

// after appends to list[:0] the channels by which paths go on from a node, one a cable.
func (w *nueSearch) after(n int32, list []int32) []int32 {
	list = list[:0]
	for l := w.start[n]; l < w.start[n+1]; l++ {
		if c := w.used[w.peer[l]]; c >= 0 && w.begin[c] == n {
			list = append(list, c)
		}
	}
	return list
}

// turn is a way to an unreached node: another channel into a neighbour, and the one from there.
type turn struct{ in, out int32 }

// backtrack leads a neighbour of an unreached node another way, from which it can go on to that
// node, and returns the channel into it; -1 if no unreached node has such a neighbour. The search
// has seen that way, and the graph has all dependencies of the neighbour's paths behind it. Of
// several ways the nearest is taken; the others are noted for the node.
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

// turn enters the dependencies of a way to an unreached node, none if one closes a cycle or it
// starts at the source.
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
