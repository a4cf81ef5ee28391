package topology

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// RandomRegularConfig configures the topology "random-regular"; see [RandomGraph].
type RandomRegularConfig struct {
	Switches  int    `toml:"switches" doc:"switches" min:"2" max:"1000000"`
	Degree    int    `toml:"degree" doc:"ports of a switch that lead to other switches; switches*degree must be even" min:"1" max:"4096"`
	Terminals int    `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
	Seed      uint64 `toml:"seed" doc:"chooses the graph; other random choices have no part in it"`
}

func init() {
	Register("random-regular", "random regular graph, all of them alike: connected, no parallel cables",
		RandomRegularConfig{Switches: 64, Degree: 6, Terminals: 2, Seed: 1},
		func(c RandomRegularConfig) *RandomGraph { return NewRandomGraph(c.Degree, c.Terminals, switched(c)) })
}

func (c *RandomRegularConfig) Validate() error {
	switch {
	case c.Degree >= c.Switches:
		return &param.ParamError{Key: "degree", Value: c.Degree, Want: fmt.Sprintf("less than the number of switches, %d", c.Switches)}
	case c.Degree*c.Switches%2 != 0:
		return &param.ParamError{Key: "degree", Value: c.Degree, Want: fmt.Sprintf("an even number, as that of the switches, %d, is odd", c.Switches)}
	case c.Degree < 3 && c.Degree != c.Switches-1:
		return &param.ParamError{Key: "degree", Value: c.Degree, Want: "at least 3 (less gives pairs or a ring: see torus), or switches-1"}
	}
	return CheckPorts("switches", c.Switches, c.Switches*(c.Degree+c.Terminals))
}

// RandomGraph is a network whose switches are joined at random (Singla, Hong, Popa and
// Godfrey, "Jellyfish", NSDI 2012): every switch has the same number of cables to others,
// no two to the same one, and the graph is connected. If switches*degree is odd, one port
// stays free. Ports: terminals, then cables in the order of the switches that they lead to.
// Classes "terminal" and "random". The graph depends on the settings alone.
//
//	s0───s1
//	│╲   ╱│        switches = 6, degree = 3
//	│ s4  │
//	│  │  │
//	│ s5  │
//	│╱   ╲│
//	s2───s3
//
// Two families differ in the drawing. Of "random-regular" all regular graphs are equally likely
// (see switched). "jellyfish" joins cable by cable as its authors do (see grown), without such a
// proof.
//
// # Closed forms
//
// n switches, n*c terminals, n*degree/2 links, rounded down. None for diameter, mean
// distance and bisection of a random graph. The mean distance is at least the one in a tree
// with no two branches that meet, MeanDistanceBound of package metrics.
type RandomGraph struct{ Built }

// NewRandomGraph lays out the neighbours of each switch.
func NewRandomGraph(degree, terminals int, neighbours [][]SwitchID) *RandomGraph {
	n := len(neighbours)
	return &RandomGraph{Built{LayRows(neighbours, terminals, Classes("random"), OneClass),
		Facts{Switches: n, Terminals: n * terminals, Links: n * degree / 2, Diameter: -1, Bisection: -1},
		Forms{Degree: [2]int{degree - n*degree%2, degree}}}}
}

// switchingsPerCable is the attempts per cable, each of which touches two; a few erase the start
// (Milo et al.).
const switchingsPerCable = 32

// switched draws the neighbours of each switch by switching edges (Milo et al.,
// arXiv:cond-mat/0312028, 2003): from the circulant graph in which each switch is joined to its
// nearest neighbours on a ring, 32 times as many attempts as there are cables are made to replace
// two random cables a-b and c-d by a-d and c-b, refused if that made a loop or a parallel cable.
// The walk is symmetric and reaches every simple regular graph, so that in the limit all are
// equally likely; the pairing model would hardly ever give a simple graph at these degrees. A walk
// that ends in several parts, improbable from degree 3 on, continues until the graph is connected.
func switched(c RandomRegularConfig) [][]SwitchID {
	w := newWiring(c.Switches, c.Degree)
	stream := sim.NewStream(c.Seed, "topology random-regular", 0)
	for rounds := switchingsPerCable; rounds > 0 || !ConnectedRows(w.rows); rounds-- {
		for range len(w.cables) {
			w.switchPair(&stream)
		}
	}
	return w.rows
}

// wiring is a regular graph being shuffled.
type wiring struct {
	cables [][2]SwitchID
	rows   [][]SwitchID // neighbours of each switch, in no order
}

// newWiring joins each switch to its nearest on a ring, and for odd degrees to the opposite one
// (switches are even then).
func newWiring(switches, degree int) *wiring {
	w := &wiring{rows: make([][]SwitchID, switches)}
	join := func(s, t int) {
		w.cables = append(w.cables, [2]SwitchID{SwitchID(s), SwitchID(t)})
		w.rows[s] = append(w.rows[s], SwitchID(t))
		w.rows[t] = append(w.rows[t], SwitchID(s))
	}
	for s := range switches {
		for d := 1; d <= degree/2; d++ {
			join(s, (s+d)%switches)
		}
		if degree%2 == 1 && s < switches/2 {
			join(s, s+switches/2)
		}
	}
	return w
}

// switchPair draws cables a-b and c-d, the second in either order, and replaces them by a-d and c-b
// unless that made a loop or a parallel cable.
func (w *wiring) switchPair(stream *sim.Stream) {
	i, j := stream.IntN(len(w.cables)), stream.IntN(2*len(w.cables))
	if j%2 == 1 {
		w.cables[j/2][0], w.cables[j/2][1] = w.cables[j/2][1], w.cables[j/2][0]
	}
	j /= 2
	a, b, c, d := w.cables[i][0], w.cables[i][1], w.cables[j][0], w.cables[j][1]
	if a == d || b == c || slices.Contains(w.rows[a], d) || slices.Contains(w.rows[c], b) {
		return
	}
	w.cables[i][1], w.cables[j][1] = d, b
	w.redirect(a, b, d)
	w.redirect(b, a, c)
	w.redirect(c, d, b)
	w.redirect(d, c, a)
}

// redirect makes s's cable to `from` lead to `to`.
func (w *wiring) redirect(s, from, to SwitchID) { w.rows[s][slices.Index(w.rows[s], from)] = to }
