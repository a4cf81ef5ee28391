package opensm

import (
	"fmt"
	"slices"
)

// routeDFSSSP takes the tables of sssp and divides the pairs of LIDs into layers,
// each of which has an acyclic channel dependency graph: cycles of the first layer
// are broken where the fewest pairs make an edge, these move to the next layer,
// and so on. Layers that stay free are given to the fullest ones.
//
// Pairs from hosts of one switch to one LID have one path and move together, in
// one [bundle]; OpenSM handles them one by one, with the same result.
//
// Deviation: where a layer has several service levels, OpenSM draws one at random
// for each answer to a host. [Tables.Level] is the first of them.
func routeDFSSSP(s *Subnet, o *Options) (*Tables, error) {
	t, columns, err := routeSSSP("dfsssp", s)
	if err != nil {
		return nil, err
	}
	available := o.OperationalVLs
	b := &bundles{t: t, columns: columns, hosts: make([]int, len(s.Switches)), layer: make([]uint8, len(columns)*len(s.Switches))}
	for _, n := range s.hostOrder() {
		if b.hosts[n] = len(s.hosts(n)) << s.LMC; b.hosts[n] > 0 {
			b.sources = append(b.sources, n)
		}
	}
	used, ok := b.assign(available)
	if !ok {
		return nil, &Refusal{"dfsssp", fmt.Sprintf("dfsssp_remove_deadlocks: ERR AD25: Not enough VLs available (avail=%d, needed=%d); Stopping dfsssp routing!", available, available+1)}
	}
	split := spreadLayers(b.pairs[:available], used)
	base := make([]uint8, len(split))
	for i := 1; i < len(split); i++ {
		base[i] = base[i-1] + split[i-1]
	}
	for i, first := range base {
		if split[i] > 0 {
			t.draws[first] = split[i]
		}
	}
	t.Lanes = used
	column := make([]int32, s.MaxLID+1)
	for i, lid := range columns {
		column[lid] = int32(i)
	}
	t.level = func(n int32, lid int) uint8 { return base[b.layer[b.index(column[lid], n)]] }
	return t, nil
}

// spreadLayers hands out the spare lanes one by one, each to the layer with the most pairs a lane,
// the first of equals. It returns the lanes of each layer in use.
func spreadLayers(pairs []int, used int) []uint8 {
	split := slices.Repeat([]uint8{1}, used)
	for range len(pairs) - used {
		most := 0
		for i := range split {
			if pairs[i]/int(split[i]) > pairs[most]/int(split[most]) {
				most = i
			}
		}
		split[most]++
	}
	return split
}

// bundles are the paths from the hosts of each switch to each LID, and the layers that they are in.
type bundles struct {
	t       *Tables
	columns []int
	sources []int32 // nodes with hosts, in sssp's order
	hosts   []int   // len = nodes: LIDs of the hosts
	layer   []uint8 // by column*nodes+source
	pairs   []int   // by layer
	path    []int32 // scratch
}

// index numbers the bundles: those from node n to a column's LID.
func (b *bundles) index(column, n int32) int { return int(column)*len(b.t.LFT) + int(n) }

// assign divides the bundles into at most so many layers and returns how many have pairs; not ok if
// the last one has a cycle.
func (b *bundles) assign(available int) (used int, ok bool) {
	all := len(b.columns)
	b.pairs = make([]int, available+1)
	b.pairs[0] = all * (all - 1)
	b.pairs[0] -= b.t.Subnet.adapterPorts() << b.t.Subnet.LMC * (1<<b.t.Subnet.LMC - 1) // LIDs of one port
	channels := newChannels(b.t.Subnet)
	layer := newDependencies(b.t.Subnet, channels)
	for column, lid := range b.columns {
		for _, n := range b.sources {
			if b.path, _ = b.t.Path(n, lid, b.path); len(b.path) > 0 {
				layer.add(b.path, int32(b.index(int32(column), n)), b.hosts[n])
			}
		}
	}
	for i := range available {
		last := i == available-1
		next := (*dependencies)(nil)
		if !last {
			next = newDependencies(b.t.Subnet, channels)
		}
		n := len(layer.there)
		search := &cycleSearch{d: layer, state: make([]uint8, n), before: slices.Repeat([]int32{-1}, n), order: layer.tree(layer.entered, nil), place: make([]int32, n)}
		for at, l := range search.order {
			search.place[l] = int32(at)
		}
		search.current = search.start()
		for search.run() {
			if last {
				return 0, false
			}
			edge := search.weakest()
			b.move(layer, next, edge, uint8(i))
			e := &layer.edges[edge]
			at := slices.Index(layer.out[e.from], edge)
			layer.out[e.from] = slices.Delete(layer.out[e.from], at, at+1)
			layer.edgeAt[layer.at(e.from, e.to)] = -1
		}
		layer = next
	}
	for used = available; used > 1 && b.pairs[used-1] == 0; used-- {
	}
	return used, true
}

// move takes the bundles of an edge that are still in the layer to the next one.
func (b *bundles) move(layer, next *dependencies, edge int32, number uint8) {
	nodes := len(b.t.LFT)
	for _, bundle := range layer.edges[edge].bundles {
		if b.layer[bundle] != number {
			continue
		}
		b.layer[bundle] = number + 1
		n := bundle % int32(nodes)
		b.path, _ = b.t.Path(n, b.columns[int(bundle)/nodes], b.path)
		weight := b.hosts[n]
		b.pairs[number] -= weight
		b.pairs[number+1] += weight
		for i := 1; i < len(b.path); i++ {
			if slot := layer.edgeAt[layer.at(b.path[i-1], b.path[i])]; slot >= 0 {
				layer.edges[slot].left -= weight
			}
		}
		next.add(b.path, bundle, weight)
	}
}

// dependencies is one layer's channel dependency graph. Channels are indices in Subnet.Links.
type dependencies struct {
	*channels
	s       *Subnet
	edges   []edge
	entered []int32 // channels in order of insertion
	// By channel (len = links):
	there  []bool
	out    [][]int32 // edges in order of insertion
	edgeAt []int32   // by dependency: edge, -1 none
}

// edge is a dependency of one channel on another.
type edge struct {
	from, to int32
	left     int     // pairs that use it, but those moved to another layer
	bundles  []int32 // that were entered
}

func newDependencies(s *Subnet, c *channels) *dependencies {
	n := len(s.Links)
	return &dependencies{channels: c, s: s, there: make([]bool, n), out: make([][]int32, n), edgeAt: slices.Repeat([]int32{-1}, int(c.slots))}
}

// key is a channel's place in the order of [dependencies.tree]: LIDs and ports of both ends.
func (d *dependencies) key(l int32) uint64 {
	link := d.s.Links[l]
	back := d.s.Links[link.Back]
	return uint64(d.s.SwitchLID[link.From])<<48 | uint64(link.Port)<<32 | uint64(d.s.SwitchLID[link.Peer])<<16 | uint64(back.Port)
}

// tree appends channels to order as they stand in pre-order in OpenSM's unbalanced binary
// tree, whose shape depends on the order of insertion: the first, then channels of smaller
// keys, then the others.
func (d *dependencies) tree(list, order []int32) []int32 {
	if len(list) == 0 {
		return order
	}
	root := d.key(list[0])
	var smaller, larger []int32
	for _, l := range list[1:] {
		if d.key(l) > root {
			larger = append(larger, l)
		} else {
			smaller = append(smaller, l)
		}
	}
	return d.tree(larger, d.tree(smaller, append(order, list[0])))
}

func (d *dependencies) add(path []int32, bundle int32, pairs int) {
	for i, l := range path {
		if !d.there[l] {
			d.there[l] = true
			d.entered = append(d.entered, l)
		}
		if i == 0 {
			continue
		}
		slot := &d.edgeAt[d.at(path[i-1], l)]
		if *slot < 0 {
			*slot = int32(len(d.edges))
			d.edges = append(d.edges, edge{from: path[i-1], to: l})
			d.out[path[i-1]] = append(d.out[path[i-1]], *slot)
		}
		e := &d.edges[*slot]
		e.left += pairs
		e.bundles = append(e.bundles, bundle)
	}
}

// State of a channel in the search for cycles.
const (
	unvisited = iota
	onStack
	finished
)

// cycleSearch looks for cycles depth first, by channels in the order of [dependencies.tree] and
// edges in order of insertion.
//
// As OpenSM it keeps no stack but each channel's predecessor. Channels of a broken cycle are
// unvisited again and keep theirs: a new search that begins at one leads back into finished
// channels, whose lists of pairs are empty.
type cycleSearch struct {
	d       *dependencies
	state   []uint8
	before  []int32 // by channel, -1 none
	order   []int32 // channels as they are tried
	place   []int32 // by channel: index in order
	from    int     // no unvisited channel is before order[from]
	current int32   // where the search is, -1 at the end
}

// run goes on until it finds a cycle, whose first channel is then current, or there are none left.
func (c *cycleSearch) run() bool {
	for c.current >= 0 {
		c.state[c.current] = onStack
		next := c.next(c.current, unvisited, onStack)
		switch {
		case next >= 0 && c.state[next] == onStack:
			c.current = next
			return true
		case next >= 0:
			c.before[next] = c.current
			c.current = next
		default:
			c.state[c.current] = finished
			for _, e := range c.d.out[c.current] {
				c.d.edges[e].left, c.d.edges[e].bundles = 0, nil
			}
			if back := c.before[c.current]; back >= 0 {
				c.before[c.current] = -1
				c.current = back
			} else {
				c.current = c.start()
			}
		}
	}
	return false
}

// start is the first unvisited channel, -1 if there is none.
func (c *cycleSearch) start() int32 {
	for ; c.from < len(c.order); c.from++ {
		if c.state[c.order[c.from]] == unvisited {
			return c.order[c.from]
		}
	}
	return -1
}

// next is the first channel behind an edge that is in one of two states, -1 if none is.
func (c *cycleSearch) next(l int32, a, b uint8) int32 {
	for _, e := range c.d.out[l] {
		if to := c.d.edges[e].to; c.state[to] == a || c.state[to] == b {
			return to
		}
	}
	return -1
}

// weakest is the edge of the cycle with the fewest pairs left, the first of equals. The cycle's
// channels become unvisited.
func (c *cycleSearch) weakest() int32 {
	best, left := int32(-1), 0
	for l := c.current; ; {
		next := c.next(l, onStack, onStack)
		if next < 0 {
			return best
		}
		e := c.d.edgeAt[c.d.at(l, next)]
		if best < 0 || c.d.edges[e].left < left {
			best, left = e, c.d.edges[e].left
		}
		c.state[next] = unvisited
		c.from = min(c.from, int(c.place[next]))
		if l = next; l == c.current {
			return best
		}
	}
}
