package sssp

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// Infinity is the distance of vertices not yet reached. Distances have 64 bits,
// yet a path as long as this is none.
const Infinity = 1<<31 - 1

// How a vertex was reached by a search, in [Paths.Used], other than by a link.
const (
	None = -1 // not at all, or it is the source
	Host = -2 // from the host that searches
)

// Paths is a network whose links have weights, and the state of the last search
// over it. Vertices are the switches in the order given to [New]. A fresh link
// weighs the number of all LIDs, squared; [Paths.Unicast] leaves the load of the
// unicast paths on top. The ties between equally long paths are those of OpenSM's
// 4-ary heap.
type Paths struct {
	Order  []topology.SwitchID // switch of each vertex
	Vertex []int32             // len = switches: vertex of a switch
	Links  []Link              // of vertex v, in port order: Links[Start[v]:Start[v+1]]
	Start  []int32

	// The result of the last search (len = vertices).
	Used []int32 // link that the vertex is reached by, None or Host
	Far  []uint8 // hops from the source; 1 at the switch of the host that searches

	graph    *topology.Graph
	ends     LIDCount
	lids     []uint64 // len = vertices: LIDs of the switch and its hosts
	total    uint64   // LIDs of all
	fresh    uint64   // weight of a fresh link: total squared
	distance []uint64
	heap     Heap
	popped   []int32 // vertices, each after the one that it is reached from
	sum      []uint64
}

// Link is one direction of a cable between switches.
type Link struct {
	From, To int32           // vertices
	Port     topology.PortID // at To: towards From
	weight   uint64
}

// LIDCount tells how many LIDs the end ports have.
type LIDCount struct {
	// Adapters lists the adapters' ports at a switch, in port order; nil: the graph's
	// terminals. Others than these, such as those of aggregation nodes, have numbers behind
	// them.
	Adapters func(s topology.SwitchID) []topology.TerminalID
	Terminal func(t topology.TerminalID) int
	Switch   func(s topology.SwitchID) int
}

// New makes the network with fresh weights. order lists the switches as OpenSM's
// maps do.
func New(graph *topology.Graph, order []topology.SwitchID, ends LIDCount) *Paths {
	n := graph.Switches()
	if ends.Adapters == nil {
		ends.Adapters = func(s topology.SwitchID) []topology.TerminalID { return terminalsAt(graph, s) }
	}
	b := &Paths{Order: order, graph: graph, ends: ends, Vertex: make([]int32, n), lids: make([]uint64, n)}
	for v, s := range order {
		b.Vertex[s] = int32(v)
	}
	for v, s := range order {
		b.Start = append(b.Start, int32(len(b.Links)))
		b.lids[v] = uint64(ends.Switch(s))
		for _, t := range ends.Adapters(s) {
			b.lids[v] += uint64(ends.Terminal(t))
		}
		first, end := graph.Ports(s)
		for p := first; p < end; p++ {
			if peer, ok := graph.PeerPort(p); ok {
				b.Links = append(b.Links, Link{int32(v), b.Vertex[graph.PortSwitch[peer]], peer, 0})
			}
		}
		b.total += b.lids[v]
	}
	b.Start = append(b.Start, int32(len(b.Links)))
	b.fresh = b.total * b.total
	for i := range b.Links {
		b.Links[i].weight = b.fresh
	}
	b.distance = make([]uint64, n)
	b.Used = make([]int32, n)
	b.Far = make([]uint8, n)
	b.sum = make([]uint64, n)
	b.heap = NewHeap(n + 1)
	return b
}

// terminalsAt lists the terminals at a switch, in port order.
func terminalsAt(graph *topology.Graph, s topology.SwitchID) (list []topology.TerminalID) {
	first, end := graph.Ports(s)
	for p := first; p < end; p++ {
		if t, ok := graph.PeerTerminal(p); ok {
			list = append(list, t)
		}
	}
	return list
}

// InfinityError says that OpenSM's sssp engines refuse a network, and with
// which message.
type InfinityError struct {
	LIDs    uint64
	Allowed int // hops that fit below the largest distance
	Lost    int // switches out of reach
}

func (e *InfinityError) Error() string {
	return fmt.Sprintf("OpenSM's sssp refuses this network (ERR AD0C: unsupported network state): %d LIDs give each link a weight of %d, the largest distance is 2^31-1, so paths may have %d hops; from the subnet manager's host %d switches are out of reach",
		e.LIDs, e.LIDs*e.LIDs, e.Allowed, e.Lost)
}

// Check searches from the host that the subnet manager runs on and returns an
// [*InfinityError] if switches are out of reach, as OpenSM does first of all.
func (b *Paths) Check(manager topology.TerminalID) error {
	b.search(Host, b.Vertex[b.graph.TerminalSwitch(manager)])
	lost := 0
	for _, u := range b.Used {
		if u == None {
			lost++
		}
	}
	if lost == 0 {
		return nil
	}
	return &InfinityError{LIDs: b.total, Allowed: int((Infinity - 2) / b.fresh), Lost: lost}
}

// Queue lists the vertices in the order in which they are destinations: those
// with the most LIDs first, equals in their order.
func (b *Paths) Queue() []int32 {
	queue := make([]int32, len(b.Order))
	for v := range queue {
		queue[v] = int32(v)
	}
	slices.SortStableFunc(queue, func(x, y int32) int {
		switch {
		case b.lids[x] > b.lids[y]:
			return -1
		case b.lids[x] < b.lids[y]:
			return 1
		}
		return 0
	})
	return queue
}

// Unicast searches the paths to every LID and leaves their load on the links: the
// hosts of each switch of [Paths.Queue] in port order, then the switches
// themselves. visit sees the result of each search: to the i-th LID of terminal t,
// or of the switch of vertex v where t is negative. Cost: a search for each LID.
func (b *Paths) Unicast(visit func(v int32, t topology.TerminalID, i int)) {
	queue := b.Queue()
	for _, v := range queue {
		for _, t := range b.ends.Adapters(b.Order[v]) {
			for i := range b.ends.Terminal(t) {
				b.search(Host, v)
				visit(v, t, i)
				b.load()
			}
		}
	}
	for _, v := range queue {
		for i := range b.ends.Switch(b.Order[v]) {
			b.search(None, v)
			visit(v, -1, i)
			b.load()
		}
	}
}

// Search is OpenSM's Dijkstra search from the switch of vertex v.
func (b *Paths) Search(v int32) { b.search(None, v) }

// Weight is the weight of a link.
func (b *Paths) Weight(link int32) uint64 { return b.Links[link].weight }

// Add makes a link heavier.
func (b *Paths) Add(link int32, weight uint64) { b.Links[link].weight += weight }

// LIDs is the number of LIDs of the switch of vertex v and its hosts: what each link
// of its path gets heavier by.
func (b *Paths) LIDs(v int32) uint64 { return b.lids[v] }

// AddPaths adds the load of the last search's paths to their links.
func (b *Paths) AddPaths() { b.load() }

// search is OpenSM's Dijkstra search from vertex v (from is None), or from a host
// that hangs from it (Host).
func (b *Paths) search(from, v int32) {
	n := int32(len(b.Order))
	for u := range n {
		b.distance[u], b.Used[u], b.Far[u] = Infinity, None, 0
	}
	b.popped = b.popped[:0]
	unreached := n - 1
	if from == Host {
		b.heap.Fill(n + 1)
		b.heap.Lower(n, 0)
		b.heap.Pop()
		b.distance[v], b.Used[v] = 1, Host
		b.heap.Lower(v, 1)
	} else {
		b.heap.Fill(n)
		b.distance[v] = 0
		b.heap.Lower(v, 0)
	}
	farthest := uint64(0) // no vertex is farther, once all are reached
	for b.heap.Len() > 0 {
		u := b.heap.Pop()
		b.settle(u)
		if farthest > 0 && b.distance[u]+b.fresh >= farthest {
			// No link is shorter than a fresh one, so nothing changes any more.
			// Those left hang from settled vertices.
			for _, e := range b.heap.entries {
				b.settle(e.vertex)
			}
			return
		}
		for i := b.Start[u]; i < b.Start[u+1]; i++ {
			l := &b.Links[i]
			// Vertices that have left the heap are nearer: weights are positive.
			if d := b.distance[u] + l.weight; d < b.distance[l.To] {
				if b.Used[l.To] == None {
					unreached--
				}
				b.distance[l.To], b.Used[l.To] = d, i
				b.heap.Lower(l.To, d)
			}
		}
		if unreached == 0 && farthest == 0 {
			farthest = slices.Max(b.distance)
		}
	}
}

// settle counts the hops to a vertex whose path is final.
func (b *Paths) settle(u int32) {
	switch {
	case b.Used[u] >= 0:
		b.Far[u] = b.Far[b.Links[b.Used[u]].From] + 1
		b.popped = append(b.popped, u)
	case b.Used[u] == Host:
		b.Far[u] = 1
		b.popped = append(b.popped, u)
	}
}

// load adds to each link of the last search's paths the LIDs of every switch
// whose path it is on.
func (b *Paths) load() {
	for _, u := range b.popped {
		b.sum[u] = b.lids[u]
	}
	for i := len(b.popped) - 1; i >= 0; i-- {
		u := b.popped[i]
		if b.Used[u] < 0 {
			continue
		}
		l := &b.Links[b.Used[u]]
		l.weight += b.sum[u]
		b.sum[l.From] += b.sum[u]
	}
}
