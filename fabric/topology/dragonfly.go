package topology

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// DragonflyConfig configures the topology "dragonfly"; see [Dragonfly].
type DragonflyConfig struct {
	P           int    `toml:"p" doc:"terminals of a switch" min:"1" max:"4096"`
	A           int    `toml:"a" doc:"switches of a group" min:"1" max:"4096"`
	H           int    `toml:"h" doc:"global ports of a switch" min:"1" max:"4096"`
	G           int    `toml:"g" doc:"groups, 2 to a*h+1; 0: a*h+1, the largest with a channel between any two" min:"0"`
	Arrangement string `toml:"arrangement" doc:"which global port leads to which group" choices:"absolute|relative|circulant"`
}

func init() {
	Register("dragonfly", "dragonfly: completely joined groups, completely joined to each other",
		DragonflyConfig{P: 4, A: 8, H: 4, Arrangement: "absolute"}, newDragonfly)
	Register("megafly", "Megafly, or Dragonfly+: groups of leaves and spines, completely joined to each other by their spines",
		MegaflyConfig{P: 2, Leaves: 2, Spines: 2, H: 2, Arrangement: "absolute"}, newMegafly)
}

func (c *DragonflyConfig) Validate() error { return c.cables().check(c.G, "a", c.A*(c.P+c.A-1+c.H)) }

func (c *DragonflyConfig) cables() groupCables { return newGroupCables(c.G, c.A*c.H, c.Arrangement) }

// Dragonfly is the topology of Kim, Dally, Scott and Abts (ISCA 2008): g
// groups of a switches; a switch has p terminals, a cable to each other switch
// of its group ("local") and h cables to other groups ("global").
//
//	 group 0            group 1            group 2
//	s0───s1───s2       s0───s1───s2       s0───s1───s2
//	│└────────┘│       │└────────┘│       │└────────┘│
//	└──────────┼───────┘          └───────┼┘         │     a = 3 switches a group,
//	           └──────────────────────────┘              only 3 global cables drawn
//
// Switch s of group G has number G*a+s. Its ports are its p terminals, then a-1 local ports in the
// order of the switches they lead to, then h global ports. The global ports of a group are numbered
// j = s*h + port, 0 to a*h-1. BookSim2's dragonfly of parameter k is p = h = k, a = 2k, absolute.
//
// # Global arrangements
//
// With g = a*h+1 every pair of groups has one cable, and global port j of group G leads (Camarero,
// Vallejo and Beivide, TACO 2014; Hastings et al., CLUSTER 2015)
//
//	absolute   to group j if j < G, else to group j+1
//	relative   to group G + j + 1 (mod g)
//	circulant  to group G + j/2 + 1 (mod g) if j is even, G - (j+1)/2 if odd
//
// With fewer groups the ports are dealt in rounds: the first g-1 ports are a round that reaches
// every other group once, in the order above for g groups, the next g-1 ports another, and so on.
// The r = a*h mod (g-1) ports that are left at the end reach the groups at distances ±1, ±2, ...,
// ±r/2 and, for odd r, g/2, again in the order of the arrangement; two pairs of groups thus differ
// by at most one cable. If a*h and g are both odd, the port count is odd too, and the last port of
// every group stays free.
//
// # Closed forms
//
// Switches a*g, terminals p*a*g. Links: g*a*(a-1)/2 local, g*u/2 global, where u is a*h, or a*h-1
// if a*h and g are odd. Diameter: at most 3 (local, global, local); it is 3 if some pair of
// switches has no shorter path. Of the a*a pairs between two groups that c cables join, (a-c)*(a-c)
// or more touch no end of them; two global cables in a row join at most c*c pairs through each of
// the g-2 other groups. So it is 3 if (a-c)^2 > (g-2)*c^2 for the largest c, and 1 if a = 1;
// elsewhere there is no closed form. Bisection (customary: whole groups on a side; an upper bound):
// for even g, (g/2)^2 cables for each full round, and in the last round 2d at distance d < g/2 and
// g/2 at distance g/2, for groups halved in order. For g = a*h+1 odd and a even the middle group is
// halved between its switches; the groups are put on the side of the half that they are joined to,
// so that (a*h/2)^2 global and (a/2)^2 local cables are cut. Otherwise none.
type Dragonfly struct {
	DragonflyConfig
	Built
	// Gateways of from*g+to: ways[wayStart[from*g+to]:wayStart[from*g+to+1]].
	wayStart []int32
	ways     []PortID
}

var _ Grouped = (*Dragonfly)(nil)

// Channel classes of the dragonfly.
const (
	dragonflyLocal ClassID = iota + 1
	dragonflyGlobal
)

func newDragonfly(c DragonflyConfig) *Dragonfly {
	cables := c.cables()
	c.G = cables.groups
	b := WithTerminals(c.A*c.G, c.P, Classes("local", "global")...)
	for s := range c.A * c.G {
		for t := s + 1; t < (s/c.A+1)*c.A; t++ {
			b.AddLink(SwitchID(s), SwitchID(t), dragonflyLocal)
		}
	}
	cables.lay(b, c.H, dragonflyGlobal, func(group, i int) (SwitchID, int) { return SwitchID(group*c.A + i), c.P + c.A - 1 })
	d := &Dragonfly{DragonflyConfig: c, Built: Built{graph: b.Freeze(), facts: Facts{
		Switches:  c.A * c.G,
		Terminals: c.P * c.A * c.G,
		Links:     c.G*c.A*(c.A-1)/2 + cables.links(),
		Diameter:  c.diameter(cables),
		Bisection: cables.bisection(),
	}}}
	if half := c.G / 2; c.G == c.A*c.H+1 && c.G%2 == 1 && c.A%2 == 0 {
		d.facts.Bisection = half*half + c.A*c.A/4
	}
	d.listGateways()
	return d
}

// listGateways sorts the global ports by the pair of groups they join.
func (d *Dragonfly) listGateways() {
	g := d.graph
	pair := func(p PortID) int {
		peer, _ := g.PeerPort(p)
		return d.GroupOf(g.PortSwitch[p])*d.G + d.GroupOf(g.PortSwitch[peer])
	}
	d.ways = lists.Filter(Numbers[PortID](g.NumPorts()), func(p PortID) bool { return g.PortClass[p] == dragonflyGlobal })
	slices.SortStableFunc(d.ways, func(a, b PortID) int { return cmp.Compare(pair(a), pair(b)) })
	d.wayStart = make([]int32, d.G*d.G+1)
	for _, p := range d.ways {
		d.wayStart[pair(p)+1]++
	}
	for i := range d.G * d.G {
		d.wayStart[i+1] += d.wayStart[i]
	}
}

func (c *DragonflyConfig) diameter(cables groupCables) int {
	most, rest := cables.rounds() // cables of a pair of groups
	if rest > 0 {
		most++
	}
	switch {
	case c.A == 1:
		return 1
	case most < c.A && (c.A-most)*(c.A-most) > (c.G-2)*most*most:
		return 3
	}
	return -1
}

// Groups implements [Grouped].
func (d *Dragonfly) Groups() int { return d.G }

// GroupOf implements [Grouped].
func (d *Dragonfly) GroupOf(s SwitchID) int { return int(s) / d.A }

// LocalTo implements [Grouped].
func (d *Dragonfly) LocalTo(s, t SwitchID) PortID {
	if s == t || d.GroupOf(s) != d.GroupOf(t) {
		return NoPort
	}
	slot := int(t) % d.A
	if t > s {
		slot-- // the switch itself has no slot
	}
	return d.graph.PortStart[s] + PortID(d.P+slot)
}

// Gateways implements [Grouped].
func (d *Dragonfly) Gateways(from, to int) []PortID {
	i := from*d.G + to
	return d.ways[d.wayStart[i]:d.wayStart[i+1]:d.wayStart[i+1]]
}

// groupCables are the global cables of networks of groups: each group has the same
// number of global ports, which an arrangement deals to the other groups (see
// [Dragonfly] for arrangements, rounds and closed forms).
type groupCables struct {
	groups, ports int // ports of a group
	arrangement   string
}

func newGroupCables(groups, ports int, arrangement string) groupCables {
	return groupCables{cmp.Or(groups, ports+1), ports, arrangement}
}

// check checks setting g of groups, of ports switch ports, with global ports at what `switches`
// counts.
func (c groupCables) check(g int, switches string, ports int) error {
	if most := c.ports + 1; g == 1 || g > most {
		return &param.ParamError{Key: "g", Value: g, Want: fmt.Sprintf("0, or 2 to %s*h+1 = %d", switches, most)}
	}
	return CheckPorts("g", c.groups, c.groups*ports)
}

// lay lays the cables, h at each switch with global ports; at is a group's i-th such switch and its
// first port.
func (c groupCables) lay(b *Builder, h int, class ClassID, at func(group, i int) (s SwitchID, first int)) {
	c.each(func(group, j, to, back int) {
		s, portS := at(group, j/h)
		t, portT := at(to, back/h)
		b.AddLinkAt(s, portS+j%h, t, portT+back%h, class)
	})
}

// each visits every cable once: port j of a group leads to port back of group to, a greater one.
func (c groupCables) each(visit func(group, j, to, back int)) {
	full, rest := c.rounds()
	lists := [2][][]int{c.roundTargets(c.groups - 1), c.roundTargets(rest)}
	var position [2][]int32 // of to in from's list, at from*groups+to
	for k, list := range lists {
		position[k] = make([]int32, c.groups*c.groups)
		for from, targets := range list {
			for i, to := range targets {
				position[k][from*c.groups+to] = int32(i)
			}
		}
	}
	for group := range c.groups {
		for start := 0; start < c.ports; start += c.groups - 1 {
			k := 0
			if start/(c.groups-1) == full {
				k = 1
			}
			for i, to := range lists[k][group] {
				if group < to {
					visit(group, start+i, to, start+int(position[k][to*c.groups+group]))
				}
			}
		}
	}
}

// rounds gives the number of full rounds, and each group's cables in the last, partial one.
func (c groupCables) rounds() (full, rest int) {
	full, rest = c.ports/(c.groups-1), c.ports%(c.groups-1)
	if rest%2 == 1 && c.groups%2 == 1 {
		rest--
	}
	return full, rest
}

func (c groupCables) links() int {
	full, rest := c.rounds()
	return c.groups * (full*(c.groups-1) + rest) / 2
}

// bisection is the cables between halves of an even number of groups, in order; -1: it is odd.
func (c groupCables) bisection() int {
	if c.groups%2 == 1 {
		return -1
	}
	full, rest := c.rounds()
	half := c.groups / 2
	cut := full * half * half
	for distance := 1; distance <= rest/2; distance++ {
		cut += 2 * distance
	}
	if rest%2 == 1 {
		cut += half
	}
	return cut
}

// roundTargets lists for each group the groups that n ports of a round lead to, in port order.
func (c groupCables) roundTargets(n int) [][]int {
	reached := func(distance int) bool { // n < groups-1: the shortest distances, and groups/2 if n is odd
		nearer := min(distance, c.groups-distance)
		return nearer <= n/2 || n%2 == 1 && 2*distance == c.groups
	}
	lists := make([][]int, c.groups)
	for from := range lists {
		for j := range c.groups - 1 {
			var to int
			switch {
			case c.arrangement == "relative":
				to = (from + j + 1) % c.groups
			case c.arrangement == "circulant" && j%2 == 0:
				to = (from + j/2 + 1) % c.groups
			case c.arrangement == "circulant":
				to = (from + c.groups - (j+1)/2) % c.groups
			case j < from:
				to = j
			default:
				to = j + 1
			}
			if reached((to - from + c.groups) % c.groups) {
				lists[from] = append(lists[from], to)
			}
		}
	}
	return lists
}

// MegaflyConfig configures the topology "megafly"; see [Megafly].
type MegaflyConfig struct {
	P           int    `toml:"p" doc:"terminals of a leaf" min:"1" max:"4096"`
	Leaves      int    `toml:"leaves" doc:"leaf switches of a group" min:"1" max:"4096"`
	Spines      int    `toml:"spines" doc:"spine switches of a group, each joined to all its leaves" min:"1" max:"4096"`
	H           int    `toml:"h" doc:"global ports of a spine" min:"1" max:"4096"`
	G           int    `toml:"g" doc:"groups, 2 to spines*h+1; 0: spines*h+1, the largest with a channel between any two" min:"0"`
	Arrangement string `toml:"arrangement" doc:"which global port leads to which group, as of the dragonfly" choices:"absolute|relative|circulant"`
}

func (c *MegaflyConfig) Validate() error {
	return c.cables().check(c.G, "spines", c.Leaves*(c.P+c.Spines)+c.Spines*(c.Leaves+c.H))
}

func (c *MegaflyConfig) cables() groupCables { return newGroupCables(c.G, c.Spines*c.H, c.Arrangement) }

// Megafly is the topology of Flajslik, Borch and Parker (ISC 2018), which Shpiner,
// Haramaty, Eliad, Zdornov, Gafni and Zahavi (HiPINEB 2017) call Dragonfly+: a dragonfly
// whose groups are two-level fat trees. A group has l leaves with p terminals each and s
// spines with h global cables each; every leaf of a group is joined to every spine of
// it, and the spines of any two groups to each other.
//
//	to other groups
//	 ││    ││
//	spine  spine      group of l = 2 leaves, s = 2 spines,
//	 │ ╲  ╱ │         h = 2 global ports a spine, p = 2 terminals a leaf
//	leaf   leaf
//	 ││    ││
//
// Leaf i of group G has number G*(l+s)+i, spine j number G*(l+s)+l+j. Ports of a leaf: terminals,
// then spines in order; of a spine: leaves in order, then global ports. The global ports of a group
// are numbered spine*h + port and dealt as in the [Dragonfly] with a = s: arrangements, rounds of
// several cables a pair, and the port that stays free if s*h and g are both odd are described
// there. Channel classes "terminal", "local" and "global".
//
// # Closed forms
//
// g*(l+s) switches, g*l*p terminals, g*l*s local links and g*u/2 global ones, u = s*h or one less.
// Between leaves of different groups there are three hops and never fewer (up, global, down, as
// every pair of groups has a cable), between leaves of one group two: diameter 3, mean distance of
// leaves (2(l-1) + 3l(g-1))/(lg-1). Bisection (whole groups on a side; an upper bound): as of the
// dragonfly for even g; none for odd g. Uniform capacity: a share (g-1)/g of the traffic crosses
// one global channel, of which a group has u: u*g/(l*p*(g-1)); and all of it that leaves a leaf one
// of its s channels up: s*gl/(p*(gl-1)).
type Megafly struct {
	MegaflyConfig
	Built
}

var _ Ranked = (*Megafly)(nil)

func newMegafly(c MegaflyConfig) *Megafly {
	cables := c.cables()
	c.G = cables.groups
	size := c.Leaves + c.Spines
	b := NewBuilder(c.G*size, Classes("local", "global")...)
	for group := range c.G {
		for i := range c.Leaves {
			leaf := SwitchID(group*size + i)
			for range c.P {
				b.AddTerminal(leaf, 0)
			}
			for j := range c.Spines {
				b.AddLinkAt(leaf, c.P+j, SwitchID(group*size+c.Leaves+j), i, 1)
			}
		}
	}
	cables.lay(b, c.H, 2, func(group, i int) (SwitchID, int) { return SwitchID(group*size + c.Leaves + i), c.Leaves })
	g, l, leaves := float64(c.G), float64(c.Leaves), float64(c.G*c.Leaves)
	ports := 2 * float64(cables.links()) / g // of a group
	facts := Facts{Switches: c.G * size, Terminals: c.G * c.Leaves * c.P, Links: c.G*c.Leaves*c.Spines + cables.links(), Diameter: 3, Bisection: cables.bisection()}
	return &Megafly{c, Built{b.Freeze(), facts, Forms{
		MeanDistance: (2*(l-1) + 3*l*(g-1)) / (leaves - 1),
		UniformCapacity: min(ports*g/(l*float64(c.P)*(g-1)),
			float64(c.Spines)*leaves/(float64(c.P)*(leaves-1))),
	}}}
}

// Groups is the number of groups.
func (x *Megafly) Groups() int { return x.G }

// GroupOf is the group of a switch.
func (x *Megafly) GroupOf(s SwitchID) int { return int(s) / (x.Leaves + x.Spines) }

// IsLeaf tells whether a switch is a leaf.
func (x *Megafly) IsLeaf(s SwitchID) bool { return int(s)%(x.Leaves+x.Spines) < x.Leaves }

// Rank implements [Ranked]: leaves below spines.
func (x *Megafly) Rank(s SwitchID) int {
	if x.IsLeaf(s) {
		return 0
	}
	return 1
}

// Layout implements [LaidOut]: groups as rings.
func (x *Megafly) Layout() *Layout {
	return RingsOf(x.graph, x.G, x.GroupOf, "group ", "Groups in a circle, their leaves and spines in rings.")
}
