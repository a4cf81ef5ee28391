package mcast

import (
	"errors"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim/param"
)

// ssspMC is the multicast routing of OpenSM's engines sssp and dfsssp as of version 3.3.23
// (osm_ucast_dfsssp.c; Domke, Hoefler and Nagel 2011): the unicast phase leaves a weight on each
// link, and every group's tree is part of the Dijkstra tree of its root under those weights
// ([opensm.Paths]). Multicast groups change no weight, which the paper on MR4LMS takes otherwise;
// see gw-sssp for that.
type ssspMC struct {
	subnet *opensm.Subnet
	graph  *topology.Graph
	paths  *opensm.Paths
	hops   hopTable // of the unicast paths between switches

	trees   map[topology.SwitchID][]topology.PortID // per root: way up of each switch
	members []multicast.MemberSwitch
	depth   []int32 // len = switches: -1 between calls
	path    []topology.SwitchID
}

// hopTable holds hops between switches as found, not shortest.
type hopTable struct {
	n    int
	hops []uint8 // [to*n+from]
}

func newHopTable(n int) hopTable {
	return hopTable{n, slices.Repeat([]uint8{multicast.Unreachable}, n*n)}
}

// Row lists the hops from every switch to w (len = switches).
func (h hopTable) Row(w topology.SwitchID) []uint8 { return h.hops[int(w)*h.n : (int(w)+1)*h.n] }

// newSSSPMC runs the unicast phase: one search for each LID. lmc is the LID mask
// control where the graph's names state none. The subnet manager is taken to
// run on the host with the lowest port GUID; this only matters for networks
// that OpenSM refuses, an [*opensm.InfinityError]. Cost: LIDs times links.
func newSSSPMC(graph *topology.Graph, lmc int) (*ssspMC, error) {
	subnet := opensm.Wire(graph)
	names := subnet.Names
	n := graph.Switches()
	b := &ssspMC{subnet: subnet, graph: graph, trees: map[topology.SwitchID][]topology.PortID{}, depth: slices.Repeat([]int32{-1}, n)}
	// Where no port has an LMC, the network does not state it.
	stated := graph.Names != nil && slices.ContainsFunc(graph.Names.Terminals, func(t topology.AdapterPort) bool { return t.LMC > 0 })
	b.paths = opensm.NewPaths(subnet, func(e opensm.End) int {
		switch {
		case e.Terminal < 0:
			return 1 << names.Switches[subnet.Switches[e.Node]].LMC
		case int(e.Terminal) >= graph.Terminals(): // an aggregation node
			return 0
		case stated:
			return 1 << names.Terminals[e.Terminal].LMC
		}
		return 1 << lmc
	})
	if graph.Terminals() > 0 {
		manager := topology.TerminalID(0)
		for t, x := range names.Terminals[:graph.Terminals()] {
			if x.PortGUID < names.Terminals[manager].PortGUID {
				manager = topology.TerminalID(t)
			}
		}
		if err := b.paths.Check(manager); err != nil {
			return nil, err
		}
	}
	b.hops = newHopTable(n)
	b.paths.Unicast(func(e opensm.End, i int) {
		if e.Terminal >= 0 || i > 0 { // the root rule looks at the base LID of the switch
			return
		}
		row := b.hops.Row(subnet.Switches[e.Node])
		for u, s := range subnet.Switches {
			if b.paths.Used[u] != opensm.Unreached || int32(u) == e.Node {
				row[s] = b.paths.Far[u]
			}
		}
	})
	return b, nil
}

// Build implements [multicast.TreeBuilder]. Cost: a search for each new root; linear in the tree.
func (b *ssspMC) Build(g *multicast.Group, _ *multicast.Forest) (*multicast.Tree, error) {
	b.members = multicast.MemberSwitches(b.graph, g, b.members)
	root := multicast.CentralRoot(b.subnet.Switches, b.hops, b.members)
	up, known := b.trees[root]
	if !known {
		b.paths.Search(b.subnet.Node[root])
		up = make([]topology.PortID, len(b.subnet.Switches))
		for v, s := range b.subnet.Switches {
			up[s] = topology.NoPort
			if link := b.paths.Used[v]; link >= 0 {
				up[s] = b.subnet.Links[b.subnet.Links[link].Back].Graph
			}
		}
		b.trees[root] = up
	}
	t := &multicast.Tree{Switches: []topology.SwitchID{root}, Up: []topology.PortID{topology.NoPort}}
	depth := b.depth // -1 where the tree is not
	depth[root] = 0
	defer func() {
		for _, s := range t.Switches {
			depth[s] = -1
		}
	}()
	for _, m := range b.members {
		b.path = b.path[:0]
		s := m.Switch
		for ; depth[s] < 0; s = b.graph.PortSwitch[b.graph.Peer[up[s]]] {
			if up[s] == topology.NoPort {
				return nil, multicast.UnreachedError(b.graph, root, m.Switch)
			}
			b.path = append(b.path, s)
		}
		for i := len(b.path) - 1; i >= 0; i-- {
			child := b.path[i]
			depth[child] = depth[s] + 1
			s = child
			t.Switches = append(t.Switches, s)
			t.Up = append(t.Up, up[s])
		}
		t.Height = max(t.Height, int(depth[m.Switch])+int(m.Hosts))
	}
	return t, nil
}

// OpenSMSSSPConfig configures the engine opensm-sssp.
type OpenSMSSSPConfig struct {
	LMC      int  `toml:"lmc" min:"0" max:"7" doc:"each host port has 2^lmc LIDs, where an imported fabric does not say"`
	Fallback bool `toml:"fallback" doc:"route by minhop what sssp refuses, as OpenSM does without a word, in place of an error"`
}

func init() {
	param.Register(multicast.Registry, "opensm-sssp", "OpenSM's SSSP-MC as it is: shortest paths by the weights that unicast routing left", OpenSMSSSPConfig{},
		func(c OpenSMSSSPConfig, env multicast.Env) (multicast.Engine, error) {
			builder, err := newSSSPMC(env.Graph, c.LMC)
			if refused := (*opensm.InfinityError)(nil); errors.As(err, &refused) && c.Fallback {
				return multicast.NewPlainEngine(env, multicast.NewMinHopMC(env.Graph, env.Hops))
			}
			if err != nil {
				return nil, err
			}
			return multicast.NewPlainEngine(env, builder)
		})
}

// NewMinHopMCFrom makes minhop-mc for a subnet whose min-hop tables lack some shortest paths.
func NewMinHopMCFrom(env multicast.Env, m *LIDMatrix) (multicast.Engine, error) {
	if m.graph != env.Graph {
		panic("mcast: min-hop tables of another graph")
	}
	return multicast.NewPlainEngine(env, multicast.NewMinHopMC(env.Graph, m))
}

var _ multicast.PortTable = (*LIDMatrix)(nil)
