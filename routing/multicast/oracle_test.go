package multicast

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// plainDistances is Floyd and Warshall's algorithm on the cables.
func plainDistances(g *topology.Graph) [][]int {
	n := g.Switches()
	d := make([][]int, n)
	for s := range d {
		d[s] = make([]int, n)
		for t := range d[s] {
			if d[s][t] = Unreachable; s == t {
				d[s][t] = 0
			}
		}
	}
	for p := range topology.PortID(g.NumPorts()) {
		if q, ok := g.PeerPort(p); ok {
			d[g.PortSwitch[p]][g.PortSwitch[q]] = 1
		}
	}
	for k := range n {
		for s := range n {
			for t := range n {
				d[s][t] = min(d[s][t], d[s][k]+d[k][t])
			}
		}
	}
	return d
}

// TestMinHop: distances and lowest ports against Floyd and Warshall, for any number of threads.
func TestMinHop(t *testing.T) {
	nets, apart := smallNets(), topology.NewBuilder(4, topology.Class{Name: "local"})
	apart.AddLink(0, 1, 0)
	apart.AddLink(2, 3, 0)
	nets["two islands"] = apart.Freeze()
	for name, g := range nets {
		want := plainDistances(g)
		for _, threads := range []int{1, 3} {
			m := simtest.Must(NewMinHop(g, threads))(t)
			for s := range topology.SwitchID(g.Switches()) {
				for u := range topology.SwitchID(g.Switches()) {
					simtest.FatalIf(t, m.Hops(s, u) != want[s][u], "%s: %d to %d is %d hops, want %d", name, s, u, m.Hops(s, u), want[s][u])
					lowest := topology.NoPort
					first, end := g.Ports(s)
					for p := first; p < end && lowest == topology.NoPort; p++ {
						if q, ok := g.PeerPort(p); ok && want[s][u] < Unreachable && want[g.PortSwitch[q]][u]+1 == want[s][u] {
							lowest = p
						}
					}
					if s != u && m.LowestPort(s, u) != lowest { // there is none to itself
						t.Fatalf("%s: the lowest port from %d to %d is %d, want %d", name, s, u, m.LowestPort(s, u), lowest)
					}
				}
			}
		}
	}
}

// TestMinHopLongChain: 254 hops fit, 255 do not.
func TestMinHopLongChain(t *testing.T) {
	chain := func(n int) *topology.Graph {
		b := topology.NewBuilder(n, topology.Class{Name: "local"})
		for s := range topology.SwitchID(n - 1) {
			b.AddLink(s, s+1, 0)
		}
		return b.Freeze()
	}
	m, err := NewMinHop(chain(255), 2)
	simtest.ErrorIf(t, err != nil || m.Hops(0, 254) != 254, "chain of 255 switches: %v", err)
	_, err = NewMinHop(chain(256), 2)
	simtest.ErrorIf(t, err == nil, "a chain of 256 switches needs 255 hops and was accepted")
}

// TestRoots: the eight-at-a-time search against a plain one.
func TestRoots(t *testing.T) {
	for name, g := range smallNets() {
		hops := simtest.Must(NewMinHop(g, 1))(t)
		finder, draw := newRootFinder(hops), sim.NewStream(3, "roots", 0)
		for range 200 {
			group := randomGroup(0, g, &draw)
			height, want := Unreachable, []topology.SwitchID(nil)
			for s := range topology.SwitchID(g.Switches()) {
				far := 0
				for _, m := range group.Terminals {
					far = max(far, hops.Hops(s, g.TerminalSwitch(m))+1)
				}
				for _, m := range group.Switches {
					far = max(far, hops.Hops(s, m))
				}
				if far < height {
					height, want = far, nil
				}
				if far == height {
					want = append(want, s)
				}
			}
			gotHeight, got := finder.find(&group, nil)
			simtest.FatalIf(t, gotHeight != height || !slices.Equal(got, want),
				"%s: group %v: height %d roots %v, want %d %v", name, group, gotHeight, got, height, want)
		}
	}
}

// TestBytes: arithmetic on eight bytes against one byte at a time.
func TestBytes(t *testing.T) {
	draw := sim.NewStream(4, "bytes", 0)
	for range 10000 {
		a, b := draw.Uint64(), draw.Uint64()
		if draw.IntN(4) == 0 {
			b = a ^ 1<<draw.IntN(64)
		}
		if draw.IntN(4) == 0 {
			a |= 0xff << (8 * draw.IntN(8))
		}
		most, least, more := maxBytes(a, b), minBytes(a, b), addOne(a)
		for i := range 8 {
			x, y := uint8(a>>(8*i)), uint8(b>>(8*i))
			up := min(x, 254) + 1
			simtest.FatalIf(t, uint8(most>>(8*i)) != max(x, y) || uint8(least>>(8*i)) != min(x, y) || uint8(more>>(8*i)) != up, "%#x, %#x: byte %d", a, b, i)
		}
	}
}

// TestLeastHeight: MR4LMS and mr4lms-plus without limit always reach the least height; mr4lms-plus-offline never needs more colours than mr4lms-plus.
func TestLeastHeight(t *testing.T) {
	for name, g := range smallNets() {
		env, draw := newEnv(t, g), sim.NewStream(5, "height", 0)
		groups, colours := drawGroups(60, g, &draw), map[string]int{}
		for _, engine := range []string{"mr4lms", "mr4lms-plus", "mr4lms-plus-offline"} {
			r := run(t, env, engine, groups, true)
			colours[engine] = r.Colours
			finder := newRootFinder(env.Hops)
			for p := range r.Forest.Trees {
				least, _ := finder.find(&p.Groups[0], nil)
				simtest.ErrorIf(t, p.Height != least, "%s: %s: group %d has height %d, want %d", name, engine, p.Groups[0].ID, p.Height, least)
			}
		}
		simtest.ErrorIf(t, colours["mr4lms-plus-offline"] > colours["mr4lms-plus"], "%s: %v", name, colours)
	}
}

// TestNearest: formula 1 by hand. On a row of five switches with a terminal each, group {0, 1} is at distance
// (1+2+1+1)/4 from a tree of {2, 3}... nearest members: 0 to 2 is 2, 1 to 2 is 1, 2 to 1 is 1, 3 to 1 is 2: mean 6/4;
// from a tree of {1, 4}: 0 to 1 is 1, 1 to 1 is 0, 1 to 1 is 0, 4 to 1 is 3: 4/4.
func TestNearest(t *testing.T) {
	e, probe := joined(t, gridNet(false, 1, 5), [][]topology.TerminalID{{2, 3}, {1, 4}}), NewGroup(9, []topology.TerminalID{0, 1}, nil)
	simtest.Equal(t, e.nearest(&probe).Groups[0].ID, 1, "nearest is the tree of group")
	// The first of equals: {2} lies between {0, 1} and {3, 4}.
	e = joined(t, gridNet(false, 1, 5), [][]topology.TerminalID{{0, 1}, {3, 4}})
	probe = NewGroup(9, []topology.TerminalID{2}, nil)
	simtest.Equal(t, e.nearest(&probe).Groups[0].ID, 0, "of two as near is taken the tree of group")
}

// joined is MR4LMS with some groups on a network.
func joined(t *testing.T, g *topology.Graph, groups [][]topology.TerminalID) *mr4lms {
	t.Helper()
	e := simtest.Must(newMR4LMS(MR4LMSConfig{Build: "auto", Successes: 20}, newEnv(t, g)))(t)
	for id, members := range groups {
		simtest.Check(t, e.Join(NewGroup(GroupID(id), members, nil)))
	}
	return e
}

// TestFirstRoot: of two tops that reach both leaves in one hop, the second of two equal groups has the one with fewer
// trees, so that the trees have only the leaves in common. The first one has the lower number.
func TestFirstRoot(t *testing.T) {
	e := joined(t, family("fat-tree", param.Set("k", 4), param.Set("n", 2)), [][]topology.TerminalID{{0, 2}, {0, 2}})
	var trees [][]topology.SwitchID
	for p := range e.forest.Trees {
		trees = append(trees, p.Switches)
	}
	simtest.ErrorIf(t, len(trees) != 2 || len(trees[0]) != 3 || trees[0][0] >= trees[1][0], "switches of the trees: %v", trees)
}

// TestCheckFinds: the checker sees each kind of damage. On a row of six switches group 0 has the tree 2-1-0 and 2-3-4 of
// height 2 and the terminal's cable, group 1 that of 4 and 5, which cannot have colour 0, and group 2 switch 5 alone,
// which can: two groups of colour 0, and 5 + 2 + 1 cells in use. Of 16 ports and 6 switches counted wrong 20 are said.
func TestCheckFinds(t *testing.T) {
	fresh := func() *Forest {
		e := joined(t, gridNet(false, 1, 6), [][]topology.TerminalID{{0, 1, 2, 3, 4}, {4, 5}, {5}})
		simtest.Check(t, e.forest.Check())
		return e.forest
	}
	for want, damage := range map[string]func(f *Forest, p *Planted){
		"the tree of group 0 has height 3, claimed is 4":   func(f *Forest, p *Planted) { p.Height++ },
		"the tree of group 0 lacks switch 5":               func(f *Forest, p *Planted) { p.Groups[0].Terminals = append(p.Groups[0].Terminals, 5) },
		"the tree of group 0 lacks switch 3":               func(f *Forest, p *Planted) { p.Switches, p.Up = p.Switches[:2], p.Up[:2] },
		"switch 1 is twice in the tree of group 0":         func(f *Forest, p *Planted) { p.Switches, p.Up = append(p.Switches, 1), append(p.Up, p.Up[1]) },
		"the root switch 2 of group 0 has a parent":        func(f *Forest, p *Planted) { p.Up[0] = p.Up[1] },
		"does not lead from switch 1 to a switch":          func(f *Forest, p *Planted) { p.Up[1], p.Up[2] = p.Up[2], p.Up[1] },
		"0 comes before its parent in the tree of group 0": func(f *Forest, p *Planted) { slices.Reverse(p.Switches[1:3]); slices.Reverse(p.Up[1:3]) },
		"colour 1: want 0 to 0":                            func(f *Forest, p *Planted) { f.env.Entries = 1 },
		"a tree of colour 0 carries no group":              func(f *Forest, p *Planted) { f.trees[2].Groups = nil },
		"groups 0 and 1 both have colour 0 in cell 4":      func(f *Forest, p *Planted) { f.trees[1].Colour = 0 },
		" carries 1 groups, counted are 2":                 func(f *Forest, p *Planted) { f.efi[p.Up[1]]++ },
		"switch 3 is in 1 trees, counted are 2":            func(f *Forest, p *Planted) { f.through[3]++ },
		"colour 0 has 2 groups, counted are 3":             func(f *Forest, p *Planted) { f.colours[0].groups++ },
		"cell 3 holds on to colour 1":                      func(f *Forest, p *Planted) { f.busy[3].grow(1); f.busy[3].set(1) },
		"cell 3 holds on to colour 0":                      func(f *Forest, p *Planted) { f.colours[0].taken.clear(3) },
		"8 cells are in use, marked are 7":                 func(f *Forest, p *Planted) { f.busy[3].clear(0) },
		"3 groups on 3 trees, filed are 2 on 3":            func(f *Forest, p *Planted) { delete(f.groups, 1) },
		"3 groups on 3 trees, filed are 3 on 2":            func(f *Forest, p *Planted) { f.vacant = append(f.vacant, 0) },
		"group 1 is not filed under its tree":              func(f *Forest, p *Planted) { f.groups[1] = p },
	} {
		f := fresh()
		damage(f, f.trees[0])
		simtest.Fail(t, f.Check(), want)
	}
	f := fresh()
	for i := range f.efi {
		f.efi[i], f.through[i%6] = f.efi[i]+1, f.through[i%6]+1
	}
	simtest.Equal(t, strings.Count(f.Check().Error(), "counted are"), 20, "problems said:")
	for want, damage := range map[string]func(r *Rows){
		"reaches terminals [0 1 2 4] and switches [] in place of":    func(r *Rows) { r.Ports[0] = r.Ports[0][1:] },
		"reaches terminals [0 1 2 3 4] and switches [3] in place of": func(r *Rows) { r.Local[0] = true },
		"switch 3 has no row for colour 0":                           func(r *Rows) { r.Colours[0] = 9 },
	} {
		c, tables := &checker{f: f, graph: f.env.Graph}, f.Tables()
		damage(&tables[3])
		c.delivery(f.trees[0], tables)
		simtest.Fail(t, errors.Join(c.problems...), want)
	}
	row := Rows{Colours: []Colour{0}, Ports: [][]topology.PortID{{1}}, Local: []bool{true}}
	simtest.Equal(t, row.find(0, 2, true), -1, "row of port 2, which is in none:")
}

// TestRefusals: bad groups and settings are clear errors.
func TestRefusals(t *testing.T) {
	b := topology.NewBuilder(3, topology.Class{Name: "local"})
	for s := range topology.SwitchID(3) {
		b.AddTerminal(s, 0)
	}
	b.AddLink(0, 1, 0)
	env := newEnv(t, b.Freeze())
	for _, name := range Registry.Names() {
		c := simtest.Must(Registry.Config(name))(t)
		e, err := Registry.Build(name, c, env)
		if errors.As(err, new(*opensm.InfinityError)) {
			continue // wants a connected network
		}
		simtest.Check(t, err)
		for _, c := range []struct {
			group Group
			want  string
		}{
			{NewGroup(1, nil, nil), "group 1: has no members"},
			{NewGroup(1, []topology.TerminalID{0, 7}, nil), "group 1: terminal 7: want 0 to 2"},
			{NewGroup(1, nil, []topology.SwitchID{-1}), "group 1: switch -1: want 0 to 2"},
			{NewGroup(1, []topology.TerminalID{0, 2}, nil), "group 1: switch 0 and switch 2 are not connected"},
		} {
			simtest.Fail(t, e.Join(c.group), c.want)
		}
		simtest.ErrorIf(t, e.Leave(1) == nil, "%s: a group that is not there left", name)
		env := env
		env.Entries = 0
		simtest.Refuse(Registry.Build(name, c, env))(t, "entries = 0: want at least 1")
	}
	e := simtest.Must(NewPlainEngine(env, lazyBuilder{}))(t)
	simtest.Fail(t, e.Join(NewGroup(1, []topology.TerminalID{0}, nil)), "group 1: multicast.lazyBuilder has built the tree <nil>: want at least one switch, and a port up for each")
}

// lazyBuilder builds nothing.
type lazyBuilder struct{}

func (lazyBuilder) Build(*Group, *Forest) (*Tree, error) { return nil, nil }

// plainSearch is the rule of [subgraph.search] as one queue states it: paths of fewest hops, then fewest groups, then what the queue sees first.
func plainSearch(g *subgraph, root topology.SwitchID) (dist []int32, sum []int64, parent []topology.PortID) {
	n := g.f.env.Graph.Switches()
	dist, sum, parent = make([]int32, n), make([]int64, n), make([]topology.PortID, n)
	for v := range dist {
		dist[v], parent[v] = -1, topology.NoPort
	}
	dist[root] = 0
	h := g.f.env.Hops
	for queue := []topology.SwitchID{root}; len(queue) > 0; queue = queue[1:] {
		u := queue[0]
		for i := h.linkStart[u]; i < h.linkStart[u+1]; i++ {
			v, port := h.linkPeer[i], h.linkPort[i]
			if g.blocked.has(int(g.step[i])) {
				continue
			}
			total := sum[u] + int64(g.f.efi[port])
			if dist[v] < 0 {
				queue = append(queue, v)
			} else if dist[v] != dist[u]+1 || total >= sum[v] {
				continue
			}
			dist[v], sum[v] = dist[u]+1, total
			parent[v] = topology.PortID(g.f.env.Graph.Peer[port])
		}
	}
	return dist, sum, parent
}

// loaded is a subgraph of net in which switches (with a table per port, cables) are shut and cables
// carry groups, both at random, and members of open switches.
func loaded(t *testing.T, net *topology.Graph, perPort bool, draw *sim.Stream) (*subgraph, []member) {
	t.Helper()
	env := newEnv(t, net)
	env.PerPort = perPort
	f := simtest.Must(NewForest(env))(t)
	for p := range topology.PortID(net.NumPorts()) {
		if q, ok := net.PeerPort(p); ok && p < q {
			f.efi[p] = int32(draw.IntN(3)) // few values: many ties
			f.efi[q] = f.efi[p]
		}
	}
	g := newSubgraph(f)
	f.colours = []colourState{{taken: make(bitset, (f.cells+63)/64)}}
	for cell := range f.cells {
		if draw.IntN(5) == 0 {
			f.colours[0].taken.set(cell)
		}
	}
	g.open(0, nil)
	var members []member
	for s := range topology.SwitchID(net.Switches()) {
		if !g.closed(s) && draw.IntN(8) == 0 {
			members = append(members, member{s, draw.IntN(2)})
		}
	}
	return g, members
}

// searchNets are small networks near and far, one with parallel cables.
func searchNets() map[string]*topology.Graph {
	nets := smallNets()
	nets["long torus"] = gridNet(true, 1, 24, 5)
	nets["dense"] = randomNet(90, 1, 12, 3)
	return nets
}

// TestSearch holds search, reaches and rootsWithin against one queue, where members are connected and where they are not.
func TestSearch(t *testing.T) {
	far, apart := 0, 0
	for name, net := range searchNets() {
		for _, perPort := range []bool{false, true} {
			draw := sim.NewStream(7, name, 0)
			for range 30 {
				g, members := loaded(t, net, perPort, &draw)
				if len(members) == 0 {
					continue
				}
				var roots []topology.SwitchID
				for s := range topology.SwitchID(net.Switches()) {
					if draw.IntN(3) > 0 {
						roots = append(roots, s)
					}
				}
				heights := make(map[topology.SwitchID]int)
				for _, root := range roots {
					dist, sum, parent := plainSearch(g, root)
					height, connected := 0, !g.closed(root)
					for _, m := range members {
						height = max(height, int(dist[m.sw])+m.extra)
						connected = connected && dist[m.sw] >= 0
					}
					if g.closed(root) {
						continue
					}
					got, ok := g.search(root, members)
					simtest.FatalIf(t, ok != connected || ok && got != height, "%s: height %d, connected %v, want %d, %v", name, got, ok, height, connected)
					if !ok {
						apart++
						continue
					}
					for _, m := range members {
						for v := m.sw; v != root; v = net.PortSwitch[net.Peer[parent[v]]] {
							got, want := [3]int64{int64(g.dist[v]), g.sum[v], int64(g.parent[v])}, [3]int64{int64(dist[v]), sum[v], int64(parent[v])}
							simtest.FatalIf(t, got != want, "%s, from %d to %d: %v at %d, want %v", name, root, m.sw, got, v, want)
						}
					}
					heights[root] = height
				}
				hops, limit := int(draw.IntN(24)), 1+draw.IntN(5)
				var want []topology.SwitchID
				for _, r := range roots {
					if height, ok := heights[r]; ok && height <= hops && len(want) < limit {
						want = append(want, r)
					}
				}
				if len(want) > 0 && hops > nearby {
					far++
				}
				got := g.rootsWithin(members, roots, hops, limit, nil)
				simtest.FatalIf(t, !slices.Equal(got, want), "%s: roots within %d hops %v, want %v", name, hops, got, want)
			}
		}
	}
	simtest.ErrorIf(t, far == 0 || apart == 0, "far %d, apart %d: want both of them tried", far, apart)
}

// TestNearestMember: byte by byte, on a network that is connected and on two islands, where distances reach 255.
func TestNearestMember(t *testing.T) {
	apart := topology.NewBuilder(13, topology.Class{Name: "local"})
	for s := range topology.SwitchID(12) {
		if s != 5 {
			apart.AddLink(s, s+1, 0)
		}
	}
	for _, net := range []*topology.Graph{gridNet(true, 1, 7, 5), apart.Freeze()} {
		hops, draw := simtest.Must(NewMinHop(net, 1))(t), sim.NewStream(3, "nearest", 0)
		for n := range 12 {
			var members []member
			for range n {
				members = append(members, member{sw: topology.SwitchID(draw.IntN(net.Switches()))})
			}
			near := make([]uint8, hops.width)
			hops.nearest(members, near)
			for v := range topology.SwitchID(net.Switches()) {
				want := Unreachable
				for _, m := range members {
					want = min(want, hops.Hops(v, m.sw))
				}
				simtest.FatalIf(t, int(near[v]) != want, "%d members: %d at %d, want %d", n, near[v], v, want)
			}
		}
	}
}

// TestHeap: what was pushed comes out in order, also with pushes in between.
func TestHeap(t *testing.T) {
	draw := sim.NewStream(1, "heap", 0)
	h, plain := heap(nil), []reach(nil)
	order := func(a, b reach) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.rest, b.rest), cmp.Compare(a.sw, b.sw))
	}
	for range 2000 {
		if len(plain) == 0 || draw.IntN(5) > 1 {
			x := reach{int64(draw.IntN(6)), int64(draw.IntN(4)), topology.SwitchID(draw.IntN(9))}
			h.push(x)
			plain = append(plain, x)
			continue
		}
		slices.SortFunc(plain, order)
		got := h.pop()
		simtest.FatalIf(t, got != plain[0], "%v came out, want %v", got, plain[0])
		plain = plain[1:]
	}
}
