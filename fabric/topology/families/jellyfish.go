package families

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
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
	topology.Register("jellyfish", "Jellyfish: random graph, joined cable by cable as its authors do",
		JellyfishConfig{Switches: 32, Degree: 5, Terminals: 3, Seed: 1},
		func(c JellyfishConfig) *topology.RandomGraph {
			return topology.NewRandomGraph(c.Degree, c.Terminals, grown(c))
		})
	topology.Register("xpander", "Xpander: random lift of a complete graph",
		XpanderConfig{Degree: 5, Lift: 6, Terminals: 3, Seed: 1}, newXpander)
}

func (c *JellyfishConfig) Validate() error {
	if c.Degree >= c.Switches {
		return &param.ParamError{Key: "degree", Value: c.Degree, Want: fmt.Sprintf("less than the number of switches, %d", c.Switches)}
	}
	return topology.CheckPorts("switches", c.Switches, c.Switches*(c.Degree+c.Terminals))
}

// grown draws the neighbours of each switch as Singla, Hong, Popa and Godfrey do (NSDI 2012,
// section 3): two switches that have free ports and are not joined yet, chosen evenly at random,
// are joined, until there are no such two. Where ports are left, a cable x-y chosen at random is
// taken out: a switch with two free ports is joined to x and y, two joined switches with a free
// port each are joined to one of them each. A graph that falls apart or has no such cable
// (improbable from degree 3 on) is drawn anew from the same stream. The authors' growth of existing
// networks is not offered.
func grown(c JellyfishConfig) [][]topology.SwitchID {
	stream := sim.NewStream(c.Seed, "topology jellyfish", 0)
	d := newDrawing(c.Switches, c.Degree)
	for !d.draw(&stream) || !topology.ConnectedRows(d.rows) {
		d = newDrawing(c.Switches, c.Degree)
	}
	return d.rows
}

// drawing is a graph being drawn.
type drawing struct {
	degree int
	rows   [][]topology.SwitchID
	open   []topology.SwitchID // switches with free ports
	place  []int               // of each switch in open, or -1
}

func newDrawing(switches, degree int) *drawing {
	d := &drawing{degree: degree, rows: make([][]topology.SwitchID, switches)}
	for s := range switches {
		d.open, d.place = append(d.open, topology.SwitchID(s)), append(d.place, s)
	}
	return d
}

// draw joins switches until at most one port is free; false if the graph does not allow it.
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
func (d *drawing) pair(stream *sim.Stream) (s, t topology.SwitchID, ok bool) {
	var all [][2]topology.SwitchID
	for i, s := range d.open {
		for _, t := range d.open[:i] {
			if !slices.Contains(d.rows[s], t) {
				all = append(all, [2]topology.SwitchID{s, t})
			}
		}
	}
	if len(all) == 0 {
		return 0, 0, false
	}
	chosen := all[stream.IntN(len(all))]
	return chosen[0], chosen[1], true
}

// close uses the free ports of switches that are all joined to each other (one may stay free) in
// place of cables between others; false if there is no such cable.
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
		var cables [][2]topology.SwitchID // x-y, each way round: x is not joined to s, nor y to t
		for x, row := range d.rows {
			if x := topology.SwitchID(x); x == s || x == t || slices.Contains(d.rows[s], x) {
				continue
			}
			for _, y := range row {
				if y != s && y != t && !slices.Contains(d.rows[t], y) {
					cables = append(cables, [2]topology.SwitchID{topology.SwitchID(x), y})
				}
			}
		}
		if len(cables) == 0 {
			return false
		}
		chosen := cables[stream.IntN(len(cables))]
		for i, end := range chosen { // which have only the free ports that the cable leaves
			at := slices.Index(d.rows[end], chosen[1-i])
			d.rows[end] = slices.Delete(d.rows[end], at, at+1)
		}
		d.join(s, chosen[0])
		d.join(t, chosen[1])
	}
	return true
}

func (d *drawing) join(s, t topology.SwitchID) {
	for _, end := range [][2]topology.SwitchID{{s, t}, {t, s}} {
		d.rows[end[0]] = append(d.rows[end[0]], end[1])
		if i := d.place[end[0]]; len(d.rows[end[0]]) == d.degree && i >= 0 {
			last := d.open[len(d.open)-1]
			d.open[i], d.place[last] = last, i
			d.open, d.place[end[0]] = d.open[:len(d.open)-1], -1
		}
	}
}

// XpanderConfig configures the topology "xpander"; see [Xpander].
type XpanderConfig struct {
	Degree    int    `toml:"degree" doc:"ports of a switch that lead to other switches" min:"3" max:"1024"`
	Lift      int    `toml:"lift" doc:"switches of a meta-node; there are degree+1 meta-nodes" min:"1" max:"65536"`
	Terminals int    `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
	Seed      uint64 `toml:"seed" doc:"chooses the graph; other random choices have no part in it"`
}

func (c *XpanderConfig) Validate() error {
	return topology.CheckPorts("lift", c.Lift, (c.Degree+1)*c.Lift*(c.Degree+c.Terminals))
}

// Xpander is the expander network of Valadarsky, Shahaf, Dinitz and Schapira (CoNEXT 2016): a lift
// of the complete graph of degree+1 vertices. Each vertex becomes a meta-node of `lift` switches,
// which are not joined to each other; between any two meta-nodes each switch of the one has a cable
// to one switch of the other. Switch i of meta-node m has number m*lift + i.
//
//	meta-node 0   meta-node 1        degree = 3, lift = 2: 4 meta-nodes;
//	  0   1         2   3            between two of them the cables are
//	  │    ╲       ╱    │            parallel or crossed
//	  └─────╲─────╱─────┘ ...
//
// The cables between two meta-nodes are a random matching, all alike. Should the graph fall
// apart, it is drawn again from where the stream stands. The authors choose the best of
// several lifts, or the derandomised one; here the settings' seed chooses. Ports: terminals,
// then cables in the order of the switches that they lead to. Classes "terminal" and
// "random". The graph depends on the settings alone.
//
// # Closed forms
//
// lift*(degree+1) switches, lift*degree*(degree+1)/2 links; lift = 1 is the complete graph, of
// diameter 1. No other closed forms.
type Xpander struct {
	XpanderConfig
	topology.Built
}

func newXpander(c XpanderConfig) *Xpander {
	stream := sim.NewStream(c.Seed, "topology xpander", 0)
	rows := lift(c.Degree+1, c.Lift, &stream)
	for !topology.ConnectedRows(rows) {
		rows = lift(c.Degree+1, c.Lift, &stream)
	}
	n := len(rows)
	f := topology.Facts{Switches: n, Terminals: n * c.Terminals, Links: n * c.Degree / 2, Diameter: -1, Bisection: -1}
	if c.Lift == 1 {
		f.Diameter = 1
	}
	return &Xpander{c, topology.NewBuilt(topology.LayRows(rows, c.Terminals, topology.Classes("random"), topology.OneClass), f, topology.Forms{Degree: [2]int{c.Degree, c.Degree}})}
}

// lift joins the switches of any two of so many meta-nodes by a random matching.
func lift(nodes, size int, stream *sim.Stream) [][]topology.SwitchID {
	rows := make([][]topology.SwitchID, nodes*size)
	to := topology.Numbers[int](size)
	for a := range nodes {
		for b := a + 1; b < nodes; b++ {
			sim.Shuffle(stream, to)
			for i, j := range to {
				s, t := topology.SwitchID(a*size+i), topology.SwitchID(b*size+j)
				rows[s], rows[t] = append(rows[s], t), append(rows[t], s)
			}
		}
	}
	return rows
}

// Layout implements [LaidOut]: meta-nodes as rings.
func (x *Xpander) Layout() *topology.Layout {
	return topology.RingsOf(x.Graph(), x.Degree+1, func(s topology.SwitchID) int { return int(s) / x.Lift },
		"meta-node ", "Meta-nodes in a circle, their switches in rings.")
}
