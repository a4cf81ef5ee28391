package families

import (
	"cmp"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// OFTConfig configures the topology "oft"; see [OFT].
type OFTConfig struct {
	K int `toml:"k" doc:"half the ports of a switch; k-1 must be a prime power" min:"3" max:"128"`
	P int `toml:"p" doc:"terminals of an outer switch; 0: k" min:"0" max:"4096"`
}

func init() {
	param.Register(topology.Registry, "oft", "orthogonal fat tree of two levels: outer switches are the points of a projective plane, twice, inner ones its lines",
		OFTConfig{K: 3},
		func(c OFTConfig, _ struct{}) (topology.Topology, error) { return newOFT(c) })
}

func (c *OFTConfig) Validate() error { return topology.CheckPorts("k", c.K, 3*c.K*c.K*(2*c.K+c.P)) }

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
// Point x is switch x and, as a copy, n + x; line b is switch 2n + b. The plane follows from
// a Singer difference set ([NewDesign]). Ports of an outer switch: terminals, then the
// lines in order of the difference set; of an inner one: the points of the first copy in that
// order, then the second copy's. Channel classes "terminal" and "level1". Inner switches
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
	topology.Built
}

var _ topology.Ranked = (*OFT)(nil)

func newOFT(c OFTConfig) (topology.Topology, error) {
	plane, err := topology.NewDesign(c.K, 1)
	if err != nil {
		problem := *err.(*param.ParamError) // of "m", the block size
		problem.Key = "k"
		return nil, &problem
	}
	c.P = cmp.Or(c.P, c.K)
	n := plane.Points()
	b := topology.NewBuilder(3*n, topology.Classes("level1")...)
	for s := range 2 * n {
		for range c.P {
			b.AddTerminal(topology.SwitchID(s), 0)
		}
		for j := range c.K {
			b.AddLinkAt(topology.SwitchID(s), c.P+j, topology.SwitchID(2*n+plane.Block(s%n, j)), s/n*c.K+j, 1)
		}
	}
	outer := float64(2 * n)
	return &OFT{c, topology.NewBuilt(b.Freeze(), topology.Facts{Switches: 3 * n, Terminals: 2 * n * c.P, Links: 2 * n * c.K, Diameter: 2, Bisection: -1},
		topology.Forms{Degree: [2]int{c.K, 2 * c.K}, MeanDistance: 2, UniformCapacity: float64(c.K) * outer / (float64(c.P) * (outer - 1))})}, nil
}

func (c *OFTConfig) points() int { return c.K*c.K - c.K + 1 }

// Rank implements [Ranked]: outer switches below inner ones.
func (x *OFT) Rank(s topology.SwitchID) int { return int(s) / (2 * x.points()) }

// Layout implements [LaidOut]: the points' first copy above, then the lines, then the second copy.
func (x *OFT) Layout() *topology.Layout {
	n := x.points()
	height := max(2.5, 0.25*float64(n))
	return topology.Placed(topology.Levels, 3*n, "The two copies of the outer switches above and below, the inner ones between them.", func(s int) topology.Place {
		return topology.Place{X: float64(s % n), Y: height * []float64{0, 2, 1}[s/n]}
	})
}
