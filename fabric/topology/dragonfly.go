package topology

import (
	"fmt"

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
	param.Register(Registry, "dragonfly", "dragonfly: completely joined groups, completely joined to each other",
		DragonflyConfig{P: 4, A: 8, H: 4, Arrangement: "absolute"},
		func(c DragonflyConfig, _ struct{}) (Topology, error) { return newDragonfly(c), nil })
}

// Validate checks what the tags cannot.
func (c *DragonflyConfig) Validate() error {
	if most := c.A*c.H + 1; c.G == 1 || c.G > most {
		return &param.ParamError{Key: "g", Value: c.G, Want: fmt.Sprintf("0, or 2 to a*h+1 = %d", most)}
	}
	return checkPorts("g", c.groups(), c.groups()*c.A*(c.P+c.A-1+c.H))
}

func (c *DragonflyConfig) groups() int {
	if c.G == 0 {
		return c.A*c.H + 1
	}
	return c.G
}

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
// Switch s of group G has number G*a+s. Its ports are its p terminals, then
// a-1 local ports in the order of the switches they lead to, then h global
// ports. The global ports of a group are numbered j = s*h + port, 0 to a*h-1.
// BookSim2's dragonfly of parameter k is p = h = k, a = 2k, absolute.
//
// # Global arrangements
//
// With g = a*h+1 every pair of groups has one cable, and global port j of
// group G leads (Camarero, Vallejo and Beivide, TACO 2014; Hastings et al.,
// CLUSTER 2015)
//
//	absolute   to group j if j < G, else to group j+1
//	relative   to group G + j + 1 (mod g)
//	circulant  to group G + j/2 + 1 (mod g) if j is even, G - (j+1)/2 if odd
//
// With fewer groups the ports are dealt in rounds: the first g-1 ports are a
// round that reaches every other group once, in the order above for g groups,
// the next g-1 ports another, and so on. The r = a*h mod (g-1) ports that are
// left at the end reach the groups at distances ±1, ±2, ..., ±r/2 and, for odd
// r, g/2, again in the order of the arrangement; two pairs of groups thus
// differ by at most one cable. If a*h and g are both odd, the port count is
// odd too, and the last port of every group stays free.
//
// # Closed forms
//
// Switches a*g, terminals p*a*g. Links: g*a*(a-1)/2 local, g*u/2 global, where
// u is a*h, or a*h-1 if a*h and g are odd. Diameter: at most 3 (local, global,
// local); it is 3 if some pair of switches has no shorter path. Of the a*a
// pairs between two groups that c cables join, (a-c)*(a-c) or more touch no
// end of them; two global cables in a row join at most c*c pairs through each
// of the g-2 other groups. So it is 3 if (a-c)^2 > (g-2)*c^2 for the largest
// c, and 1 if a = 1; elsewhere there is no closed form. Bisection
// (customary: whole groups on a side; an upper bound): for even g, (g/2)^2
// cables for each full round, and those of the last, 2d at distance d < g/2
// and g/2 at distance g/2, for groups halved in order. For g = a*h+1 odd and a
// even the middle group is halved between its switches; the groups are put on
// the side of the half that they are joined to, so that (a*h/2)^2 global and
// (a/2)^2 local cables are cut. Otherwise none.
type Dragonfly struct {
	DragonflyConfig
	graph *Graph
	// Gateways of from*g+to: ways[wayStart[from*g+to]:wayStart[from*g+to+1]].
	wayStart []int32
	ways     []PortID
}

var _ Grouped = (*Dragonfly)(nil)

// Channel classes of the dragonfly.
const (
	dragonflyTerminal ClassID = iota
	dragonflyLocal
	dragonflyGlobal
)

func newDragonfly(c DragonflyConfig) *Dragonfly {
	c.G = c.groups()
	b := NewBuilder(c.A*c.G, Class{Name: "terminal", Latency: 1}, Class{Name: "local", Latency: 1}, Class{Name: "global", Latency: 1})
	for s := range c.A * c.G {
		for range c.P {
			b.AddTerminal(SwitchID(s), dragonflyTerminal)
		}
	}
	for s := range c.A * c.G {
		for t := s + 1; t < (s/c.A+1)*c.A; t++ {
			b.AddLink(SwitchID(s), SwitchID(t), dragonflyLocal)
		}
	}
	d := &Dragonfly{DragonflyConfig: c}
	d.layGlobals(b)
	d.graph = b.Freeze()
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
	d.wayStart = make([]int32, d.G*d.G+1)
	for pass := range 2 { // count, then place
		for p := range PortID(g.NumPorts()) {
			if g.PortClass[p] != dragonflyGlobal {
				continue
			}
			if at := &d.wayStart[pair(p)]; pass == 0 {
				*at++
			} else {
				d.ways[*at] = p
				*at++
			}
		}
		if pass == 0 {
			total := int32(0)
			for i, n := range d.wayStart {
				d.wayStart[i] = total
				total += n
			}
			d.ways = make([]PortID, total)
		}
	}
	// Placing has moved every start to the next pair's.
	copy(d.wayStart[1:], d.wayStart[:len(d.wayStart)-1])
	d.wayStart[0] = 0
}

// layGlobals lays the global cables.
func (d *Dragonfly) layGlobals(b *Builder) {
	at := func(group, j int) (SwitchID, int) {
		return SwitchID(group*d.A + j/d.H), d.P + d.A - 1 + j%d.H
	}
	d.cables().each(func(group, j, to, back int) {
		s, portS := at(group, j)
		t, portT := at(to, back)
		b.AddLinkAt(s, portS, t, portT, dragonflyGlobal)
	})
}

func (d *Dragonfly) cables() groupCables { return groupCables{d.G, d.A * d.H, d.Arrangement} }

// Graph implements [Topology].
func (d *Dragonfly) Graph() *Graph { return d.graph }

// Facts implements [Topology].
func (d *Dragonfly) Facts() Facts {
	full, rest := d.cables().rounds()
	return Facts{
		Switches:  d.A * d.G,
		Terminals: d.P * d.A * d.G,
		Links:     d.G*d.A*(d.A-1)/2 + d.cables().links(),
		Diameter:  d.diameter(full, rest),
		Bisection: d.bisection(),
	}
}

func (d *Dragonfly) diameter(full, rest int) int {
	most := full // cables of a pair of groups
	if rest > 0 {
		most++
	}
	switch {
	case d.A == 1:
		return 1
	case most < d.A && (d.A-most)*(d.A-most) > (d.G-2)*most*most:
		return 3
	}
	return -1
}

func (d *Dragonfly) bisection() int {
	if d.G%2 == 0 {
		return d.cables().bisection()
	}
	half := d.G / 2
	if d.G == d.A*d.H+1 && d.A%2 == 0 {
		return half*half + d.A*d.A/4
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
