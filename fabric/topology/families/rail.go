package families

import (
	"cmp"
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// RailConfig configures the topology "rail-optimised"; see [RailOptimised].
type RailConfig struct {
	Rails        int `toml:"rails" doc:"adapters of a node, each on a rail of its own" min:"1" max:"64"`
	Nodes        int `toml:"nodes" doc:"nodes of a scalable unit; a leaf serves one rail of a unit" min:"1" max:"4096"`
	Units        int `toml:"units" doc:"scalable units" min:"1" max:"65536"`
	Uplinks      int `toml:"uplinks" doc:"cables of a leaf to spines" min:"1" max:"4096"`
	Spines       int `toml:"spines" doc:"spines that a leaf is joined to: all of them without cores, those of its rail and group with cores" min:"1" max:"4096"`
	Cores        int `toml:"cores" doc:"core switches over the spines; 0: two levels" min:"0" max:"65536"`
	SpineUplinks int `toml:"spine_uplinks" doc:"cables of a spine to cores" min:"0" max:"4096"`
	Groups       int `toml:"groups" doc:"with cores: equal groups that the units of a rail stand in, each with spines of its own" min:"1" max:"65536"`
}

func init() {
	topology.Register("rail-optimised", "cluster of nodes with several adapters, of which each rail has leaves of its own",
		RailConfig{Rails: 4, Nodes: 4, Units: 2, Uplinks: 4, Spines: 2, Groups: 1}, newRail)
	topology.Register("multi-plane", "nodes with an adapter on each of several planes, each plane a fat tree of its own",
		PlanesConfig{Planes: 2, M: []int{4, 4}, W: []int{1, 2}}, func(c PlanesConfig) *MultiPlane {
			c.Terminals = c.terminals()
			return &MultiPlane{c, topology.NewXGFT(c.xgft())}
		})
}

func (c *RailConfig) Validate() error {
	switch {
	case c.Uplinks%c.Spines != 0:
		return &param.ParamError{Key: "uplinks", Value: c.Uplinks, Want: fmt.Sprintf("a multiple of spines = %d", c.Spines)}
	case c.Cores%c.Spines != 0:
		return &param.ParamError{Key: "cores", Value: c.Cores, Want: fmt.Sprintf("0 or a multiple of spines = %d", c.Spines)}
	case c.Cores == 0 && c.SpineUplinks != 0:
		return &param.ParamError{Key: "spine_uplinks", Value: c.SpineUplinks, Want: "0 without cores"}
	case c.Cores > 0 && (c.SpineUplinks == 0 || c.SpineUplinks%(c.Cores/c.Spines) != 0):
		return &param.ParamError{Key: "spine_uplinks", Value: c.SpineUplinks, Want: fmt.Sprintf("a multiple of cores/spines = %d", c.Cores/c.Spines)}
	case c.Cores == 0 && c.Groups > 1:
		return &param.ParamError{Key: "groups", Value: c.Groups, Want: "1 without cores"}
	case c.Units%c.Groups != 0:
		return &param.ParamError{Key: "groups", Value: c.Groups, Want: fmt.Sprintf("a divisor of units = %d", c.Units)}
	}
	tree := c.xgft()
	if tree.Validate() != nil { // its only possible problem: too large
		return &param.ParamError{Key: "units", Value: c.Units, Want: fmt.Sprintf("a network of at most %d switch ports", topology.MaxPorts)}
	}
	return nil
}

// xgft is the tree: leaves of all rails of all units under common spines, or the units
// of a group of a rail under its spines, and the groups of all rails under the cores.
func (c *RailConfig) xgft() topology.XGFTConfig {
	if c.Cores == 0 {
		return topology.XGFTConfig{M: []int{c.Nodes, c.Units * c.Rails}, W: []int{1, c.Spines}, Parallel: []int{1, c.Uplinks / c.Spines}}
	}
	over := c.Cores / c.Spines
	return topology.XGFTConfig{M: []int{c.Nodes, c.Units / c.Groups, c.Groups * c.Rails}, W: []int{1, c.Spines, over}, Parallel: []int{1, c.Uplinks / c.Spines, c.SpineUplinks / over}}
}

// RailOptimised is a cluster of nodes with several adapters (NVIDIA, DGX SuperPOD reference
// architectures, 2023 to 2025, chapter on the compute fabric): adapter r of each node is
// on rail r, and a leaf serves one rail of one scalable unit, so that the nodes of a unit meet
// on a leaf if they use the same rail. The leaves of all rails have common spines, or the
// spines of each rail common cores; either is a fat tree. A rail of more units than a spine
// has ports for has several groups of units, each with spines of its own.
//
//	      spine 0        spine 1            rails = 2, nodes = 3, units = 2,
//	      │ │  ╲╲        ╱╱  │ │            uplinks = 2, spines = 2
//	leaf 0/0  leaf 0/1  leaf 1/0  leaf 1/1     leaf unit/rail
//	 │ │ │     │ │ │     ...
//	 a b c     a b c                        nodes a, b, c of unit 0, each with two
//	                                        terminals
//
// Terminals are adapters: the adapter of rail r of node i has number i*rails + r, nodes numbered
// unit by unit. The links between the accelerators of a node are not part of the network: a
// node has no switch of its own, and a packet from one rail to another climbs to the spines.
// (Where hosts forward between rails they take every packet, and chains of dependencies end
// there: experiments with such hosts send two messages.) Switches are numbered level by level:
// leaves by unit, then rail (by rail, then unit with cores); spines by rail with cores. Ports
// and channel classes are as in [XGFT].
//
// The published clusters: 8 rails, 32 nodes a unit, switches of 64 ports: uplinks = 32,
// spines = 8 for 2 units and 16 for 4; with 16 units 16 spines a rail, cores = 64,
// spine_uplinks = 32. 64 units need 64 spines a rail and a leaf has 32 uplinks: groups = 2 of
// 32 units and 32 spines, cores = 256. Which spine is cabled to which core is not published;
// here each meets cores/spines of them.
//
// # Closed forms
//
// Those of [XGFT]: units*rails leaves; spines, or rails*groups*spines; units*nodes*rails
// terminals. Switches on a path: one on the same rail of a unit, three across units or
// rails without cores; with cores three on the same rail of a group, else five.
type RailOptimised struct {
	RailConfig
	*topology.XGFT
}

var _ topology.Tree = (*RailOptimised)(nil)

func newRail(c RailConfig) *RailOptimised {
	x := &RailOptimised{c, topology.NewXGFT(c.xgft())}
	g := x.Graph()
	ports := lists.Make(g.Terminals(), func(t int) topology.PortID { return g.TerminalPort[x.place(topology.TerminalID(t))] })
	for t, p := range ports {
		g.TerminalPort[t], g.Peer[p] = p, ^int32(t)
	}
	return x
}

// place is the number that the terminal has in the tree, counted leaf by leaf.
func (x *RailOptimised) place(t topology.TerminalID) topology.TerminalID {
	node, rail := int(t)/x.Rails, int(t)%x.Rails
	unit, slot := node/x.Nodes, node%x.Nodes
	leaf := unit*x.Rails + rail
	if x.Cores > 0 {
		leaf = rail*x.Units + unit
	}
	return topology.TerminalID(leaf*x.Nodes + slot)
}

// DownTo implements [Tree].
func (x *RailOptimised) DownTo(s topology.SwitchID, t topology.TerminalID) (first topology.PortID, count int) {
	return x.XGFT.DownTo(s, x.place(t))
}

// NodeOf is the node of a terminal.
func (x *RailOptimised) NodeOf(t topology.TerminalID) int { return int(t) / x.Rails }

// RailOf is the rail of a terminal.
func (x *RailOptimised) RailOf(t topology.TerminalID) int { return int(t) % x.Rails }

// PlanesConfig configures the topology "multi-plane"; see [MultiPlane].
type PlanesConfig struct {
	Planes    int   `toml:"planes" doc:"networks side by side; a node has a cable to each" min:"1" max:"64"`
	Terminals int   `toml:"terminals" doc:"terminals of a node; 0: as many as planes" min:"0" max:"4096"`
	M         []int `toml:"m" doc:"of a plane, children of a switch at each level, leaves first; m[0] counts nodes" min:"1" max:"65536"`
	W         []int `toml:"w" doc:"of a plane, parents of a child at each level; w[0] = 1" min:"1" max:"65536"`
	Parallel  []int `toml:"parallel" doc:"of a plane, cables between a child and each of its parents at each level; empty: 1 everywhere" min:"1" max:"65536"`
}

func (c *PlanesConfig) Validate() error {
	plane := topology.XGFTConfig{M: c.M, W: c.W, Parallel: c.Parallel}
	if err := plane.Validate(); err != nil {
		return err
	}
	tree := c.xgft()
	if tree.Validate() != nil { // its only possible problem: too large, or 17 levels
		return &param.ParamError{Key: "planes", Value: c.Planes, Want: fmt.Sprintf("a network of at most %d switch ports and 16 levels, nodes among them", topology.MaxPorts)}
	}
	return nil
}

// xgft is the tree with the nodes as its lowest switches.
func (c *PlanesConfig) xgft() topology.XGFTConfig {
	x := topology.XGFTConfig{M: append([]int{c.terminals()}, c.M...), W: append([]int{1, c.Planes}, c.W[1:]...)}
	if len(c.Parallel) > 0 {
		x.Parallel = append([]int{1}, c.Parallel...)
	}
	return x
}

func (c *PlanesConfig) terminals() int { return cmp.Or(c.Terminals, c.Planes) }

// MultiPlane is a cluster of nodes with several adapter ports, each on a plane of its
// own; the planes are equal extended generalized fat trees (see [XGFT]) that share no
// switch. Large clusters are built so for reach and for what is left when a plane fails:
// (planes-1)/planes of the capacity, if packets are spread evenly.
//
//	plane 0: spine  spine      plane 1: spine  spine
//	           │ ╲ ╱ │                     │ ╲ ╱ │
//	          leaf  leaf                  leaf  leaf
//	           ││    ││                    ││    ││
//	           ab    cd                    ab    cd      nodes a, b, c, d
//
// A terminal of a [Graph] has one cable, so a node is a switch: `terminals` terminals, which
// share its adapters, and a cable to a leaf of each plane. It forwards nothing: as planes are
// cabled alike, no shortest path leads through one. With as many terminals as planes a node
// can send as much as its cables carry. The whole is the XGFT with the nodes as its lowest
// level of switches, `planes` parents each: a [Tree], on which the choice of the way up
// chooses the plane. Switches are numbered nodes first, then level by level, in each level
// as in [XGFT]; the cables of nodes have class "level1".
//
// # Closed forms
//
// Those of [XGFT].
type MultiPlane struct {
	PlanesConfig
	*topology.XGFT
}

var _ topology.Tree = (*MultiPlane)(nil)
