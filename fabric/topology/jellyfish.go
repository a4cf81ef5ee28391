package topology

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// JellyfishConfig configures the topology "jellyfish"; see [RandomGraph].
type JellyfishConfig struct {
	Switches  int    `toml:"switches" doc:"switches" min:"4" max:"1000000"`
	Degree    int    `toml:"degree" doc:"ports of a switch that lead to other switches" min:"3" max:"4096"`
	Terminals int    `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
	Seed      uint64 `toml:"seed" doc:"chooses the graph; other random choices have no part in it"`
}

func init() {
	param.Register(Registry, "jellyfish", "Jellyfish: random graph, joined cable by cable as its authors do",
		JellyfishConfig{Switches: 32, Degree: 5, Terminals: 3, Seed: 1},
		func(c JellyfishConfig, _ struct{}) (Topology, error) {
			return newRandomGraph(c.Switches, c.Degree, c.Terminals, grown(c)), nil
		})
}

// Validate checks what the tags cannot.
func (c *JellyfishConfig) Validate() error {
	if c.Degree >= c.Switches {
		return &param.ParamError{Key: "degree", Value: c.Degree, Want: fmt.Sprintf("less than the number of switches, %d", c.Switches)}
	}
	return checkPorts("switches", c.Switches, c.Switches*(c.Degree+c.Terminals))
}

// grown draws the neighbours of each switch as Singla, Hong, Popa and Godfrey do (NSDI
// 2012, section 3): two switches that have free ports and are not joined yet, chosen
// evenly at random, are joined, until there are no such two. Where ports are left, a
// cable x-y chosen at random is taken out: a switch with two free ports is joined to x
// and y, two joined switches with a free port each are joined to one of them each. Should
// the graph fall apart or have no such cable (improbable from degree 3 on), it is drawn
// again from where the stream stands. The authors' addition of switches to a network that
// stands is not offered.
func grown(c JellyfishConfig) [][]SwitchID {
	stream := sim.NewStream(c.Seed, "topology jellyfish", 0)
	d := newDrawing(c.Switches, c.Degree)
	for !d.draw(&stream) || !connectedRows(d.rows) {
		d = newDrawing(c.Switches, c.Degree)
	}
	return d.rows
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
