// Package topology describes networks of switches and terminals: generators
// of the usual families, import and export of real ones, and the small types
// that routing, multicast and the deadlock certificates share.
//
// A [Graph] is plain data, frozen once built: ports are numbered densely, switch by switch, so that
// every per-port array of the simulator is a slice. A [Topology] is a graph with the closed forms
// of its family. What a family knows beyond the graph (groups of a dragonfly, coordinates of a
// grid, levels of a tree) is an optional capability ([Grouped], [Grid], [Tree]), asked for once by
// the algorithm that needs it.
package topology

import (
	"fmt"

	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Topology is a network of a known family.
type Topology interface {
	// Graph is the network itself. The same graph on every call.
	Graph() *Graph
	// Facts are the family's closed forms.
	Facts() Facts
}

// Facts are closed forms of a topology, derived in the generator's documentation and held to the
// graph by the conformance suite. Negative: no closed form.
type Facts struct {
	Switches  int
	Terminals int
	Links     int // cables between switches
	Diameter  int // largest number of switch-switch cables on a shortest path between terminals' switches
	Bisection int // fewest switch-switch cables cut when terminals are halved, or the family's customary bound
}

// Registry holds every topology that experiment files can name.
var Registry = param.NewRegistry[struct{}, Topology]("topology")

// Grouped is the capability of two-level topologies, such as dragonflies: groups joined by global
// channels.
type Grouped interface {
	Topology
	// Groups is the number of groups.
	Groups() int
	// GroupOf is the group of a switch.
	GroupOf(s SwitchID) int
	// LocalTo is the port of s on a cable to t in its group; NoPort if there is none (or s == t).
	LocalTo(s, t SwitchID) PortID
	// Gateways lists group from's global ports with cables into group to, ascending. The slice must
	// not be changed.
	Gateways(from, to int) []PortID
}

// Grid is the capability of tori, meshes and hypercubes: switches at integer coordinates, one cable
// each way in every dimension.
type Grid interface {
	Topology
	// Dims lists the number of switches along each dimension.
	Dims() []int
	// Wraps tells whether dimension d is a ring.
	Wraps(d int) bool
	// Coordinate is the position of s along dimension d.
	Coordinate(s SwitchID, d int) int
	// Towards is the port of s to coordinate+1 (up) or coordinate-1 (down) of dimension d; NoPort
	// at an edge.
	Towards(s SwitchID, d int, up bool) PortID
}

// Hamming is the capability of HyperX networks: switches at integer coordinates, joined if they
// differ in one (a Hamming graph with parallel cables).
type Hamming interface {
	Topology
	// Dims lists the number of switches along each dimension.
	Dims() []int
	// Coordinate is the position of s along dimension d.
	Coordinate(s SwitchID, d int) int
	// To is the first of count consecutive ports of s to the switch that differs from it in
	// coordinate to of dimension d; NoPort and 0 for s itself. A dimension's ports are consecutive,
	// by coordinate.
	To(s SwitchID, d, to int) (first PortID, count int)
}

// Tree is the capability of fat trees: switches on levels, leaves on 0; cables join neighbouring
// levels.
type Tree interface {
	Topology
	// Levels is the number of switch levels.
	Levels() int
	// LevelOf is the level of a switch, 0 for leaf switches.
	LevelOf(s SwitchID) int
	// UpPorts returns the range of s's ports that lead up; empty at the top. They are consecutive.
	UpPorts(s SwitchID) (first, end PortID)
	// DownTo is a port of s down towards terminal t, or NoPort if t is not below s; count tells how
	// many consecutive ports (parallel cables) from there serve equally.
	DownTo(s SwitchID, t TerminalID) (first PortID, count int)
}

// Ranked is the capability of networks whose shortest paths between switches with terminals climb
// to higher ranks, then cross one cable between equal ranks at most, then descend. They need no
// virtual channel a hop.
type Ranked interface {
	Topology
	// Rank is the rank of a switch, from 0.
	Rank(s SwitchID) int
}

// Forms are closed forms beyond [Facts] that some families have, derived in the generator's
// documentation and held to what is measured by the conformance suite. 0 means that there is none.
type Forms struct {
	// Degree is the least and the largest number of ports to other switches, of all switches.
	Degree [2]int
	// MeanDistance is the mean switch-switch cables of shortest paths between different switches
	// with terminals.
	MeanDistance float64
	// UniformCapacity is the most that all terminals can send at once, in flits a cycle and
	// terminal, if destinations are drawn evenly from all terminals, the sender among them, paths
	// are shortest and spread perfectly, and a channel carries a flit a cycle. Families that have
	// it know of a narrower place than the sum of all channels (metrics.Metrics.UniformCapacity).
	UniformCapacity float64
	// BisectionAtLeast bounds the number of cables between two halves of the switches from below.
	BisectionAtLeast float64
}

// Formed is the capability of families with closed forms beyond their facts.
type Formed interface {
	Topology
	Forms() Forms
}

// Register adds a family to the registry. Its settings are checked before it is built.
func Register[C any, T Topology](name, doc string, defaults C, build func(C) T) {
	param.Register(Registry, name, doc, defaults, func(c C, _ struct{}) (Topology, error) { return build(c), nil })
}

// RegisterFile registers a topology that is read from a file; path is the setting "path" that names
// the file.
func RegisterFile[C any](name, doc string, defaults C, limit int64, path func(c C) string, read func(c C, data []byte) (Topology, error)) {
	param.Register(Registry, name, doc, defaults, func(c C, _ struct{}) (Topology, error) {
		data, err := input.ReadInput(path(c), limit)
		if err != nil {
			return nil, &param.ParamError{Key: "path", Value: path(c), Want: "a readable file: " + err.Error()}
		}
		return read(c, data)
	})
}

// CheckPath refuses an empty path.
func CheckPath(path, what string) error {
	if path == "" {
		return &param.ParamError{Key: "path", Value: `""`, Want: "the path of " + what}
	}
	return nil
}

// AsTopology keeps a nil pointer from becoming a Topology that is not nil.
func AsTopology[T Topology](x T, err error) (Topology, error) {
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Built is embedded by families: the graph and the closed forms, both made once by the generator.
type Built struct {
	graph *Graph
	facts Facts
	forms Forms
}

// NewBuilt is what a generator has made.
func NewBuilt(graph *Graph, facts Facts, forms Forms) Built { return Built{graph, facts, forms} }

// Graph implements [Topology].
func (x *Built) Graph() *Graph { return x.graph }

// Facts implements [Topology].
func (x *Built) Facts() Facts { return x.facts }

// Forms implements [Formed].
func (x *Built) Forms() Forms { return x.forms }

// MaxPorts bounds a network's switch ports: port numbers are int32, and no machine would hold more.
const MaxPorts = 1 << 28

// portBytes is what a port of a [Graph] takes at least.
const portBytes = 16

// CheckPorts refuses a setting that makes a network of more than MaxPorts switch ports, or of more
// than there is memory for. Callers keep the product from overflowing by bounds on its factors.
func CheckPorts(key string, value any, ports int) error {
	if ports <= MaxPorts {
		return input.CheckMemory(key, value, "so many switch ports", portBytes*float64(ports))
	}
	return &param.ParamError{Key: key, Value: value,
		Want: fmt.Sprintf("a network of at most %d switch ports; with the other settings this makes %d", MaxPorts, ports)}
}

// SingleSwitchConfig configures the topology "single-switch"; see [SingleSwitch].
type SingleSwitchConfig struct {
	Terminals int `toml:"terminals" doc:"terminals on the switch" min:"1" max:"65536"`
}

func init() {
	Register("single-switch", "one switch with all terminals on it", SingleSwitchConfig{Terminals: 8}, newSingleSwitch)
}

// SingleSwitch is one switch; port i leads to terminal i. Class "terminal".
//
//	s0
//	││││
//	0123
//
// Closed forms: no links, diameter 0, no bisection, as no cables between switches part the
// terminals.
type SingleSwitch struct{ Built }

func newSingleSwitch(c SingleSwitchConfig) *SingleSwitch {
	b := WithTerminals(1, c.Terminals, Classes()...)
	return &SingleSwitch{Built{graph: b.Freeze(), facts: Facts{Switches: 1, Terminals: c.Terminals, Bisection: -1}}}
}
