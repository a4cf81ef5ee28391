package opensm

// direction is that of a step between switches.
type direction uint8

const (
	up direction = iota
	down
	level
)

// directed searches the shortest paths that obey a rule about up and down, from
// destinations to sources.
type directed struct {
	s         *Subnet
	rank      []uint8
	start     direction                      // in which a search begins
	forbidden [2]direction                   // a step of the second must not follow one of the first
	between   func(from, to int32) direction // of a step
}

// hops is the matrix of the legal paths: a search from each destination. Where
// unrestricted says so, all paths to a destination are legal. Cost: about switches
// times links, more where switches are reached again by a shorter way.
func (d *directed) hops(unrestricted func(n int32) bool, distance []uint8) hopMatrix {
	n := len(d.s.Switches)
	m := hopMatrix{n, make([]uint8, len(d.s.Links)*n)}
	step := make([]direction, len(d.s.Links)) // from the switch of the link
	for from := range d.s.nodes() {
		for l := d.s.Start[from]; l < d.s.Start[from+1]; l++ {
			step[l] = d.between(from, d.s.Links[l].Peer)
		}
	}
	w := directedSearch{
		directed: d, step: step,
		least:   make([]uint8, n),
		by:      make([]uint8, len(d.s.Links)),
		current: make([]direction, n),
		waiting: make([]bool, n),
	}
	for to := range d.s.nodes() {
		if unrestricted(to) {
			for l, link := range d.s.Links {
				m.hops[l*n+int(to)] = byOneMore(distance[int(to)*n+int(link.Peer)])
			}
			continue
		}
		w.search(to)
		for l, h := range w.by {
			m.hops[l*n+int(to)] = h
		}
	}
	return m
}

type directedSearch struct {
	*directed
	step    []direction
	least   []uint8 // len = nodes: fewest hops to the destination
	by      []uint8 // len = links: hops to the destination by the link
	current []direction
	waiting []bool
	queue   []int32
}

// search enters the hops to one destination. A switch waits in the queue once at
// a time, with the direction of the step that put it there.
func (w *directedSearch) search(to int32) {
	for n := range w.least {
		w.least[n] = noPath
	}
	for l := range w.by {
		w.by[l] = noPath
	}
	w.least[to], w.current[to] = 0, w.start
	w.queue = append(w.queue[:0], to)
	for head := 0; head < len(w.queue); head++ {
		n := w.queue[head]
		w.waiting[n] = false
		for l := w.s.Start[n]; l < w.s.Start[n+1]; l++ {
			if w.current[n] == w.forbidden[0] && w.step[l] == w.forbidden[1] {
				continue
			}
			link := &w.s.Links[l]
			if w.least[n] >= noPath-1 || w.least[n]+1 >= w.by[link.Back] {
				continue
			}
			w.by[link.Back] = w.least[n] + 1
			w.least[link.Peer] = min(w.least[link.Peer], w.least[n]+1)
			if !w.waiting[link.Peer] {
				w.waiting[link.Peer], w.current[link.Peer] = true, w.step[l]
				w.queue = append(w.queue, link.Peer)
			}
		}
	}
}
