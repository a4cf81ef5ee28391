package routing

import (
	"fmt"
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

// gridWalk leads packets in dimension order, the lowest dimension first, the
// short way round in rings and either way with equal probability where both
// are as short. Memory: 4 bytes a (switch, dimension) and 9 a port.
type gridWalk struct {
	graph     *topology.Graph
	sizes     []int32             // len = dimensions
	wraps     []bool              // len = dimensions
	home      []topology.SwitchID // len = terminals
	at        []int32             // len = switches*dimensions: coordinates
	towards   []topology.PortID   // len = switches*dimensions*2: port up, port down
	dimension []uint8             // len = ports: dimension of the cable, noDimension for terminals
	rule      string
	flat      bool // no dimension wraps around
	rings     int  // VC classes that the dimensions need: 2 if packets can follow each other round a ring, else 1
}

const noDimension = 255

func newGridWalk(name string, env Env, rule string) (*gridWalk, error) {
	grid, ok := env.Topology.(topology.Grid)
	if !ok {
		return nil, env.Lacks(name, []string{Coordinates.What})
	}
	g, dims := grid.Graph(), grid.Dims()
	if len(dims) >= noDimension {
		return nil, fmt.Errorf("routing %q handles fewer than %d dimensions; this topology has %d", name, noDimension, len(dims))
	}
	w := &gridWalk{graph: g, home: homes(g), dimension: make([]uint8, g.NumPorts()), rule: rule, rings: 1}
	for p := range w.dimension {
		w.dimension[p] = noDimension
	}
	for d, size := range dims {
		w.sizes = append(w.sizes, int32(size))
		w.wraps = append(w.wraps, grid.Wraps(d))
		if grid.Wraps(d) && size > 3 && rule != ruleNone {
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
					w.dimension[p] = uint8(d)
				}
			}
		}
	}
	w.flat = !slices.Contains(w.wraps, true)
	return w, nil
}

// UnusedSettings implements [param.Skipper]: without a ring there is no rule for
// rings.
func (w *gridWalk) UnusedSettings() []string {
	if !w.flat {
		return nil
	}
	return []string{"vc_rule"}
}

// turn is the first dimension in which a packet at switch s has still to go to
// reach target; ok is false if there is none.
func (w *gridWalk) turn(s, target topology.SwitchID) (d int, here, there int32, ok bool) {
	n := len(w.sizes)
	from, to := w.at[int(s)*n:][:n], w.at[int(target)*n:][:n]
	for d := range from {
		if from[d] != to[d] {
			return d, from[d], to[d], true
		}
	}
	return 0, 0, 0, false
}

// tie tells whether both ways from here to there in dimension d are as short.
func (w *gridWalk) tie(d int, here, there int32) bool {
	return w.wraps[d] && 2*max(here-there, there-here) == w.sizes[d]
}

// enter sets the state of a packet that turns into dimension d; down chooses
// between ways of equal length.
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

// advance moves a packet one switch along dimension d and returns its port and
// the VC class of the channel there.
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

// entering tells whether a packet that has to go in dimension d has come from
// another one.
func (w *gridWalk) entering(h *fabric.Head, d int) bool { return int(w.dimension[h.In]) != d }

// next moves a packet towards switch target. fresh says that it starts a new
// journey even if it came along the dimension that it goes on in. The VC class
// is that within the journey; ok is false at the target.
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

// nextFlat is next on a flat grid, where the way does not depend on what was before.
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

// explore lists what next could do, with probabilities that add up to 1; it
// returns false at the target.
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

// classes implements [dimensionWalk].
func (w *gridWalk) classes() int { return w.rings }

// homes implements [dimensionWalk].
func (w *gridWalk) homes() []topology.SwitchID { return w.home }

// apart implements [dimensionWalk].
func (w *gridWalk) apart(s, t topology.SwitchID) int {
	n, hops := len(w.sizes), 0
	from, to := w.at[int(s)*n:][:n], w.at[int(t)*n:][:n]
	for d := range from {
		steps := max(from[d]-to[d], to[d]-from[d])
		if w.wraps[d] {
			steps = min(steps, w.sizes[d]-steps)
		}
		hops += int(steps)
	}
	return hops
}

// Graph implements [fabric.GraphRouting].
func (w *gridWalk) Graph() *topology.Graph { return w.graph }
