package multicast

import (
	"math/bits"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestColourBound by hand, on a ring of eight switches with a terminal each.
// Every tree there is an arc.
func TestColourBound(t *testing.T) {
	g := gridNet(true, 1, 8)
	env := newEnv(t, g)
	sizes := newTreeSizes(env.Hops)
	for _, c := range []struct {
		span []topology.SwitchID
		want int
	}{
		{[]topology.SwitchID{3}, 1},
		{[]topology.SwitchID{6, 7}, 2},
		{[]topology.SwitchID{0, 1, 2}, 3}, // one component; walk: (2 + 1)/2, rounded up: 2 links
		// Walk: spanning tree 4, longest edge 4: 4 links. Cover: two components,
		// no switch next to both: 2 others.
		{[]topology.SwitchID{0, 4}, 5},
		// Cover: four components, 1, 3, 5 and 7 next to two each: 2 others. Walk:
		// spanning tree 6, longest edge 2: 4 links, so 5 switches. (The arc is 7.)
		{[]topology.SwitchID{0, 2, 4, 6}, 6},
		// Walk: edges 2 and 3, longest 3: 4 links. Cover: 1 next to two
		// components, and one more: 2 others. (The arc is 6.)
		{[]topology.SwitchID{0, 2, 5}, 5},
	} {
		got := sizes.least(c.span)
		simtest.ErrorIf(t, got != c.want, "a tree of %v has at least %d switches, want %d", c.span, got, c.want)
	}

	// Load: terminal 0 and 4 in two groups each. Volume: 6 + 6 + 5 of 8
	// switches, 3 colours, which are also enough.
	groups := []Group{
		NewGroup(0, []topology.TerminalID{0, 2, 4, 6}, nil),
		NewGroup(1, []topology.TerminalID{1, 3, 5, 7}, nil),
		NewGroup(2, []topology.TerminalID{0, 4}, nil),
	}
	r := run(t, env, "mr4lms", groups, true)
	simtest.ErrorIf(t, r.ColourBound != 3 || r.Colours != 3, "bound %d, colours %d, want 3 and 3", r.ColourBound, r.Colours)
	// A table per port: 5 + 5 + 4 of 8 cables, 2 colours.
	env.PerPort = true
	if got := ColourBound(env, groups); got != 2 {
		t.Errorf("bound %d with a table per port, want 2", got)
	}
	// One group of two members on the ring: 4 of 8 cables; two of them meet in
	// terminal 0: the load of a terminal, not of its switch.
	if got := ColourBound(env, []Group{groups[2], NewGroup(3, []topology.TerminalID{0, 1}, nil), NewGroup(4, nil, []topology.SwitchID{0, 1})}); got != 2 {
		t.Errorf("bound %d for two groups with terminal 0, want 2", got)
	}
}

// TestTreeSizes: no bound is above the size of the smallest tree, found by
// trying all sets of switches, and it is reached often enough to be one.
func TestTreeSizes(t *testing.T) {
	onSmallNets(t, func(t *testing.T, env Env) {
		trees := connectedSets(env.Hops)
		sizes := newTreeSizes(env.Hops)
		draw := sim.NewStream(8, "tree sizes", 0)
		const groups = 100
		exact := 0
		for range groups {
			group := randomGroup(0, env.Graph, &draw)
			span, want := group.Span(env.Graph), env.Graph.Switches()
			members := uint32(0)
			for _, s := range span {
				members |= 1 << s
			}
			for _, set := range trees {
				if set&members == members {
					want = min(want, bits.OnesCount32(set))
				}
			}
			got := sizes.least(span)
			simtest.FatalIf(t, got > want, "a tree of %v has at least %d switches, but one has %d", span, got, want)
			if got == want {
				exact++
			}
		}
		simtest.ErrorIf(t, exact < groups/2, "only %d of %d bounds are exact", exact, groups)
	})
}

// connectedSets lists the sets of switches that hang together, as bits.
func connectedSets(hops *MinHop) (connected []uint32) {
	beside := make([]uint32, hops.n)
	for s := range beside {
		for _, v := range hops.neighbours(topology.SwitchID(s)) {
			beside[s] |= 1 << v
		}
	}
	for set := uint32(1); set < 1<<hops.n; set++ {
		seen := set & -set
		for fresh := seen; fresh != 0; {
			more := beside[bits.TrailingZeros32(fresh)] & set &^ seen
			seen |= more
			fresh = fresh&(fresh-1) | more
		}
		if seen == set {
			connected = append(connected, set)
		}
	}
	return connected
}

// TestColoursAtLeast: with every engine and setting, on every small network, as
// many colours as the bound says where every group has its own tree; and no tree
// is smaller than the bound on its size, shared or not.
func TestColoursAtLeast(t *testing.T) {
	onSmallNets(t, func(t *testing.T, env Env) {
		sizes := newTreeSizes(env.Hops)
		judged := map[string]bool{}
		for i, v := range engineVariants(t, env) {
			draw := sim.NewStream(9, "colours at least", i)
			r, err := Route(v.engine, drawGroups(40, env.Graph, &draw), false, nil)
			if err != nil {
				t.Fatalf("%s: %v", v.name, err)
			}
			for p := range r.Forest.Trees {
				for _, group := range p.Groups {
					if least := sizes.least(group.Span(env.Graph)); len(p.Switches) < least {
						t.Fatalf("%s: the tree of group %d has %d switches, fewer than the bound %d", v.name, group.ID, len(p.Switches), least)
					}
				}
			}
			if r.Refused == 0 && r.Trees == r.Groups {
				simtest.ErrorIf(t, r.Colours < r.ColourBound,
					"%s: %d colours, fewer than the bound %d", v.name, r.Colours, r.ColourBound)
				engine, _, _ := strings.Cut(v.name, "/")
				judged[engine] = true
			}
		}
		for _, engine := range Registry.Names() {
			if judged[engine] == (engine == "one-tree") { // which all groups share
				t.Errorf("%s: judged: %v", engine, judged[engine])
			}
		}
	})
}

// TestPaperBounds: what the bound gives on the paper's networks. The load of one
// switch gives 5, 18 and 162.
func TestPaperBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("full-size networks")
	}
	torus, random := newEnv(t, paperTorus()), newEnv(t, paperRandom())
	for _, c := range []struct {
		env   Env
		dims  []int
		ranks int
		want  int
	}{
		{torus, []int{28, 28, 28}, 1, 13},
		{torus, []int{45, 46, 46}, 4, 47},
		{random, []int{128, 32, 40}, 4, 164},
	} {
		got := ColourBound(c.env, gridPattern(t, c.env.Graph, c.ranks, c.dims...))
		simtest.ErrorIf(t, got < c.want, "%v: bound %d, want at least %d", c.dims, got, c.want)
		t.Logf("%v: %d", c.dims, got)
	}
}

// BenchmarkColourBound beside the routing that it accompanies, BenchmarkRoute.
func BenchmarkColourBound(b *testing.B) {
	for _, c := range paperCases {
		b.Run("case="+c.name, func(b *testing.B) {
			env, groups := c.env(b)
			for b.Loop() {
				ColourBound(env, groups)
			}
		})
	}
}
