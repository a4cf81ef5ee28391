package topology

import (
	"fmt"

	"github.com/weft-sim/weft/sim/param"
)

// MegaflyConfig configures the topology "megafly"; see [Megafly].
type MegaflyConfig struct {
	P           int    `toml:"p" doc:"terminals of a leaf" min:"1" max:"4096"`
	Leaves      int    `toml:"leaves" doc:"leaf switches of a group" min:"1" max:"4096"`
	Spines      int    `toml:"spines" doc:"spine switches of a group, each joined to all its leaves" min:"1" max:"4096"`
	H           int    `toml:"h" doc:"global ports of a spine" min:"1" max:"4096"`
	G           int    `toml:"g" doc:"groups, 2 to spines*h+1; 0: spines*h+1, the largest with a channel between any two" min:"0"`
	Arrangement string `toml:"arrangement" doc:"which global port leads to which group, as of the dragonfly" choices:"absolute|relative|circulant"`
}

func init() {
	param.Register(Registry, "megafly", "Megafly, or Dragonfly+: groups of leaves and spines, completely joined to each other by their spines",
		MegaflyConfig{P: 2, Leaves: 2, Spines: 2, H: 2, Arrangement: "absolute"},
		func(c MegaflyConfig, _ struct{}) (Topology, error) { return newMegafly(c), nil })
}

// Validate checks what the tags cannot.
func (c *MegaflyConfig) Validate() error {
	if most := c.Spines*c.H + 1; c.G == 1 || c.G > most {
		return &param.ParamError{Key: "g", Value: c.G, Want: fmt.Sprintf("0, or 2 to spines*h+1 = %d", most)}
	}
	return checkPorts("g", c.groups(), c.groups()*(c.Leaves*(c.P+c.Spines)+c.Spines*(c.Leaves+c.H)))
}

func (c *MegaflyConfig) groups() int {
	if c.G == 0 {
		return c.Spines*c.H + 1
	}
	return c.G
}

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
// Leaf i of group G has number G*(l+s)+i, spine j number G*(l+s)+l+j. Ports of a leaf:
// terminals, then spines in order; of a spine: leaves in order, then global ports. The
// global ports of a group are numbered spine*h + port and dealt as those of the
// [Dragonfly] with a = s: arrangements, rounds of several cables a pair, and the port that
// stays free if s*h and g are both odd are described there. Channel classes "terminal",
// "local" and "global".
//
// # Closed forms
//
// g*(l+s) switches, g*l*p terminals, g*l*s local links and g*u/2 global ones, u = s*h or
// one less. Between leaves of different groups there are three hops and never fewer (up,
// global, down, as every pair of groups has a cable), between leaves of one group two:
// diameter 3, mean distance of leaves (2(l-1) + 3l(g-1))/(lg-1). Bisection (whole groups
// on a side; an upper bound): that of the dragonfly for even g; none for odd g. Uniform
// capacity: a share (g-1)/g of the traffic crosses one global channel, of which a group
// has u: u*g/(l*p*(g-1)); and all of it that leaves a leaf one of its s channels up:
// s*gl/(p*(gl-1)).
type Megafly struct {
	MegaflyConfig
	graph *Graph
}

var (
	_ Formed = (*Megafly)(nil)
	_ Ranked = (*Megafly)(nil)
)

func newMegafly(c MegaflyConfig) *Megafly {
	c.G = c.groups()
	size := c.Leaves + c.Spines
	b := NewBuilder(c.G*size, classes("local", "global")...)
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
	at := func(group, j int) (SwitchID, int) {
		return SwitchID(group*size + c.Leaves + j/c.H), c.Leaves + j%c.H
	}
	c.cables().each(func(group, j, to, back int) {
		s, portS := at(group, j)
		t, portT := at(to, back)
		b.AddLinkAt(s, portS, t, portT, 2)
	})
	return &Megafly{c, b.Freeze()}
}

func (c *MegaflyConfig) cables() groupCables {
	return groupCables{c.groups(), c.Spines * c.H, c.Arrangement}
}

// Graph implements [Topology].
func (x *Megafly) Graph() *Graph { return x.graph }

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

// Facts implements [Topology].
func (x *Megafly) Facts() Facts {
	f := Facts{
		Switches:  x.G * (x.Leaves + x.Spines),
		Terminals: x.G * x.Leaves * x.P,
		Links:     x.G*x.Leaves*x.Spines + x.cables().links(),
		Diameter:  3,
		Bisection: -1,
	}
	if x.G%2 == 0 {
		f.Bisection = x.cables().bisection()
	}
	return f
}

// Forms implements [Formed].
func (x *Megafly) Forms() Forms {
	g, l, leaves := float64(x.G), float64(x.Leaves), float64(x.G*x.Leaves)
	ports := 2 * float64(x.cables().links()) / g // of a group
	return Forms{
		MeanDistance: (2*(l-1) + 3*l*(g-1)) / (leaves - 1),
		UniformCapacity: min(ports*g/(l*float64(x.P)*(g-1)),
			float64(x.Spines)*leaves/(float64(x.P)*(leaves-1))),
	}
}

// Layout implements [LaidOut]: groups as rings.
func (x *Megafly) Layout() *Layout {
	return rings(x.graph, x.G, x.GroupOf, func(i int) string { return fmt.Sprintf("group %d", i) }, "Groups in a circle, their leaves and spines in rings.")
}
