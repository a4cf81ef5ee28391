package multicast

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// nearby is a distance up to which searching from all members at once is cheaper than from a few
// roots, and looking where members are does not pay when trees grow.
const nearby = 5

// rootsWithin appends to found the first limit of roots that reach all members within so many hops.
// If that is far, the first roots are tried one by one: most succeed, and the searches from all
// members, which follow, meet every switch repeatedly.
func (g *subgraph) rootsWithin(members []member, roots []topology.SwitchID, hops, limit int, found []topology.SwitchID) []topology.SwitchID {
	g.mark(members)
	for range 2 * (hops - nearby) {
		for len(roots) > 0 && g.closed(roots[0]) {
			roots = roots[1:]
		}
		if len(roots) == 0 {
			break
		}
		if g.reaches(roots[0], len(members), hops) {
			if found = append(found, roots[0]); len(found) == limit {
				break
			}
		}
		roots = roots[1:]
	}
	g.unmark(members)
	if len(roots) == 0 || len(found) == limit {
		return found
	}
	for start := 0; ; start += 64 {
		chunk := members[start:min(len(members), start+64)]
		last := start+64 >= len(members)
		all := ^uint64(0) >> (64 - len(chunk))
		g.spread(chunk, hops, nil)
		kept := g.queue[:0]
		for _, r := range roots {
			if g.closed(r) {
				continue
			}
			if g.reached[r] != all {
				continue
			}
			if !last {
				kept = append(kept, r)
			} else if found = append(found, r); len(found) == limit {
				return found
			}
		}
		g.queue = kept
		if last || len(kept) == 0 {
			return found
		}
		roots = slices.Clone(kept)
	}
}

// mark prepares want for searches for the members, each a switch of its own; unmark undoes it.
func (g *subgraph) mark(members []member) {
	for _, m := range members {
		g.want[m.sw] = uint8(1 + m.extra)
	}
}

func (g *subgraph) unmark(members []member) {
	for _, m := range members {
		g.want[m.sw] = 0
	}
}

// reaches tells whether so many marked members are all within so many hops of root.
func (g *subgraph) reaches(root topology.SwitchID, members, hops int) bool {
	h, perPort := g.f.env.Hops, g.f.env.PerPort
	dist := g.dist
	copy(dist, g.start)
	dist[root] = 0
	if w := g.want[root]; w != 0 {
		if members--; int(w)-1 > hops {
			return false
		}
	}
	queue := append(g.queue[:0], root)
	for head := 0; head < len(queue) && members > 0; head++ {
		u := queue[head]
		next := dist[u] + 1
		if int(next) > hops {
			break
		}
		first := h.linkStart[u]
		for i, v := range h.neighbours(u) {
			if dist[v] != unseen || perPort && g.blocked.has(int(g.step[int(first)+i])) {
				continue
			}
			dist[v] = next
			queue = append(queue, v)
			if w := g.want[v]; w != 0 {
				if members--; int(next)+int(w)-1 > hops {
					g.queue = queue
					return false
				}
			}
		}
	}
	g.queue = queue
	return members == 0
}

// search finds the paths from root to the members of fewest hops and, among those, fewest groups on
// their cables. It leaves them in dist, sum and parent, valid up to the farthest member, and
// returns that member's distance; not ok if one is not connected with root.
func (g *subgraph) search(root topology.SwitchID, members []member) (height int, ok bool) {
	g.mark(members)
	copy(g.dist, g.start)
	g.dist[root], g.sum[root], g.parent[root] = 0, 0, topology.NoPort
	g.queue = append(g.queue[:0], root)
	left, level := len(members), 0
	for depth := 0; ; depth++ {
		end := len(g.queue)
		for _, v := range g.queue[level:] {
			if w := g.want[v]; w != 0 {
				height = max(height, depth+int(w)-1)
				left--
			}
		}
		if left == 0 || level == end {
			break
		}
		g.push(level)
		level = end
	}
	g.unmark(members)
	return height, left == 0
}

// push appends to the queue what is one hop beyond the switches in it from level on.
func (g *subgraph) push(level int) {
	h, efi, perPort := g.f.env.Hops, g.f.efi, g.f.env.PerPort
	peer := g.f.env.Graph.Peer
	dist, sums := g.dist, g.sum
	queue := g.queue
	for _, u := range queue[level:] {
		next, sum := dist[u]+1, sums[u]
		first, ports := h.linkStart[u], h.linkPorts(u)
		for i, v := range h.neighbours(u) {
			d := dist[v]
			if d != unseen && d != next || perPort && g.blocked.has(int(g.step[int(first)+i])) {
				continue
			}
			port := ports[i]
			total := sum + int64(efi[port])
			if d == unseen {
				dist[v] = next
				queue = append(queue, v)
			} else if total >= sums[v] {
				continue
			}
			sums[v] = total
			g.parent[v] = topology.PortID(peer[port])
		}
	}
	g.queue = queue
}
