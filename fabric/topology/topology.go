package topology

import (
	"github.com/weft-sim/weft/sim/param"
)

// Topology is a network of a known family.
type Topology interface {
	// Graph is the network itself. The same graph on every call.
	Graph() *Graph
	// Facts are the family's closed forms.
	Facts() Facts
}

// Facts are closed forms of a topology, derived by hand in the generator's
// documentation and checked against the graph by the conformance suite. A
// negative number means that the family has no closed form for it.
type Facts struct {
	Switches  int
	Terminals int
	Links     int // cables between switches
	Diameter  int // largest number of switch-switch cables on a shortest path between terminals' switches
	Bisection int // fewest switch-switch cables cut when terminals are halved, or the family's customary bound
}

// Registry holds every topology that experiment files can name.
var Registry = param.NewRegistry[struct{}, Topology]("topology")

// Grouped is the capability of two-level topologies such as the dragonfly:
// switches in groups, groups joined by global channels.
type Grouped interface {
	Topology
	// Groups is the number of groups.
	Groups() int
	// GroupOf is the group of a switch.
	GroupOf(s SwitchID) int
	// LocalTo is the port of s on a cable to t, both in one group; NoPort if
	// there is none (or s == t).
	LocalTo(s, t SwitchID) PortID
	// Gateways lists the global ports of group from whose cables lead into
	// group to, in ascending order. The slice must not be changed.
	Gateways(from, to int) []PortID
}

// Grid is the capability of tori, meshes and hypercubes: switches at integer
// coordinates, one cable each way along every dimension.
type Grid interface {
	Topology
	// Dims lists the number of switches along each dimension.
	Dims() []int
	// Wraps tells whether dimension d is a ring.
	Wraps(d int) bool
	// Coordinate is the position of s along dimension d.
	Coordinate(s SwitchID, d int) int
	// Towards is the port of s to its neighbour at coordinate+1 (up) or
	// coordinate-1 (down) in dimension d; NoPort at a mesh's edge.
	Towards(s SwitchID, d int, up bool) PortID
}

// Hamming is the capability of HyperX networks: switches at integer coordinates,
// cables between every two that differ in one coordinate (a Hamming graph, with
// parallel cables).
type Hamming interface {
	Topology
	// Dims lists the number of switches along each dimension.
	Dims() []int
	// Coordinate is the position of s along dimension d.
	Coordinate(s SwitchID, d int) int
	// To is the first of count consecutive ports of s on cables to the switch at
	// coordinate to of dimension d that is like s in all others; NoPort and 0 if
	// that is s. The ports along a dimension are consecutive, by coordinate.
	To(s SwitchID, d, to int) (first PortID, count int)
}

// Tree is the capability of fat trees: switches on levels, level 0 the leaves;
// cables only between neighbouring levels.
type Tree interface {
	Topology
	// Levels is the number of switch levels.
	Levels() int
	// LevelOf is the level of a switch, 0 for leaf switches.
	LevelOf(s SwitchID) int
	// UpPorts returns the range of s's ports that lead up; empty at the top.
	// They are consecutive.
	UpPorts(s SwitchID) (first, end PortID)
	// DownTo is a port of s that leads down towards terminal t, or NoPort if
	// t is not below s. Where parallel cables lead down, count tells how many
	// consecutive ports, starting there, serve equally.
	DownTo(s SwitchID, t TerminalID) (first PortID, count int)
}

// Ranked is the capability of networks whose shortest paths between switches with
// terminals climb, cross, and descend: from switches of a rank to higher ones, then over one
// cable between equal ranks at most, then to lower ones. They need no virtual channel for
// each hop.
type Ranked interface {
	Topology
	// Rank is the rank of a switch, from 0.
	Rank(s SwitchID) int
}
