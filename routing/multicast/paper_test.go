package multicast

import (
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// paperCase is a network and pattern of Chen et al. 2021, section 4.2, at full size. The Sunway
// machines are modelled as trimmed trees that fit the figures that the paper prints.
type paperCase struct {
	name    string
	graph   func() *topology.Graph
	ranks   int
	dims    []int
	entries int // recommended, table 4
}

var paperCases = []paperCase{
	{"bluelight-256x34", blueLight, 1, []int{256, 34}, 128},
	{"bluelight-90x90", blueLight, 1, []int{90, 90}, 128},
	{"bluelight-64x16x34", blueLight, 4, []int{64, 16, 34}, 128},
	{"taihulight-34x34x34", taihuLight, 1, []int{34, 34, 34}, 128},
	{"taihulight-128x32x40", taihuLight, 4, []int{128, 32, 40}, 128},
	{"fat-tree-25x25x25", func() *topology.Graph { return fatTreeNet(40) }, 1, []int{25, 25, 25}, 128},
	{"torus-60x20x20", paperTorus, 1, []int{60, 20, 20}, 256},
	{"torus-28x28x28", paperTorus, 1, []int{28, 28, 28}, 256},
	{"dragonfly-29x29x29", func() *topology.Graph { return dragonflyNet(18, 9, 9) }, 1, []int{29, 29, 29}, 256},
	{"random-256x160", paperRandom, 1, []int{256, 160}, 256},
	{"random-32x32x40", paperRandom, 1, []int{32, 32, 40}, 256},
	{"random-128x32x40", paperRandom, 4, []int{128, 32, 40}, 256},
}

func blueLight() *topology.Graph {
	return family("trimmed-tree", param.Set("groups", 34), param.Set("group_terminals", 256), param.Set("leaf_terminals", 18),
		param.Set("middles", 16), param.Set("tops", 32), param.Set("top_cables", 8), param.Set("top_wiring", "blocks"))
}
func taihuLight() *topology.Graph {
	return family("trimmed-tree", param.Set("groups", 160), param.Set("group_terminals", 256), param.Set("leaf_terminals", 32),
		param.Set("middles", 8), param.Set("tops", 40), param.Set("top_cables", 2), param.Set("top_wiring", "blocks"))
}
func paperTorus() *topology.Graph  { return gridNet(true, 2, 30, 20, 20) }
func paperRandom() *topology.Graph { return randomNet(2048, 20, 20, 1) }

func (c *paperCase) env(t testing.TB) (Env, []Group) {
	t.Helper()
	g := c.graph()
	return newEnv(t, g), gridPattern(t, g, c.ranks, c.dims...)
}

// TestPaper holds MR4LMS and mr4lms-plus against what the paper prints (figures 6, 9 and 10) where it fits, and against lower bounds and each other.
func TestPaper(t *testing.T) {
	if testing.Short() {
		t.Skip("full-size networks")
	}
	type want struct {
		engine          string
		limited         bool
		colours, maxEFI [2]int // least and most
		maxTFI          int
	}
	whatever := [2]int{0, 1 << 30}
	for name, wants := range map[string][]want{
		"bluelight-256x34": { // printed: 29 colours; a leaf of 18 needs 19
			{engine: "mr4lms", colours: [2]int{24, 34}, maxEFI: whatever},
			{engine: "mr4lms-plus", colours: [2]int{19, 19}, maxEFI: whatever},
		},
		"bluelight-90x90": { // printed: 50 colours, within a fifth
			{engine: "mr4lms", colours: [2]int{40, 60}, maxEFI: whatever},
		},
		"bluelight-64x16x34": { // printed: EFI 24, within a fifth
			{engine: "mr4lms", colours: whatever, maxEFI: [2]int{20, 28}},
		},
		"taihulight-128x32x40": { // printed: 269 colours, EFI 37, TFI 66; a leaf needs 257
			{engine: "mr4lms", colours: [2]int{257, 296}, maxEFI: [2]int{30, 44}},
			{engine: "mr4lms", limited: true, colours: [2]int{128, 128}, maxEFI: whatever, maxTFI: 86},
			{engine: "mr4lms-plus", colours: [2]int{257, 257}, maxEFI: [2]int{0, 38}}, // as mr4lms
		},
		"dragonfly-29x29x29": {
			{engine: "mr4lms", colours: [2]int{220, 260}, maxEFI: whatever},
			{engine: "mr4lms-plus", colours: [2]int{20, 172}, maxEFI: whatever},
		},
		"random-256x160": { // printed: EFI 20 without limit, 34 with 256 entries
			{engine: "mr4lms", colours: whatever, maxEFI: [2]int{13, 27}},
			{engine: "mr4lms", limited: true, colours: [2]int{256, 256}, maxEFI: [2]int{13, 46}},
		},
		"random-32x32x40": { // printed: TFI at most 10 with one rank a terminal
			{engine: "mr4lms", limited: true, colours: [2]int{256, 256}, maxEFI: whatever, maxTFI: 13},
		},
		"random-128x32x40": { // printed: 2,852 colours, EFI 139
			{engine: "mr4lms", colours: [2]int{2567, 3137}, maxEFI: [2]int{111, 167}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range paperCases {
				if c.name != name {
					continue
				}
				env, groups := c.env(t)
				for _, w := range wants {
					env.Entries = Unlimited
					if w.limited {
						env.Entries = c.entries
					}
					r := run(t, env, w.engine, groups, true)
					inside := func(what string, got int, bounds [2]int) {
						simtest.ErrorIf(t, got < bounds[0] || got > bounds[1],
							"%s with %d entries: %s %d, want %d to %d", w.engine, env.Entries, what, got, bounds[0], bounds[1])
					}
					inside("colours", r.Colours, w.colours)
					inside("largest EFI", r.MaxEFI, w.maxEFI)
					if w.maxTFI > 0 {
						inside("largest TFI", r.MaxTFI, [2]int{2, w.maxTFI})
					}
					simtest.ErrorIf(t, !w.limited && r.Colours < r.ColourBound, "%s: %d colours, fewer than the bound %d", w.engine, r.Colours, r.ColourBound)
				}
			}
		})
	}
}

// BenchmarkRoute routes all groups of the paper's cases. The metrics beside the time are what the paper's figures show.
func BenchmarkRoute(b *testing.B) {
	for _, c := range paperCases {
		env, groups := Env{}, []Group(nil)
		for _, engine := range []string{"mr4lms", "gw-sssp", "mr4lms-plus", "mr4lms-plus-offline"} {
			for _, limited := range []bool{false, true} {
				if limited && engine == "gw-sssp" {
					continue
				}
				name := "case=" + c.name + "/engine=" + engine + "/entries=" + map[bool]string{false: "unlimited", true: "recommended"}[limited]
				b.Run(name, func(b *testing.B) {
					if env.Graph == nil {
						env, groups = c.env(b)
					}
					env.Entries = Unlimited
					if limited {
						env.Entries = c.entries
					}
					var r *Result
					for b.Loop() {
						r = run(b, env, engine, groups, false)
					}
					b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(groups)), "µs/group")
					b.ReportMetric(float64(r.Colours), "colours")
					b.ReportMetric(float64(r.MaxEFI), "max-EFI")
				})
			}
		}
	}
}

func BenchmarkMinHop(b *testing.B) {
	for _, c := range []struct {
		name  string
		graph func() *topology.Graph
	}{{"torus", paperTorus}, {"random", paperRandom}, {"taihulight", taihuLight}} {
		b.Run("net="+c.name, func(b *testing.B) {
			g := c.graph()
			for b.Loop() {
				simtest.Must(NewMinHop(g, 1))(b)
			}
		})
	}
}

// TestGridPattern: the counts that the paper prints (X*Y + Y*Z + X*Z groups), and the groups of a small grid in order.
func TestGridPattern(t *testing.T) {
	for _, c := range []struct {
		dims        []int
		ranks, want int
	}{
		{[]int{256, 32, 32}, 16, 17408}, // section 1
		{[]int{64, 16, 34}, 4, 3744},
		{[]int{128, 32, 40}, 4, 10496}, // section 4.3
		{[]int{34, 34, 34}, 1, 3468},
		{[]int{256, 160}, 1, 416},
	} {
		groups := pattern(t, "grid", PatternEnv{Terminals: 40960}, param.Set("dims", c.dims), param.Set("ranks_per_terminal", c.ranks))
		simtest.ErrorIf(t, len(groups) != c.want, "%v: %d groups, want %d", c.dims, len(groups), c.want)
	}
}

// TestGroups: the groups of small patterns in order. Ranks 0..5 as 3 x 2, two on a terminal: rows {0 1 2} {3 4 5},
// columns {0 3} {1 4} {2 5}, on terminals rank/2. Nine ranks by fours: {0..3} {4..7} {8}, leaders {0 4 8}.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		name      string
		terminals int
		settings  []param.Setting
		want      [][]topology.TerminalID
	}{
		{"grid", 3, []param.Setting{param.Set("dims", []int{3, 2}), param.Set("ranks_per_terminal", 2)}, [][]topology.TerminalID{{0, 1}, {1, 2}, {0, 1}, {0, 2}, {1, 2}}},
		{"hierarchical", 9, []param.Setting{param.Set("sizes", []int{4})}, [][]topology.TerminalID{{0, 1, 2, 3}, {4, 5, 6, 7}, {8}, {0, 4, 8}}},
		// by threes, then by twos up to the last
		{"hierarchical", 18, []param.Setting{param.Set("sizes", []int{3, 2})}, [][]topology.TerminalID{
			{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}, {12, 13, 14}, {15, 16, 17}, {0, 3}, {6, 9}, {12, 15}, {0, 6}, {12}, {0, 12}}},
	} {
		groups := pattern(t, c.name, PatternEnv{Terminals: c.terminals}, c.settings...)
		simtest.ErrorIf(t, !slices.EqualFunc(groups, c.want, func(g Group, want []topology.TerminalID) bool { return slices.Equal(g.Terminals, want) }),
			"%s: %v, want %v", c.name, groups, c.want)
	}
}

// same tells whether groups have the same members.
func same(a, b []Group) bool {
	return slices.EqualFunc(a, b, func(x, y Group) bool { return slices.Equal(x.Terminals, y.Terminals) })
}

// TestRandomPattern: every terminal is in as many groups as asked, and the seed decides which.
func TestRandomPattern(t *testing.T) {
	draw := func(seed uint64) []Group {
		return pattern(t, "random", PatternEnv{Terminals: 50, Seed: seed}, param.Set("groups", 9), param.Set("joins", 3))
	}
	joins := make([]int, 50)
	for _, g := range draw(1) {
		for _, m := range g.Terminals {
			joins[m]++
		}
	}
	for m, n := range joins {
		simtest.ErrorIf(t, n != 3, "terminal %d is in %d groups, want 3", m, n)
	}
	simtest.ErrorIf(t, !same(draw(1), draw(1)) || same(draw(1), draw(2)), "the seed does not decide the groups")
}

// TestFixedSizePattern: as many groups of as many different terminals as asked; the seed decides which, and asking for
// more groups leaves the first ones. Of 20,000 groups of 2 from 5 terminals, each of the 10 pairs gets 2,000 on
// average, with a standard deviation of sqrt(20000*0.1*0.9) = 42; five of them are 212.
func TestFixedSizePattern(t *testing.T) {
	draw := func(seed uint64, terminals, count, size int) []Group {
		groups := pattern(t, "random-fixed-size", PatternEnv{Terminals: terminals, Seed: seed}, param.Set("count", count), param.Set("size", size))
		simtest.FatalIf(t, len(groups) != count, "%d groups, want %d", len(groups), count)
		for i, g := range groups {
			simtest.FatalIf(t, len(g.Terminals) != size, "group %d: %v, want %d terminals", i, g, size) // NewGroup has removed copies
		}
		return groups
	}
	five := draw(1, 50, 5, 7)
	simtest.ErrorIf(t, !same(five, draw(1, 50, 9, 7)[:5]) || same(five, draw(2, 50, 5, 7)), "the seed and the number of a group do not decide its members")
	simtest.EqualSlices(t, draw(3, 6, 2, 6)[1].Terminals, []topology.TerminalID{0, 1, 2, 3, 4, 5}, "a group of all terminals has")
	pairs := map[[2]topology.TerminalID]int{}
	for _, g := range draw(4, 5, 20000, 2) {
		pairs[[2]topology.TerminalID(g.Terminals)]++
	}
	simtest.ErrorIf(t, len(pairs) != 10, "%d pairs of 10", len(pairs))
	for pair, n := range pairs {
		simtest.ErrorIf(t, n < 2000-212 || n > 2000+212, "pair %v: %d times, want 2000 within 212", pair, n)
	}
}

// TestPatternProblems: sizes out of range are told by the setting that is wrong, even where their products would overflow.
func TestPatternProblems(t *testing.T) {
	for _, c := range []struct {
		name      string
		terminals int
		settings  []param.Setting
		want      string
	}{
		{"random-fixed-size", 9, []param.Setting{param.Set("count", 1), param.Set("size", 10)}, "size = 10: want at most the 9 terminals"},
		{"random-fixed-size", 9, []param.Setting{param.Set("count", 1), param.Set("size", 0)}, "size = 0"},
		{"random-fixed-size", 9, []param.Setting{param.Set("count", 1<<25), param.Set("size", 2)}, "count = 33554432"},
		{"random-fixed-size", 100, []param.Setting{param.Set("count", 1<<24), param.Set("size", 100)}, "count = 16777216: want at most 2684354"}, // 2^28 / 100
		{"blocks", 9, []param.Setting{param.Set("size", 10)}, "size = 10: want at most 9"},
		{"blocks", 9, []param.Setting{param.Set("size", 1<<62), param.Set("stride", 4)}, "want at most 2: members 4 apart on 9 terminals"},
		{"blocks", 9, []param.Setting{param.Set("size", 4), param.Set("count", 3)}, "count = 3: want at most 2"},
		{"grid", 5, []param.Setting{param.Set("dims", []int{3, 2})}, "dims = 6 processes: want at most 5"},
	} {
		simtest.Refuse(Patterns.New(c.name, PatternEnv{Terminals: c.terminals}, c.settings...))(t, c.want)
	}
}

// TestColourBound by hand, on a ring of eight switches with a terminal each. Every tree there is an arc.
func TestColourBound(t *testing.T) {
	env := newEnv(t, gridNet(true, 1, 8))
	sizes := newTreeSizes(env.Hops)
	for _, c := range []struct {
		span []topology.SwitchID
		want int
	}{
		{[]topology.SwitchID{3}, 1},
		{[]topology.SwitchID{6, 7}, 2},
		{[]topology.SwitchID{0, 1, 2}, 3}, // one component; walk: (2 + 1)/2, rounded up: 2 links
		// Walk: spanning tree 4, longest edge 4: 4 links. Cover: two components, no switch next to both: 2 others.
		{[]topology.SwitchID{0, 4}, 5},
		// Cover: four components, 1, 3, 5 and 7 next to two each: 2 others. Walk:
		// spanning tree 6, longest edge 2: 4 links, so 5 switches. (The arc is 7.)
		{[]topology.SwitchID{0, 2, 4, 6}, 6},
		// Walk: edges 2 and 3, longest 3: 4 links. Cover: 1 next to two components, and one more: 2 others. (The arc is 6.)
		{[]topology.SwitchID{0, 2, 5}, 5},
	} {
		simtest.Equal(t, sizes.least(c.span), c.want, "switches of a tree of %v, at least", c.span)
	}
	// Cover: five members next to one of two hubs, 0 and 1, the third of them next to both: 2 others. (Walk: spanning tree 8,
	// longest edge 2: 5 links.)
	hubs := topology.NewBuilder(7, topology.Class{Name: "local"})
	for i, s := range []topology.SwitchID{2, 3, 4, 4, 5, 6} {
		hubs.AddLink(topology.SwitchID(i/3), s, 0)
	}
	hubs.AddTerminal(2, 0)
	simtest.Equal(t, newTreeSizes(newEnv(t, hubs.Freeze()).Hops).least([]topology.SwitchID{2, 3, 4, 5, 6}), 7, "switches of a tree over two hubs, at least")
	// Load: terminal 0 and 4 in two groups each. Volume: 6 + 6 + 5 of 8 switches, 3 colours, which are also enough.
	groups := []Group{
		NewGroup(0, []topology.TerminalID{0, 2, 4, 6}, nil),
		NewGroup(1, []topology.TerminalID{1, 3, 5, 7}, nil),
		NewGroup(2, []topology.TerminalID{0, 4}, nil),
	}
	r := run(t, env, "mr4lms", groups, true)
	simtest.ErrorIf(t, r.ColourBound != 3 || r.Colours != 3, "bound %d, colours %d, want 3 and 3", r.ColourBound, r.Colours)
	// A table per port: 5 + 5 + 4 of 8 cables, 2 colours.
	env.PerPort = true
	simtest.Equal(t, ColourBound(env, groups), 2, "bound with a table per port")
	// One group of two members on the ring: 4 of 8 cables; two of them meet in terminal 0: the load of a terminal, not of its switch.
	got := ColourBound(env, []Group{groups[2], NewGroup(3, []topology.TerminalID{0, 1}, nil), NewGroup(4, nil, []topology.SwitchID{0, 1})})
	simtest.ErrorIf(t, got != 2, "bound %d for two groups with terminal 0, want 2", got)
}

// TestTreeSizes: no bound is above the size of the smallest tree, found by trying all sets of switches, and it is reached often enough to be one.
func TestTreeSizes(t *testing.T) {
	onSmallNets(t, func(t *testing.T, env Env) {
		trees, sizes := connectedSets(env.Hops), newTreeSizes(env.Hops)
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

// TestColoursAtLeast: with every engine and setting, on every small network, as many colours as the bound says where
// every group has its own tree; and no tree is smaller than the bound on its size, shared or not.
func TestColoursAtLeast(t *testing.T) {
	onSmallNets(t, func(t *testing.T, env Env) {
		sizes, judged := newTreeSizes(env.Hops), map[string]bool{}
		for i, v := range engineVariants(t, env) {
			draw := sim.NewStream(9, "colours at least", i)
			r, err := Route(v.engine, drawGroups(40, env.Graph, &draw), false, nil)
			simtest.FatalIf(t, err != nil, "%s: %v", v.name, err)
			for p := range r.Forest.Trees {
				for _, group := range p.Groups {
					least := sizes.least(group.Span(env.Graph))
					simtest.FatalIf(t, len(p.Switches) < least, "%s: the tree of group %d has %d switches, want %d", v.name, group.ID, len(p.Switches), least)
				}
			}
			if r.Refused == 0 && r.Trees == r.Groups {
				simtest.ErrorIf(t, r.Colours < r.ColourBound, "%s: %d colours, fewer than the bound %d", v.name, r.Colours, r.ColourBound)
				engine, _, _ := strings.Cut(v.name, "/")
				judged[engine] = true
			}
		}
		for _, engine := range Registry.Names() {
			simtest.ErrorIf(t, judged[engine] == (engine == "one-tree"), "%s: judged: %v", engine, judged[engine]) // all groups share one tree
		}
	})
}

// TestPaperBounds: what the bound gives on the paper's networks. The load of one switch gives 5, 18 and 162.
func TestPaperBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("full-size networks")
	}
	torus, random := newEnv(t, paperTorus()), newEnv(t, paperRandom())
	for _, c := range []struct {
		env         Env
		dims        []int
		ranks, want int
	}{
		{torus, []int{28, 28, 28}, 1, 13},
		{torus, []int{45, 46, 46}, 4, 47},
		{random, []int{128, 32, 40}, 4, 164},
	} {
		got := ColourBound(c.env, gridPattern(t, c.env.Graph, c.ranks, c.dims...))
		simtest.ErrorIf(t, got < c.want, "%v: bound %d, want at least %d", c.dims, got, c.want)
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

// A chain of 63 switches is a branch that OpenSM follows to its end; it stops before the 64th.
func TestMinHopMCDepth(t *testing.T) {
	// Both ends and the switch of one end as members pull the root to the middle: the branch is counted from an end, by b.divide.
	builder := topology.NewBuilder(64, topology.Class{Name: "local"})
	for s := range topology.SwitchID(63) {
		builder.AddLink(s, s+1, 0)
	}
	env := simtest.Must(NewEnv(builder.Freeze(), 1))(t)
	b := NewMinHopMC(env.Graph, env.Hops).(*minHopMC)
	for _, c := range []struct {
		depth int
		ok    bool
	}{{62, true}, {63, false}} {
		b.members = []MemberSwitch{{63, 1, 1}}
		err := b.divide(branch{sw: 0, from: 0, to: 1, depth: c.depth}, &Tree{})
		simtest.ErrorIf(t, (err == nil) != c.ok, "a child at depth %d: %v", c.depth+1, err)
	}
}
