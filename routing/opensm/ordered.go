package opensm

import "slices"

// channels are directions of cables between nodes: those out of node n are
// start[n] to start[n+1]-1. A dependency is of a channel on one that begins where it ends.
type channels struct {
	start []int32 // len = nodes+1
	begin []int32 // by channel: node that it leaves
	peer  []int32 // by channel: node at its end
	back  []int32 // by channel: the other direction
	slot  []int32 // by channel: where its dependencies are numbered from
	slots int32   // number of all dependencies
}

// newChannels are the links of a subnet.
func newChannels(s *Subnet) *channels {
	c := &channels{start: s.Start}
	for _, l := range s.Links {
		c.add(l.From, l.Peer, l.Back)
	}
	return c
}

// add appends a channel; start is known.
func (c *channels) add(begin, peer, back int32) {
	c.begin, c.peer, c.back, c.slot = append(c.begin, begin), append(c.peer, peer), append(c.back, back), append(c.slot, c.slots)
	c.slots += c.start[peer+1] - c.start[peer]
}

// at is the number of the dependency of channel a on channel b.
func (c *channels) at(a, b int32) int32 { return c.slot[a] + b - c.start[c.peer[a]] }

// ordered is the channel dependency graph of a layer of LASH or Nue with a topological
// order of its channels, which new dependencies keep up to date (Pearce and Kelly,
// "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs", ACM Journal of
// Experimental Algorithmics 2007): only channels between the two ends of a
// dependency that runs against the order are looked at.
type ordered struct {
	*channels
	uses  []int32 // by dependency: the paths that need it
	place []int32 // by channel: its place in the order
	// scratch
	seen          []bool
	ahead, behind []int32 // channels that must move back, or forward
	places        []int32
}

func newOrdered(w *channels) *ordered {
	return &ordered{channels: w, uses: make([]int32, w.slots), place: upTo[int32](len(w.peer)), seen: make([]bool, len(w.peer))}
}

// add enters one more use of a dependency unless it closes a cycle.
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
		to := g.peer[x]
		for j, y := int32(0), g.start[to]; y < g.start[to+1]; j, y = j+1, y+1 {
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
		begin := g.begin[y]
		for b := g.start[begin]; b < g.start[begin+1]; b++ {
			x := g.back[b]
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
