package routing

import (
	"fmt"
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// hammingWalk is a HyperX for routing: coordinates, and the cables from each switch
// to each coordinate of each dimension. As a dimensionWalk it leads packets in
// dimension order, one hop a dimension, by one of parallel cables at random. Memory: 8
// bytes a (switch, coordinate), 12 a (switch, dimension) and 8 a switch.
type hammingWalk struct {
	coordinates
	first  []int32 // len = dimensions: place of coordinate 0 in a row of trunks
	width  int     // length of a row
	trunks []trunk // len = switches*width
	rows   []trunk // len = switches*dimensions: all cables along a dimension
	along  []uint8 // len = ports: dimension of the cable, noDimension for terminals

	// All coordinates of a switch in a word, a field for each dimension with a bit to
	// spare, so that those of two switches are compared at once.
	packed    []uint64  // len = switches
	filled    uint64    // all bits of the fields but the spare ones
	spare     uint64    // the spare bits
	dimension [64]uint8 // of a spare bit
	member    []uint64  // len = dimensions: the spare bit
}

// trunk is the cables from a switch to another: consecutive ports. count is 0 for the
// switch itself.
type trunk struct {
	port  topology.PortID
	count int32
}

// each visits the ports of a trunk but for those of another.
func (t trunk) each(but trunk, visit func(p topology.PortID)) {
	for p := t.port; p < t.port+topology.PortID(t.count); p++ {
		if p < but.port || p >= but.port+topology.PortID(but.count) {
			visit(p)
		}
	}
}

func newHammingWalk(name string, env Env) (*hammingWalk, error) {
	x := env.Topology.(topology.Hamming)
	g, dims := x.Graph(), x.Dims()
	if len(dims) > maxHammingDims {
		return nil, fmt.Errorf("routing %q handles at most %d dimensions; this topology has %d", name, maxHammingDims, len(dims))
	}
	w := &hammingWalk{coordinates: coordinates{graph: g, home: homes(g)}, along: make([]uint8, g.NumPorts())}
	for p := range w.along {
		w.along[p] = noDimension
	}
	var shift []int // of the fields: as there are 2^31 switches at most, all have room
	next := 0
	for d, size := range dims {
		w.first = append(w.first, int32(w.width))
		w.sizes = append(w.sizes, int32(size))
		w.width += size
		field := bits.Len(uint(size - 1))
		shift = append(shift, next)
		w.filled |= (1<<field - 1) << next
		next += field
		w.spare |= 1 << next
		w.dimension[next] = uint8(d)
		w.member = append(w.member, 1<<next)
		next++
	}
	for i := range g.Switches() {
		s := topology.SwitchID(i)
		packed := uint64(0)
		for d, size := range dims {
			w.at = append(w.at, int32(x.Coordinate(s, d)))
			row := trunk{topology.NoPort, 0}
			for to := range size {
				port, count := x.To(s, d, to)
				w.trunks = append(w.trunks, trunk{port, int32(count)})
				switch {
				case row.count == 0:
					row.port = port
				case count > 0 && port != row.port+topology.PortID(row.count):
					panic("routing: the ports along a dimension are not in a row")
				}
				row.count += int32(count)
				for p := port; p < port+topology.PortID(count); p++ {
					w.along[p] = uint8(d)
				}
			}
			w.rows = append(w.rows, row)
			packed |= uint64(x.Coordinate(s, d)) << shift[d]
		}
		w.packed = append(w.packed, packed)
	}
	return w, nil
}

// maxHammingDims bounds what packets remember of dimensions.
const maxHammingDims = 16

// trunk is the cables of switch s to coordinate to of dimension d.
func (w *hammingWalk) trunk(s topology.SwitchID, d int, to int32) trunk {
	return w.trunks[int(s)*w.width+int(w.first[d]+to)]
}

// row is all cables of switch s along dimension d, by coordinate.
func (w *hammingWalk) row(s topology.SwitchID, d int) trunk { return w.rows[int(s)*len(w.sizes)+d] }

// openTo is the dimensions in which two switches differ, as a set: the lowest bit is of the
// lowest, and dimension tells which.
func (w *hammingWalk) openTo(s, t topology.SwitchID) uint64 {
	return ((w.packed[s] ^ w.packed[t]) + w.filled) & w.spare
}

// apart is the number of dimensions in which two switches differ.
func (w *hammingWalk) apart(s, t topology.SwitchID) int { return bits.OnesCount64(w.openTo(s, t)) }

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

// classVCs implements [dimensionWalk].
func (w *hammingWalk) classVCs(_ topology.PortID, _, vcs int) uint32 { return allVCs(vcs) }

// UnusedSettings implements [param.Skipper]: there are no rings.
func (w *hammingWalk) UnusedSettings() []string { return nil }
