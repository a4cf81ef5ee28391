package multicast

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// PatternEnv is what a group pattern is laid over.
type PatternEnv struct {
	// Terminals is the number of terminals. Ranks are placed in terminal order, so many on each.
	Terminals int
	Seed      uint64
}

// Patterns holds the group patterns that experiment files can name.
var Patterns = param.NewRegistry[PatternEnv, []Group]("group pattern")

// GridConfig configures the grid pattern.
type GridConfig struct {
	Dims             []int `toml:"dims" min:"1" doc:"size of the process grid along each dimension; the first varies fastest"`
	RanksPerTerminal int   `toml:"ranks_per_terminal" min:"1" max:"65536" doc:"processes on each terminal"`
}

// HierarchyConfig configures the hierarchical pattern.
type HierarchyConfig struct {
	Ranks            int   `toml:"ranks" min:"0" doc:"processes; 0: as many as fit"`
	Sizes            []int `toml:"sizes" min:"2" doc:"members of a group on each level, from the bottom; the last holds for all further levels"`
	RanksPerTerminal int   `toml:"ranks_per_terminal" min:"1" max:"65536" doc:"processes on each terminal"`
}

// RandomConfig configures the random pattern.
type RandomConfig struct {
	Groups int `toml:"groups" min:"1" max:"16777216" doc:"number of groups"`
	Joins  int `toml:"joins" min:"1" doc:"different groups that each terminal joins"`
}

// BlocksConfig configures the blocks pattern.
type BlocksConfig struct {
	Size   int `toml:"size" min:"1" doc:"members of a group"`
	Count  int `toml:"count" min:"0" doc:"groups; 0: as many as fit"`
	Stride int `toml:"stride" min:"1" doc:"distance between members in terminals: 1: neighbours; the terminals of a leaf switch: one member on each of several leaves"`
}

// FixedSizeConfig configures the pattern of random groups of a fixed size.
type FixedSizeConfig struct {
	Count int `toml:"count" min:"1" max:"16777216" doc:"number of groups"`
	Size  int `toml:"size" min:"1" doc:"different terminals in each group"`
}

func init() {
	param.Register(Patterns, "blocks", "disjoint groups of a size, members in equal distances", BlocksConfig{Size: 4, Stride: 1}, blockGroups)
	param.Register(Patterns, "grid", "processes in a grid, every line along every dimension a group",
		GridConfig{Dims: []int{8, 8}, RanksPerTerminal: 1}, gridGroups)
	param.Register(Patterns, "hierarchical", "groups of neighbours, then groups of their leaders, up to a single group",
		HierarchyConfig{Sizes: []int{16}, RanksPerTerminal: 1}, hierarchyGroups)
	param.Register(Patterns, "random", "every terminal joins some groups at random", RandomConfig{Groups: 64, Joins: 2}, randomGroups)
	param.Register(Patterns, "random-fixed-size", "groups of a size, the members of each drawn at random", FixedSizeConfig{Count: 64, Size: 4}, fixedSizeGroups)
}

// gridGroups makes one group of every line of the grid (Chen et al. 2021,
// section 4.2.2): first the lines along the first dimension, then those along
// the second, and so on; within a dimension the remaining coordinates count
// up, the first fastest. Ranks of one terminal collapse into one member.
func gridGroups(c GridConfig, env PatternEnv) ([]Group, error) {
	ranks := 1
	for _, d := range c.Dims {
		if ranks > 1<<40/d {
			return nil, &param.ParamError{Key: "dims", Value: c.Dims, Want: "at most 2^40 processes"}
		}
		ranks *= d
	}
	if err := fits("dims", ranks, c.RanksPerTerminal, env); err != nil {
		return nil, err
	}
	var groups []Group
	stride := 1
	for _, d := range c.Dims {
		for base := range ranks {
			if base/stride%d != 0 {
				continue // not the first of its line
			}
			groups = appendGroup(groups, d, func(i int) int { return (base + i*stride) / c.RanksPerTerminal })
		}
		stride *= d
	}
	return groups, nil
}

// blockGroups makes groups of Size members Stride apart, Stride groups for each Size*Stride
// terminals.
func blockGroups(c BlocksConfig, env PatternEnv) ([]Group, error) {
	most := env.Terminals / c.Stride / c.Size * c.Stride
	if most == 0 {
		return nil, &param.ParamError{Key: "size", Value: c.Size, Want: fmt.Sprintf("at most %d: members %d apart on %d terminals", env.Terminals/c.Stride, c.Stride, env.Terminals)}
	}
	if c.Count > most {
		return nil, &param.ParamError{Key: "count", Value: c.Count, Want: fmt.Sprintf("at most %d: groups of %d members, %d apart, on %d terminals", most, c.Size, c.Stride, env.Terminals)}
	}
	c.Count = cmp.Or(c.Count, most)
	var groups []Group
	for i := range c.Count {
		first := i/c.Stride*c.Stride*c.Size + i%c.Stride
		groups = appendGroup(groups, c.Size, func(m int) int { return first + m*c.Stride })
	}
	return groups, nil
}

// appendGroup appends a group of so many members, the i-th of them a terminal.
func appendGroup(groups []Group, size int, terminal func(i int) int) []Group {
	return append(groups, NewGroup(GroupID(len(groups)), lists.Make(size, func(i int) topology.TerminalID { return topology.TerminalID(terminal(i)) }), nil))
}

// hierarchyGroups divides the ranks into groups of Sizes[0] neighbours; the first of each is its
// leader; the leaders are divided into groups of Sizes[1], and so on until one group is left.
func hierarchyGroups(c HierarchyConfig, env PatternEnv) ([]Group, error) {
	if len(c.Sizes) == 0 {
		return nil, &param.ParamError{Key: "sizes", Value: c.Sizes, Want: "at least one size"}
	}
	c.Ranks = cmp.Or(c.Ranks, env.Terminals*c.RanksPerTerminal)
	if err := fits("ranks", c.Ranks, c.RanksPerTerminal, env); err != nil {
		return nil, err
	}
	var groups []Group
	leaders := topology.Numbers[int](c.Ranks)
	for level := 0; ; level++ {
		size := c.Sizes[min(level, len(c.Sizes)-1)]
		var next []int
		for part := range slices.Chunk(leaders, size) {
			groups = appendGroup(groups, len(part), func(i int) int { return part[i] / c.RanksPerTerminal })
			next = append(next, part[0])
		}
		if len(next) == 1 {
			return groups, nil
		}
		leaders = next
	}
}

// randomGroups lets every terminal join different groups, drawn uniformly. Empty groups are left
// out.
func randomGroups(c RandomConfig, env PatternEnv) ([]Group, error) {
	if c.Joins > c.Groups {
		return nil, &param.ParamError{Key: "joins", Value: c.Joins, Want: fmt.Sprintf("at most groups (%d)", c.Groups)}
	}
	members := make([][]topology.TerminalID, c.Groups)
	draw := sim.NewStream(env.Seed, "multicast random groups", 0)
	for t := range topology.TerminalID(env.Terminals) {
		var joined []int
		for len(joined) < c.Joins {
			if g := draw.IntN(c.Groups); !slices.Contains(joined, g) {
				joined = append(joined, g)
				members[g] = append(members[g], t)
			}
		}
	}
	var groups []Group
	for _, m := range members {
		if len(m) > 0 {
			groups = append(groups, NewGroup(GroupID(len(groups)), m, nil))
		}
	}
	return groups, nil
}

// maxMemberships bounds the members of all drawn groups together: 1 GiB of them.
const maxMemberships = 1 << 28

// fixedSizeGroups draws the members of every group uniformly, all different, from the group's own
// stream: more groups leave the first ones as they are. Two groups may have the same members.
func fixedSizeGroups(c FixedSizeConfig, env PatternEnv) ([]Group, error) {
	if c.Size > env.Terminals {
		return nil, &param.ParamError{Key: "size", Value: c.Size, Want: fmt.Sprintf("at most the %d terminals", env.Terminals)}
	}
	if c.Count > maxMemberships/c.Size {
		return nil, &param.ParamError{Key: "count", Value: c.Count, Want: fmt.Sprintf("at most %d: groups of %d with 2^28 members in all", maxMemberships/c.Size, c.Size)}
	}
	terminals := topology.Numbers[topology.TerminalID](env.Terminals)
	groups := make([]Group, c.Count)
	drawn := make([]int, c.Size)
	for i := range groups {
		draw := sim.NewStream(env.Seed, "multicast fixed-size groups", i)
		for m := range drawn { // the first c.Size steps of a shuffle
			drawn[m] = m + draw.IntN(env.Terminals-m)
			terminals[m], terminals[drawn[m]] = terminals[drawn[m]], terminals[m]
		}
		groups[i] = NewGroup(GroupID(i), slices.Clone(terminals[:c.Size]), nil)
		for m := c.Size - 1; m >= 0; m-- { // put back for the next group
			terminals[m], terminals[drawn[m]] = terminals[drawn[m]], terminals[m]
		}
	}
	return groups, nil
}

// fits refuses more ranks than terminals have places for; the error names setting key.
func fits(key string, ranks, perTerminal int, env PatternEnv) error {
	if ranks > env.Terminals*perTerminal {
		return &param.ParamError{Key: key, Value: fmt.Sprintf("%d processes", ranks),
			Want: fmt.Sprintf("at most %d (%d terminals of %d)", env.Terminals*perTerminal, env.Terminals, perTerminal)}
	}
	return nil
}
