package routing

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Rules by which packets on a ring choose between its two VC classes.
const (
	ruleDateline    = "dateline"
	ruleCoordinates = "by-coordinates"
	ruleNone        = "none"
)

// Layout of Head.State for the routings on grids.
const (
	gridVia     uint32 = 1<<16 - 1 // intermediate switch of a Valiant path
	ringDown    uint32 = 1 << 16   // the packet goes to lower coordinates in its present dimension
	ringClass   uint32 = 1 << 17   // it is in the upper VC class of its ring
	secondPhase uint32 = 1 << 18   // it heads for its destination, not for the intermediate switch
	gridStarted uint32 = 1 << 19
)

// coordinates are the places of the switches of a grid or a HyperX.
type coordinates struct {
	graph *topology.Graph
	sizes []int32             // len = dimensions
	at    []int32             // len = switches*dimensions
	home  []topology.SwitchID // len = terminals
	along []uint8             // len = ports: dimension of the cable, noDimension for terminals
	wraps []bool              // len = dimensions; nil where cables join all to all
	rings int                 // VC classes that a journey needs: 2 if packets can follow each other round a ring, else 1

	descending bool // packets take the highest dimension first, not the lowest
}

const noDimension = 255

func newCoordinates(g *topology.Graph) coordinates {
	return coordinates{graph: g, home: homes(g), along: slices.Repeat([]uint8{noDimension}, g.NumPorts()), rings: 1}
}

func (x *coordinates) Graph() *topology.Graph { return x.graph }

// classVCs is the set of virtual channels for a class of the channel at port, on journeys that
// follow no other: all where the channel's dimension is no ring.
func (x *coordinates) classVCs(port topology.PortID, class, vcs int) uint32 {
	if x.rings == 1 || !x.wraps[x.along[port]] {
		return allVCs(vcs)
	}
	return ClassVCs(class, 2, vcs)
}

func (x *coordinates) place(s topology.SwitchID) []int32 {
	n := len(x.sizes)
	return x.at[int(s)*n : int(s)*n+n]
}

// turn is the first dimension in which a packet at s has still to go to target; not ok if none.
func (x *coordinates) turn(s, target topology.SwitchID) (d int, here, there int32, ok bool) {
	from, to := x.place(s), x.place(target)
	for d := range from {
		if x.descending {
			d = len(from) - 1 - d
		}
		if from[d] != to[d] {
			return d, from[d], to[d], true
		}
	}
	return 0, 0, 0, false
}

// gridWalk leads packets in dimension order, the lowest first, the short way round in rings, and
// either way with equal probability where both are as short. Memory: 4 bytes a (switch, dimension),
// 9 a port.
type gridWalk struct {
	coordinates
	towards []topology.PortID // len = switches*dimensions*2: port up, port down
	rule    string
	flat    bool // no dimension wraps around
}

// newGridWalk makes the walk of routing name with a rule for virtual channels on rings. Error: env
// has no grid.
func newGridWalk(name string, env Env, rule string) (*gridWalk, error) {
	grid, ok := env.Topology.(topology.Grid)
	if !ok {
		return nil, env.Lacks(name, []string{Coordinates.What})
	}
	g, dims := grid.Graph(), grid.Dims()
	if len(dims) >= noDimension {
		return nil, fmt.Errorf("routing %q handles fewer than %d dimensions; this topology has %d", name, noDimension, len(dims))
	}
	w := &gridWalk{coordinates: newCoordinates(g), rule: rule}
	for d, size := range dims {
		w.sizes = append(w.sizes, int32(size))
		w.wraps = append(w.wraps, grid.Wraps(d))
		if grid.Wraps(d) && (size > 3 || rule == ruleCoordinates) && rule != ruleNone {
			w.rings = 2
		}
	}
	for i := range g.Switches() {
		s := topology.SwitchID(i)
		for d := range dims {
			up, down := grid.Towards(s, d, true), grid.Towards(s, d, false)
			w.at = append(w.at, int32(grid.Coordinate(s, d)))
			w.towards = append(w.towards, up, down)
			for _, p := range [2]topology.PortID{up, down} {
				if p != topology.NoPort {
					w.along[p] = uint8(d)
				}
			}
		}
	}
	w.flat = !slices.Contains(w.wraps, true)
	return w, nil
}

// UnusedSettings implements [param.Skipper]: without a ring there is no rule for rings.
func (w *gridWalk) UnusedSettings() []string {
	if !w.flat {
		return nil
	}
	return []string{"vc_rule"}
}

// tie tells whether both ways from here to there in dimension d are as short.
func (w *gridWalk) tie(d int, here, there int32) bool {
	return w.wraps[d] && 2*max(here-there, there-here) == w.sizes[d]
}

// enter sets the state of a packet that turns into dimension d; down breaks ties of two ways.
func (w *gridWalk) enter(state uint32, d int, here, there int32, down bool) uint32 {
	state &^= ringDown | ringClass
	if !w.wraps[d] {
		if there < here {
			state |= ringDown
		}
		return state
	}
	ahead := there - here
	if ahead < 0 {
		ahead += w.sizes[d]
	}
	if behind := w.sizes[d] - ahead; ahead < behind || ahead == behind && !down {
		if w.rule == ruleCoordinates && here > there {
			state |= ringClass
		}
		return state
	}
	if w.rule == ruleCoordinates && there < here {
		state |= ringClass
	}
	return state | ringDown
}

// advance moves a packet one switch along dimension d, and returns its port and VC class there.
func (w *gridWalk) advance(h *fabric.Head, d int, here int32) (topology.PortID, int) {
	port := w.towards[(int(h.Switch)*len(w.sizes)+d)*2+int(h.State&ringDown/ringDown)]
	if !w.wraps[d] || w.rule == ruleNone {
		return port, 0
	}
	if w.rule == ruleDateline {
		last := w.sizes[d] - 1
		if h.State&ringDown != 0 {
			last = 0
		}
		if here == last { // the channel across the edge is the dateline
			h.State |= ringClass
		}
	}
	return port, int(h.State & ringClass / ringClass)
}

// entering tells whether a packet that has to go in dimension d has come from another one.
func (w *gridWalk) entering(h *fabric.Head, d int) bool { return int(w.along[h.In]) != d }

func (w *gridWalk) next(h *fabric.Head, target topology.SwitchID, fresh bool, random *sim.Stream) (port topology.PortID, class int, ok bool) {
	d, here, there, ok := w.turn(h.Switch, target)
	if !ok {
		return topology.NoPort, 0, false
	}
	if fresh || w.entering(h, d) {
		down := w.tie(d, here, there) && random.Uint64()>>63 != 0
		h.State = w.enter(h.State, d, here, there, down)
	}
	port, class = w.advance(h, d, here)
	return port, class, true
}

// nextFlat is next on a flat grid, where the way does not depend on earlier hops.
func (w *gridWalk) nextFlat(h *fabric.Head, target topology.SwitchID) (port topology.PortID, ok bool) {
	n := len(w.sizes)
	from, to := w.at[int(h.Switch)*n:][:n], w.at[int(target)*n:][:n]
	for d, here := range from {
		if way := to[d] - here; way != 0 {
			down := uint32(way) >> 31
			h.State = h.State&^(ringDown|ringClass) | down*ringDown
			return w.towards[(int(h.Switch)*n+d)*2+int(down)], true
		}
	}
	return topology.NoPort, false
}

func (w *gridWalk) explore(h fabric.Head, target topology.SwitchID, fresh bool, yield func(port topology.PortID, class int, state uint32, weight float64)) bool {
	d, here, there, ok := w.turn(h.Switch, target)
	if !ok {
		return false
	}
	enters := fresh || w.entering(&h, d)
	ways := [2]bool{false, true}
	choices := ways[:1]
	if enters && w.tie(d, here, there) {
		choices = ways[:]
	}
	for _, down := range choices {
		head := h
		if enters {
			head.State = w.enter(h.State, d, here, there, down)
		}
		port, class := w.advance(&head, d, here)
		yield(port, class, head.State, 1/float64(len(choices)))
	}
	return true
}

func (w *gridWalk) downwards() dimensionWalk {
	other := *w
	other.descending = true
	return &other
}

func (w *gridWalk) apart(s, t topology.SwitchID) int {
	hops := 0
	from, to := w.place(s), w.place(t)
	for d := range from {
		steps := max(from[d]-to[d], to[d]-from[d])
		if w.wraps[d] {
			steps = min(steps, w.sizes[d]-steps)
		}
		hops += int(steps)
	}
	return hops
}

// dimensionWalk leads packets in dimension order between any two switches of a grid or a HyperX.
type dimensionWalk interface {
	// next moves a packet towards switch target. fresh starts a new journey, even if the packet
	// goes on in the dimension that it came along. class is the VC class within the journey; ok is
	// false at the target.
	next(h *fabric.Head, target topology.SwitchID, fresh bool, random *sim.Stream) (port topology.PortID, class int, ok bool)
	// explore lists what next could do, with probabilities that sum to 1; it is false at the
	// target.
	explore(h fabric.Head, target topology.SwitchID, fresh bool, yield func(port topology.PortID, class int, state uint32, weight float64)) bool
	// apart is the number of hops between two switches.
	apart(s, t topology.SwitchID) int
	// downwards is the walk that takes dimensions in the opposite order.
	downwards() dimensionWalk
	// came is for [Staged] routings.
	came(in topology.PortID) uint8
	UnusedSettings() []string
}

// inOrder is what routings in dimension order share. The two orders of a packet, or the two
// parts of its journey, have VC classes of their own.
type inOrder struct {
	plain
	dimensionWalk
	*coordinates // the walk's
}

// newInOrder is for routing name on a grid or a HyperX; rule is for virtual channels on rings.
func newInOrder(name string, env Env, rule string) (*inOrder, error) {
	if _, ok := env.Topology.(topology.Hamming); ok {
		walk, err := newHammingWalk(name, env)
		if err != nil {
			return nil, err
		}
		return &inOrder{dimensionWalk: walk, coordinates: &walk.coordinates}, nil
	}
	walk, err := newGridWalk(name, env, rule)
	if err != nil {
		return nil, err
	}
	return &inOrder{dimensionWalk: walk, coordinates: &walk.coordinates}, nil
}

func (r *inOrder) VCs() int { return 2 * r.rings }

// hop completes a step in part 0 or 1, or is the delivery at the end.
func (r *inOrder) hop(port topology.PortID, class int, ok bool, part int, dst topology.TerminalID, vcs int) fabric.Hop {
	if !ok {
		return fabric.Hop{Port: r.graph.TerminalPort[dst], VCs: allVCs(vcs)}
	}
	if r.rings == 1 {
		class = 0
	}
	return fabric.Hop{Port: port, VCs: ClassVCs(part*r.rings+class, 2*r.rings, vcs)}
}

// exploreWalk lists the hops of a walk to a target, with probabilities that add up to share.
func (r *inOrder) exploreWalk(walk dimensionWalk, vcs int, h fabric.Head, target topology.SwitchID, fresh bool, part int, share float64, yield func(fabric.Hop, uint32, float64)) {
	moved := walk.explore(h, target, fresh, func(port topology.PortID, class int, state uint32, weight float64) {
		yield(r.hop(port, class, true, part, h.Dst, vcs), state, weight*share)
	})
	if !moved {
		yield(r.hop(topology.NoPort, 0, false, part, h.Dst, vcs), h.State, share)
	}
}

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

	// All coordinates of a switch in a word, a field for each dimension with a bit to
	// spare, so that two switches are compared at once.
	packed    []uint64  // len = switches
	filled    uint64    // all bits of the fields but the spare ones
	spare     uint64    // the spare bits
	dimension [64]uint8 // of a spare bit
	member    []uint64  // len = dimensions: the spare bit
}

// trunk is the cables between two switches: consecutive ports; count is 0 for a switch and itself.
type trunk struct {
	port  topology.PortID
	count int32
}

// each visits the ports of a trunk that are not in another, but.
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
	w := &hammingWalk{coordinates: newCoordinates(g)}
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

func (w *hammingWalk) trunk(s topology.SwitchID, d int, to int32) trunk {
	return w.trunks[int(s)*w.width+int(w.first[d]+to)]
}

func (w *hammingWalk) row(s topology.SwitchID, d int) trunk { return w.rows[int(s)*len(w.sizes)+d] }

// openTo is the set of dimensions in which two switches differ, by bits; see dimension.
func (w *hammingWalk) openTo(s, t topology.SwitchID) uint64 {
	return ((w.packed[s] ^ w.packed[t]) + w.filled) & w.spare
}

func (w *hammingWalk) apart(s, t topology.SwitchID) int { return bits.OnesCount64(w.openTo(s, t)) }

// turn is the cables that a packet at s takes towards target; not ok if s is the target.
func (w *hammingWalk) turn(s, target topology.SwitchID) (t trunk, ok bool) {
	d, _, there, ok := w.coordinates.turn(s, target)
	if !ok {
		return trunk{}, false
	}
	return w.trunk(s, d, there), true
}

func (w *hammingWalk) downwards() dimensionWalk {
	other := *w
	other.descending = true
	return &other
}

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

func (w *hammingWalk) explore(h fabric.Head, target topology.SwitchID, _ bool, yield func(port topology.PortID, class int, state uint32, weight float64)) bool {
	t, ok := w.turn(h.Switch, target)
	for i := range t.count {
		yield(t.port+topology.PortID(i), 0, h.State, 1/float64(t.count))
	}
	return ok
}

// UnusedSettings implements [param.Skipper]: there are no rings.
func (w *hammingWalk) UnusedSettings() []string { return nil }
