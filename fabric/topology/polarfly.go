package topology

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-sim/weft/sim/param"
)

// PolarFlyConfig configures the topology "polarfly"; see [PolarFly].
type PolarFlyConfig struct {
	Q int `toml:"q" doc:"order: a prime power; there are q*q+q+1 switches of q or q+1 ports to others" min:"2" max:"509"`
	P int `toml:"p" doc:"terminals of a switch; 0: half of q+1, rounded up" min:"0" max:"4096"`
}

func init() {
	register("polarfly", "PolarFly: Erdős-Rényi polarity graph, any two switches at most two hops apart", PolarFlyConfig{Q: 5}, newPolarFly)
}

// Validate checks what the tags cannot.
func (c *PolarFlyConfig) Validate() error {
	if _, _, ok := primePower(c.Q); !ok {
		return &param.ParamError{Key: "q", Value: c.Q, Want: "a prime power: 2, 3, 4, 5, 7, 8, 9, 11, ..."}
	}
	return checkPorts("q", c.Q, (c.Q*c.Q+c.Q+1)*(c.Q+1+c.terminals()))
}

func (c *PolarFlyConfig) terminals() int { return cmp.Or(c.P, (c.Q+2)/2) }

// PolarFly is the topology of Lakhotia, Besta, Monroe, Isham, Iff, Hoefler and
// Petrini (SC 2022): the polarity graph ER_q of Erdős and Rényi (1962) and Brown
// (1966). Switches are the points of the projective plane over the field of q
// elements, that is vectors whose first coordinate that is not 0 is 1; two are joined
// if their vectors are orthogonal, x*x' + y*y' + z*z' = 0. A point that is orthogonal
// to itself (quadric) has a loop in the graph, which is no cable. (1, y, z) has number
// y*q + z, (0, 1, z) number q*q + z and (0, 0, 1) number q*q + q.
//
//	 quadric w       each switch lies with any other on exactly one path
//	 ╱ │ ... ╲       of two hops, where a loop counts as a hop: w and its
//	v1─v2    vq      neighbour v are one cable apart and share no neighbour
//
// Ports: terminals, then cables in the order of the switches that they lead to.
// Channel classes "terminal" and "polar". The paper's expansion by replicated racks
// is not built.
//
// # Closed forms
//
// N = q²+q+1 switches; q+1 of them, the quadrics, have q ports to others, the rest
// q+1: links q(q+1)²/2. The diameter is 2: two points have one common neighbour, the
// vector product of their vectors. Neighbours are the q(q+1)² ordered pairs at
// distance 1, all others are at 2: mean distance 2 - q(q+1)²/(N(N-1)) = 2 - (q+1)/N.
// Bisection: no closed form. The adjacency matrix with loops A has A² = J + qI, so its
// other eigenvalues are ±√q; the Laplacian of the graph is (q+1)I - A, its least
// eigenvalue but one q+1-√q, and the bisection at least [Halving] of N times that.
type PolarFly struct {
	PolarFlyConfig
	built
}

func newPolarFly(c PolarFlyConfig) *PolarFly {
	c.P = c.terminals()
	rows, _ := polarity(c.Q)
	n, q := len(rows), float64(c.Q)
	return &PolarFly{c, built{layRows(rows, c.P, classes("polar"), one),
		Facts{Switches: n, Terminals: n * c.P, Links: c.Q * (c.Q + 1) * (c.Q + 1) / 2, Diameter: 2, Bisection: -1},
		Forms{Degree: [2]int{c.Q, c.Q + 1}, MeanDistance: 2 - (q+1)/float64(n), BisectionAtLeast: (q + 1 - math.Sqrt(q)) * Halving(n)}}}
}

// polarity is the graph ER_q without its loops, and which points have one. q is a
// prime power.
func polarity(q int) (rows [][]SwitchID, quadric []bool) {
	f, _ := fieldOf(q)
	number := func(v [3]int) SwitchID {
		switch {
		case v[0] != 0:
			return SwitchID(v[1]*q + v[2])
		case v[1] != 0:
			return SwitchID(q*q + v[2])
		}
		return SwitchID(q*q + q)
	}
	join := func(v, u [3]int) {
		if s, t := number(v), number(u); s == t {
			quadric[s] = true
		} else {
			rows[s] = append(rows[s], t)
		}
	}
	n := q*q + q + 1
	rows, quadric = make([][]SwitchID, n), make([]bool, n)
	eachPoint(q, func(v [3]int) {
		// (1, y, z): v1*y + v2*z = -v0. If v2 != 0, each y has one z; else each z one y.
		switch {
		case v[2] != 0:
			for y := range q {
				z := f.divide(f.neg(f.add(v[0], f.mul(v[1], y))), v[2])
				join(v, [3]int{1, y, z})
			}
			join(v, [3]int{0, 1, f.divide(f.neg(v[1]), v[2])})
			return
		case v[1] != 0:
			y := f.divide(f.neg(v[0]), v[1])
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

// eachPoint visits the points of the projective plane over the field of q elements
// in the order of their numbers.
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
func (x *PolarFly) Layout() *Layout {
	_, quadric := polarity(x.Q)
	n := x.graph.Neighbors()
	rack := make([]int, len(quadric))
	for i, center := range n.Of(SwitchID(slices.Index(quadric, true))) {
		rack[center] = i + 1
		for _, s := range n.Of(center) {
			if !quadric[s] {
				rack[s] = i + 1
			}
		}
	}
	l := rings(x.graph, x.Q+1, func(s SwitchID) int { return rack[s] }, "rack ", "The quadrics in a ring, and each neighbour of the first one in a ring with its own neighbours.")
	l.Frames[0].Name = "quadrics"
	return l
}

// The field arithmetic behind the difference sets and the graphs that are defined
// over finite fields: a field as the list of powers of a primitive element.

// primePower splits q = p^e, p prime; ok is false if q is not a power of one
// prime.
func primePower(q int) (p, e int, ok bool) {
	for p = 2; p*p <= q && q%p != 0; p++ {
	}
	if p*p > q {
		p = q // itself a prime, or below 2
	}
	for ; q > 1 && q%p == 0; q /= p {
		e++
	}
	return p, e, q == 1 && e > 0
}

// field is GF(p^n). An element is a polynomial over GF(p) of degree below n,
// written as the integer whose base-p digits are its coefficients, the
// constant term lowest.
type field struct {
	p, n  int
	order int     // p^n
	exp   []int32 // len = order-1: powers of the primitive element
	log   []int32 // len = order: exponents; 0 has none
}

// newField builds GF(p^n) with the first primitive polynomial in the order of
// the integers that spell its coefficients. x is primitive modulo a monic f
// exactly if its powers run through all p^n - 1 non-zero residues; they are
// then all invertible, so that f needs no separate test of irreducibility.
// Cost: at worst a few dozen passes over the field.
func newField(p, n int) *field {
	f := &field{p: p, n: n, order: 1}
	for range n {
		f.order *= p
	}
	f.exp = make([]int32, f.order-1)
	for low := 1; low < f.order; low++ {
		if low%p != 0 && f.tabulate(low) {
			f.log = make([]int32, f.order)
			for i, a := range f.exp {
				f.log[a] = int32(i)
			}
			return f
		}
	}
	panic("topology: a finite field without a primitive polynomial")
}

// fieldOf is the field of q elements; ok is false if q is not a prime power.
func fieldOf(q int) (f *field, ok bool) {
	p, n, ok := primePower(q)
	if !ok {
		return nil, false
	}
	return newField(p, n), true
}

// tabulate fills exp with the powers of x modulo x^n + low and tells whether
// they are all different.
func (f *field) tabulate(low int) bool {
	top := f.order / f.p
	// Multiplying by x moves every digit up by one; the digit c that leaves
	// comes back as -c*low.
	back := make([]int, f.p)
	for c := range back {
		back[c] = f.scale(low, f.p-c)
	}
	a := 1
	for i := range f.exp {
		if i > 0 && a == 1 {
			return false
		}
		f.exp[i] = int32(a)
		a = f.add(a%top*f.p, back[a/top])
	}
	return a == 1
}

// add is the sum of two elements: digit by digit modulo p.
func (f *field) add(a, b int) int {
	if f.p == 2 {
		return a ^ b
	}
	sum, place := 0, 1
	for a > 0 || b > 0 {
		sum += (a + b) % f.p * place // the digits above do not change the last one's residue
		a, b, place = a/f.p, b/f.p, place*f.p
	}
	return sum
}

// scale is c times a, for c in 0..p.
func (f *field) scale(a, c int) int {
	sum := 0
	for range c % f.p {
		sum = f.add(sum, a)
	}
	return sum
}

// power is the i-th power of the primitive element, i >= 0.
func (f *field) power(i int) int { return int(f.exp[i%(f.order-1)]) }

// mul is the product of two elements.
func (f *field) mul(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	return f.power(int(f.log[a]) + int(f.log[b]))
}

// neg is the element that makes 0 with a.
func (f *field) neg(a int) int { return f.scale(a, f.p-1) }

// divide is a/b; b is not 0.
func (f *field) divide(a, b int) int {
	if a == 0 {
		return 0
	}
	return f.power(int(f.log[a]) + f.order - 1 - int(f.log[b]))
}
