package multicast

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestGridPattern: the counts that the paper prints (X*Y + Y*Z + X*Z groups),
// and the groups of a small grid in order.
func TestGridPattern(t *testing.T) {
	for _, c := range []struct {
		dims  []int
		ranks int
		want  int
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

// TestGroups: the groups of small patterns in order. Ranks 0..5 as 3 x 2, two on a terminal:
// rows {0 1 2} {3 4 5}, columns {0 3} {1 4} {2 5}, on terminals rank/2. Nine ranks by fours:
// {0..3} {4..7} {8}, leaders {0 4 8}.
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
		if !slices.EqualFunc(groups, c.want, func(g Group, want []topology.TerminalID) bool { return slices.Equal(g.Terminals, want) }) {
			t.Errorf("%s: %v, want %v", c.name, groups, c.want)
		}
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

// TestFixedSizePattern: as many groups of as many different terminals as asked; the seed decides
// which, and asking for more groups leaves the first ones. Of 20,000 groups of 2 from 5 terminals,
// each of the 10 pairs gets 2,000 on average, with a standard deviation of sqrt(20000*0.1*0.9) =
// 42; five of them are 212.
func TestFixedSizePattern(t *testing.T) {
	draw := func(seed uint64, terminals, count, size int) []Group {
		groups := pattern(t, "random-fixed-size", PatternEnv{Terminals: terminals, Seed: seed}, param.Set("count", count), param.Set("size", size))
		simtest.FatalIf(t, len(groups) != count, "%d groups, want %d", len(groups), count)
		for i, g := range groups {
			if len(g.Terminals) != size { // NewGroup has removed copies
				t.Fatalf("group %d: %v, want %d terminals", i, g, size)
			}
		}
		return groups
	}
	five := draw(1, 50, 5, 7)
	simtest.ErrorIf(t, !same(five, draw(1, 50, 9, 7)[:5]) || same(five, draw(2, 50, 5, 7)),
		"the seed and the number of a group do not decide its members")
	whole := draw(3, 6, 2, 6)
	simtest.ErrorIf(t, !slices.Equal(whole[1].Terminals, []topology.TerminalID{0, 1, 2, 3, 4, 5}),
		"a group of all terminals has %v", whole[1].Terminals)
	pairs := map[[2]topology.TerminalID]int{}
	for _, g := range draw(4, 5, 20000, 2) {
		pairs[[2]topology.TerminalID(g.Terminals)]++
	}
	simtest.ErrorIf(t, len(pairs) != 10, "%d pairs of 10", len(pairs))
	for pair, n := range pairs {
		simtest.ErrorIf(t, n < 2000-212 || n > 2000+212, "pair %v: %d times, want 2000 within 212", pair, n)
	}
}

// TestPatternProblems: sizes out of range are told by the setting that is
// wrong, even where their products would overflow.
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
