package opensm

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// routeSSSP routes every LID by a Dijkstra search ([Paths]). Paths are balanced over all links and
// can have cycles of channels. The ports of a cn_guid_file come before other adapters'. columns are
// the LIDs in the order of the searches.
func routeSSSP(engine string, s *Subnet, o *Options) (t *Tables, columns []int, err error) {
	t = newTables(engine, s)
	paths := NewPaths(s, s.lidCount)
	if err := paths.Check(s.Manager); err != nil {
		return nil, nil, &Refusal{engine, "ERR AD0C: unsupported network state; " + err.Error()}
	}
	if o.HasNodes {
		paths.first = s.listed(o.ComputeNodes)
	}
	paths.Unicast(func(e End, i int) {
		lid := int(s.BaseLID(e)) + i
		for n, l := range paths.Used {
			if l >= 0 {
				t.LFT[n][lid] = s.Links[s.Links[l].Back].Port
			}
		}
		t.LFT[e.Node][lid] = 0
		if e.Terminal >= 0 {
			t.LFT[e.Node][lid] = s.hostPort(e.Terminal)
		}
		columns = append(columns, lid)
	})
	return t, columns, nil
}

// Infinity is the distance of nodes not yet reached. Distances have 64 bits; a path as long is
// none.
const Infinity = 1<<31 - 1

// How a node was reached by a search, in [Paths.Used], other than by a link.
const (
	Unreached = -1 // not at all, or it is the source
	FromHost  = -2 // from the host that searches
)

// Paths are the weights of a subnet's links and the state of the last Dijkstra search
// by them. A fresh link weighs the number of all LIDs, squared; [Paths.Unicast] leaves
// the load of the unicast paths on top.
//
// Ties between equally long paths are broken by the order in which nodes enter OpenSM's
// heap ([heap]), by the order of ports, and by whether a host searches or its switch.
type Paths struct {
	s      *Subnet
	count  func(e End) int
	first  []bool   // adapter ports that are searched before the others; nil: no difference
	order  []int32  // nodes as they enter the heap
	lids   []uint64 // by node: LIDs of the switch and its hosts
	fresh  uint64   // weight of a fresh link
	weight []uint64 // by link, in its direction: away from the source

	// Used is the link that each node is reached by in the last search, Unreached or FromHost.
	Used []int32
	// Far is the hops from the source to each node; 1 at the switch of the host that searches.
	Far      []uint8
	distance []uint64
	heap     heap
	popped   []int32 // nodes, each after the one that it is reached from
	sum      []uint64
}

// NewPaths makes the weights of fresh links. count tells how many LIDs an end port has.
func NewPaths(s *Subnet, count func(e End) int) *Paths {
	n := len(s.Switches)
	p := &Paths{s: s, count: count, order: topology.Numbers[int32](n), lids: make([]uint64, n), Used: make([]int32, n), Far: make([]uint8, n), distance: make([]uint64, n), heap: newHeap(n + 1), sum: make([]uint64, n)}
	for v := range s.nodes() {
		p.lids[v] = uint64(count(End{v, -1}))
		for _, h := range s.hosts(v) {
			p.lids[v] += uint64(count(End{v, h.Terminal}))
		}
		p.fresh += p.lids[v]
	}
	p.fresh *= p.fresh
	p.weight = slices.Repeat([]uint64{p.fresh}, len(s.Links))
	return p
}

// InfinityError says that OpenSM's sssp engines refuse a network.
type InfinityError struct {
	LIDs    uint64
	Allowed int // hops that fit below the largest distance
	Lost    int // switches out of reach
}

// Error is OpenSM's message, with the numbers that it follows from.
func (e *InfinityError) Error() string {
	return fmt.Sprintf("OpenSM's sssp refuses this network (ERR AD0C: unsupported network state): %d LIDs give each link a weight of %d, the largest distance is 2^31-1, so paths may have %d hops; from the subnet manager's host %d switches are out of reach",
		e.LIDs, e.LIDs*e.LIDs, e.Allowed, e.Lost)
}

// Check searches from the host that the subnet manager runs on and returns an
// [*InfinityError] if switches are out of reach, as OpenSM does first of all.
func (p *Paths) Check(manager topology.TerminalID) error {
	lost := p.search(FromHost, p.s.home(manager))
	if lost == 0 {
		return nil
	}
	return &InfinityError{LIDs: lists.Total(p.lids), Allowed: int((Infinity - 2) / p.fresh), Lost: lost}
}

// Unicast searches the paths to every LID and leaves their load on the links: to the LIDs of each
// switch's hosts in port order, switches with the most LIDs first, then likewise to the switches'
// LIDs. visit sees each search, to the i-th LID of an end port. Cost: a search for each LID.
func (p *Paths) Unicast(visit func(e End, i int)) {
	queue := p.s.mostFirst(func(n int32) int { return int(p.lids[n]) })
	for _, late := range []bool{false, true} {
		for _, v := range queue {
			for _, h := range p.s.hosts(v) {
				if late != (p.first != nil && !p.first[h.Terminal]) {
					continue
				}
				e := End{v, h.Terminal}
				for i := range p.count(e) {
					p.search(FromHost, v)
					visit(e, i)
					p.load()
				}
			}
		}
	}
	for _, v := range queue {
		e := End{v, -1}
		for i := range p.count(e) {
			p.search(Unreached, v)
			visit(e, i)
			p.load()
		}
	}
}

// Search is OpenSM's Dijkstra search from the switch of a node.
func (p *Paths) Search(n int32) { p.search(Unreached, n) }

// search is OpenSM's Dijkstra search from node v (from is Unreached), or from a host that
// hangs from it (FromHost). unreached is the number of nodes without a path.
func (p *Paths) search(from, v int32) (unreached int) {
	for u := range p.Used {
		p.distance[u], p.Used[u], p.Far[u] = Infinity, Unreached, 0
	}
	p.popped = p.popped[:0]
	unreached = len(p.Used) - 1
	p.heap.clear()
	for _, u := range p.order { // with the largest key
		p.heap.insert(u, Infinity)
	}
	p.distance[v] = 0
	if from == FromHost {
		host := int32(len(p.Used)) // it enters the heap last and leaves it first
		p.heap.insert(host, 0)
		p.heap.pop()
		p.distance[v], p.Used[v] = 1, FromHost
	}
	p.heap.lower(v, p.distance[v])
	farthest := uint64(0) // no node is farther, once all are reached
	for p.heap.size() > 0 {
		u := p.heap.pop()
		p.settle(u)
		if farthest > 0 && p.distance[u]+p.fresh >= farthest {
			// No link is shorter than a fresh one, so nothing changes now. The others hang from
			// settled nodes.
			for _, e := range p.heap.entries {
				p.settle(e.vertex)
			}
			return unreached
		}
		for l := p.s.Start[u]; l < p.s.Start[u+1]; l++ {
			to := p.s.Links[l].Peer
			// Nodes that have left the heap are nearer: weights are positive.
			if d := p.distance[u] + p.weight[l]; d < p.distance[to] {
				if p.Used[to] == Unreached {
					unreached--
				}
				p.distance[to], p.Used[to] = d, l
				p.heap.lower(to, d)
			}
		}
		if unreached == 0 && farthest == 0 {
			farthest = slices.Max(p.distance)
		}
	}
	return unreached
}

// settle counts the hops to a node whose path is final.
func (p *Paths) settle(u int32) {
	switch l := p.Used[u]; {
	case l >= 0:
		p.Far[u] = p.Far[p.s.Links[l].From] + 1
		p.popped = append(p.popped, u)
	case l == FromHost:
		p.Far[u] = 1
		p.popped = append(p.popped, u)
	}
}

// load adds to each link of the last search's paths the LIDs of every switch whose path it is on.
func (p *Paths) load() {
	for _, u := range p.popped {
		p.sum[u] = p.lids[u]
	}
	for i := len(p.popped) - 1; i >= 0; i-- {
		u := p.popped[i]
		if l := p.Used[u]; l >= 0 {
			p.weight[l] += p.sum[u]
			p.sum[p.s.Links[l].From] += p.sum[u]
		}
	}
}
