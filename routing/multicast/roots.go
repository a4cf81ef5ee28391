package multicast

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric/topology"
)

// Unreachable is the distance between switches that no path joins.
const Unreachable = 255

// MinHop holds the switch-to-switch distances of a graph, a byte each. They say all of a subnet
// manager's min-hop tables: ports on shortest paths have a neighbour one hop nearer. Memory:
// switches squared bytes (144 MB for 12,000).
type MinHop struct {
	graph *topology.Graph
	n     int
	width int     // n rounded up to a multiple of 8
	dist  []uint8 // len = n*width: row of s at s*width, padded with Unreachable
	// The switch-to-switch ports of each switch and the switches behind them,
	// in port order: linkStart has n+1 entries into linkPort and linkPeer.
	linkStart []int32
	linkPort  []topology.PortID
	linkPeer  []topology.SwitchID
}

// NewMinHop computes the tables by breadth-first searches from all switches, on so many threads (0:
// one per processor). Error: a shortest path of more than 254 hops. Cost: switches times ports.
func NewMinHop(g *topology.Graph, threads int) (*MinHop, error) {
	n := g.Switches()
	m := &MinHop{graph: g, n: n, width: (n + 7) &^ 7, linkStart: make([]int32, n+1)}
	for s := range n {
		for p, to := range g.Links(topology.SwitchID(s)) {
			m.linkPort, m.linkPeer = append(m.linkPort, p), append(m.linkPeer, to)
		}
		m.linkStart[s+1] = int32(len(m.linkPort))
	}
	m.dist = make([]uint8, n*m.width)
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	far := make([]int, max(1, min(threads, n)))
	for w := range far {
		workers.Go(func() {
			queue := make([]topology.SwitchID, 0, n)
			for {
				s := int(next.Add(1)) - 1
				if s >= n {
					return
				}
				far[w] = max(far[w], m.search(topology.SwitchID(s), queue))
			}
		})
	}
	workers.Wait()
	if slices.Max(far) >= Unreachable {
		return nil, fmt.Errorf("a shortest path of %d hops or more: min-hop tables hold at most %d", Unreachable, Unreachable-1)
	}
	return m, nil
}

// search fills the row of s and returns its largest distance, or Unreachable if that does not fit.
func (m *MinHop) search(s topology.SwitchID, queue []topology.SwitchID) int {
	row := m.padded(s)
	for i := range row {
		row[i] = Unreachable
	}
	row[s] = 0
	queue = append(queue, s)
	deepest := 0
	for head := 0; head < len(queue); head++ {
		u := queue[head]
		deepest = int(row[u])
		for _, v := range m.neighbours(u) {
			if row[v] == Unreachable {
				if deepest == Unreachable-1 {
					return Unreachable
				}
				row[v] = uint8(deepest + 1)
				queue = append(queue, v)
			}
		}
	}
	return deepest
}

// Graph is the graph that the tables describe.
func (m *MinHop) Graph() *topology.Graph { return m.graph }

// Row lists the distances between s and every switch (len = switches). It must not be changed.
func (m *MinHop) Row(s topology.SwitchID) []uint8 {
	return m.dist[int(s)*m.width : int(s)*m.width+m.n : int(s)*m.width+m.n]
}

// LowestPort is the lowest port of s that leads nearer to w, another switch; NoPort where no path
// does. Cost: ports of s.
func (m *MinHop) LowestPort(s, w topology.SwitchID) topology.PortID {
	row := m.Row(w)
	if row[s] == Unreachable {
		return topology.NoPort
	}
	nearer := row[s] - 1
	for i, peer := range m.neighbours(s) {
		if row[peer] == nearer {
			return m.linkPorts(s)[i]
		}
	}
	panic("multicast: a switch without a nearer neighbour")
}

// padded is the row of s with the padding (len = width).
func (m *MinHop) padded(s topology.SwitchID) []uint8 {
	return m.dist[int(s)*m.width : (int(s)+1)*m.width]
}

// Hops is the number of cables between s and t, or Unreachable.
func (m *MinHop) Hops(s, t topology.SwitchID) int { return int(m.dist[int(s)*m.width+int(t)]) }

// neighbours lists the switches behind the cables of s, in port order, once for each parallel
// cable.
func (m *MinHop) neighbours(s topology.SwitchID) []topology.SwitchID {
	return m.linkPeer[m.linkStart[s]:m.linkStart[s+1]]
}

// linkPorts lists the ports of s that lead to switches, in port order, aligned with neighbours.
func (m *MinHop) linkPorts(s topology.SwitchID) []topology.PortID {
	return m.linkPort[m.linkStart[s]:m.linkStart[s+1]]
}

// nearest fills near (len = width) with the distance from every switch to the nearest of the
// members' switches. Cost: members times switches, eight at a time.
func (m *MinHop) nearest(members []member, near []uint8) {
	for i := range near {
		near[i] = Unreachable
	}
	for _, s := range members {
		row := m.padded(s.sw)[:len(near)]
		for i := 0; i+8 <= len(near); i += 8 {
			w := minBytes(binary.LittleEndian.Uint64(near[i:i+8]), binary.LittleEndian.Uint64(row[i:i+8]))
			binary.LittleEndian.PutUint64(near[i:i+8], w)
		}
	}
}

// rootFinder finds the switches with the fewest hops to a group; a terminal is one beyond its
// switch.
type rootFinder struct {
	hops      *MinHop
	far       []uint64 // eight switches a word: largest distance to a member
	behind    []uint64 // the same to the switches of member terminals
	terminals bool     // behind is in use
	padding   uint64   // bytes of the last word that stand for no switch
}

func newRootFinder(hops *MinHop) *rootFinder {
	words := hops.width / 8
	return &rootFinder{
		hops: hops, far: make([]uint64, words), behind: make([]uint64, words),
		padding: ^(^uint64(0) >> (8 * (hops.width - hops.n))),
	}
}

// find appends to roots the switches whose largest hop count to the members of g is least,
// ascending, and returns that hop count: the height of a tree of shortest paths (one hop more to a
// terminal than to its switch). Cost: members' switches times switches, eight at a time.
func (r *rootFinder) find(g *Group, roots []topology.SwitchID) (height int, _ []topology.SwitchID) {
	r.reset()
	r.include(g)
	r.finish()
	least := ^uint64(0)
	for _, w := range r.far {
		least = minBytes(least, w)
	}
	low := uint64(Unreachable)
	for b := range 8 {
		low = min(low, least>>(8*b)&0xff)
	}
	pattern := low * ones
	for i, w := range r.far {
		diff := w ^ pattern
		if (diff-ones)&^diff&highs == 0 { // no byte of w equals low
			continue
		}
		for b := range 8 {
			if diff>>(8*b)&0xff == 0 {
				roots = append(roots, topology.SwitchID(8*i+b))
			}
		}
	}
	return int(low), roots
}

func (r *rootFinder) reset() {
	clear(r.far)
	clear(r.behind)
	r.terminals = false
}

// include takes the members of g into account.
func (r *rootFinder) include(g *Group) {
	last := topology.SwitchID(-1)
	for _, t := range g.Terminals {
		s := r.hops.graph.TerminalSwitch(t)
		if s != last {
			widen(r.behind, r.hops.padded(s))
			last = s
		}
	}
	r.terminals = r.terminals || len(g.Terminals) > 0
	for _, s := range g.Switches {
		widen(r.far, r.hops.padded(s))
	}
}

// finish completes far after the last member.
func (r *rootFinder) finish() {
	if r.terminals {
		if len(r.behind) > 0 {
			r.behind[len(r.behind)-1] |= r.padding
		}
		for i, w := range r.behind {
			r.far[i] = maxBytes(r.far[i], addOne(w))
		}
	}
}

// widen raises each byte of far to row's byte, where that is more.
func widen(far []uint64, row []uint8) {
	for i := range far {
		far[i] = maxBytes(far[i], binary.LittleEndian.Uint64(row[8*i:8*i+8]))
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// notLess has the bytes 0xff where a's byte is at least b's, 0 elsewhere.
func notLess(a, b uint64) uint64 {
	ge := (a&^b | ^(a^b)&((a|highs)-(b&^highs))) & highs
	return ge | (ge - ge>>7)
}

// maxBytes is the greater byte at each of eight places.
func maxBytes(a, b uint64) uint64 { return b ^ (a^b)&notLess(a, b) }

// minBytes is the lesser byte at each of eight places.
func minBytes(a, b uint64) uint64 { return a ^ (a^b)&notLess(a, b) }

func addOne(a uint64) uint64 {
	full := notLess(a, ^uint64(0))
	return a&full | ((a&^highs+ones)^(a&highs))&^full
}

// byLoad sorts roots by the number of trees through them, then by number.
func (f *Forest) byLoad(roots []topology.SwitchID) {
	keys := f.keys[:0]
	for _, s := range roots {
		keys = append(keys, uint64(f.through[s])<<32|uint64(s))
	}
	slices.Sort(keys)
	for i, k := range keys {
		roots[i] = topology.SwitchID(uint32(k))
	}
	f.keys = keys
}

// leastLoaded is the root that byLoad would put first; it brings that to the front.
func (f *Forest) leastLoaded(roots []topology.SwitchID) topology.SwitchID {
	best := 0
	for i, s := range roots {
		if d := f.through[s] - f.through[roots[best]]; d < 0 || d == 0 && s < roots[best] {
			best = i
		}
	}
	roots[0], roots[best] = roots[best], roots[0]
	return roots[0]
}
