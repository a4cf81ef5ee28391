package multicast

import (
	"math"

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
			f, err := NewForest(env)
			if err != nil {
				return nil, err
			}
			n := env.Graph.Switches()
			return &plainEngine{forest: f, builder: &gwsssp{
				config: c,
				roots:  newRootFinder(env.Hops),
				dist:   make([]int64, n),
				parent: make([]topology.PortID, n),
				inTree: make([]bool, n),
			}}, nil
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
	inTree []bool            // len = switches
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
	t := &Tree{Switches: []topology.SwitchID{root}, Up: []topology.PortID{topology.NoPort}}
	b.inTree[root] = true
	for _, s := range span {
		for !b.inTree[s] {
			b.inTree[s] = true
			t.Switches = append(t.Switches, s)
			t.Up = append(t.Up, b.parent[s])
			s = graph.PortSwitch[graph.Peer[b.parent[s]]]
		}
	}
	for _, s := range t.Switches {
		b.inTree[s] = false
	}
	return NewTree(graph, t.Switches, t.Up, g)
}
