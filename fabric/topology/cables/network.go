// Package cables reads networks from lists of their cables, as BookSim2, Cray's tools, networkx and Slurm have
// them.
package cables

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// located is something that stands in a line of a file.
type located[E any] struct {
	line  int
	value E
}

// network is what a file says of a network beside its cables.
type network struct {
	classes []topology.Class
	names   *topology.Names // nil: none
	lines   []int           // of the switches
	doubts  []string
}

// finish is the network that has been built, if nothing was wrong with its file and all of it is connected.
func finish(p *input.Problems, b *topology.Builder, n network) (topology.Topology, error) {
	if p.Any() {
		return nil, p.Err()
	}
	g := b.Freeze()
	g.Classes = n.classes
	if g.Switches() == 0 || g.Terminals() == 0 {
		p.ProblemAt(1, "%d switches and %d terminals: want at least one of each", g.Switches(), g.Terminals())
	} else if lost, err := g.CheckReach(); err != nil {
		p.ProblemAt(n.lines[lost], "%v", err)
	}
	if p.Any() {
		return nil, p.Err()
	}
	if n.names != nil {
		g.SetNames(n.names)
	}
	return topology.NewFileNetwork(g, n.doubts...), nil
}
