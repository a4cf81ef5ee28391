package opensm

// route fills the tables: compute nodes first, then other adapters, then switches.
func (f *fatTree) route() {
	n := len(f.s.Switches)
	f.changed = make([]bool, n)
	f.hops, f.column = make([]uint8, n), make([]uint8, n)
	for i := range f.hops {
		f.hops[i], f.column[i] = noPath, noPath
	}
	fullest := 0
	count := make([]int, len(f.leaves)) // of compute nodes
	for i, leaf := range f.leaves {
		for _, h := range f.s.hosts(leaf) {
			if f.compute[h.Terminal] {
				count[i]++
			}
		}
		fullest = max(fullest, count[i])
	}
	for i, leaf := range f.leaves {
		for _, h := range f.s.hosts(leaf) {
			if f.compute[h.Terminal] {
				f.set(leaf, h.Port, 1)
				f.climb(leaf, -1, 1, true)
				f.store(int(f.s.TerminalLID[h.Terminal]))
			}
		}
		// Counters go on as if every leaf had as many.
		for range fullest - count[i] {
			f.climb(leaf, -1, 1, true)
			f.store(0)
		}
	}
	for _, ports := range f.s.adaptersByGUID() {
		for _, t := range ports {
			if !f.compute[t] {
				f.set(f.s.home(t), f.s.hostPort(t), 1)
				f.climb(f.s.home(t), -1, 1, true)
				f.store(int(f.s.TerminalLID[t]))
			}
		}
	}
	for at := range f.s.nodes() {
		f.set(at, 0, 0)
		f.climb(at, -1, 0, false)
		f.store(int(f.s.SwitchLID[at]))
	}
	if f.o.ConnectRoots {
		f.connectRoots()
	}
}

// set enters a port and the hops by it for the LID at hand.
func (f *fatTree) set(n int32, port, hops uint8) {
	if f.column[n] == noPath {
		f.touched = append(f.touched, n)
	}
	f.column[n], f.hops[n] = port, hops
}

// store copies the column to the tables, but for LID 0, and clears it.
func (f *fatTree) store(lid int) {
	for _, n := range f.touched {
		if lid > 0 {
			f.t.LFT[n][lid] = f.column[n]
		}
		f.column[n], f.hops[n] = noPath, noPath
	}
	f.touched = f.touched[:0]
}

// climb enters ports that lead down at the switches above n, which is so many hops
// from the destination, and ports that lead up at those below. The main path takes
// the group that the fewest routes come down by, and counts; the others make sure
// that every switch has an entry.
func (f *fatTree) climb(n, previous int32, hops uint8, main bool) {
	f.descend(n, previous, hops)
	if f.rank[n] == 0 {
		return
	}
	groups := f.up[n]
	f.order(groups)
	if main && len(groups) > 0 {
		g := groups[0]
		port := g.least()
		g.used++
		port.used++
		if f.column[g.remote] == noPath || hops+1 < f.hops[g.remote] {
			f.set(g.remote, port.back, hops+1)
		}
		f.climb(g.remote, n, hops+1, true)
		groups = groups[1:]
	}
	for _, list := range [][]*portGroup{groups, f.side[n]} {
		for _, g := range list {
			if f.column[g.remote] != noPath && hops+1 >= f.hops[g.remote] {
				continue
			}
			f.set(g.remote, g.least().back, hops+1)
			f.climb(g.remote, n, hops+1, false)
		}
	}
}

// descend enters ports that lead up at the switches below n. reached tells that
// there are adapters among them.
func (f *fatTree) descend(n, previous int32, hops uint8) (reached bool) {
	if f.changed[n] {
		f.order(f.down[n])
		f.changed[n] = false
	}
	reached = f.hosts[n] > 0
	for _, g := range f.down[n] {
		if g.remote == previous || f.hops[g.remote] <= hops+1 {
			continue
		}
		port := g.least()
		f.set(g.remote, port.back, hops+1)
		if f.descend(g.remote, n, hops+1) {
			port.used++
			g.used++
			f.changed[n] = true
			reached = true
		}
	}
	return reached
}

// connectRoots gives switches above the leaves entries for those that they have no
// path to, by the last leaf.
func (f *fatTree) connectRoots() {
	if len(f.leaves) == 0 {
		return
	}
	last := f.leaves[len(f.leaves)-1]
	for n, row := range f.t.LFT {
		if f.rank[n] >= f.leaf {
			continue
		}
		for _, lid := range f.s.SwitchLID {
			if row[lid] == noPath && f.t.LFT[last][lid] != noPath {
				row[lid] = row[f.s.SwitchLID[last]]
			}
		}
	}
}
