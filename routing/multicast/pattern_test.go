package multicast

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
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
		groups, err := param.Make(Patterns, "grid", PatternEnv{Terminals: 40960}, func(g *GridConfig) {
			g.Dims, g.RanksPerTerminal = c.dims, c.ranks
		})
		if err != nil || len(groups) != c.want {
			t.Errorf("%v: %d groups, want %d (%v)", c.dims, len(groups), c.want, err)
		}
	}
	// Ranks 0..5 as 3 x 2, two on a terminal: rows {0 1 2} {3 4 5}, columns
	// {0 3} {1 4} {2 5}, on terminals rank/2.
	groups, err := param.Make(Patterns, "grid", PatternEnv{Terminals: 3}, func(g *GridConfig) {
		g.Dims, g.RanksPerTerminal = []int{3, 2}, 2
	})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]topology.TerminalID{{0, 1}, {1, 2}, {0, 1}, {0, 2}, {1, 2}}
	for i, g := range groups {
		if !slices.Equal(g.Terminals, want[i]) || g.ID != GroupID(i) {
			t.Errorf("group %d: %v, want %v", i, g.Terminals, want[i])
		}
	}
	if _, err := param.Make(Patterns, "grid", PatternEnv{Terminals: 5}, func(g *GridConfig) { g.Dims = []int{3, 2} }); err == nil {
		t.Error("six processes on five terminals were accepted")
	}
}

// TestHierarchicalPattern: nine ranks by fours: {0..3} {4..7} {8}, leaders
// {0 4 8}.
func TestHierarchicalPattern(t *testing.T) {
	groups, err := param.Make(Patterns, "hierarchical", PatternEnv{Terminals: 9}, func(g *HierarchyConfig) { g.Sizes = []int{4} })
	if err != nil {
		t.Fatal(err)
	}
	want := [][]topology.TerminalID{{0, 1, 2, 3}, {4, 5, 6, 7}, {8}, {0, 4, 8}}
	if len(groups) != len(want) {
		t.Fatalf("%d groups, want %d", len(groups), len(want))
	}
	for i, g := range groups {
		if !slices.Equal(g.Terminals, want[i]) {
			t.Errorf("group %d: %v, want %v", i, g.Terminals, want[i])
		}
	}
}

// TestRandomPattern: every terminal is in as many groups as asked, and the seed
// decides which.
func TestRandomPattern(t *testing.T) {
	draw := func(seed uint64) []Group {
		groups, err := param.Make(Patterns, "random", PatternEnv{Terminals: 50, Seed: seed}, func(g *RandomConfig) { g.Groups, g.Joins = 9, 3 })
		if err != nil {
			t.Fatal(err)
		}
		return groups
	}
	joins := make([]int, 50)
	for _, g := range draw(1) {
		for _, m := range g.Terminals {
			joins[m]++
		}
	}
	for m, n := range joins {
		if n != 3 {
			t.Errorf("terminal %d is in %d groups, want 3", m, n)
		}
	}
	same := func(a, b []Group) bool {
		return slices.EqualFunc(a, b, func(x, y Group) bool { return slices.Equal(x.Terminals, y.Terminals) })
	}
	if !same(draw(1), draw(1)) || same(draw(1), draw(2)) {
		t.Error("the seed does not decide the groups")
	}
}

// TestFixedSizePattern: as many groups of as many different terminals as asked;
// the seed decides which, and asking for more groups leaves the first ones. Of
// 20,000 groups of 2 from 5 terminals, each of the 10 pairs gets 2,000 on
// average, with a standard deviation of sqrt(20000*0.1*0.9) = 42; five of them
// are 212.
func TestFixedSizePattern(t *testing.T) {
	draw := func(seed uint64, terminals, count, size int) []Group {
		groups, err := param.Make(Patterns, "random-fixed-size", PatternEnv{Terminals: terminals, Seed: seed}, func(g *FixedSizeConfig) { g.Count, g.Size = count, size })
		if err != nil || len(groups) != count {
			t.Fatalf("%d groups, want %d (%v)", len(groups), count, err)
		}
		for i, g := range groups {
			if g.ID != GroupID(i) || len(g.Terminals) != size { // NewGroup has removed copies
				t.Fatalf("group %d: %v, want %d terminals", i, g, size)
			}
		}
		return groups
	}
	same := func(a, b []Group) bool {
		return slices.EqualFunc(a, b, func(x, y Group) bool { return slices.Equal(x.Terminals, y.Terminals) })
	}
	five := draw(1, 50, 5, 7)
	if !same(five, draw(1, 50, 9, 7)[:5]) || same(five, draw(2, 50, 5, 7)) {
		t.Error("the seed and the number of a group do not decide its members")
	}
	if whole := draw(3, 6, 2, 6); !slices.Equal(whole[1].Terminals, []topology.TerminalID{0, 1, 2, 3, 4, 5}) {
		t.Errorf("a group of all terminals has %v", whole[1].Terminals)
	}
	pairs := map[[2]topology.TerminalID]int{}
	for _, g := range draw(4, 5, 20000, 2) {
		pairs[[2]topology.TerminalID(g.Terminals)]++
	}
	if len(pairs) != 10 {
		t.Errorf("%d pairs of 10", len(pairs))
	}
	for pair, n := range pairs {
		if n < 2000-212 || n > 2000+212 {
			t.Errorf("pair %v: %d times, want 2000 within 212", pair, n)
		}
	}
}

// TestPatternProblems: sizes out of range are told by the setting that is
// wrong, even where their products would overflow.
func TestPatternProblems(t *testing.T) {
	env := PatternEnv{Terminals: 9}
	blocks := func(edit func(*BlocksConfig)) error {
		_, err := param.Make(Patterns, "blocks", env, edit)
		return err
	}
	drawn := func(terminals, count, size int) error {
		_, err := param.Make(Patterns, "random-fixed-size", PatternEnv{Terminals: terminals}, func(c *FixedSizeConfig) { c.Count, c.Size = count, size })
		return err
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{drawn(9, 1, 10), "size = 10: want at most the 9 terminals"},
		{drawn(9, 1, 0), "size = 0"},
		{drawn(9, 1<<25, 2), "count = 33554432"},
		{drawn(100, 1<<24, 100), "count = 16777216: want at most 2684354"}, // 2^28 / 100
		{blocks(func(c *BlocksConfig) { c.Size = 10 }), "size = 10: want at most 9"},
		{blocks(func(c *BlocksConfig) { c.Size, c.Stride = 1<<62, 4 }), "want at most 2: members 4 apart on 9 terminals"},
		{blocks(func(c *BlocksConfig) { c.Size, c.Count = 4, 3 }), "count = 3: want at most 2"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want %q", c.err, c.want)
		}
	}
}
