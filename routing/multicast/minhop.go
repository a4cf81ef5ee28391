package multicast

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric/topology"
)

// Unreachable is the distance between switches that no path joins.
const Unreachable = 255

// MinHop holds the switch-to-switch distances of a graph, one byte each: what
// a subnet manager's min-hop tables say, since the ports of a switch on
// shortest paths to another are those whose neighbour is one hop nearer.
// Memory: switches squared bytes (144 MB for 12,000).
type MinHop struct {
	graph *topology.Graph
	n     int
	width int     // n rounded up to a multiple of 8
	far   uint8   // largest finite distance
	near  bool    // all switches are connected, at distances below 128
	dist  []uint8 // len = n*width: row of s at s*width, padded with Unreachable
	// The switch-to-switch ports of each switch and the switches behind them,
	// in port order: linkStart has n+1 entries into linkPort and linkPeer.
	linkStart []int32
	linkPort  []topology.PortID
	linkPeer  []topology.SwitchID
}

// NewMinHop computes the tables by breadth-first searches from all switches,
// shared by so many threads (0: one per processor). Networks with a shortest
// path longer than 254 hops are an error. Cost: switches times ports.
func NewMinHop(g *topology.Graph, threads int) (*MinHop, error) {
	n := g.Switches()
	m := &MinHop{graph: g, n: n, width: (n + 7) &^ 7, linkStart: make([]int32, n+1)}
	for s := range n {
		first, end := g.Ports(topology.SwitchID(s))
		for p := first; p < end; p++ {
			if q, ok := g.PeerPort(p); ok {
				m.linkPort = append(m.linkPort, p)
				m.linkPeer = append(m.linkPeer, g.PortSwitch[q])
			}
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
	for _, d := range far {
		if d >= Unreachable {
			return nil, fmt.Errorf("a shortest path of %d hops or more: min-hop tables hold at most %d", Unreachable, Unreachable-1)
		}
		m.far = max(m.far, uint8(d))
	}
	m.near = m.far < 128 && n > 0 && !slices.Contains(m.Row(0), Unreachable)
	return m, nil
}

// search fills the row of s and returns the largest distance in it, or
// Unreachable if that does not fit.
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
		if deepest == Unreachable-1 {
			for _, v := range m.neighbours(u) {
				if row[v] == Unreachable {
					return Unreachable
				}
			}
			continue
		}
		for _, v := range m.neighbours(u) {
			if row[v] == Unreachable {
				row[v] = uint8(deepest + 1)
				queue = append(queue, v)
			}
		}
	}
	return deepest
}

// Graph is the graph that the tables describe.
func (m *MinHop) Graph() *topology.Graph { return m.graph }

// Row lists the distances between s and every switch (len = switches). It must
// not be changed.
func (m *MinHop) Row(s topology.SwitchID) []uint8 {
	return m.dist[int(s)*m.width : int(s)*m.width+m.n : int(s)*m.width+m.n]
}

// LowestPort is the lowest numbered port of s that leads nearer to w; NoPort where no path
// does. s and w differ. Cost: the ports of s.
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

// neighbours lists the switches behind the cables of s, in port order; one
// behind parallel cables occurs once for each.
func (m *MinHop) neighbours(s topology.SwitchID) []topology.SwitchID {
	return m.linkPeer[m.linkStart[s]:m.linkStart[s+1]]
}

// linkPorts lists the ports of s that lead to switches, in port order, aligned
// with neighbours.
func (m *MinHop) linkPorts(s topology.SwitchID) []topology.PortID {
	return m.linkPort[m.linkStart[s]:m.linkStart[s+1]]
}

// Next appends to ports the ports of s on shortest paths to t, in port order:
// none if s is t or cannot reach it.
func (m *MinHop) Next(s, t topology.SwitchID, ports []topology.PortID) []topology.PortID {
	row := m.Row(t)
	if row[s] == Unreachable {
		return ports
	}
	peers := m.neighbours(s)
	for i, p := range m.linkPorts(s) {
		if int(row[peers[i]])+1 == int(row[s]) {
			ports = append(ports, p)
		}
	}
	return ports
}
