// Package families holds networks beyond those of papers: of low diameter, random, twisted, with
// rails and planes.
package families

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/sim/param"
)

// PolarFlyConfig configures the topology "polarfly"; see [PolarFly].
type PolarFlyConfig struct {
	Q int `toml:"q" doc:"order: a prime power; there are q*q+q+1 switches of q or q+1 ports to others" min:"2" max:"509"`
	P int `toml:"p" doc:"terminals of a switch; 0: half of q+1, rounded up" min:"0" max:"4096"`
}

func init() {
	topology.Register("polarfly", "PolarFly: Erdős-Rényi polarity graph, any two switches at most two hops apart", PolarFlyConfig{Q: 5}, newPolarFly)
}

func (c *PolarFlyConfig) Validate() error {
	if _, _, ok := topology.PrimePower(c.Q); !ok {
		return &param.ParamError{Key: "q", Value: c.Q, Want: "a prime power: 2, 3, 4, 5, 7, 8, 9, 11, ..."}
	}
	return topology.CheckPorts("q", c.Q, (c.Q*c.Q+c.Q+1)*(c.Q+1+c.terminals()))
}

func (c *PolarFlyConfig) terminals() int { return cmp.Or(c.P, (c.Q+2)/2) }

// PolarFly is the topology of Lakhotia, Besta, Monroe, Isham, Iff, Hoefler and Petrini (SC 2022):
// the polarity graph ER_q of Erdős and Rényi (1962) and Brown (1966). Switches are the points of
// the projective plane over the field of q elements, that is vectors whose first coordinate that is
// not 0 is 1; two are joined if their vectors are orthogonal, x*x' + y*y' + z*z' = 0. A point that
// is orthogonal to itself (quadric) has a loop in the graph, which is no cable. (1, y, z) has
// number y*q + z, (0, 1, z) number q*q + z and (0, 0, 1) number q*q + q.
//
//	 quadric w       each switch lies with any other on exactly one path
//	 ╱ │ ... ╲       of two hops, where a loop counts as a hop: w and its
//	v1─v2    vq      neighbour v are one cable apart and share no neighbour
//
// Ports: terminals, then cables in the order of the switches that they lead to. Channel classes
// "terminal" and "polar". The paper's expansion by replicated racks is not built.
//
// # Closed forms
//
// N = q²+q+1 switches; q+1 of them, the quadrics, have q ports to others, the rest
// q+1: links q(q+1)²/2. The diameter is 2: two points have one common neighbour, the
// vector product of their vectors. Neighbours are the q(q+1)² ordered pairs at
// distance 1, all others are at 2: mean distance 2 - q(q+1)²/(N(N-1)) = 2 - (q+1)/N.
// Bisection: no closed form. The adjacency matrix with loops A has A² = J + qI, so its
// other eigenvalues are ±√q; the Laplacian of the graph is (q+1)I - A, its least
// eigenvalue but one q+1-√q, and the bisection at least [metrics.Halving] of N times that.
type PolarFly struct {
	PolarFlyConfig
	topology.Built
}

func newPolarFly(c PolarFlyConfig) *PolarFly {
	c.P = c.terminals()
	rows, _ := polarity(c.Q)
	n, q := len(rows), float64(c.Q)
	return &PolarFly{c, topology.NewBuilt(topology.LayRows(rows, c.P, topology.Classes("polar"), topology.OneClass),
		topology.Facts{Switches: n, Terminals: n * c.P, Links: c.Q * (c.Q + 1) * (c.Q + 1) / 2, Diameter: 2, Bisection: -1},
		topology.Forms{Degree: [2]int{c.Q, c.Q + 1}, MeanDistance: 2 - (q+1)/float64(n), BisectionAtLeast: (q + 1 - math.Sqrt(q)) * metrics.Halving(n)})}
}

// polarity is the graph ER_q without its loops, and which points have one. q is a prime power.
func polarity(q int) (rows [][]topology.SwitchID, quadric []bool) {
	f, _ := topology.FieldOf(q)
	number := func(v [3]int) topology.SwitchID {
		switch {
		case v[0] != 0:
			return topology.SwitchID(v[1]*q + v[2])
		case v[1] != 0:
			return topology.SwitchID(q*q + v[2])
		}
		return topology.SwitchID(q*q + q)
	}
	join := func(v, u [3]int) {
		if s, t := number(v), number(u); s == t {
			quadric[s] = true
		} else {
			rows[s] = append(rows[s], t)
		}
	}
	n := q*q + q + 1
	rows, quadric = make([][]topology.SwitchID, n), make([]bool, n)
	eachPoint(q, func(v [3]int) {
		// (1, y, z): v1*y + v2*z = -v0. If v2 != 0, a y has one z, else a z one y.
		switch {
		case v[2] != 0:
			for y := range q {
				z := f.Divide(f.Neg(f.Add(v[0], f.Mul(v[1], y))), v[2])
				join(v, [3]int{1, y, z})
			}
			join(v, [3]int{0, 1, f.Divide(f.Neg(v[1]), v[2])})
			return
		case v[1] != 0:
			y := f.Divide(f.Neg(v[0]), v[1])
			for z := range q {
				join(v, [3]int{1, y, z})
			}
		default: // (1, 0, 0) is orthogonal to no (1, y, z)
			for z := range q {
				join(v, [3]int{0, 1, z})
			}
		}
		join(v, [3]int{0, 0, 1})
	})
	return rows, quadric
}

// eachPoint visits the points of the projective plane over the field of q elements, in order.
func eachPoint(q int, visit func(v [3]int)) {
	for i := range q * q {
		visit([3]int{1, i / q, i % q})
	}
	for z := range q {
		visit([3]int{0, 1, z})
	}
	visit([3]int{0, 0, 1})
}

// Layout implements [LaidOut]: the paper's racks. The quadrics are one; each neighbour of
// the first quadric makes another, with its own neighbours that are no quadrics.
func (x *PolarFly) Layout() *topology.Layout {
	_, quadric := polarity(x.Q)
	n := x.Graph().Neighbors()
	rack := make([]int, len(quadric))
	for i, center := range n.Of(topology.SwitchID(slices.Index(quadric, true))) {
		rack[center] = i + 1
		for _, s := range n.Of(center) {
			if !quadric[s] {
				rack[s] = i + 1
			}
		}
	}
	l := topology.RingsOf(x.Graph(), x.Q+1, func(s topology.SwitchID) int { return rack[s] }, "rack ", "The quadrics in a ring, and each neighbour of the first one in a ring with its own neighbours.")
	l.Frames[0].Name = "quadrics"
	return l
}
