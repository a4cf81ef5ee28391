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
// Paths go up, then down, so no cycle of channels can be, unless cables join switches of one rank.
func routeFatTree(s *Subnet, o *Options) (*Tables, error) {
	f := &fatTree{s: s, o: o, hosts: make([]int, len(s.Switches))}
	if reason := f.build(); reason != "" {
		return nil, &Refusal{"ftree", reason}
	}
	f.t = newTables("ftree", s)
	f.route()
	if f.arbitrary != "" {
		return nil, fmt.Errorf("ftree: OpenSM's tables are arbitrary here: it sorts the adapters of %s, which has cables to switches beside or below it, by addresses in its memory", f.arbitrary)
	}
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
	touched []int32 // nodes with an entry in column or hops
	dummy   bool    // the LID at hand is of no adapter
	done    []bool  // the switch's compute nodes are routed
	// arbitrary is a switch whose adapters OpenSM sorts, before they are routed, by memory addresses.
	arbitrary string
}

// portGroup is all cables from a switch to one other.
type portGroup struct {
	remote int32
	used   routeCount
	ports  []groupPort
}

type groupPort struct {
	back uint8 // port at the other end
	used routeCount
}

// routeCount counts routes by the direction in which the tables were filled: from below (climb) or
// from above (descend).
type routeCount [2]int

const (
	climbing = iota
	descending
)

// least is the port with the fewest routes of a direction, the first of equals.
func (g *portGroup) least(direction int) *groupPort {
	best := &g.ports[0]
	for i := range g.ports[1:] {
		if p := &g.ports[i+1]; p.used[direction] < best.used[direction] {
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
		return fmt.Sprintf("Fabric has %d nodes (%d switches) - topology is not fat-tree.", len(s.Switches)+min(1, len(adapters)), len(s.Switches))
	case f.o.HasNodes && len(f.o.ComputeNodes) == 0:
		return "fabric_read_guid_files: ERR AB27: Compute node guids file has no valid guids; Failed reading guid files - falling back to default routing"
	}
	f.findComputeNodes()
	f.rankSwitches()
	switch {
	case slices.Max(f.rank) == 0:
		return "construct_fabric: ERR AB2B: Found more than one root on fabric with maximum rank 0"
	case !slices.Contains(f.compute, true):
		return "Fabric has no valid compute nodes"
	}
	f.group()
	if f.o.HasRoots {
		f.leaf = f.rankOfFirst(adapters)
	} else {
		f.leaf = slices.Max(f.rank)
	}
	if rank := int(f.leaf) + 1; rank < 2 || rank > 8 {
		return fmt.Sprintf("Fabric rank is %d (should be between 2 and 8)", rank)
	}
	if reason := f.markLeaves(adapters); reason != "" {
		return reason
	}
	f.makeIndex()
	f.listLeaves()
	if len(f.leaves) < 2 {
		return "Failed to find leaf switches - topology is not fat-tree; " + noTree
	}
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

func (f *fatTree) findComputeNodes() {
	f.compute = slices.Repeat([]bool{true}, f.s.adapterPorts())
	if f.o.HasNodes {
		f.compute = f.s.listed(f.o.ComputeNodes)
	}
	for n := range f.s.nodes() {
		f.hosts[n] = len(f.s.hosts(n))
	}
}

// listed marks the adapter ports with the given GUIDs.
func (s *Subnet) listed(guids []uint64) []bool {
	known := lists.Set(guids, func(guid uint64) uint64 { return guid })
	return lists.Map(s.Names.Terminals, func(x topology.AdapterPort) bool { return known[uint64(x.PortGUID)] })
}

// rankSwitches ranks switches by distance from the roots: a file's, or where it names none those
// farthest from adapters.
func (f *fatTree) rankSwitches() {
	roots := f.s.nodesOf(f.o.Roots)
	if len(roots) == 0 {
		far := f.s.ranks(f.s.leaves())
		top := slices.Max(far)
		for n, r := range far {
			if r == top {
				roots = append(roots, int32(n))
			}
		}
	}
	f.rank = f.s.ranks(roots)
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

// rankOfFirst is the rank of the switch of the first compute node.
func (f *fatTree) rankOfFirst(adapters []topology.TerminalID) uint8 {
	for _, t := range adapters {
		if f.compute[t] {
			return f.rank[f.s.home(t)]
		}
	}
	return 0
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
			f.order(f.down[at], descending)
		}
		f.order(f.up[at], climbing)
	}
}

// order sorts groups by their routes of a direction, none at first, equals by the index of the other
// end's switch.
func (f *fatTree) order(groups []*portGroup, direction int) {
	slices.SortStableFunc(groups, func(a, b *portGroup) int {
		return cmp.Or(cmp.Compare(a.used[direction], b.used[direction]), bytes.Compare(f.index[a.remote][:], f.index[b.remote][:]))
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
	f.changed, f.done = make([]bool, n), make([]bool, n)
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
		f.done[leaf] = true
		// Counters go on as if every leaf had as many: for LID 0, to which the leaf has hops but no port.
		f.dummy = true
		for range fullest - count[i] {
			f.hops[leaf], f.touched = 1, append(f.touched, leaf)
			f.climb(leaf, -1, 1, true)
			f.store(0)
		}
		f.dummy = false
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
// routes come down by, and counts; the others make sure that every switch has an entry. Cables
// between equals come last. reached: there are adapters on the way.
func (f *fatTree) climb(n, previous int32, hops uint8, main bool) (reached bool) {
	reached = f.descend(n, previous, hops)
	if f.rank[n] == 0 {
		return reached
	}
	groups := f.up[n]
	f.order(groups, climbing)
	first := groups[0]
	if main {
		port := first.least(climbing)
		first.used[climbing]++
		port.used[climbing]++
		if f.nearer(first.remote, hops+1) {
			f.set(first.remote, port.back, hops+1)
		}
		reached = f.climb(first.remote, n, hops+1, true) || reached
		groups = groups[1:]
	}
	for _, g := range groups {
		if f.nearer(g.remote, hops+1) {
			f.set(g.remote, g.least(climbing).back, hops+1)
			reached = f.climb(g.remote, n, hops+1, false) || reached
		}
	}
	f.order(f.side[n], climbing)
	for _, g := range f.side[n] {
		if !f.nearer(g.remote, hops+1) {
			continue
		}
		port := g.least(climbing)
		f.set(g.remote, port.back, hops+1)
		if f.climb(g.remote, n, hops+1, false) {
			first.used[climbing]++ // so OpenSM: not g's
			port.used[climbing]++
			reached = true
		}
	}
	return reached
}

// nearer tells whether a switch has no entry yet, or one of more hops.
func (f *fatTree) nearer(n int32, hops uint8) bool { return f.column[n] == noPath || hops < f.hops[n] }

// descend enters ports that lead up at the switches below n, and beside it. reached: there are
// adapters among them.
func (f *fatTree) descend(n, previous int32, hops uint8) (reached bool) {
	if f.hosts[n]+len(f.down[n]) == 0 {
		return false
	}
	if f.changed[n] {
		if f.marked[n] && f.hosts[n] > 1 && !f.done[n] {
			f.arbitrary = f.s.Graph.SwitchName(f.s.Switches[n])
		}
		f.order(f.down[n], descending)
		f.changed[n] = false
	}
	f.order(f.side[n], descending)
	reached = f.hosts[n] > 0
	enter := func(groups []*portGroup) {
		for _, g := range groups {
			if g.remote == previous || f.hops[g.remote] <= hops+1 {
				continue
			}
			port := g.least(descending)
			f.set(g.remote, port.back, hops+1)
			if f.descend(g.remote, -1, hops+1) {
				port.used[descending]++
				g.used[descending]++
				f.changed[n] = true
				reached = true
			}
		}
	}
	enter(f.down[n])
	if !f.dummy {
		enter(f.side[n])
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
