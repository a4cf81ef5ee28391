package mpi

import (
	"fmt"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// The placements of ranks on nodes.
const (
	Block    = "block"    // ranks 0..p-1 on node 0, the next p on node 1, ...
	Cyclic   = "cyclic"   // rank r on node r mod nodes
	Random   = "random"   // blocks on a random permutation of the ranks
	Explicit = "explicit" // as listed
)

// Placement puts ranks on nodes, PerNode on each.
type Placement struct {
	Type    string `toml:"type" doc:"how ranks are put on nodes" choices:"block|cyclic|random|explicit"`
	PerNode int    `toml:"per_node" doc:"ranks on a node" unit:"ranks" min:"1"`
	Nodes   []int  `toml:"nodes" doc:"explicit: the node of each rank" min:"0"`
}

// Place returns the node of each rank and the number of nodes.
func (p Placement) Place(ranks int, seed uint64) (nodeOf []int32, nodes int, err error) {
	nodeOf = make([]int32, ranks)
	if p.Type == Explicit {
		if len(p.Nodes) != ranks {
			return nil, 0, &param.ParamError{Key: "nodes", Value: fmt.Sprintf("%d entries", len(p.Nodes)), Want: fmt.Sprintf("one for each of %d ranks", ranks)}
		}
		for r, n := range p.Nodes {
			if n < 0 || n > 1<<24 {
				return nil, 0, &param.ParamError{Key: fmt.Sprintf("nodes[%d]", r), Value: n, Want: "0 to 16777216"}
			}
			nodeOf[r] = int32(n)
			nodes = max(nodes, n+1)
		}
		return nodeOf, nodes, nil
	}
	if p.PerNode < 1 {
		return nil, 0, &param.ParamError{Key: "per_node", Value: p.PerNode, Want: "at least 1"}
	}
	nodes = ceilDiv(ranks, p.PerNode)
	for r := range nodeOf {
		switch p.Type {
		case Block, Random:
			nodeOf[r] = int32(r / p.PerNode)
		case Cyclic:
			nodeOf[r] = int32(r % nodes)
		default:
			return nil, 0, &param.ParamError{Key: "type", Value: p.Type, Want: "block, cyclic, random or explicit"}
		}
	}
	if p.Type == Random {
		s := sim.NewStream(seed, "mpi.placement", 0)
		sim.Shuffle(&s, nodeOf)
	}
	return nodeOf, nodes, nil
}
