package opensm

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/sim/lists"
)

// routeMinHop routes by shortest paths: free from deadlock on trees only. Engine dor (oneNeighbour)
// takes, of the ports on shortest paths, those to the neighbour of the lowest port; tori can
// deadlock with it.
func routeMinHop(engine string, s *Subnet, o *Options, oneNeighbour bool) (*Tables, error) {
	m, err := s.minHops()
	if err != nil {
		return nil, err
	}
	b := balancer{s: s, o: o, oneNeighbour: oneNeighbour}
	return b.route(engine, m)
}

// noPath is the hop count, and the port, of what cannot be reached.
const noPath = 255

// breadth is a search for the fewest hops from some nodes, and its result.
type breadth struct {
	s     *Subnet
	hops  []int32 // by node, -1 where no path leads
	queue []int32 // the nodes reached, nearest first; neighbours in port order
}

// from searches from the given nodes; within, unless nil, marks the nodes that paths may pass.
func (b *breadth) from(within []bool, sources ...int32) {
	if b.hops == nil {
		b.hops = make([]int32, b.s.nodes())
	}
	for n := range b.hops {
		b.hops[n] = -1
	}
	b.queue = append(b.queue[:0], sources...)
	for _, n := range sources {
		b.hops[n] = 0
	}
	for head := 0; head < len(b.queue); head++ {
		n := b.queue[head]
		for _, l := range b.s.links(n) {
			if b.hops[l.Peer] < 0 && (within == nil || within[l.Peer]) {
				b.hops[l.Peer] = b.hops[n] + 1
				b.queue = append(b.queue, l.Peer)
			}
		}
	}
}

// row lists the hops in a byte each, noPath where no path of fewer than 255 leads.
func (b *breadth) row(row []uint8) []uint8 {
	for n, hops := range b.hops {
		row[n] = uint8(min(uint32(hops), noPath))
	}
	return row
}

// ranks are the distances from the nearest of some switches; 255 where no path leads.
func (s *Subnet) ranks(from []int32) []uint8 {
	b := breadth{s: s}
	b.from(nil, from...)
	return b.row(make([]uint8, s.nodes()))
}

// distances lists the hops between switches: [to*n+from], 255 without a path. Error: a path of 255
// hops.
func (s *Subnet) distances() ([]uint8, error) {
	n := len(s.Switches)
	all := make([]uint8, n*n)
	b := breadth{s: s}
	for to := range s.nodes() {
		b.from(nil, to)
		for _, at := range b.queue {
			if b.hops[at] >= noPath {
				return nil, fmt.Errorf("a shortest path of %d hops: min-hop tables hold at most %d", b.hops[at], noPath-1)
			}
		}
		b.row(all[int(to)*n:][:n])
	}
	return all, nil
}

// hopMatrix holds hop counts by link and destination: [l*nodes+d] is the number of hops from the
// switch that link l starts at to node d by that link, 255 where it must not be taken.
type hopMatrix []uint8

// minHops is the matrix of all shortest paths and detours: a link's far end, and one hop more.
func (s *Subnet) minHops() (hopMatrix, error) {
	distance, err := s.distances()
	if err != nil {
		return nil, err
	}
	n := len(s.Switches)
	m := make(hopMatrix, 0, len(s.Links)*n)
	for _, link := range s.Links {
		for _, hops := range distance[int(link.Peer)*n:][:n] {
			m = append(m, byOneMore(hops))
		}
	}
	return m, nil
}

func byOneMore(hops uint8) uint8 {
	if hops < noPath-1 {
		return hops + 1
	}
	return noPath
}

// balancer chooses among ports of least hops, by the rule of minhop, dor, updn and dnup
// (osm_ucast_mgr.c, osm_switch_recommend_path). Candidates are indices in Subnet.Links, in port
// order.
type balancer struct {
	s *Subnet
	o *Options
	// oneNeighbour leaves only the candidates to the neighbour of the first one (dor).
	oneNeighbour bool
	random       *cRandom // scatter_ports
	// Of the switch at hand:
	n      int32
	counts [256]int // of each port
	links  []int32  // all candidates looked up
	known  [][]int32
	spread [][]use // by terminal: where its earlier LIDs go
}

// destination is a LID to be routed to.
type destination struct {
	end    End
	lid    int
	offset int // from the base LID
}

// use counts how often the LIDs of one destination use a neighbour.
type use struct {
	peer  int32
	count int
}

// route fills the tables of the minhop family from a hop matrix. Each switch by itself counts the
// adapters that it sends out of each port and takes the candidate with the smallest count, the
// lowest of equals. Cost: switches times (LIDs and ports times switches).
func (b *balancer) route(engine string, m hopMatrix) (*Tables, error) {
	order, err := b.destinations()
	if err != nil {
		return nil, err
	}
	if b.o.ScatterPorts > 0 {
		b.random = newCRandom(b.o.ScatterPorts)
	}
	t := newTables(engine, b.s)
	b.known, b.spread = make([][]int32, b.s.nodes()), make([][]use, b.s.adapterPorts())
	for b.n = range b.s.nodes() {
		b.counts, b.links = [256]int{}, b.links[:0]
		clear(b.known)
		for i := range b.spread {
			b.spread[i] = b.spread[i][:0]
		}
		row := t.LFT[b.n]
		for _, d := range order {
			row[d.lid] = b.choose(m, d, row)
		}
	}
	return t, nil
}

// destinations lists all LIDs in the order in which they are routed: the base LIDs
// of the adapters named in guid_routing_order_file, of the others by hostOrder,
// of the switches; then likewise all second LIDs and so on.
func (b *balancer) destinations() ([]destination, error) {
	var ends []End
	done := make([]bool, b.s.adapterPorts())
	if len(b.o.Order) > 0 {
		byGUID := ib.NewIdentities(b.s.Names).Terminals
		for _, guid := range b.o.Order {
			if t, known := byGUID[topology.GUID(guid)]; known && !done[t] {
				done[t] = true
				ends = append(ends, End{b.s.home(t), t})
			}
		}
	}
	for _, n := range b.s.hostOrder() {
		for _, h := range b.s.hosts(n) {
			if !done[h.Terminal] {
				ends = append(ends, End{n, h.Terminal})
			}
		}
	}
	for n := range b.s.nodes() {
		ends = append(ends, End{n, -1})
	}
	var order []destination
	for offset := range 1 << b.s.LMC {
		for _, e := range ends {
			if offset < b.s.lidCount(e) {
				order = append(order, destination{e, int(b.s.BaseLID(e)) + offset, offset})
			}
		}
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("nothing to route to")
	}
	return order, nil
}

func (b *balancer) choose(m hopMatrix, d destination, row []uint8) uint8 {
	if d.end.Node == b.n {
		if d.end.Terminal < 0 {
			return 0
		}
		port := b.s.hostPort(d.end.Terminal)
		b.counts[port]++
		return port
	}
	list := b.candidates(m, d.end.Node)
	if len(list) == 0 {
		return noPath
	}
	var best int32
	switch {
	case b.s.LMC > 0 && d.end.Terminal >= 0:
		best = b.chooseSpread(list, d, row)
	case b.o.PortShifting:
		begin := lists.Sum(list, func(l int32) int { return *b.count(l) }) / len(list) % len(list)
		best = b.least(begin, list)
	default:
		best = b.least(0, list)
	}
	if b.random != nil { // any of the smallest count
		least := slices.DeleteFunc(slices.Clone(list), func(l int32) bool { return *b.count(l) != *b.count(best) })
		best = least[b.random.next()%len(least)]
	}
	if d.end.Terminal >= 0 || b.o.ProfileSwitch {
		*b.count(best)++
	}
	return b.s.Links[best].Port
}

// count is how many destinations the port of a candidate has.
func (b *balancer) count(l int32) *int { return &b.counts[b.s.Links[l].Port] }

// candidates lists the links with the fewest hops to node d.
func (b *balancer) candidates(m hopMatrix, d int32) []int32 {
	if b.known[d] != nil {
		return b.known[d]
	}
	start := len(b.links)
	least := uint8(noPath)
	for l := b.s.Start[b.n]; l < b.s.Start[b.n+1]; l++ {
		h := m[int(l)*len(b.known)+int(d)]
		if h < least {
			least = h
			b.links = b.links[:start]
		}
		if h == noPath || h > least || b.oneNeighbour && len(b.links) > start && b.s.Links[b.links[start]].Peer != b.s.Links[l].Peer {
			continue
		}
		b.links = append(b.links, l)
	}
	b.known[d] = b.links[start:]
	return b.known[d]
}

// least is the candidate with the smallest count, the first of equals from index from on.
func (b *balancer) least(from int, list []int32) int32 {
	best := list[from]
	for i := 1; i < len(list); i++ {
		if l := list[(from+i)%len(list)]; *b.count(l) < *b.count(best) {
			best = l
		}
	}
	return best
}

// chooseSpread is the choice with several LIDs a port: a neighbour that this destination's other
// LIDs do not use yet goes before the smallest count. The scan starts behind the port of the LID
// before. In weft each switch is a system: "another system" and "another node" are one.
func (b *balancer) chooseSpread(list []int32, d destination, row []uint8) int32 {
	from := 0
	if d.offset > 0 {
		start := (int(row[d.lid-1]) + 1) % (b.s.numPorts(b.n) + 1) // port 0 counts
		from = max(0, slices.IndexFunc(list, func(l int32) bool { return int(b.s.Links[l].Port) >= start }))
	}
	uses := b.spread[d.end.Terminal]
	used := func(l int32) int {
		for _, u := range uses {
			if u.peer == b.s.Links[l].Peer {
				return u.count
			}
		}
		return 0
	}
	fresh, any := int32(-1), int32(-1)
	for i := range list {
		l := list[(from+i)%len(list)]
		if used(l) == 0 && (fresh < 0 || *b.count(l) < *b.count(fresh)) {
			fresh = l
		}
		if any < 0 || *b.count(l) < *b.count(any) || *b.count(l) == *b.count(any) && used(l) < used(any) {
			any = l
		}
	}
	best := any
	if fresh >= 0 {
		best = fresh
	}
	peer := b.s.Links[best].Peer
	if i := slices.IndexFunc(uses, func(u use) bool { return u.peer == peer }); i >= 0 {
		uses[i].count++
	} else {
		b.spread[d.end.Terminal] = append(uses, use{peer, 1})
	}
	return best
}
