package routing

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// hammingWalk is a HyperX for routing: coordinates, and the cables from each switch
// to each coordinate of each dimension. As a dimensionWalk it leads packets in
// dimension order, one hop a dimension, by one of parallel cables at random. Memory: 8
// bytes a (switch, coordinate) and 4 a (switch, dimension).
type hammingWalk struct {
	graph  *topology.Graph
	sizes  []int32             // len = dimensions
	first  []int32             // len = dimensions: place of coordinate 0 in a row of trunks
	width  int                 // length of a row
	home   []topology.SwitchID // len = terminals
	at     []int32             // len = switches*dimensions: coordinates
	trunks []trunk             // len = switches*width
	along  []uint8             // len = ports: dimension of the cable, noDimension for terminals
}

// trunk is the cables from a switch to another: consecutive ports. count is 0 for the
// switch itself.
type trunk struct {
	port  topology.PortID
	count int32
}

func newHammingWalk(name string, env Env) (*hammingWalk, error) {
	x := env.Topology.(topology.Hamming)
	g, dims := x.Graph(), x.Dims()
	if len(dims) > maxHammingDims {
		return nil, fmt.Errorf("routing %q handles at most %d dimensions; this topology has %d", name, maxHammingDims, len(dims))
	}
	w := &hammingWalk{graph: g, home: homes(g), along: make([]uint8, g.NumPorts())}
	for p := range w.along {
		w.along[p] = noDimension
	}
	for _, size := range dims {
		w.first = append(w.first, int32(w.width))
		w.sizes = append(w.sizes, int32(size))
		w.width += size
	}
	for i := range g.Switches() {
		s := topology.SwitchID(i)
		for d, size := range dims {
			w.at = append(w.at, int32(x.Coordinate(s, d)))
			for to := range size {
				port, count := x.To(s, d, to)
				w.trunks = append(w.trunks, trunk{port, int32(count)})
				for p := port; p < port+topology.PortID(count); p++ {
					w.along[p] = uint8(d)
				}
			}
		}
	}
	return w, nil
}

// maxHammingDims bounds what packets remember of dimensions.
const maxHammingDims = 16

// Graph implements [fabric.GraphRouting].
func (w *hammingWalk) Graph() *topology.Graph { return w.graph }

// place lists the coordinates of a switch.
func (w *hammingWalk) place(s topology.SwitchID) []int32 {
	n := len(w.sizes)
	return w.at[int(s)*n : int(s)*n+n]
}

// trunk is the cables of switch s to coordinate to of dimension d.
func (w *hammingWalk) trunk(s topology.SwitchID, d int, to int32) trunk {
	return w.trunks[int(s)*w.width+int(w.first[d]+to)]
}

// trunksAlong lists the cables of switch s along dimension d, by coordinate.
func (w *hammingWalk) trunksAlong(s topology.SwitchID, d int) []trunk {
	first := int(s)*w.width + int(w.first[d])
	return w.trunks[first : first+int(w.sizes[d])]
}

// apart is the number of dimensions in which two switches differ.
func (w *hammingWalk) apart(s, t topology.SwitchID) int {
	n := 0
	there := w.place(t)
	for d, at := range w.place(s) {
		if at != there[d] {
			n++
		}
	}
	return n
}

// turn is the cables that a packet at switch s takes towards another; ok is false if
// that is s.
func (w *hammingWalk) turn(s, target topology.SwitchID) (t trunk, ok bool) {
	there := w.place(target)
	for d, at := range w.place(s) {
		if at != there[d] {
			return w.trunk(s, d, there[d]), true
		}
	}
	return trunk{}, false
}

// next implements [dimensionWalk].
func (w *hammingWalk) next(h *fabric.Head, target topology.SwitchID, _ bool, random *sim.Stream) (port topology.PortID, class int, ok bool) {
	t, ok := w.turn(h.Switch, target)
	if !ok {
		return topology.NoPort, 0, false
	}
	if t.count > 1 {
		t.port += topology.PortID(random.IntN(int(t.count)))
	}
	return t.port, 0, true
}

// explore implements [dimensionWalk].
func (w *hammingWalk) explore(h fabric.Head, target topology.SwitchID, _ bool, yield func(port topology.PortID, class int, state uint32, weight float64)) bool {
	t, ok := w.turn(h.Switch, target)
	for i := range t.count {
		yield(t.port+topology.PortID(i), 0, h.State, 1/float64(t.count))
	}
	return ok
}

// classes implements [dimensionWalk].
func (w *hammingWalk) classes() int { return 1 }

// homes implements [dimensionWalk].
func (w *hammingWalk) homes() []topology.SwitchID { return w.home }

// UnusedSettings implements [param.Skipper]: there are no rings.
func (w *hammingWalk) UnusedSettings() []string { return nil }
