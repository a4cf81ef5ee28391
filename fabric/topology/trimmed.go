package topology

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim/param"
)

// TrimmedTreeConfig configures the topology "trimmed-tree"; see [TrimmedTree].
type TrimmedTreeConfig struct {
	Groups         int `toml:"groups" doc:"groups (boards, supernodes)" min:"1" max:"65536"`
	GroupTerminals int `toml:"group_terminals" doc:"terminals of a group" min:"1" max:"65536"`
	LeafTerminals  int `toml:"leaf_terminals" doc:"terminals of a leaf switch; the last leaf of a group takes what is left" min:"1" max:"65536"`
	Middles        int `toml:"middles" doc:"middle switches of a group, each joined to all its leaves" min:"1" max:"65536"`
	Tops           int `toml:"tops" doc:"top switches" min:"1" max:"65536"`
	TopCables      int `toml:"top_cables" doc:"middle switches of each group that a top switch is joined to" min:"1" max:"65536"`
	// TopWiring says which tops share their middle switches; see [TrimmedTree].
	TopWiring string `toml:"top_wiring" doc:"tops of neighbouring numbers take the next middle switches in turn, or the same ones in blocks: the first tops the first middle switches" choices:"alternating|blocks"`
}

func init() {
	Register("trimmed-tree", "three-level tree of complete groups under thinned-out top switches (Sunway BlueLight, TaihuLight)",
		TrimmedTreeConfig{Groups: 4, GroupTerminals: 16, LeafTerminals: 6, Middles: 4, Tops: 4, TopCables: 2, TopWiring: "alternating"}, newTrimmedTree)
}

// Validate checks what the tags cannot.
func (c *TrimmedTreeConfig) Validate() error {
	if c.TopCables > c.Middles {
		return &param.ParamError{Key: "top_cables", Value: c.TopCables, Want: fmt.Sprintf("at most the number of middle switches, %d", c.Middles)}
	}
	if c.Groups > 1 && c.Tops*c.TopCables < c.Middles {
		return &param.ParamError{Key: "tops", Value: c.Tops, Want: fmt.Sprintf("enough for a cable up from each of the %d middle switches: with top_cables = %d, at least %d",
			c.Middles, c.TopCables, (c.Middles+c.TopCables-1)/c.TopCables)}
	}
	if err := CheckPorts("groups", c.Groups, c.Groups*max(c.GroupTerminals, c.Leaves()*c.Middles)); err != nil {
		return err
	}
	return CheckPorts("groups", c.Groups, c.Groups*c.GroupTerminals+2*c.links())
}

// Leaves is the number of leaf switches of a group.
func (c *TrimmedTreeConfig) Leaves() int {
	return (c.GroupTerminals + c.LeafTerminals - 1) / c.LeafTerminals
}

func (c *TrimmedTreeConfig) links() int {
	return c.Groups * (c.Leaves()*c.Middles + c.Tops*c.TopCables)
}

// TrimmedTree is a fat tree of three levels with a thinned top, which XGFT
// cannot express since a top switch reaches a group over several middle
// switches: Sunway BlueLight and TaihuLight as the multicast paper (MR4LMS)
// counts their paths. A group is a complete two-level tree: leaves joined to
// all middle switches of the group. Every top switch is joined to top_cables
// middle switches of every group, the same in each. With top_wiring =
// "alternating", cable i of top switch t goes to middle switch
// (t*top_cables + i) mod middles, so that the middle switches share the cables
// evenly. With "blocks", the same places are dealt out in ascending order: the
// first tops to the first middle switches, and so on. The two are one graph
// with the tops numbered differently; routings that decide ties by number tell
// them apart. A leaf has top_cables paths to every top switch in both.
//
//	tops            t0        t1           groups = 2 (one drawn), middles = 4,
//	               ╱  ╲      ╱  ╲          tops = 2, top_cables = 2,
//	middles      m0    m1  m2    m3        group_terminals = 8, leaf_terminals = 3:
//	              │╲╱╲╱╲╱╲╱╲╱╲╱│           leaves of 3, 3 and 2 terminals,
//	leaves        l0     l1     l2         each joined to all four middles
//	             │││    │││     ││
//
// Switches are numbered leaves first (group by group), then middles, then
// tops. Ports: down, then up, each in the order of the numbers of the other
// ends; at a top switch group by group, cable by cable. Classes "terminal",
// "level1" (leaf to middle), "level2" (middle to top).
//
// BlueLight (8,704 terminals): groups = 34, group_terminals = 256,
// leaf_terminals = 18, middles = 16, tops = 32, top_cables = 8. TaihuLight
// (40,960): 160, 256, 32, 8, 40, 2. The multicast paper's figures come out with
// "blocks".
//
// # Closed forms
//
// With L = ceil(group_terminals / leaf_terminals) leaves a group: switches
// groups*(L + middles) + tops; links groups*(L*middles + tops*top_cables).
// Diameter 4 (leaf, middle, top, middle, leaf), 2 with one group, 0 with one
// leaf in all. Bisection (an upper bound): for an even number of groups half
// of them severed from the tops, groups*tops*top_cables/2 cables; or half the
// leaves severed, groups*L*middles/2, if they are equal and even in number;
// none if neither.
type TrimmedTree struct {
	TrimmedTreeConfig
	treeShape
}

var _ Tree = (*TrimmedTree)(nil)

func newTrimmedTree(c TrimmedTreeConfig) *TrimmedTree {
	x := &TrimmedTree{TrimmedTreeConfig: c}
	leaves, terminals := c.Leaves(), TerminalID(c.Groups*c.GroupTerminals)
	firstMiddle := SwitchID(c.Groups * leaves)
	firstTop := firstMiddle + SwitchID(c.Groups*c.Middles)
	x.levels = []treeLevel{{0, 1, 1}, {firstMiddle, c.LeafTerminals, 1}, {firstTop, c.GroupTerminals, c.TopCables}}
	covers := func(low, high TerminalID) {
		x.low, x.high = append(x.low, low), append(x.high, high)
	}
	firstOf := make([]int, c.Tops) // middle switch at the first cable of each top
	for t := range firstOf {
		firstOf[t] = t * c.TopCables % c.Middles
	}
	if c.TopWiring == "blocks" {
		slices.Sort(firstOf)
	}
	b := NewBuilder(int(firstTop)+c.Tops, NumberedClasses("level", 3)...)
	for group := range c.Groups {
		low := TerminalID(group * c.GroupTerminals)
		end := low + TerminalID(c.GroupTerminals)
		for leaf := range leaves {
			high := min(low+TerminalID(c.LeafTerminals), end)
			covers(low, high)
			for ; low < high; low++ {
				b.AddTerminal(SwitchID(group*leaves+leaf), 0)
			}
		}
	}
	for group := range c.Groups {
		low := TerminalID(group * c.GroupTerminals)
		for range c.Middles {
			covers(low, low+TerminalID(c.GroupTerminals))
		}
		for leaf := range leaves {
			for middle := range c.Middles {
				b.AddLink(SwitchID(group*leaves+leaf), firstMiddle+SwitchID(group*c.Middles+middle), 1)
			}
		}
		for top, first := range firstOf {
			for cable := range c.TopCables {
				b.AddLink(firstMiddle+SwitchID(group*c.Middles+(first+cable)%c.Middles), firstTop+SwitchID(top), 2)
			}
		}
	}
	for range c.Tops {
		covers(0, terminals)
	}
	x.graph, x.facts = b.Freeze(), c.closedForms()
	return x
}

func (c *TrimmedTreeConfig) closedForms() Facts {
	leaves := c.Groups * c.Leaves()
	f := Facts{Switches: leaves + c.Groups*c.Middles + c.Tops, Terminals: c.Groups * c.GroupTerminals, Links: c.links(), Bisection: -1}
	switch {
	case c.Groups > 1:
		f.Diameter = 4
	case leaves > 1:
		f.Diameter = 2
	}
	if c.Groups%2 == 0 {
		f.Bisection = c.Groups / 2 * c.Tops * c.TopCables
	}
	if cut := leaves / 2 * c.Middles; c.GroupTerminals%c.LeafTerminals == 0 && leaves%2 == 0 && (f.Bisection < 0 || cut < f.Bisection) {
		f.Bisection = cut
	}
	return f
}
