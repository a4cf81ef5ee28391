package topology

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim/param"
)

// treeShape is what the tree generators share: it implements [Tree] for trees in which every switch
// reaches a contiguous range of terminals, divided into equal blocks (the last one may be partly
// filled) over its down ports, with the same number of consecutive ports to each block. Down ports
// come before up ports.
type treeShape struct {
	Built
	levels []treeLevel  // leaves first
	low    []TerminalID // len = switches: first terminal below
	high   []TerminalID // len = switches: first terminal above those below
}

// treeLevel describes the switches of one level, which have consecutive numbers.
type treeLevel struct {
	first SwitchID
	block int // terminals below one child (1 for leaves)
	ports int // consecutive ports that lead to one child
}

func (x *treeShape) Levels() int { return len(x.levels) }

func (x *treeShape) LevelOf(s SwitchID) int {
	level := len(x.levels) - 1
	for x.levels[level].first > s {
		level--
	}
	return level
}

func (x *treeShape) UpPorts(s SwitchID) (first, end PortID) {
	l := &x.levels[x.LevelOf(s)]
	children := (int(x.high[s]-x.low[s]) + l.block - 1) / l.block
	first, end = x.graph.Ports(s)
	return first + PortID(children*l.ports), end
}

func (x *treeShape) DownTo(s SwitchID, t TerminalID) (first PortID, count int) {
	if t < x.low[s] || t >= x.high[s] {
		return NoPort, 0
	}
	l := &x.levels[x.LevelOf(s)]
	child := int(t-x.low[s]) / l.block
	return x.graph.PortStart[s] + PortID(child*l.ports), l.ports
}

// XGFTConfig configures the topology "xgft"; see [XGFT].
type XGFTConfig struct {
	M        []int `toml:"m" doc:"children of a switch at each level, leaves first; m[0] counts terminals" min:"1" max:"65536"`
	W        []int `toml:"w" doc:"parents of a child at each level; w[0] = 1: a terminal hangs from one leaf switch" min:"1" max:"65536"`
	Parallel []int `toml:"parallel" doc:"cables between a child and each of its parents at each level; empty: 1 everywhere" min:"1" max:"65536"`
}

func init() {
	Register("xgft", "extended generalized fat tree, tapered and with parallel cables at will",
		XGFTConfig{M: []int{4, 4, 8}, W: []int{1, 2, 2}}, NewXGFT)
	Register("fat-tree", "fat tree of k-port switches with full bisection", FatTreeConfig{K: 8, N: 3},
		func(c FatTreeConfig) *FatTree { return &FatTree{c, NewXGFT(c.xgft()).treeShape} })
	Register("trimmed-tree", "three-level tree of complete groups under thinned-out top switches (Sunway BlueLight, TaihuLight)",
		TrimmedTreeConfig{Groups: 4, GroupTerminals: 16, LeafTerminals: 6, Middles: 4, Tops: 4, TopCables: 2, TopWiring: "alternating"}, newTrimmedTree)
}

func (c *XGFTConfig) Validate() error {
	levels := len(c.M)
	switch {
	case levels == 0 || levels > 16:
		return &param.ParamError{Key: "m", Value: c.M, Want: "1 to 16 levels"}
	case len(c.W) != levels:
		return &param.ParamError{Key: "w", Value: c.W, Want: fmt.Sprintf("one number for each of the %d levels of m", levels)}
	case c.W[0] != 1:
		return &param.ParamError{Key: "w[0]", Value: c.W[0], Want: "1: a terminal has one cable"}
	case len(c.Parallel) != 0 && len(c.Parallel) != levels:
		return &param.ParamError{Key: "parallel", Value: c.Parallel, Want: fmt.Sprintf("nothing, or one number for each of the %d levels of m", levels)}
	case len(c.Parallel) != 0 && c.Parallel[0] != 1:
		return &param.ParamError{Key: "parallel[0]", Value: c.Parallel[0], Want: "1: a terminal has one cable"}
	}
	ports := 0
	for i := range levels { // stop before a product can overflow
		n := c.nodes(i)
		if n <= MaxPorts {
			ports += 2 * c.upCables(i)
		}
		if err := CheckPorts("m", c.M, max(n, ports)); err != nil {
			return err
		}
	}
	return nil
}

// nodes is the number of nodes at level i (terminals for 0, switches of level
// i-1 for others), or some number above maxPorts if that is too large.
func (c *XGFTConfig) nodes(i int) int {
	n := 1
	for j := range c.M {
		if n > MaxPorts {
			break
		}
		if j < i {
			n *= c.W[j]
		} else {
			n *= c.M[j]
		}
	}
	return n
}

// upCables is the number of cables from nodes of level i to their parents.
func (c *XGFTConfig) upCables(i int) int { return c.nodes(i) * c.W[i] * c.parallel(i) }

func (c *XGFTConfig) parallel(i int) int {
	if len(c.Parallel) == 0 {
		return 1
	}
	return c.Parallel[i]
}

// XGFT is the extended generalized fat tree XGFT(h; m_1..m_h; w_1..w_h) of Öhring, Ibel, Das and
// Kumar (IPPS 1995), with parallel cables as in the PGFT of Zahavi (2010): h levels of switches
// above the terminals; a node of level i-1 has w_i parents, a node of level i has m_i children, p_i
// cables join a parent and a child. Terminals are the nodes of level 0, so w_1 = p_1 = 1; [Tree]
// counts switch levels from 0, the leaves.
//
//	level 2     t0   t1   t2   t3        XGFT(2; 4,2; 1,4): each leaf is
//	             │╲ ╱ ╲  ╱ ╲ ╱│           joined to all four tops
//	level 1      leaf0      leaf1
//	             ││││       ││││
//	level 0      0123       4567
//
// A node of level i has coordinates (x_h, ..., x_(i+1); y_i, ..., y_1), x_j < m_j, y_j < w_j: x
// says in which subtree it is, y which of the roots of that subtree it is. Nodes that differ only
// by the choice between x_(i+1) and y_(i+1) are parent and child. Numbers within a level count with
// x_h the most and, after x, y_1 the most significant coordinate; switches are numbered level by
// level from the leaves. Ports: down (children in order of x, the parallel cables of a child
// together), then up (in order of y). Cables from switch level i-1 to i have class "level<i>",
// cables to terminals "terminal".
//
// A tapered tree has fewer cables up than down at a switch: m = [32, 32, 40], w = [1, 8, 8] serves
// 40,960 terminals with 1,280 + 320 + 64 switches of 40 ports.
//
// # Closed forms
//
// Level i has N_i = m_h*...*m_(i+1) * w_i*...*w_1 nodes and U_i = N_i*w_(i+1)*p_(i+1) cables up.
// Terminals N_0, switches N_1 + ... + N_h, links U_1 + ... + U_(h-1). Diameter 2*(i-1), where i is
// the highest level with more than one child (up to the common ancestor and down), or 0. Bisection
// (an upper bound; the true minimum on the tapered trees small enough to try all halvings): half
// the nodes of level i, in whole subtrees, can be severed from the rest by cutting their U_i/2
// cables up, so the least U_i/2, i >= 1, with an even number of subtrees m_h*...*m_(i+1); none if
// there is no such level.
type XGFT struct {
	XGFTConfig
	treeShape
}

var _ Tree = (*XGFT)(nil)

func NewXGFT(c XGFTConfig) *XGFT {
	x := &XGFT{XGFTConfig: c}
	first, roots, block := 0, 1, 1 // of the level: first switch, roots of a subtree, terminals below a child
	for i, children := range c.M {
		roots *= c.W[i]
		x.levels = append(x.levels, treeLevel{SwitchID(first), block, c.parallel(i)})
		block *= children
		for k := range c.nodes(i + 1) {
			low := TerminalID(k / roots * block)
			x.low, x.high = append(x.low, low), append(x.high, low+TerminalID(block))
			first++
		}
	}
	b := NewBuilder(first, NumberedClasses("level", len(c.M))...)
	for t := range c.nodes(0) {
		b.AddTerminal(SwitchID(t/c.M[0]), 0)
	}
	roots = 1
	for i := 1; i < len(c.M); i++ {
		child, parent := x.levels[i-1].first, x.levels[i].first
		subtrees := c.nodes(i+1) / (roots * c.W[i])
		for range subtrees {
			for range c.M[i] { // x of the child
				for y := range roots * c.W[i] { // of the parent; its low digit is the choice on this level
					for range c.parallel(i) {
						b.AddLink(child+SwitchID(y/c.W[i]), parent+SwitchID(y), ClassID(i))
					}
				}
				child += SwitchID(roots)
			}
			parent += SwitchID(roots * c.W[i])
		}
		roots *= c.W[i]
	}
	x.graph, x.facts = b.Freeze(), c.closedForms()
	return x
}

func (c *XGFTConfig) closedForms() Facts {
	f := Facts{Terminals: c.nodes(0), Bisection: -1}
	for i := 1; i <= len(c.M); i++ {
		f.Switches += c.nodes(i)
		if i > 1 && c.M[i-1] > 1 {
			f.Diameter = 2 * (i - 1)
		}
	}
	subtrees := 1
	for i := len(c.M) - 1; i >= 1; i-- {
		f.Links += c.upCables(i)
		subtrees *= c.M[i]
		if subtrees%2 == 0 && (f.Bisection < 0 || c.upCables(i)/2 < f.Bisection) {
			f.Bisection = c.upCables(i) / 2
		}
	}
	return f
}

// FatTreeConfig configures the topology "fat-tree"; see [FatTree].
type FatTreeConfig struct {
	K int `toml:"k" doc:"ports of a switch, even" min:"2" max:"65536"`
	N int `toml:"n" doc:"levels of switches" min:"1" max:"16"`
}

func (c *FatTreeConfig) Validate() error {
	if c.K%2 != 0 {
		return &param.ParamError{Key: "k", Value: c.K, Want: "an even number: half the ports lead up"}
	}
	tree := c.xgft()
	if tree.Validate() != nil { // its only possible problem: too large
		return &param.ParamError{Key: "n", Value: c.N, Want: fmt.Sprintf("fewer levels: with k = %d the network has more than %d switch ports", c.K, MaxPorts)}
	}
	return nil
}

// xgft gives the same tree as an XGFT.
func (c *FatTreeConfig) xgft() XGFTConfig {
	var x XGFTConfig
	for i := range c.N {
		m, w := c.K/2, c.K/2
		if i == c.N-1 {
			m = c.K
		}
		if i == 0 {
			w = 1
		}
		x.M, x.W = append(x.M, m), append(x.W, w)
	}
	return x
}

// FatTree is the folded Clos network of k-port switches in n levels (k-ary n-tree of Petrini and
// Vanneschi, IPPS 1997, with k/2 in place of k and both halves of the top switches' ports used):
// every switch below the top has k/2 ports down and k/2 up, the switches of the top level have k
// down. It is XGFT(n; k/2, ..., k/2, k; 1, k/2, ..., k/2) and numbered like [XGFT].
//
//	level 1 (top)      s6      s7          k = 4, n = 2: 8 terminals,
//	                  ╱│╲╲    ╱╱│╲         4 + 2 switches of 4 ports;
//	level 0 (leaf)   s0 s1 s2 s3           each leaf is joined to both tops
//	                 ││ ││ ││ ││
//
// # Closed forms
//
// Terminals 2*(k/2)^n: the two factors k/2 of leaf and top and those between, the top one doubled.
// Switches 2*(k/2)^(n-1) on each level but the top, which has half: (2n-1)*(k/2)^(n-1). As many
// cables leave a level upwards as terminals enter it: links (n-1)*2*(k/2)^n. Diameter 2(n-1).
// Bisection: half the cables of any level, (k/2)^n, half the number of terminals; it cannot be
// less, because any permutation of the terminals can be routed on disjoint paths (rearrangeable).
// None for n = 1.
type FatTree struct {
	FatTreeConfig
	treeShape
}

var _ Tree = (*FatTree)(nil)

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

// TrimmedTree is a fat tree of three levels with a thinned top, which XGFT cannot express since a
// top switch reaches a group over several middle switches: Sunway BlueLight and TaihuLight as the
// multicast paper (MR4LMS) counts their paths. A group is a complete two-level tree: leaves joined
// to all middle switches of the group. Every top switch is joined to top_cables middle switches of
// every group, the same in each. With top_wiring = "alternating", cable i of top switch t goes to
// middle switch (t*top_cables + i) mod middles, so that the middle switches share the cables
// evenly. With "blocks", the same places are dealt out in ascending order: the first tops to the
// first middle switches, and so on. The two are one graph with the tops numbered differently;
// routings that decide ties by number tell them apart. A leaf has top_cables paths to every top
// switch in both.
//
//	tops            t0        t1           groups = 2 (one drawn), middles = 4,
//	               ╱  ╲      ╱  ╲          tops = 2, top_cables = 2,
//	middles      m0    m1  m2    m3        group_terminals = 8, leaf_terminals = 3:
//	              │╲╱╲╱╲╱╲╱╲╱╲╱│           leaves of 3, 3 and 2 terminals,
//	leaves        l0     l1     l2         each joined to all four middles
//	             │││    │││     ││
//
// Switches are numbered leaves first (group by group), then middles, then tops. Ports: down, then
// up, each in the order of the numbers of the other ends; at a top switch group by group, cable by
// cable. Classes "terminal", "level1" (leaf to middle), "level2" (middle to top).
//
// BlueLight (8,704 terminals): groups = 34, group_terminals = 256, leaf_terminals = 18, middles =
// 16, tops = 32, top_cables = 8. TaihuLight (40,960): 160, 256, 32, 8, 40, 2. The multicast paper's
// figures come out with "blocks".
//
// # Closed forms
//
// With L = ceil(group_terminals / leaf_terminals) leaves a group: switches groups*(L + middles) +
// tops; links groups*(L*middles + tops*top_cables). Diameter 4 (leaf, middle, top, middle, leaf), 2
// with one group, 0 with one leaf in all. Bisection (an upper bound): for an even number of groups
// half of them severed from the tops, groups*tops*top_cables/2 cables; or half the leaves severed,
// groups*L*middles/2, if they are equal and even in number; none if neither.
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
