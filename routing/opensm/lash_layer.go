package opensm

import "slices"

// ordered is the channel dependency graph of a layer of LASH with a topological
// order of its channels, which new dependencies keep up to date (Pearce and Kelly,
// "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs", ACM Journal of
// Experimental Algorithmics 2007): only channels between the two ends of a
// dependency that runs against the order are looked at.
type ordered struct {
	w *lash
	// uses counts the paths that need a dependency: of channel c on the i-th
	// channel of the node at its end, uses[slot[c]+i].
	uses  []int32
	slot  []int32
	place []int32 // by channel: its place in the order
	// scratch
	seen          []bool
	ahead, behind []int32 // channels that must move back, or forward
	places        []int32
}

func newOrdered(w *lash) *ordered {
	g := &ordered{w: w, slot: make([]int32, len(w.peer)), place: make([]int32, len(w.peer)), seen: make([]bool, len(w.peer))}
	size := int32(0)
	for c, to := range w.peer {
		g.place[c] = int32(c)
		g.slot[c] = size
		size += w.start[to+1] - w.start[to]
	}
	g.uses = make([]int32, size)
	return g
}

// at is the slot of the dependency of channel c on channel d, which begins where c
// ends.
func (g *ordered) at(c, d int32) int32 { return g.slot[c] + d - g.w.start[g.w.peer[c]] }

// addPair enters the paths between two switches, both ways. If they close a cycle
// the graph stays as it was and ok is false.
func (g *ordered) addPair(a, b int32) (ok bool) {
	if !g.addPath(a, b) {
		return false
	}
	if !g.addPath(b, a) {
		g.removePath(a, b)
		return false
	}
	return true
}

// removePair takes the paths between two switches out.
func (g *ordered) removePair(a, b int32) {
	g.removePath(a, b)
	g.removePath(b, a)
}

func (g *ordered) addPath(from, to int32) (ok bool) {
	n := g.w.n
	last := int32(-1)
	for at := from; at != to; at = g.w.peer[last] {
		c := g.w.next[int(at)*n+int(to)]
		if last >= 0 && !g.add(last, c) {
			g.removeUntil(from, to, last)
			return false
		}
		last = c
	}
	return true
}

func (g *ordered) removePath(from, to int32) { g.removeUntil(from, to, -1) }

// removeUntil takes the dependencies of a path out, up to the one that channel end
// is the second of.
func (g *ordered) removeUntil(from, to, end int32) {
	n := g.w.n
	last := int32(-1)
	for at := from; at != to; at = g.w.peer[last] {
		c := g.w.next[int(at)*n+int(to)]
		if last >= 0 {
			g.uses[g.at(last, c)]--
		}
		if c == end {
			return
		}
		last = c
	}
}

// add enters a dependency unless it closes a cycle.
func (g *ordered) add(c, d int32) (ok bool) {
	slot := g.at(c, d)
	if g.uses[slot] == 0 && g.place[c] > g.place[d] && !g.reorder(c, d) {
		return false
	}
	g.uses[slot]++
	return true
}

// reorder moves channels so that d is behind c; false if a path leads from d to c.
func (g *ordered) reorder(c, d int32) bool {
	low, high := g.place[d], g.place[c]
	// What d leads to, up to where c is.
	g.ahead = append(g.ahead[:0], d)
	g.seen[d] = true
	cyclic := false
	for i := 0; i < len(g.ahead) && !cyclic; i++ {
		x := g.ahead[i]
		to := g.w.peer[x]
		for j, y := int32(0), g.w.start[to]; y < g.w.start[to+1]; j, y = j+1, y+1 {
			if g.uses[g.slot[x]+j] == 0 || g.seen[y] || g.place[y] > high {
				continue
			}
			if y == c {
				cyclic = true
				break
			}
			g.seen[y] = true
			g.ahead = append(g.ahead, y)
		}
	}
	for _, x := range g.ahead {
		g.seen[x] = false
	}
	if cyclic {
		return false
	}
	// What leads to c, down to where d is.
	g.behind = append(g.behind[:0], c)
	g.seen[c] = true
	for i := 0; i < len(g.behind); i++ {
		y := g.behind[i]
		// Channels that end where y begins come from the neighbours there.
		begin := g.w.begin[y]
		for b := g.w.start[begin]; b < g.w.start[begin+1]; b++ {
			x := g.w.channel(g.w.peer[b], begin)
			if g.uses[g.at(x, y)] == 0 || g.seen[x] || g.place[x] < low {
				continue
			}
			g.seen[x] = true
			g.behind = append(g.behind, x)
		}
	}
	for _, x := range g.behind {
		g.seen[x] = false
	}
	g.permute()
	return true
}

// permute gives the places of all channels that move to those behind first, each
// group in its own order.
func (g *ordered) permute() {
	byPlace := func(a, b int32) int { return int(g.place[a] - g.place[b]) }
	slices.SortFunc(g.behind, byPlace)
	slices.SortFunc(g.ahead, byPlace)
	g.places = g.places[:0]
	i, j := 0, 0
	for i < len(g.behind) || j < len(g.ahead) {
		if j == len(g.ahead) || i < len(g.behind) && g.place[g.behind[i]] < g.place[g.ahead[j]] {
			g.places = append(g.places, g.place[g.behind[i]])
			i++
		} else {
			g.places = append(g.places, g.place[g.ahead[j]])
			j++
		}
	}
	for k, x := range g.behind {
		g.place[x] = g.places[k]
	}
	for k, x := range g.ahead {
		g.place[x] = g.places[len(g.behind)+k]
	}
}
