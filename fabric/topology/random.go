package topology

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// RandomRegularConfig configures the topology "random-regular"; see
// [RandomGraph].
type RandomRegularConfig struct {
	Switches  int    `toml:"switches" doc:"switches" min:"2" max:"1000000"`
	Degree    int    `toml:"degree" doc:"ports of a switch that lead to other switches; switches*degree must be even" min:"1" max:"4096"`
	Terminals int    `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
	Seed      uint64 `toml:"seed" doc:"chooses the graph; other random choices have no part in it"`
}

func init() {
	register("random-regular", "random regular graph, all of them alike: connected, no parallel cables",
		RandomRegularConfig{Switches: 64, Degree: 6, Terminals: 2, Seed: 1},
		func(c RandomRegularConfig) *RandomGraph { return newRandomGraph(c.Degree, c.Terminals, switched(c)) })
}

// Validate checks what the tags cannot.
func (c *RandomRegularConfig) Validate() error {
	switch {
	case c.Degree >= c.Switches:
		return &param.ParamError{Key: "degree", Value: c.Degree, Want: fmt.Sprintf("less than the number of switches, %d", c.Switches)}
	case c.Degree*c.Switches%2 != 0:
		return &param.ParamError{Key: "degree", Value: c.Degree, Want: fmt.Sprintf("an even number, as that of the switches, %d, is odd", c.Switches)}
	case c.Degree < 3 && c.Degree != c.Switches-1:
		return &param.ParamError{Key: "degree", Value: c.Degree, Want: "at least 3 (less gives pairs or a ring: see torus), or switches-1"}
	}
	return checkPorts("switches", c.Switches, c.Switches*(c.Degree+c.Terminals))
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
// Two families differ in how it is drawn. Of "random-regular" all regular graphs are equally
// likely (see switched). "jellyfish" joins cable by cable, as the authors do (see grown); of
// this way nobody has shown that.
//
// # Closed forms
//
// n switches, n*c terminals, n*degree/2 links, rounded down. None for diameter, mean
// distance and bisection of a random graph. The mean distance is at least the one in a tree
// with no two branches that meet, [MeanDistanceBound].
type RandomGraph struct{ built }

// newRandomGraph lays out the neighbours of each switch.
func newRandomGraph(degree, terminals int, neighbours [][]SwitchID) *RandomGraph {
	n := len(neighbours)
	return &RandomGraph{built{layRows(neighbours, terminals, classes("random"), one),
		Facts{Switches: n, Terminals: n * terminals, Links: n * degree / 2, Diameter: -1, Bisection: -1},
		Forms{Degree: [2]int{degree - n*degree%2, degree}}}}
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

// switchingsPerCable is the number of attempts per cable; each touches two
// cables. Milo et al. see no trace of the start after a few.
const switchingsPerCable = 32

// switched draws the neighbours of each switch by switching edges (Milo et al.,
// arXiv:cond-mat/0312028, 2003): from the circulant graph in which each switch is joined
// to its nearest neighbours on a ring, 32 times as many attempts as there are cables are
// made to replace two random cables a-b and c-d by a-d and c-b, refused if that made a
// loop or a parallel cable. The walk is symmetric and reaches every simple regular graph,
// so that in the limit all are equally likely; the pairing model would hardly ever give a
// simple graph at these degrees. Should the result fall apart (improbable from degree 3
// on), the walk goes on until it is connected.
func switched(c RandomRegularConfig) [][]SwitchID {
	w := newWiring(c.Switches, c.Degree)
	stream := sim.NewStream(c.Seed, "topology random-regular", 0)
	for rounds := switchingsPerCable; rounds > 0 || !connectedRows(w.rows); rounds-- {
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

// newWiring joins each switch to the degree nearest on a ring, and for odd
// degrees to the one opposite (their number is even then).
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

// switchPair draws two cables a-b and c-d, each end of the second as likely to
// be c, and replaces them by a-d and c-b unless that made a loop or a parallel
// cable.
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
func (w *wiring) redirect(s, from, to SwitchID) {
	w.rows[s][slices.Index(w.rows[s], from)] = to
}

// JellyfishConfig configures the topology "jellyfish"; see [RandomGraph].
type JellyfishConfig struct {
	Switches  int    `toml:"switches" doc:"switches" min:"4" max:"1000000"`
	Degree    int    `toml:"degree" doc:"ports of a switch that lead to other switches" min:"3" max:"4096"`
	Terminals int    `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
	Seed      uint64 `toml:"seed" doc:"chooses the graph; other random choices have no part in it"`
}

func init() {
	register("jellyfish", "Jellyfish: random graph, joined cable by cable as its authors do",
		JellyfishConfig{Switches: 32, Degree: 5, Terminals: 3, Seed: 1},
		func(c JellyfishConfig) *RandomGraph { return newRandomGraph(c.Degree, c.Terminals, grown(c)) })
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

// XpanderConfig configures the topology "xpander"; see [Xpander].
type XpanderConfig struct {
	Degree    int    `toml:"degree" doc:"ports of a switch that lead to other switches" min:"3" max:"1024"`
	Lift      int    `toml:"lift" doc:"switches of a meta-node; there are degree+1 meta-nodes" min:"1" max:"65536"`
	Lifts     string `toml:"lifts" doc:"one random lift of the complete graph, or lifts of two, one after the other: lift is a power of two" choices:"one|doubling"`
	Terminals int    `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
	Seed      uint64 `toml:"seed" doc:"chooses the graph; other random choices have no part in it"`
}

func init() {
	register("xpander", "Xpander: random lift of a complete graph",
		XpanderConfig{Degree: 5, Lift: 6, Lifts: "one", Terminals: 3, Seed: 1}, newXpander)
}

// Validate checks what the tags cannot.
func (c *XpanderConfig) Validate() error {
	if c.Lifts == "doubling" && bits.OnesCount(uint(c.Lift)) != 1 {
		return &param.ParamError{Key: "lift", Value: c.Lift, Want: "a power of two with lifts = \"doubling\""}
	}
	return checkPorts("lift", c.Lift, (c.Degree+1)*c.Lift*(c.Degree+c.Terminals))
}

// Xpander is the expander network of Valadarsky, Shahaf, Dinitz and Schapira (CoNEXT
// 2016): a lift of the complete graph of degree+1 vertices. Each vertex becomes a
// meta-node of `lift` switches, which are not joined to each other; between any two
// meta-nodes each switch of the one has a cable to one switch of the other. Switch i of
// meta-node m has number m*lift + i.
//
//	 meta-node 0   meta-node 1        degree = 3, lift = 2: 4 meta-nodes;
//	   0   1         2   3            between two of them the cables are
//	   │    ╲       ╱    │            parallel or crossed
//	   └─────╲─────╱─────┘ ...
//
//	one       the cables between two meta-nodes are a random matching, all alike
//	doubling  the graph is doubled until it is large enough: each cable s-t becomes
//	          s-t and s'-t', or s-t' and s'-t, with even chances (lifts of two, Bilu and
//	          Linial 2006)
//
// Should the graph fall apart, it is drawn again from where the stream stands. The
// authors choose the best of several lifts, or the derandomised one; here the settings'
// seed chooses. Ports: terminals, then cables in the order of the switches that they lead
// to. Classes "terminal" and "random". The graph depends on the settings alone.
//
// # Closed forms
//
// lift*(degree+1) switches, lift*degree*(degree+1)/2 links; lift = 1 is the complete
// graph, of diameter 1. None for diameter, mean distance and bisection of others.
type Xpander struct {
	XpanderConfig
	built
}

func newXpander(c XpanderConfig) *Xpander {
	stream := sim.NewStream(c.Seed, "topology xpander", 0)
	lift := liftOnce
	if c.Lifts == "doubling" {
		lift = liftDoubling
	}
	rows := lift(c.Degree+1, c.Lift, &stream)
	for !connectedRows(rows) {
		rows = lift(c.Degree+1, c.Lift, &stream)
	}
	n := len(rows)
	f := Facts{Switches: n, Terminals: n * c.Terminals, Links: n * c.Degree / 2, Diameter: -1, Bisection: -1}
	if c.Lift == 1 {
		f.Diameter = 1
	}
	return &Xpander{c, built{layRows(rows, c.Terminals, classes("random"), one), f, Forms{Degree: [2]int{c.Degree, c.Degree}}}}
}

// liftOnce joins the switches of any two of so many meta-nodes by a random matching.
func liftOnce(nodes, lift int, stream *sim.Stream) [][]SwitchID {
	rows := make([][]SwitchID, nodes*lift)
	to := Numbers[int](lift)
	for a := range nodes {
		for b := a + 1; b < nodes; b++ {
			sim.Shuffle(stream, to)
			for i, j := range to {
				s, t := SwitchID(a*lift+i), SwitchID(b*lift+j)
				rows[s], rows[t] = append(rows[s], t), append(rows[t], s)
			}
		}
	}
	return rows
}

// liftDoubling doubles the complete graph until it is large enough; the copies of switch
// s of n are s and s+n on the way, so that meta-nodes end up with equal remainders.
func liftDoubling(nodes, lift int, stream *sim.Stream) [][]SwitchID {
	at := func(s int) SwitchID { return SwitchID(s%nodes*lift + s/nodes) }
	var cables [][2]int
	for a := range nodes {
		for b := a + 1; b < nodes; b++ {
			cables = append(cables, [2]int{a, b})
		}
	}
	for n := nodes; n < nodes*lift; n *= 2 {
		for i, c := range cables {
			cross := stream.IntN(2) * n
			cables[i] = [2]int{c[0], c[1] + cross}
			cables = append(cables, [2]int{c[0] + n, c[1] + n - cross})
		}
	}
	rows := make([][]SwitchID, nodes*lift)
	for _, c := range cables {
		s, t := at(c[0]), at(c[1])
		rows[s], rows[t] = append(rows[s], t), append(rows[t], s)
	}
	return rows
}

// Layout implements [LaidOut]: meta-nodes as rings.
func (x *Xpander) Layout() *Layout {
	return rings(x.graph, x.Degree+1, func(s SwitchID) int { return int(s) / x.Lift },
		"meta-node ", "Meta-nodes in a circle, their switches in rings.")
}
