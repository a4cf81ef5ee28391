package opensm

// addPair enters the paths between two switches, both ways. If they close a cycle
// the graph stays as it was and ok is false.
func (w *lash) addPair(g *ordered, a, b int32) (ok bool) {
	if !w.addPath(g, a, b) {
		return false
	}
	if !w.addPath(g, b, a) {
		w.removePath(g, a, b)
		return false
	}
	return true
}

// removePair takes the paths between two switches out.
func (w *lash) removePair(g *ordered, a, b int32) {
	w.removePath(g, a, b)
	w.removePath(g, b, a)
}

func (w *lash) addPath(g *ordered, from, to int32) (ok bool) {
	n := w.n
	last := int32(-1)
	for at := from; at != to; at = w.peer[last] {
		c := w.next[int(at)*n+int(to)]
		if last >= 0 && !g.add(last, c) {
			w.removeUntil(g, from, to, last)
			return false
		}
		last = c
	}
	return true
}

func (w *lash) removePath(g *ordered, from, to int32) { w.removeUntil(g, from, to, -1) }

// removeUntil takes the dependencies of a path out, up to the one that channel end
// is the second of.
func (w *lash) removeUntil(g *ordered, from, to, end int32) {
	n := w.n
	last := int32(-1)
	for at := from; at != to; at = w.peer[last] {
		c := w.next[int(at)*n+int(to)]
		if last >= 0 {
			g.uses[g.at(last, c)]--
		}
		if c == end {
			return
		}
		last = c
	}
}
