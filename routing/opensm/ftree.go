package opensm

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// routeFatTree routes fat trees. Each leaf switch in turn climbs for each of its compute nodes to
// the least used switch above, and from every switch on the way the tables of those below are
// filled; counters of the paths up and down make consecutive destinations take consecutive roots.
// Paths go up, then down, so no cycle of channels can be.
func routeFatTree(s *Subnet, o *Options) (*Tables, error) {
	f := &fatTree{s: s, o: o, hosts: make([]int, len(s.Switches))}
	if reason := f.build(); reason != "" {
		return nil, &Refusal{"ftree", reason}
	}
	f.t = newTables("ftree", s)
	f.route()
	return f.t, nil
}

// fatTree is the work of the engine; all slices are by node.
type fatTree struct {
	s       *Subnet
	o       *Options
	t       *Tables
	compute []bool // len = terminals: compute nodes
	hosts   []int  // number of adapter ports
	rank    []uint8
	leaf    uint8 // rank of the leaf switches
	marked  []bool
	up      [][]*portGroup
	down    [][]*portGroup
	side    [][]*portGroup
	index   [][8]uint8
	leaves  []int32 // sorted by index
	changed []bool  // counters of the groups down changed since they were sorted
	hops    []uint8 // to the LID at hand, 255 without entry
	column  []uint8 // ports for the LID at hand
	touched []int32 // nodes with an entry in column
}

// portGroup is all cables from a switch to one other.
type portGroup struct {
	remote int32
	used   int // routes that go down (groups up) or up (groups down)
	ports  []groupPort
}

type groupPort struct {
	back uint8 // port at the other end
	used int
}

// least is the port with the fewest routes, the first of equals.
func (g *portGroup) least() *groupPort {
	best := &g.ports[0]
	for i := range g.ports[1:] {
		if p := &g.ports[i+1]; p.used < best.used {
			best = p
		}
	}
	return best
}

// noTree is OpenSM's last word on a fabric of another kind.
const noTree = "Fabric topology is not a fat-tree"

// build ranks, groups and indexes the switches; the result is the reason of a refusal, or "".
func (f *fatTree) build() string {
	s := f.s
	adapters := s.adaptersByGUID()
	node := func(i int) topology.GUID { return s.Names.Terminals[adapters[i]].NodeGUID }
	switch {
	case s.LMC > 0:
		return "LMC > 0 is not supported by fat-tree routing."
	case len(s.Switches) < 2:
		return fmt.Sprintf("Fabric has %d switches - topology is not fat-tree.", len(s.Switches))
	case len(adapters) == 0 || node(0) == node(len(adapters)-1):
		return fmt.Sprintf("Fabric has %d CAs - topology is not fat-tree.", min(1, len(adapters)))
	}
	listed := lists.Set(f.o.ComputeNodes, func(guid uint64) uint64 { return guid })
	f.compute = make([]bool, f.s.adapterPorts())
	for t, x := range f.s.Names.Terminals {
		f.compute[t] = !f.o.HasNodes || listed[uint64(x.PortGUID)]
	}
	for n := range f.s.nodes() {
		f.hosts[n] = len(f.s.hosts(n))
	}
	if reason := f.rankSwitches(); reason != "" {
		return reason
	}
	f.group()
	f.leaf = slices.Max(f.rank)
	if f.o.HasRoots { // the rank of the switch of the first compute node
		f.leaf = 0
		if at := slices.IndexFunc(adapters, func(t topology.TerminalID) bool { return f.compute[t] }); at >= 0 {
			f.leaf = f.rank[f.s.home(adapters[at])]
		}
	}
	if rank := int(f.leaf) + 1; rank < 2 || rank > 8 {
		return fmt.Sprintf("Fabric rank is %d (should be between 2 and 8)", rank)
	}
	if reason := f.markLeaves(adapters); reason != "" {
		return reason
	}
	f.makeIndex()
	f.listLeaves()
	if !f.o.HasRoots {
		return f.validate()
	}
	return ""
}

// adaptersByGUID lists the adapters' ports by their node's GUID, then by number.
func (s *Subnet) adaptersByGUID() []topology.TerminalID {
	ports := topology.Numbers[topology.TerminalID](s.adapterPorts())
	slices.SortStableFunc(ports, func(a, b topology.TerminalID) int {
		x, y := &s.Names.Terminals[a], &s.Names.Terminals[b]
		return cmp.Or(topology.CompareGUID(x.NodeGUID, y.NodeGUID), cmp.Compare(x.NodePort, y.NodePort))
	})
	return ports
}

// rankSwitches ranks switches by distance from the roots: a file's, or those farthest from
// adapters.
func (f *fatTree) rankSwitches() string {
	var roots []int32
	if f.o.HasRoots {
		roots = f.s.nodesOf(f.o.Roots)
	} else {
		far := f.s.ranks(f.s.leaves())
		top := slices.Max(far)
		if top == 0 {
			return "construct_fabric: ERR AB2B: Found more than one root on fabric with maximum rank 0"
		}
		for n, r := range far {
			if r == top {
				roots = append(roots, int32(n))
			}
		}
	}
	f.rank = f.s.ranks(roots)
	return ""
}

// group gathers the cables to each neighbour, in order of the first port.
func (f *fatTree) group() {
	n := len(f.s.Switches)
	f.up, f.down, f.side = make([][]*portGroup, n), make([][]*portGroup, n), make([][]*portGroup, n)
	for from := range f.s.nodes() {
		for _, l := range f.s.links(from) {
			list := &f.side[from]
			if f.rank[l.Peer] < f.rank[from] {
				list = &f.up[from]
			} else if f.rank[l.Peer] > f.rank[from] {
				list = &f.down[from]
			}
			i := slices.IndexFunc(*list, func(g *portGroup) bool { return g.remote == l.Peer })
			if i < 0 {
				i = len(*list)
				*list = append(*list, &portGroup{remote: l.Peer})
			}
			(*list)[i].ports = append((*list)[i].ports, groupPort{back: f.s.Links[l.Back].Port})
		}
	}
}

// markLeaves marks the switches with compute nodes, which must all be of leaf rank.
func (f *fatTree) markLeaves(adapters []topology.TerminalID) string {
	f.marked = make([]bool, len(f.s.Switches))
	for _, t := range adapters {
		n := f.s.home(t)
		if !f.compute[t] {
			continue
		}
		if f.rank[n] != f.leaf {
			return fmt.Sprintf("fabric_mark_leaf_switches: ERR AB26: CN port 0x%x is connected to switch 0x%x with rank %d, while FatTree leaf rank is %d; %s",
				f.s.Names.Terminals[t].PortGUID, f.s.guid(n), f.rank[n], f.leaf, noTree)
		}
		f.marked[n] = true
	}
	return ""
}

// makeIndex gives every switch a tuple of bytes, its place in the tree: its rank, then numbers that
// switches below one another share. It goes breadth first from the first leaf switch, down before
// up. A new switch takes its finder's tuple, with its own rank, and at the place of the larger of
// both ranks the lowest number that makes it unique.
func (f *fatTree) makeIndex() {
	n := len(f.s.Switches)
	f.index = slices.Repeat([][8]uint8{{noPath, noPath, noPath, noPath, noPath, noPath, noPath, noPath}}, n)
	first := int32(max(0, slices.Index(f.marked, true)))
	f.index[first] = [8]uint8{f.rank[first]}
	taken := map[[8]uint8]bool{f.index[first]: true}
	// Numbers are given out in rising order, so the next one to try is known.
	next := map[[8]uint8]uint8{}
	done := make([]bool, n)
	done[first] = true
	queue := []int32{first}
	visit := func(from int32, groups []*portGroup) {
		for _, g := range groups {
			if done[g.remote] {
				continue
			}
			done[g.remote] = true
			tuple := f.index[from]
			tuple[0] = f.rank[g.remote]
			place := min(int(max(f.rank[from], f.rank[g.remote])), len(tuple)-1)
			tuple[place] = noPath
			stem := tuple
			for tuple[place] = next[stem]; taken[tuple] && tuple[place] < noPath-1; tuple[place]++ {
			}
			next[stem] = tuple[place]
			taken[tuple] = true
			f.index[g.remote] = tuple
			queue = append(queue, g.remote)
		}
	}
	for head := 0; head < len(queue); head++ {
		at := queue[head]
		if f.rank[at] < f.leaf {
			visit(at, f.down[at])
		}
		if f.rank[at] > 0 {
			visit(at, f.up[at])
		}
		if f.rank[at] < f.leaf {
			f.order(f.down[at])
		}
		f.order(f.up[at])
	}
}

// order sorts groups by their routes, none at first, equals by the index of the other end's switch.
func (f *fatTree) order(groups []*portGroup) {
	slices.SortStableFunc(groups, func(a, b *portGroup) int {
		return cmp.Or(cmp.Compare(a.used, b.used), bytes.Compare(f.index[a.remote][:], f.index[b.remote][:]))
	})
}

// listLeaves lists the switches of leaf rank by index, from the first to the last with compute
// nodes.
func (f *fatTree) listLeaves() {
	for n, rank := range f.rank {
		if rank == f.leaf {
			f.leaves = append(f.leaves, int32(n))
		}
	}
	slices.SortStableFunc(f.leaves, func(a, b int32) int { return bytes.Compare(f.index[a][:], f.index[b][:]) })
	for len(f.leaves) > 0 && !f.marked[f.leaves[0]] {
		f.leaves = f.leaves[1:]
	}
	for len(f.leaves) > 0 && !f.marked[f.leaves[len(f.leaves)-1]] {
		f.leaves = f.leaves[:len(f.leaves)-1]
	}
}

// validate holds every switch to the first one of its rank.
func (f *fatTree) validate() string {
	reference := map[uint8]int32{}
	for n := range f.s.nodes() {
		first, known := reference[f.rank[n]]
		if !known {
			reference[f.rank[n]] = n
			continue
		}
		what := ""
		switch {
		case len(f.up[n]) != len(f.up[first]):
			what = "ERR AB09: Different number of upward port groups on switches:"
		case f.rank[n] != f.leaf && len(f.down[n])+f.hosts[n] != len(f.down[first])+f.hosts[first]:
			what = "ERR AB0A: Different number of downward port groups on switches:"
		case slices.ContainsFunc(f.up[n], func(g *portGroup) bool { return len(g.ports) != len(f.up[first][0].ports) }):
			what = "ERR AB0B: Different number of ports in an upward port group on switches:"
		case f.rank[n] != f.leaf && len(f.down[n]) > 0 && len(f.down[first]) > 0 && len(f.down[n][0].ports) != len(f.down[first][0].ports):
			what = "ERR AB0C: Different number of ports in a downward port group on switches:"
		default:
			continue
		}
		return "fabric_validate_topology: " + what + "; fabric_validate_topology: ERR AB0D: Fabric topology hasn't been identified as FatTree; " + noTree
	}
	return ""
}

// route fills the tables: compute nodes first, then other adapters, then switches.
func (f *fatTree) route() {
	n := len(f.s.Switches)
	f.changed = make([]bool, n)
	f.hops, f.column = slices.Repeat([]uint8{noPath}, n), slices.Repeat([]uint8{noPath}, n)
	fullest := 0
	count := make([]int, len(f.leaves)) // of compute nodes
	for i, leaf := range f.leaves {
		for _, h := range f.s.hosts(leaf) {
			if f.compute[h.Terminal] {
				count[i]++
			}
		}
		fullest = max(fullest, count[i])
	}
	for i, leaf := range f.leaves {
		for _, h := range f.s.hosts(leaf) {
			if f.compute[h.Terminal] {
				f.set(leaf, h.Port, 1)
				f.climb(leaf, -1, 1, true)
				f.store(int(f.s.TerminalLID[h.Terminal]))
			}
		}
		// Counters go on as if every leaf had as many.
		for range fullest - count[i] {
			f.climb(leaf, -1, 1, true)
			f.store(0)
		}
	}
	for _, t := range f.s.adaptersByGUID() {
		if !f.compute[t] {
			f.set(f.s.home(t), f.s.hostPort(t), 1)
			f.climb(f.s.home(t), -1, 1, true)
			f.store(int(f.s.TerminalLID[t]))
		}
	}
	for at := range f.s.nodes() {
		f.set(at, 0, 0)
		f.climb(at, -1, 0, false)
		f.store(int(f.s.SwitchLID[at]))
	}
	if f.o.ConnectRoots {
		f.connectRoots()
	}
}

// set enters a port and the hops by it for the LID at hand.
func (f *fatTree) set(n int32, port, hops uint8) {
	if f.column[n] == noPath {
		f.touched = append(f.touched, n)
	}
	f.column[n], f.hops[n] = port, hops
}

// store copies the column to the tables, but for LID 0, and clears it.
func (f *fatTree) store(lid int) {
	for _, n := range f.touched {
		if lid > 0 {
			f.t.LFT[n][lid] = f.column[n]
		}
		f.column[n], f.hops[n] = noPath, noPath
	}
	f.touched = f.touched[:0]
}

// climb enters ports that lead down at the switches above n, which is so many hops from the
// destination, and ports that lead up at those below. The main path takes the group that the fewest
// routes come down by, and counts; the others make sure that every switch has an entry.
func (f *fatTree) climb(n, previous int32, hops uint8, main bool) {
	f.descend(n, previous, hops)
	if f.rank[n] == 0 {
		return
	}
	groups := f.up[n]
	f.order(groups)
	if main && len(groups) > 0 {
		g := groups[0]
		port := g.least()
		g.used++
		port.used++
		if f.column[g.remote] == noPath || hops+1 < f.hops[g.remote] {
			f.set(g.remote, port.back, hops+1)
		}
		f.climb(g.remote, n, hops+1, true)
		groups = groups[1:]
	}
	for _, list := range [][]*portGroup{groups, f.side[n]} {
		for _, g := range list {
			if f.column[g.remote] != noPath && hops+1 >= f.hops[g.remote] {
				continue
			}
			f.set(g.remote, g.least().back, hops+1)
			f.climb(g.remote, n, hops+1, false)
		}
	}
}

// descend enters ports that lead up at the switches below n. reached: there are adapters among
// them.
func (f *fatTree) descend(n, previous int32, hops uint8) (reached bool) {
	if f.changed[n] {
		f.order(f.down[n])
		f.changed[n] = false
	}
	reached = f.hosts[n] > 0
	for _, g := range f.down[n] {
		if g.remote == previous || f.hops[g.remote] <= hops+1 {
			continue
		}
		port := g.least()
		f.set(g.remote, port.back, hops+1)
		if f.descend(g.remote, n, hops+1) {
			port.used++
			g.used++
			f.changed[n] = true
			reached = true
		}
	}
	return reached
}

// connectRoots gives switches above leaves entries, by the last leaf, for those they have no path
// to.
func (f *fatTree) connectRoots() {
	if len(f.leaves) == 0 {
		return
	}
	last := f.leaves[len(f.leaves)-1]
	for n, row := range f.t.LFT {
		if f.rank[n] >= f.leaf {
			continue
		}
		for _, lid := range f.s.SwitchLID {
			if row[lid] == noPath && f.t.LFT[last][lid] != noPath {
				row[lid] = row[f.s.SwitchLID[last]]
			}
		}
	}
}
