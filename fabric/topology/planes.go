package topology

import (
	"fmt"

	"github.com/weft-sim/weft/sim/param"
)

// PlanesConfig configures the topology "multi-plane"; see [MultiPlane].
type PlanesConfig struct {
	Planes    int   `toml:"planes" doc:"networks side by side; a node has a cable to each" min:"1" max:"64"`
	Terminals int   `toml:"terminals" doc:"terminals of a node; 0: as many as planes" min:"0" max:"4096"`
	M         []int `toml:"m" doc:"of a plane, children of a switch at each level, leaves first; m[0] counts nodes" min:"1" max:"65536"`
	W         []int `toml:"w" doc:"of a plane, parents of a child at each level; w[0] = 1" min:"1" max:"65536"`
	Parallel  []int `toml:"parallel" doc:"of a plane, cables between a child and each of its parents at each level; empty: 1 everywhere" min:"1" max:"65536"`
}

func init() {
	param.Register(Registry, "multi-plane", "nodes with an adapter on each of several planes, each plane a fat tree of its own",
		PlanesConfig{Planes: 2, M: []int{4, 4}, W: []int{1, 2}},
		func(c PlanesConfig, _ struct{}) (Topology, error) { return newPlanes(c), nil })
}

// Validate checks what the tags cannot.
func (c *PlanesConfig) Validate() error {
	plane := XGFTConfig{c.M, c.W, c.Parallel}
	if err := plane.Validate(); err != nil {
		return err
	}
	tree := c.xgft()
	if tree.Validate() != nil { // its only possible problem: too large, or 17 levels
		return &param.ParamError{Key: "planes", Value: c.Planes, Want: fmt.Sprintf("a network of at most %d switch ports and 16 levels, nodes among them", maxPorts)}
	}
	return nil
}

// xgft is the tree with the nodes as its lowest switches.
func (c *PlanesConfig) xgft() XGFTConfig {
	x := XGFTConfig{M: append([]int{c.terminals()}, c.M...), W: append([]int{1, c.Planes}, c.W[1:]...)}
	if len(c.Parallel) > 0 {
		x.Parallel = append([]int{1}, c.Parallel...)
	}
	return x
}

func (c *PlanesConfig) terminals() int {
	if c.Terminals > 0 {
		return c.Terminals
	}
	return c.Planes
}

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
	*XGFT
}

var _ Tree = (*MultiPlane)(nil)

func newPlanes(c PlanesConfig) *MultiPlane {
	c.Terminals = c.terminals()
	return &MultiPlane{c, newXGFT(c.xgft())}
}

// PlaneOf is the plane of a switch, or -1 of a node.
func (x *MultiPlane) PlaneOf(s SwitchID) int {
	level := x.LevelOf(s)
	if level == 0 {
		return -1
	}
	// The roots of a subtree count with their choice on the nodes' level first.
	roots := 1
	for _, w := range x.XGFT.W[:level+1] {
		roots *= w
	}
	return int(s-x.levels[level].first) % roots / (roots / x.Planes)
}
