package topology

import (
	"github.com/weft-sim/weft/sim/param"
)

// OFTConfig configures the topology "oft"; see [OFT].
type OFTConfig struct {
	K int `toml:"k" doc:"half the ports of a switch; k-1 must be a prime power" min:"3" max:"128"`
	P int `toml:"p" doc:"terminals of an outer switch; 0: k" min:"0" max:"4096"`
}

func init() {
	param.Register(Registry, "oft", "orthogonal fat tree of two levels: outer switches are the points of a projective plane, twice, inner ones its lines",
		OFTConfig{K: 3},
		func(c OFTConfig, _ struct{}) (Topology, error) { return newOFT(c) })
}

// Validate checks what the tags cannot.
func (c *OFTConfig) Validate() error { return checkPorts("k", c.K, 3*c.K*c.K*(2*c.K+c.P)) }

// OFT is the orthogonal fat tree of Valerio, Moser and Melliar-Smith (IEEE Int.
// Conference on Computer Communications and Networks 1994) in the form of two levels
// that Kathareios, Minkenberg, Prisacari, Rodriguez and Hoefler (SC 2015) compare: a
// projective plane of order k-1 has n = k²-k+1 points and as many lines, k points on a line
// and k lines through a point; any two points share one line. The 2n outer switches are the
// points, twice; the n inner ones are the lines, each joined to both copies of its points.
//
//	outer   p0  p1  p2 ... p(n-1)      first copy, k terminals each
//	         │╲ ╱│  ...
//	inner   l0  l1  l2 ... l(n-1)      2k ports, all to outer switches
//	         │╱ ╲│  ...
//	outer   p0' p1' p2' ... p(n-1)'    second copy, k terminals each
//
// Point x is switch x and, as a copy, n + x; line b is switch 2n + b. The plane is that of
// a Singer difference set ([NewDesign]). Ports of an outer switch: terminals, then the
// lines in order of the difference set; of an inner one: the points of the first copy in that
// order, then those of the second. Channel classes "terminal" and "level1". Inner switches
// lead down only, but not to every terminal: the network is no [Tree].
//
// # Closed forms
//
// 3n switches, 2nk terminals, 2nk links. Two outer switches are two hops apart, on one path
// if they are different points and on k if they are a point and its copy: diameter and mean
// distance 2. Bisection: none. Uniform capacity: what leaves an outer switch, all but
// 1/(2n) of its traffic, crosses its k channels: k*2n/(p*(2n-1)).
type OFT struct {
	OFTConfig
	graph *Graph
}

var (
	_ Formed = (*OFT)(nil)
	_ Ranked = (*OFT)(nil)
)

func newOFT(c OFTConfig) (Topology, error) {
	plane, err := NewDesign(c.K, 1)
	if err != nil {
		problem := *err.(*param.ParamError) // of "m", the block size
		problem.Key = "k"
		return nil, &problem
	}
	if c.P == 0 {
		c.P = c.K
	}
	n := plane.Points()
	b := NewBuilder(3*n, classes("level1")...)
	for s := range 2 * n {
		for range c.P {
			b.AddTerminal(SwitchID(s), 0)
		}
	}
	for s := range 2 * n {
		for j := range c.K {
			b.AddLinkAt(SwitchID(s), c.P+j, SwitchID(2*n+plane.Block(s%n, j)), s/n*c.K+j, 1)
		}
	}
	return &OFT{c, b.Freeze()}, nil
}

func (c *OFTConfig) points() int { return c.K*c.K - c.K + 1 }

// Graph implements [Topology].
func (x *OFT) Graph() *Graph { return x.graph }

// Rank implements [Ranked]: outer switches below inner ones.
func (x *OFT) Rank(s SwitchID) int { return int(s) / (2 * x.points()) }

// Facts implements [Topology].
func (x *OFT) Facts() Facts {
	n := x.points()
	return Facts{Switches: 3 * n, Terminals: 2 * n * x.P, Links: 2 * n * x.K, Diameter: 2, Bisection: -1}
}

// Forms implements [Formed].
func (x *OFT) Forms() Forms {
	outer := float64(2 * x.points())
	return Forms{
		Degree:          [2]int{x.K, 2 * x.K},
		MeanDistance:    2,
		UniformCapacity: float64(x.K) * outer / (float64(x.P) * (outer - 1)),
	}
}

// Layout implements [LaidOut]: the first copy of the points above, the lines in the middle,
// the second copy below.
func (x *OFT) Layout() *Layout {
	n := x.points()
	l := &Layout{Shape: Levels, Places: make([]Place, 3*n), How: "The two copies of the outer switches above and below, the inner ones between them."}
	height := max(2.5, 0.25*float64(n))
	for s := range l.Places {
		level := []float64{0, 2, 1}[s/n]
		l.Places[s] = Place{float64(s % n), height * level}
	}
	return l
}
