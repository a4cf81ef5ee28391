package multicast

import (
	"cmp"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// plainSearch is the rule of [subgraph.search] as one queue states it: paths of
// fewest hops, then fewest groups, then what the queue sees first.
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

// TestSearch holds search, reaches and rootsWithin against one
// queue, where members are connected and where they are not.
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
					simtest.FatalIf(t, ok != connected || ok && got != height,
						"%s: height %d, connected %v, want %d, %v", name, got, ok, height, connected)
					if !ok {
						apart++
						continue
					}
					for _, m := range members {
						for v := m.sw; v != root; v = net.PortSwitch[net.Peer[parent[v]]] {
							if g.dist[v] != dist[v] || g.sum[v] != sum[v] || g.parent[v] != parent[v] {
								t.Fatalf("%s, from %d to %d: (%d, %d, %d) at %d, want (%d, %d, %d)", name, root, m.sw,
									g.dist[v], g.sum[v], g.parent[v], v, dist[v], sum[v], parent[v])
							}
						}
					}
					if connected {
						heights[root] = height
					}
				}
				hops := int(draw.IntN(24))
				limit := 1 + draw.IntN(5)
				var want []topology.SwitchID
				for _, r := range roots {
					if height, ok := heights[r]; ok && height <= hops && len(want) < limit {
						want = append(want, r)
					}
				}
				if len(want) > 0 && hops > nearby {
					far++
				}
				if got := g.rootsWithin(members, roots, hops, limit, nil); !slices.Equal(got, want) {
					t.Fatalf("%s: roots within %d hops %v, want %v", name, hops, got, want)
				}
			}
		}
	}
	simtest.ErrorIf(t, far == 0 || apart == 0, "far %d, apart %d: want both of them tried", far, apart)
}

// TestNearestMember: byte by byte, on a network that is connected and on two
// islands, where distances reach 255.
func TestNearestMember(t *testing.T) {
	apart := topology.NewBuilder(13, topology.Class{Name: "local"})
	for s := range topology.SwitchID(12) {
		if s != 5 {
			apart.AddLink(s, s+1, 0)
		}
	}
	for _, net := range []*topology.Graph{gridNet(true, 1, 7, 5), apart.Freeze()} {
		hops := simtest.Must(NewMinHop(net, 1))(t)
		draw := sim.NewStream(3, "nearest", 0)
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
	var h heap
	var plain []reach
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
