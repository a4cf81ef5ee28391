package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// dimensionWalk leads packets in dimension order between any two switches of a grid or
// a HyperX.
type dimensionWalk interface {
	// next moves a packet towards switch target. fresh says that it starts a new
	// journey even if it came along the dimension that it goes on in. class is the VC
	// class within the journey; ok is false at the target.
	next(h *fabric.Head, target topology.SwitchID, fresh bool, random *sim.Stream) (port topology.PortID, class int, ok bool)
	// explore lists what next could do, with probabilities that add up to 1; it
	// returns false at the target.
	explore(h fabric.Head, target topology.SwitchID, fresh bool, yield func(port topology.PortID, class int, state uint32, weight float64)) bool
	// classes is the number of VC classes of a journey.
	classes() int
	// apart is the number of hops between two switches.
	apart(s, t topology.SwitchID) int
	// homes is the switch of each terminal.
	homes() []topology.SwitchID
	Graph() *topology.Graph
	// axes and came are for [Staged] routings.
	axes() *axes
	came(in topology.PortID) uint8
	UnusedSettings() []string
}

// newDimensionWalk is the walk of routing name on the topology of env, which is a grid
// or a HyperX; rule is that of rings.
func newDimensionWalk(name string, env Env, rule string) (dimensionWalk, error) {
	if _, ok := env.Topology.(topology.Hamming); ok {
		return newHammingWalk(name, env)
	}
	return newGridWalk(name, env, rule)
}

// reversed is env with the dimensions of its topology in the opposite order.
func reversed(env Env) Env {
	switch x := env.Topology.(type) {
	case topology.Hamming:
		env.Topology = reversedHamming{x, backwards(x.Dims())}
	case topology.Grid:
		env.Topology = reversedGrid{x, backwards(x.Dims())}
	}
	return env
}

func backwards(dims []int) []int {
	other := make([]int, len(dims))
	for d, size := range dims {
		other[len(dims)-1-d] = size
	}
	return other
}

type reversedGrid struct {
	topology.Grid
	dims []int
}

func (x reversedGrid) Dims() []int      { return x.dims }
func (x reversedGrid) Wraps(d int) bool { return x.Grid.Wraps(len(x.dims) - 1 - d) }
func (x reversedGrid) Coordinate(s topology.SwitchID, d int) int {
	return x.Grid.Coordinate(s, len(x.dims)-1-d)
}
func (x reversedGrid) Towards(s topology.SwitchID, d int, up bool) topology.PortID {
	return x.Grid.Towards(s, len(x.dims)-1-d, up)
}

type reversedHamming struct {
	topology.Hamming
	dims []int
}

func (x reversedHamming) Dims() []int { return x.dims }
func (x reversedHamming) Coordinate(s topology.SwitchID, d int) int {
	return x.Hamming.Coordinate(s, len(x.dims)-1-d)
}
func (x reversedHamming) To(s topology.SwitchID, d, to int) (topology.PortID, int) {
	return x.Hamming.To(s, len(x.dims)-1-d, to)
}
