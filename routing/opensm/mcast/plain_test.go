package mcast

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// The rules written down plainly, to check the fast versions on networks for which there is no measurement: more than
// 256 switches, GUIDs in any order, parallel cables, switches as members, several LIDs a port.

// plainOrder sorts by the GUID's bytes, the last one first.
func plainOrder(names *topology.Names) []topology.SwitchID {
	var order []topology.SwitchID
	for s := range names.Switches {
		order = append(order, topology.SwitchID(s))
	}
	key := func(s topology.SwitchID) string {
		b := binary.LittleEndian.AppendUint64(nil, uint64(names.Switches[s].GUID))
		return string(b)
	}
	slices.SortFunc(order, func(a, b topology.SwitchID) int {
		if key(a) < key(b) {
			return -1
		}
		return 1
	})
	return order
}

// plainRoot asks every switch about every member.
func plainRoot(order []topology.SwitchID, hops func(s, w topology.SwitchID) int, graph *topology.Graph, g *multicast.Group) topology.SwitchID {
	root, best := topology.SwitchID(-1), 10000
	for _, s := range order {
		cost := 0
		for _, w := range g.Span(graph) {
			c := hops(s, w)
			if !slices.Contains(g.Switches, w) {
				c++
			}
			cost = max(cost, c)
		}
		if cost < best {
			root, best = s, cost
		}
	}
	return root
}

// plainMinHop enters rows of ports by MINIHOP-MC from switch s, which has been
// entered by port in, for the members to reach.
func plainMinHop(m *multicast.MinHop, s topology.SwitchID, in topology.PortID, reach []topology.SwitchID, rows map[topology.SwitchID][]topology.PortID) {
	if in != topology.NoPort {
		rows[s] = append(rows[s], in)
	}
	by := map[topology.PortID][]topology.SwitchID{}
	for _, w := range reach {
		if w != s {
			port := m.LowestPort(s, w)
			by[port] = append(by[port], w)
		}
	}
	for port, members := range by {
		rows[s] = append(rows[s], port)
		peer, _ := m.Graph().PeerPort(port)
		plainMinHop(m, m.Graph().PortSwitch[peer], peer, members, rows)
	}
}

// rowsOf lists the switch-to-switch ports that a tree uses at each switch.
func rowsOf(graph *topology.Graph, t *multicast.Tree) map[topology.SwitchID][]topology.PortID {
	rows := map[topology.SwitchID][]topology.PortID{}
	for i, up := range t.Up[1:] {
		peer := topology.PortID(graph.Peer[up])
		rows[t.Switches[i+1]] = append(rows[t.Switches[i+1]], up)
		rows[graph.PortSwitch[peer]] = append(rows[graph.PortSwitch[peer]], peer)
	}
	return rows
}

func sortedRows(rows map[topology.SwitchID][]topology.PortID) string {
	for s := range rows {
		slices.Sort(rows[s])
	}
	return fmt.Sprint(rows)
}

// shuffledGUIDs gives switches GUIDs of which any byte may decide.
func shuffledGUIDs(graph *topology.Graph, draw *sim.Stream) {
	n := &topology.Names{}
	for s := range graph.Switches() {
		n.Switches = append(n.Switches, topology.SwitchName{GUID: topology.GUID(uint64(draw.IntN(3))<<56 | uint64(draw.IntN(3))<<8 | uint64(s)<<16)})
	}
	for range graph.Terminals() {
		n.Terminals = append(n.Terminals, topology.AdapterPort{LMC: uint8(draw.IntN(3))})
	}
	graph.Names = n
}

// plainGroup draws a few terminals and sometimes switches.
func plainGroup(graph *topology.Graph, id int, draw *sim.Stream) multicast.Group {
	var terminals []topology.TerminalID
	var switches []topology.SwitchID
	for range 1 + draw.IntN(9) {
		terminals = append(terminals, topology.TerminalID(draw.IntN(graph.Terminals())))
	}
	for range draw.IntN(3) {
		switches = append(switches, topology.SwitchID(draw.IntN(graph.Switches())))
	}
	if id%5 == 0 {
		terminals = nil
	}
	if len(terminals)+len(switches) == 0 {
		switches = append(switches, 0)
	}
	return multicast.NewGroup(multicast.GroupID(id), terminals, switches)
}

// network is a network of a family, one terminal a switch.
func network(t *testing.T, family string, settings ...param.Setting) *topology.Graph {
	t.Helper()
	x := simtest.Must(topology.Registry.New(family, struct{}{}, append(settings, param.Setting{Key: "terminals", Value: 1})...))(t)
	return x.Graph()
}

// plainHeight is the largest number of cables from the root to a member, found by going up from each.
func plainHeight(graph *topology.Graph, tree *multicast.Tree, g *multicast.Group) int {
	up := map[topology.SwitchID]topology.SwitchID{}
	for i, s := range tree.Switches[1:] {
		peer, _ := graph.PeerPort(tree.Up[i+1])
		up[s] = graph.PortSwitch[peer]
	}
	height := 0
	climb := func(s topology.SwitchID, cables int) {
		for s != tree.Switches[0] {
			s = up[s]
			cables++
		}
		height = max(height, cables)
	}
	for _, member := range g.Terminals {
		climb(graph.TerminalSwitch(member), 1)
	}
	for _, s := range g.Switches {
		climb(s, 0)
	}
	return height
}

func plainNets(t *testing.T, draw *sim.Stream) map[string]*topology.Graph {
	nets := map[string]*topology.Graph{
		"torus":  network(t, "torus", param.Setting{Key: "dims", Value: []int{4, 4, 4}}),
		"random": network(t, "random-regular", param.Setting{Key: "switches", Value: 300}, param.Setting{Key: "degree", Value: 5}),
		"chain":  chain(20),
	}
	b := topology.NewBuilder(3, topology.Class{Name: "local"}) // a triangle with double edges
	for s := range topology.SwitchID(3) {
		b.AddLink(s, (s+1)%3, 0)
		b.AddTerminal(s, 0)
		b.AddLink(s, (s+1)%3, 0)
	}
	nets["triangle"] = b.Freeze()
	for _, name := range []string{"chain", "random", "torus", "triangle"} {
		shuffledGUIDs(nets[name], draw)
	}
	return nets
}

func TestMinHopMCFollowsThePlainRule(t *testing.T) {
	draw := sim.NewStream(1, "plain minhop", 0)
	nets := plainNets(t, &draw)
	nets["random, GUIDs of ibsim"] = network(t, "random-regular", param.Setting{Key: "switches", Value: 600}, param.Setting{Key: "degree", Value: 6})
	for _, name := range slices.Sorted(maps.Keys(nets)) {
		graph := nets[name]
		env := newEnv(t, graph)
		fast, order := multicast.NewMinHopMC(graph, env.Hops), plainOrder(topology.NamesOf(graph))
		for i := range 100 {
			g := plainGroup(graph, i, &draw)
			tree, root := simtest.Must(fast.Build(&g, nil))(t), plainRoot(order, env.Hops.Hops, graph, &g)
			want := map[topology.SwitchID][]topology.PortID{}
			plainMinHop(env.Hops, root, topology.NoPort, g.Span(graph), want)
			simtest.FatalIf(t, tree.Switches[0] != root || sortedRows(rowsOf(graph, tree)) != sortedRows(want),
				"%s: %+v has the tree %+v, want root %d and rows %s", name, g, tree, root, sortedRows(want))
			h := plainHeight(graph, tree, &g)
			simtest.ErrorIf(t, h != tree.Height, "%s: height %d, want %d", name, tree.Height, h)
		}
	}
}

// plainSSSP is the unicast phase of opensm-sssp without short cuts: vertex 0 is the host, weights are counted path by path.
type plainSSSP struct {
	adj      [][]*plainLink
	lids     []int
	used     []*plainLink
	distance []int64
	hops     []int
}

type plainLink struct {
	from, to int
	port     topology.PortID // at the far end
	weight   int64
}

func (p *plainSSSP) search(source int, hostOf int) {
	n := len(p.adj)
	var heap []int
	for v := range n {
		p.used[v], p.distance[v], p.hops[v] = nil, opensm.Infinity, 0
		if v > 0 {
			heap = append(heap, v)
		}
	}
	p.adj[0] = nil
	if hostOf > 0 {
		source = 0
		p.adj[0] = []*plainLink{{from: 0, to: hostOf, weight: 1}}
		heap = append(heap, 0)
	}
	lower := func(v int) {
		i := slices.Index(heap, v)
		for i > 0 && p.distance[v] < p.distance[heap[(i-1)/4]] {
			heap[i], heap[(i-1)/4] = heap[(i-1)/4], heap[i]
			i = (i - 1) / 4
		}
	}
	p.distance[source] = 0
	lower(source)
	done := make([]bool, n)
	for len(heap) > 0 {
		u := heap[0]
		heap[0] = heap[len(heap)-1]
		heap = heap[:len(heap)-1]
		for i := 0; ; {
			least := -1
			for c := 4*i + 1; c <= 4*i+4 && c < len(heap); c++ {
				if least < 0 || p.distance[heap[c]] <= p.distance[heap[least]] {
					least = c
				}
			}
			if least < 0 || p.distance[heap[i]] <= p.distance[heap[least]] {
				break
			}
			heap[i], heap[least] = heap[least], heap[i]
			i = least
		}
		done[u] = true
		if p.used[u] != nil {
			p.hops[u] = p.hops[p.used[u].from] + 1
		}
		for _, l := range p.adj[u] {
			if !done[l.to] && p.distance[u]+l.weight < p.distance[l.to] {
				p.used[l.to], p.distance[l.to] = l, p.distance[u]+l.weight
				lower(l.to)
			}
		}
	}
}

func (p *plainSSSP) count() {
	for v := 1; v < len(p.adj); v++ {
		for u := v; p.used[u] != nil; u = p.used[u].from {
			p.used[u].weight += int64(p.lids[v])
		}
	}
}

func TestSSSPFollowsThePlainRule(t *testing.T) {
	draw := sim.NewStream(1, "plain sssp", 0)
	nets := plainNets(t, &draw)
	for _, name := range slices.Sorted(maps.Keys(nets)) {
		graph := nets[name]
		names := topology.NamesOf(graph)
		order, index := plainOrder(names), map[topology.SwitchID]int{}
		for i, s := range order {
			index[s] = i + 1
		}
		n := len(order) + 1
		p, total := &plainSSSP{make([][]*plainLink, n), make([]int, n), make([]*plainLink, n), make([]int64, n), make([]int, n)}, 0
		for i, s := range order {
			p.lids[i+1] = 1
			first, end := graph.Ports(s)
			for port := first; port < end; port++ {
				if m, ok := graph.PeerTerminal(port); ok {
					p.lids[i+1] += 1 << names.Terminals[m].LMC
				} else {
					peer, _ := graph.PeerPort(port)
					p.adj[i+1] = append(p.adj[i+1], &plainLink{from: i + 1, to: index[graph.PortSwitch[peer]], port: peer})
				}
			}
			total += p.lids[i+1]
		}
		for _, links := range p.adj {
			for _, l := range links {
				l.weight = int64(total) * int64(total)
			}
		}
		var queue []int
		for i := range order {
			queue = append(queue, i+1)
		}
		slices.SortStableFunc(queue, func(a, b int) int { return p.lids[b] - p.lids[a] })
		for _, v := range queue {
			for range p.lids[v] - 1 { // the LIDs of its hosts
				p.search(0, v)
				p.count()
			}
		}
		hops := map[[2]topology.SwitchID]int{}
		for _, v := range queue {
			p.search(v, 0)
			for u := 1; u < n; u++ {
				hops[[2]topology.SwitchID{order[u-1], order[v-1]}] = p.hops[u]
			}
			p.count()
		}
		fast := simtest.Must(newSSSPMC(graph, 0))(t)
		for i := range 60 {
			g := plainGroup(graph, i, &draw)
			tree := simtest.Must(fast.Build(&g, nil))(t)
			root := plainRoot(order, func(s, w topology.SwitchID) int { return hops[[2]topology.SwitchID{s, w}] }, graph, &g)
			p.search(index[root], 0)
			set := map[topology.PortID]bool{}
			for _, s := range g.Span(graph) {
				for u := index[s]; p.used[u] != nil; u = p.used[u].from {
					set[p.used[u].port] = true
					set[topology.PortID(graph.Peer[p.used[u].port])] = true
				}
			}
			want := map[topology.SwitchID][]topology.PortID{}
			for port := range set {
				want[graph.PortSwitch[port]] = append(want[graph.PortSwitch[port]], port)
			}
			simtest.FatalIf(t, tree.Switches[0] != root || sortedRows(rowsOf(graph, tree)) != sortedRows(want),
				"%s: %+v has the tree %+v, want root %d and rows %s", name, g, tree, root, sortedRows(want))
			h := plainHeight(graph, tree, &g)
			simtest.ErrorIf(t, h != tree.Height, "%s: height %d, want %d", name, tree.Height, h)
		}
	}
}
