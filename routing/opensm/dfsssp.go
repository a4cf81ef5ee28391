package opensm

import "fmt"

func init() {
	register(Engine{
		Name:   "dfsssp",
		Doc:    "sssp with service levels: paths move to further virtual lanes until no layer has a cycle",
		Source: "Domke, Hoefler and Nagel, IPDPS 2011; OpenSM's osm_ucast_dfsssp.c",
		Levels: true,
		Route:  routeDFSSSP,
	})
}

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
	var columns []int // LIDs in the order in which they are destinations
	t, err := routeSSSP("dfsssp", s, func(_ *Tables, lid int) { columns = append(columns, lid) })
	if err != nil {
		return nil, err
	}
	available := o.OperationalVLs
	b := newBundles(t, columns)
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

// spreadLayers hands out the lanes beyond those in use one by one, each to the
// layer with the most pairs a lane, the first of equals. It returns the number of
// lanes of each layer in use.
func spreadLayers(pairs []int, used int) []uint8 {
	split := make([]uint8, used)
	for i := range split {
		split[i] = 1
	}
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

// bundles are the paths from the hosts of each switch to each LID, and the layers
// that they are in.
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

func newBundles(t *Tables, columns []int) *bundles {
	s := t.Subnet
	b := &bundles{t: t, columns: columns, hosts: make([]int, len(s.Switches)), layer: make([]uint8, len(columns)*len(s.Switches))}
	for _, n := range s.hostOrder() {
		if b.hosts[n] = len(s.hosts(n)) << s.LMC; b.hosts[n] > 0 {
			b.sources = append(b.sources, n)
		}
	}
	return b
}

// assign divides the bundles into at most the given number of layers and returns how
// many have pairs; ok is false if the last one has a cycle.
func (b *bundles) assign(available int) (used int, ok bool) {
	all := len(b.columns)
	b.pairs = make([]int, available+1)
	b.pairs[0] = all * (all - 1)
	b.pairs[0] -= b.t.Subnet.adapterPorts() << b.t.Subnet.LMC * (1<<b.t.Subnet.LMC - 1) // LIDs of one port
	channels := newChannels(b.t.Subnet)
	layer := newDependencies(b.t.Subnet, channels)
	for column, lid := range b.columns {
		for _, n := range b.sources {
			if b.path = b.t.follow(n, lid, b.path); len(b.path) > 0 {
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
		search := newCycleSearch(layer)
		for search.run() {
			if last {
				return 0, false
			}
			edge := search.weakest()
			b.move(layer, next, edge, uint8(i))
			layer.remove(edge)
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
	for e := layer.edges[edge].first; e >= 0; e = layer.uses[e].next {
		bundle := layer.uses[e].bundle
		if b.layer[bundle] != number {
			continue
		}
		b.layer[bundle] = number + 1
		n := bundle % int32(nodes)
		b.path = b.t.follow(n, b.columns[int(bundle)/nodes], b.path)
		weight := b.hosts[n]
		b.pairs[number] -= weight
		b.pairs[number+1] += weight
		layer.withdraw(b.path, weight)
		next.add(b.path, bundle, weight)
	}
}
