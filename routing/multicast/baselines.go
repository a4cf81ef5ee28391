package multicast

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// GWSSSPConfig configures gw-sssp.
type GWSSSPConfig struct {
	Root string `toml:"root" choices:"load|first" doc:"among switches with the least hop count to the farthest member: the one in the fewest trees, or the first (as OpenSM does)"`
	Hop  int64  `toml:"hop" min:"0" doc:"weight of a cable beside the number of groups on it; 0: detours of any length around loaded cables"`
}

func init() {
	param.Register(Registry, "gw-sssp", "single-source shortest paths weighted by the groups on each cable (SSSP-MC as Chen et al. 2021 describe it)",
		GWSSSPConfig{Root: "load", Hop: 1 << 20},
		func(c GWSSSPConfig, env Env) (Engine, error) {
			n := env.Graph.Switches()
			return NewPlainEngine(env, &gwsssp{
				config: c, roots: newRootFinder(env.Hops), dist: make([]int64, n), parent: make([]topology.PortID, n),
			})
		})
	param.Register(Registry, "one-tree", "all groups on one tree, in one entry: everybody receives everything", struct{}{},
		func(_ struct{}, env Env) (Engine, error) {
			r, err := newRouter(env)
			return &oneTree{r}, err
		})
	param.Register(Registry, "minhop-mc", "OpenSM's MINIHOP-MC: the first most central root, lowest ports of the min-hop tables", struct{}{},
		func(_ struct{}, env Env) (Engine, error) {
			return NewPlainEngine(env, NewMinHopMC(env.Graph, env.Hops))
		})
}

// gwsssp is group-weighted SSSP: Dijkstra from the root, where a cable weighs the groups on it
// (Chen et al. 2021, section 3.1.2, method 1) plus a weight per hop. The default hop weight, far
// above any number of groups, allows paths of fewest hops only, as OpenSM's base weights do; the
// paper gives none. OpenSM itself never adds groups to its weights: that is opensm-sssp.
type gwsssp struct {
	config GWSSSPConfig
	roots  *rootFinder
	dist   []int64           // len = switches: weight of the path from the root
	parent []topology.PortID // len = switches
	front  heap

	candidates []topology.SwitchID
}

func (b *gwsssp) Build(g *Group, f *Forest) (*Tree, error) {
	hops, graph := f.env.Hops, f.env.Graph
	_, b.candidates = b.roots.find(g, b.candidates[:0])
	root := b.candidates[0]
	if b.config.Root == "load" {
		root = f.leastLoaded(b.candidates)
	}
	for i := range b.dist {
		b.dist[i] = math.MaxInt64
	}
	span := g.Span(graph)
	left := len(span)
	wanted := make(map[topology.SwitchID]bool, left)
	for _, s := range span {
		wanted[s] = true
	}
	b.dist[root], b.parent[root] = 0, topology.NoPort
	b.front = append(b.front[:0], reach{0, 0, root})
	for left > 0 {
		top := b.front.pop()
		u := top.sw
		if top.cost != b.dist[u] {
			continue // an earlier, longer path
		}
		if wanted[u] {
			left--
		}
		ports := hops.linkPorts(u)
		for i, v := range hops.neighbours(u) {
			if w := top.cost + b.config.Hop + int64(f.efi[ports[i]]); w < b.dist[v] {
				b.dist[v] = w
				b.parent[v] = topology.PortID(graph.Peer[ports[i]])
				b.front.push(reach{w, 0, v})
			}
		}
	}
	found := []topology.SwitchID{root}
	children := map[topology.SwitchID][]topology.SwitchID{root: nil}
	for _, s := range span {
		for {
			if _, in := children[s]; in {
				break
			}
			children[s], found = nil, append(found, s)
			s = parentOf(graph, b.parent[s])
		}
	}
	for _, s := range found[1:] {
		above := parentOf(graph, b.parent[s])
		children[above] = append(children[above], s)
	}
	t := &Tree{Switches: found[:1:1]}
	for i := 0; i < len(t.Switches); i++ { // parents first
		s := t.Switches[i]
		t.Switches, t.Up = append(t.Switches, children[s]...), append(t.Up, b.parent[s])
	}
	t.Height = t.HeightOf(graph, g)
	return t, nil
}

// oneTree keeps all groups on a single tree, as the bold tree of figure 4 of Chen et al. 2021: the
// extreme of merging, and the heaviest load of a link. A group that the tree does not reach has it
// made anew for all members: shortest paths from the first of the switches with the least hop count
// to the farthest.
type oneTree struct{ *router }

func (e *oneTree) Join(g Group) error { return e.JoinAll([]Group{g}) }

// JoinAll implements BatchEngine: the tree is made once.
func (e *oneTree) JoinAll(groups []Group) error {
	if len(groups) == 0 {
		return nil
	}
	for i := range groups {
		if err := e.forest.Admissible(&groups[i]); err != nil {
			return err
		}
	}
	all := slices.Clone(groups)
	for old := range e.forest.Trees {
		if e.reaches(old, groups) {
			e.forest.Share(old, groups...)
			return nil
		}
		all = append(slices.Clone(old.Groups), groups...)
	}
	virtual := virtualGroup([]*Planted{{Groups: all}}, &Group{ID: groups[0].ID})
	height, roots := e.roots.find(&virtual, nil)
	if height >= Unreachable {
		return fmt.Errorf("group %d: no path joins it to the members of other groups", groups[0].ID)
	}
	t := e.climb.build(roots[0], &virtual)
	t.Height = height
	for old := range e.forest.Trees {
		e.forest.Uproot(old)
	}
	e.forest.Plant(t.keep(), 0, all...)
	return nil
}

func (e *oneTree) reaches(p *Planted, groups []Group) bool {
	for i := range groups {
		for _, s := range groups[i].Span(e.forest.env.Graph) {
			if !p.switchSet(e.forest).has(int(s)) {
				return false
			}
		}
	}
	return true
}

// osmMaxDepth is the number of switches on a branch at which OpenSM gives up.
const osmMaxDepth = 64

// minHopMC is OpenSM's multicast routing for all engines without a rule of their own (minhop, updn,
// dnup, ftree, lash, dor, file), as of version 3.3.23 (mcast_mgr_build_spanning_tree in
// osm_mcast_mgr.c). The root is [CentralRoot]'s. From the root down, each member goes by the lowest
// numbered port that is on a shortest path to its switch; members behind one port go on together.
// Only the group's members and the unicast tables count, not the order of joins or other groups.
//
// Deviation: where OpenSM leaves members out (no path, branches of 64 switches), this returns an
// error.
type minHopMC struct {
	graph *topology.Graph
	order []topology.SwitchID
	hops  PortTable
	// scratch
	members []MemberSwitch
	work    []branch
	count   []int32           // len = ports of the switch at hand
	ports   []topology.PortID // len = members of the branch at hand
	moved   []MemberSwitch
	within  []int // by switch: the last tree that it is in
	built   int   // trees
}

// PortTable is a min-hop table as multicast needs it.
type PortTable interface {
	HopRows
	// LowestPort is the lowest port of s with the smallest hop count to w, another switch; NoPort
	// if none.
	LowestPort(s, w topology.SwitchID) topology.PortID
}

// branch is a switch of the tree being built and the members to reach: minHopMC.members[from:to].
type branch struct {
	sw       topology.SwitchID
	up       topology.PortID
	from, to int
	depth    int
}

// NewMinHopMC makes the builder; hops is a [*MinHop], or the table that a subnet manager dumps
// where routing does not take shortest paths.
func NewMinHopMC(graph *topology.Graph, hops PortTable) TreeBuilder {
	return &minHopMC{graph: graph, order: topology.GUIDOrder(topology.NamesOf(graph)), hops: hops, within: make([]int, graph.Switches())}
}

func (b *minHopMC) Build(g *Group, _ *Forest) (*Tree, error) {
	b.members = MemberSwitches(b.graph, g, b.members)
	root := CentralRoot(b.order, b.hops, b.members)
	t := &Tree{}
	b.work = append(b.work[:0], branch{root, topology.NoPort, 0, len(b.members), 1})
	for head := 0; head < len(b.work); head++ {
		if err := b.divide(b.work[head], t); err != nil {
			return nil, err
		}
	}
	t.Switches = make([]topology.SwitchID, len(b.work))
	t.Up = make([]topology.PortID, len(b.work))
	b.built++
	for i, at := range b.work {
		if b.within[at.sw] == b.built {
			return nil, fmt.Errorf("two branches meet at %s: the min-hop tables do not give a tree", b.graph.SwitchName(at.sw))
		}
		t.Switches[i], t.Up[i], b.within[at.sw] = at.sw, at.up, b.built
	}
	return t, nil
}

// divide sorts the members of a branch by the port that they leave its switch by, and appends a
// branch for each port, in order; a member on the switch counts for the tree's height. Cost:
// members times ports.
func (b *minHopMC) divide(at branch, t *Tree) error {
	members := b.members[at.from:at.to]
	for i, m := range members {
		if m.Switch == at.sw {
			t.Height = max(t.Height, at.depth-1+int(m.Hosts))
			members[0], members[i] = members[i], members[0]
			at.from++
			members = members[1:]
			break
		}
	}
	first, end := b.graph.Ports(at.sw)
	b.count = append(b.count[:0], make([]int32, end-first)...)
	b.ports = b.ports[:0]
	for _, m := range members {
		port := b.hops.LowestPort(at.sw, m.Switch)
		if port == topology.NoPort {
			return UnreachedError(b.graph, at.sw, m.Switch)
		}
		if at.depth+1 >= osmMaxDepth {
			return fmt.Errorf("a branch of %d switches: OpenSM stops before it reaches %s", osmMaxDepth, b.graph.SwitchName(m.Switch))
		}
		b.ports = append(b.ports, port)
		b.count[port-first]++
	}
	next := at.from
	for i, n := range b.count {
		if n == 0 {
			continue
		}
		peer := topology.PortID(b.graph.Peer[first+topology.PortID(i)])
		b.work = append(b.work, branch{b.graph.PortSwitch[peer], peer, next, next + int(n), at.depth + 1})
		b.count[i] = int32(next) // where this port's members go
		next += int(n)
	}
	b.moved = append(b.moved[:0], members...)
	for i, m := range b.moved {
		slot := &b.count[b.ports[i]-first]
		b.members[*slot] = m
		*slot++
	}
	return nil
}

// MemberSwitch is a switch that a group has members at.
type MemberSwitch struct {
	Switch topology.SwitchID
	// cost is 1 if a packet has one more hop to go from the switch, 0 if its management port is a
	// member: then OpenSM ignores its hosts.
	cost uint8
	// Hosts is 1 if hosts of the switch are members.
	Hosts uint8
}

// MemberSwitches lists the switches of a group's members, ascending, into dst.
func MemberSwitches(graph *topology.Graph, g *Group, dst []MemberSwitch) []MemberSwitch {
	dst = dst[:0]
	g.each(graph, func(m member) { dst = append(dst, MemberSwitch{m.sw, uint8(m.extra), uint8(m.extra)}) })
	slices.SortFunc(dst, func(a, b MemberSwitch) int { return cmp.Compare(a.Switch, b.Switch) })
	kept := 0
	for _, m := range dst {
		if kept > 0 && dst[kept-1].Switch == m.Switch {
			dst[kept-1].cost &= m.cost
			dst[kept-1].Hosts |= m.Hosts
			continue
		}
		dst[kept] = m
		kept++
	}
	return dst[:kept]
}

// HopRows says how many hops OpenSM sees between switches: the smallest entries of min-hop rows.
type HopRows interface {
	// Row lists the hops from every switch to w (len = switches).
	Row(w topology.SwitchID) []uint8
}

// osmMaxCost is above every cost that OpenSM accepts for a root: 255 (no path) and one hop to the
// host.
const osmMaxCost = 256

// CentralRoot is the switch that OpenSM makes the root: the first in order whose largest hop count
// to a member switch (plus one where hosts are members) is strictly the smallest (OpenSM's comments
// say average; its code takes the maximum). Unreachable counts as 255 hops, as in OpenSM. Cost:
// switches times member switches at worst.
func CentralRoot(order []topology.SwitchID, hops HopRows, members []MemberSwitch) (root topology.SwitchID) {
	rows := lists.Map(members, func(m MemberSwitch) []uint8 { return hops.Row(m.Switch) })
	best, root := osmMaxCost+1, topology.SwitchID(-1)
	for _, s := range order {
		cost := 0
		for i := 0; i < len(members) && cost < best; i++ {
			cost = max(cost, int(rows[i][s])+int(members[i].cost))
		}
		if cost < best {
			best, root = cost, s
		}
	}
	return root
}

// UnreachedError says that OpenSM's tables lead nowhere.
func UnreachedError(graph *topology.Graph, from, to topology.SwitchID) error {
	return fmt.Errorf("%s has no path to %s in the subnet manager's tables", graph.SwitchName(from), graph.SwitchName(to))
}
