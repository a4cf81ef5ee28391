package topology

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// JellyfishConfig configures the topology "jellyfish"; see [Jellyfish].
type JellyfishConfig struct {
	Switches  int    `toml:"switches" doc:"switches" min:"4" max:"1000000"`
	Degree    int    `toml:"degree" doc:"ports of a switch that lead to other switches" min:"3" max:"4096"`
	Terminals int    `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
	Seed      uint64 `toml:"seed" doc:"chooses the graph; other random choices have no part in it"`
}

func init() {
	param.Register(Registry, "jellyfish", "Jellyfish: random graph, joined cable by cable as its authors do",
		JellyfishConfig{Switches: 32, Degree: 5, Terminals: 3, Seed: 1},
		func(c JellyfishConfig, _ struct{}) (Topology, error) { return newJellyfish(c), nil })
}

// Validate checks what the tags cannot.
func (c *JellyfishConfig) Validate() error {
	if c.Degree >= c.Switches {
		return &param.ParamError{Key: "degree", Value: c.Degree, Want: fmt.Sprintf("less than the number of switches, %d", c.Switches)}
	}
	return checkPorts("switches", c.Switches, c.Switches*(c.Degree+c.Terminals))
}

// Jellyfish is the network of Singla, Hong, Popa and Godfrey (NSDI 2012), drawn as in
// their section 3: two switches that have free ports and are not joined yet, chosen
// evenly at random, are joined, until there are no such two. Where ports are left, a
// cable x-y chosen at random is taken out: a switch with two free ports is joined to x
// and y, two joined switches with a free port each are joined to one of them each. If
// switches*degree is odd, one port stays free. [RandomRegular] draws all regular graphs
// alike; of this way nobody has shown that.
//
//	s0───s1        switches = 6, degree = 3: s2 and s5 have a free port and are
//	│╲   ╱│        joined already; the cable s0-s4 is taken out, and s2 is joined
//	│ s4  │        to s0, s5 to s4
//	...
//
// Should the graph fall apart or have no such cable (improbable from degree 3 on), it is
// drawn again from where the stream stands. Ports: terminals, then cables in the order of the switches
// that they lead to. Classes "terminal" and "random". The graph depends on the settings
// alone. The authors' addition of switches to a network that stands is not offered.
//
// # Closed forms
//
// n switches, n*c terminals, n*degree/2 links, rounded down. None for diameter, mean
// distance and bisection of a random graph. The mean distance is at least that of a tree
// with no two branches that meet, [MeanDistanceBound].
type Jellyfish struct {
	JellyfishConfig
	graph *Graph
}

var _ Formed = (*Jellyfish)(nil)

func newJellyfish(c JellyfishConfig) *Jellyfish {
	stream := sim.NewStream(c.Seed, "topology jellyfish", 0)
	d := newDrawing(c.Switches, c.Degree)
	for !d.draw(&stream) || !connectedRows(d.rows) {
		d = newDrawing(c.Switches, c.Degree)
	}
	return &Jellyfish{c, layRows(d.rows, c.Terminals, classes("random"), one)}
}

// drawing is a graph being drawn.
type drawing struct {
	degree int
	rows   [][]SwitchID
	open   []SwitchID // switches with free ports
	place  []int      // of each switch in open, or -1
}

func newDrawing(switches, degree int) *drawing {
	d := &drawing{degree: degree, rows: make([][]SwitchID, switches)}
	for s := range switches {
		d.open, d.place = append(d.open, SwitchID(s)), append(d.place, s)
	}
	return d
}

// draw joins switches until no more than one port is free; false if it comes to a
// graph in which that cannot be.
func (d *drawing) draw(stream *sim.Stream) bool {
	for misses := 0; len(d.open) > 1; {
		s, t := d.open[stream.IntN(len(d.open))], d.open[stream.IntN(len(d.open))]
		switch {
		case s != t && !slices.Contains(d.rows[s], t):
			d.join(s, t)
			misses = 0
		case misses < 2*len(d.open):
			misses++
		default: // there are no such two, or so few that all have to be looked at
			s, t, ok := d.pair(stream)
			if !ok {
				return d.close(stream)
			}
			d.join(s, t)
			misses = 0
		}
	}
	return d.close(stream)
}

// pair chooses two open switches that are not joined, evenly.
func (d *drawing) pair(stream *sim.Stream) (s, t SwitchID, ok bool) {
	var all [][2]SwitchID
	for i, s := range d.open {
		for _, t := range d.open[:i] {
			if !slices.Contains(d.rows[s], t) {
				all = append(all, [2]SwitchID{s, t})
			}
		}
	}
	if len(all) == 0 {
		return 0, 0, false
	}
	chosen := all[stream.IntN(len(all))]
	return chosen[0], chosen[1], true
}

// close uses the free ports of switches that are all joined to each other, but for one
// that is left over, in the place of cables between others; false if there is no such
// cable.
func (d *drawing) close(stream *sim.Stream) bool {
	for len(d.open) > 0 {
		s := d.open[0]
		t := s
		if d.degree-len(d.rows[s]) < 2 {
			if len(d.open) == 1 {
				return true
			}
			t = d.open[1]
		}
		var cables [][2]SwitchID // x-y, each way round: x is not joined to s, nor y to t
		for x, row := range d.rows {
			if x := SwitchID(x); x == s || x == t || slices.Contains(d.rows[s], x) {
				continue
			}
			for _, y := range row {
				if y != s && y != t && !slices.Contains(d.rows[t], y) {
					cables = append(cables, [2]SwitchID{SwitchID(x), y})
				}
			}
		}
		if len(cables) == 0 {
			return false
		}
		chosen := cables[stream.IntN(len(cables))]
		d.part(chosen[0], chosen[1])
		d.join(s, chosen[0])
		d.join(t, chosen[1])
	}
	return true
}

func (d *drawing) join(s, t SwitchID) {
	for _, end := range [][2]SwitchID{{s, t}, {t, s}} {
		d.rows[end[0]] = append(d.rows[end[0]], end[1])
		if i := d.place[end[0]]; len(d.rows[end[0]]) == d.degree && i >= 0 {
			last := d.open[len(d.open)-1]
			d.open[i], d.place[last] = last, i
			d.open, d.place[end[0]] = d.open[:len(d.open)-1], -1
		}
	}
}

// part takes out the cable of two switches without free ports but those that it leaves.
func (d *drawing) part(x, y SwitchID) {
	for _, end := range [][2]SwitchID{{x, y}, {y, x}} {
		row := d.rows[end[0]]
		i := slices.Index(row, end[1])
		d.rows[end[0]] = slices.Delete(row, i, i+1)
	}
}

// MeanDistanceBound is the least mean distance of n switches of a degree, if every
// switch has degree*(degree-1)^(d-1) others at distance d until all are used (Cerf,
// Cowan, Mullin and Stanton, Networks 1974).
func MeanDistanceBound(n, degree int) float64 {
	left, level, sum := float64(n-1), float64(degree), 0.0
	for d := 1.0; left > 0; d++ {
		at := min(left, level)
		sum, left, level = sum+d*at, left-at, level*float64(degree-1)
	}
	return sum / float64(n-1)
}

// Graph implements [Topology].
func (x *Jellyfish) Graph() *Graph { return x.graph }

// Facts implements [Topology].
func (x *Jellyfish) Facts() Facts {
	return Facts{Switches: x.Switches, Terminals: x.Switches * x.Terminals, Links: x.Switches * x.Degree / 2, Diameter: -1, Bisection: -1}
}

// Forms implements [Formed].
func (x *Jellyfish) Forms() Forms {
	return Forms{Degree: [2]int{x.Degree - x.Switches*x.Degree%2, x.Degree}}
}
