package multicast

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
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
}

// gwsssp is group-weighted SSSP: Dijkstra from the root, each cable weighing
// the number of groups on it (Chen et al. 2021, section 3.1.2, method 1), plus
// a weight per hop. With the default hop weight, far above any number of
// groups, only paths of fewest hops are used, as with OpenSM's base weights;
// the paper gives none. OpenSM itself never adds groups to its weights: that
// is opensm-sssp.
type gwsssp struct {
	config GWSSSPConfig
	roots  *rootFinder
	dist   []int64           // len = switches: weight of the path from the root
	parent []topology.PortID // len = switches
	front  heap

	candidates []topology.SwitchID
}

// Build implements [TreeBuilder].
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
	t.Height = heightOf(graph, t, g)
	return t, nil
}

func init() {
	param.Register(Registry, "one-tree", "all groups on one tree, in one entry: everybody receives everything", struct{}{},
		func(_ struct{}, env Env) (Engine, error) {
			r, err := newRouter(env)
			return &oneTree{r}, err
		})
}

// oneTree keeps all groups on a single tree, as the bold tree of figure 4 of Chen
// et al. 2021: the other end of the range that merging spans, and the heaviest
// load that a link can have. A group that the tree does not reach has it made
// anew for all members: shortest paths from the first of the switches with the
// least hop count to the farthest.
type oneTree struct{ *router }

// Join implements [Engine].
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

// reaches tells whether a tree has all switches of the groups' members.
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
