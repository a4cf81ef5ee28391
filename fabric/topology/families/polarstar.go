package families

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// PolarStarConfig configures the topology "polarstar"; see [PolarStar].
type PolarStarConfig struct {
	Q         int    `toml:"q" doc:"order of the structure graph ER_q, a prime power" min:"2" max:"127"`
	Supernode string `toml:"supernode" doc:"graph inside a supernode: a Paley graph, or one of the size of an inductive quad" choices:"paley|iq"`
	D         int    `toml:"d" doc:"ports of a switch inside its supernode; paley: 2*d+1 a prime power and d even; iq: d is 0 or 3 modulo 4" min:"0" max:"256"`
	P         int    `toml:"p" doc:"terminals of a switch; 0: a third of the largest number of ports to other switches, rounded up" min:"0" max:"4096"`
}

func init() {
	topology.Register("polarstar", "PolarStar: star product of a polarity graph with supernodes, diameter 3",
		PolarStarConfig{Q: 3, Supernode: "paley", D: 2}, newPolarStar)
	topology.Register("slim-fly", "Slim Fly: McKay-Miller-Širáň graph, any two switches at most two hops apart", SlimFlyConfig{Q: 5}, newSlimFly)
}

func (c *PolarStarConfig) Validate() error {
	if _, _, ok := topology.PrimePower(c.Q); !ok {
		return &param.ParamError{Key: "q", Value: c.Q, Want: "a prime power: 2, 3, 4, 5, 7, 8, 9, 11, ..."}
	}
	_, _, power := topology.PrimePower(2*c.D + 1)
	switch {
	case c.Supernode == "iq" && c.D%4 != 0 && c.D%4 != 3:
		return &param.ParamError{Key: "d", Value: c.D, Want: "0, 3, 4, 7, 8, ... with iq supernodes"}
	case c.Supernode == "paley" && (c.D%2 != 0 || !power):
		return &param.ParamError{Key: "d", Value: c.D, Want: "2, 4, 6, 8, 12, 14, ... with paley supernodes: an even number, with 2*d+1 a prime power"}
	}
	return topology.CheckPorts("q", c.Q, (c.Q*c.Q+c.Q+1)*c.supernodeSize()*(c.Q+1+c.D+c.terminals()))
}

func (c *PolarStarConfig) supernodeSize() int {
	if c.Supernode == "iq" {
		return 2*c.D + 2
	}
	return 2*c.D + 1
}

func (c *PolarStarConfig) terminals() int { return cmp.Or(c.P, (c.Q+1+c.D+2)/3) }

// PolarStar is the star product of Lakhotia, Monroe, Isham, Besta, Blach, Hoefler and Petrini (SPAA
// 2024): each point of the polarity graph ER_q (see [PolarFly]) becomes a supernode, a copy of a
// graph G of n switches, and each cable u-v of ER_q, u < v, becomes n cables (u, i) - (v, f(i)),
// for a permutation f of G's switches. Switch (u, i) has number u*n + i.
//
//	supernode u      supernode v
//	i ────────────── f(i)            any two supernodes with a common neighbour
//	│╲             ╱ │               are two hops apart; the third is one inside a
//	j ────────────── f(j)            supernode at the beginning or in the middle
//
// The supernodes are
//
//   - paley: the Paley graph of 2d+1 switches, numbered as elements of a field and
//     joined if they differ by a square; f multiplies by a fixed element that is no
//     square. f carries G to its complement and f twice is an automorphism.
//   - iq: 2d+2 switches in pairs (2a, 2a+1), f swapping the switches of each pair, such
//     that G and f(G) have no cable in common and together have all but those within
//     the pairs: the property R* of the paper. Of the four switches of two pairs one is
//     joined to both of the other pair, and f(G) has the other two cables; which one,
//     [quads] says. The paper's own "inductive quad" is another graph of this kind.
//
// For iq supernodes the loops of ER_q are cables too: in a supernode at a quadric, each switch is
// joined to the other one of its pair. For paley they are left out: they are not needed there and f
// is no involution. Ports: terminals, then cables in the order of the switches that they lead to.
// Channel classes "terminal", "local" (inside a supernode) and "global".
//
// # Why the diameter is 3
//
// ER_q with its loops has a walk of two hops between any two points u and w, u = w among
// them. Along it, i becomes g(i), f or its inverse at each hop. A hop inside the first
// supernode or the last reaches the neighbours of g(i) in G (f twice is an automorphism,
// or the identity), one inside the middle supernode those in f(G): together all but g(i),
// which two hops reach, and with iq f(g(i)), which the walk of three hops through any
// neighbour reaches. With paley a walk that needs a loop is u-w itself, u or w a quadric,
// and one hop along it does as well, with the hop inside before it or after it.
//
// # Closed forms
//
// Switches (q²+q+1)*n with n as above; ports to others q+1+d, with paley q+d at quadrics. Links:
// n*q(q+1)²/2 between supernodes, (q²+q+1)*n*d/2 inside, and with iq (q+1)*n/2 of loops. The
// diameter is at most 3 by the argument above, and by the Moore bound no less if there are more
// than 1+(q+1+d)² switches; no closed form otherwise. None for mean distance and bisection.
type PolarStar struct {
	PolarStarConfig
	topology.Built
}

func newPolarStar(c PolarStarConfig) *PolarStar {
	c.P = c.terminals()
	structure, quadric := polarity(c.Q)
	inside := paley
	if c.Supernode == "iq" {
		inside = quads
	}
	local, f := inside(c.D)
	n := len(local)
	rows := make([][]topology.SwitchID, len(structure)*n)
	join := func(s, t int) {
		rows[s], rows[t] = append(rows[s], topology.SwitchID(t)), append(rows[t], topology.SwitchID(s))
	}
	for u, neighbours := range structure {
		for i, row := range local {
			for _, j := range row {
				rows[u*n+i] = append(rows[u*n+i], topology.SwitchID(u*n+j))
			}
			for _, v := range neighbours {
				if topology.SwitchID(u) < v {
					join(u*n+i, int(v)*n+f[i])
				}
			}
			if c.Supernode == "iq" && quadric[u] && i < f[i] {
				join(u*n+i, u*n+f[i])
			}
		}
	}
	g := topology.LayRows(rows, c.P, topology.Classes("local", "global"), func(s, t topology.SwitchID) topology.ClassID {
		if int(s)/n == int(t)/n {
			return 1
		}
		return 2
	})
	points, k := len(structure), c.Q+1+c.D
	facts := topology.Facts{Switches: n * points, Terminals: n * points * c.P, Links: n*c.Q*(c.Q+1)*(c.Q+1)/2 + points*n*c.D/2, Diameter: -1, Bisection: -1}
	forms := topology.Forms{Degree: [2]int{k - 1, k}}
	if c.Supernode == "iq" {
		facts.Links += (c.Q + 1) * n / 2
		forms.Degree[0] = k
	}
	if facts.Switches > 1+k*k {
		facts.Diameter = 3
	}
	return &PolarStar{c, topology.NewBuilt(g, facts, forms)}
}

// paley is the Paley graph of 2d+1 vertices, by rows, and the multiplication by the
// primitive element, which is no square.
func paley(d int) (rows [][]int, f []int) {
	field, _ := topology.FieldOf(2*d + 1)
	for i := range 2*d + 1 {
		row := lists.Make(d, func(e int) int { return field.Add(i, field.Power(2*e)) })
		rows, f = append(rows, row), append(f, field.Mul(i, field.Power(1)))
	}
	return rows, f
}

// quads is a graph of m = d+1 pairs (2a, 2a+1) in which every vertex has d neighbours, by rows, and
// the permutation that swaps each pair. Of any two pairs one gives the vertex that is joined to
// both of the other. A pair that gives k times makes the degrees of its two vertices 2k1 + (m-1-k)
// and 2k2 + (m-1-k), k1 + k2 = k, which are both m-1 if k is even and both give half. So what is
// needed is a tournament of m players in which all win an even number of times. It exists as
// m(m-1)/2 is even: begin with any, the lower number winning; then walk over the players in order
// and, of each that wins an odd number of times, turn the game against the next. The last is even
// then, because the sum is.
func quads(d int) (rows [][]int, f []int) {
	m := d + 1
	rows = make([][]int, 2*m)
	given := make([]int, m)
	odd := false // the player's wins, with the game turned before
	for a := range m {
		f = append(f, 2*a+1, 2*a)
	}
	join := func(giver, other int) {
		v := 2*giver + given[giver]%2
		given[giver]++
		for _, u := range []int{2 * other, 2*other + 1} {
			rows[v], rows[u] = append(rows[v], u), append(rows[u], v)
		}
	}
	for a := range m {
		odd = odd != ((m-1-a)%2 == 1) // the wins against higher numbers, and what the turn before took or gave
		for b := a + 1; b < m; b++ {
			if b == a+1 && odd {
				join(b, a)
			} else {
				join(a, b)
			}
		}
	}
	if odd {
		panic(fmt.Sprintf("topology: polarstar: no supernode of degree %d", d))
	}
	return rows, f
}

// Layout implements [LaidOut]: supernodes as rings.
func (x *PolarStar) Layout() *topology.Layout {
	size := x.supernodeSize()
	return topology.RingsOf(x.Graph(), x.Graph().Switches()/size, func(s topology.SwitchID) int { return int(s) / size },
		"supernode ", "Supernodes in a circle, their switches in rings.")
}

// SlimFlyConfig configures the topology "slim-fly"; see [SlimFly].
type SlimFlyConfig struct {
	Q int `toml:"q" doc:"order: a prime power that is -1, 0 or 1 modulo 4; there are 2*q*q switches" min:"3" max:"509"`
	P int `toml:"p" doc:"terminals of a switch; 0: half the ports to other switches, rounded up, as its authors have it" min:"0" max:"4096"`
}

func (c *SlimFlyConfig) Validate() error {
	if _, _, ok := topology.PrimePower(c.Q); !ok || c.Q%4 == 2 {
		return &param.ParamError{Key: "q", Value: c.Q, Want: "a prime power from 3 on: 3, 4, 5, 7, 8, 9, 11, 13, ..."}
	}
	return topology.CheckPorts("q", c.Q, 2*c.Q*c.Q*(c.degree()+c.terminals()))
}

// delta is -1, 0 or 1, with which q = 4w + delta.
func (c *SlimFlyConfig) delta() int { return (c.Q+1)%4 - 1 }

func (c *SlimFlyConfig) degree() int { return (3*c.Q - c.delta()) / 2 }

func (c *SlimFlyConfig) terminals() int { return cmp.Or(c.P, (c.degree()+1)/2) }

// SlimFly is the topology of Besta and Hoefler (SC 2014) on the graphs of McKay, Miller and Širáň
// (J. Combinatorial Theory B 74, 1998) as Hafner (2004) writes them: two halves of q groups of q
// switches, over the field of q = 4w + delta elements. Switch (half, x, y) has number half*q*q +
// x*q + y; field elements are numbered as polynomials over GF(p), the constant term lowest. With
// the sets X and X' of [slimFlySets],
//
//	(0, x, y) - (0, x, y')   if y - y' is in X          local
//	(1, m, c) - (1, m, c')   if c - c' is in X'         local
//	(0, x, y) - (1, m, c)    if y = m*x + c             cross
//
//	half 0   ╭group 0╮ ╭group 1╮ ... ╭group q-1╮      groups of one half are not
//	            │  ╲  ╱   │                            joined; each is joined to each
//	half 1   ╭group 0╮ ╭group 1╮ ... ╭group q-1╮      of the other half by q cables
//
// Ports: terminals, then cables in the order of the switches that they lead to.
// Channel classes "terminal", "local" and "cross".
//
// # Closed forms
//
// Switches N = 2q², ports to other switches k = (3q-delta)/2, links N*k/2. The diameter is 2: of
// the ordered pairs N*k are neighbours and all others two hops apart, so that the mean distance of
// distinct switches is 2 - k/(N-1). Bisection: no closed form, but at least N/4 times the algebraic
// connectivity, which is q: in the test for all orders to 27, not proven here for all.
type SlimFly struct {
	SlimFlyConfig
	topology.Built
}

func newSlimFly(c SlimFlyConfig) *SlimFly {
	c.P = c.terminals()
	f, _ := topology.FieldOf(c.Q) // Validate has seen that there is one
	q := c.Q
	var rows [][]topology.SwitchID
	for half, set := range slimFlySets(f, c.delta()) {
		for group := range q {
			for y := range q {
				row := lists.Map(set, func(d int) topology.SwitchID { return topology.SwitchID((half*q+group)*q + f.Add(y, d)) })
				for other := range q {
					z := f.Mul(group, other) // m*x
					if half == 0 {
						z = f.Neg(z) // c = y - m*x
					}
					row = append(row, topology.SwitchID(((1-half)*q+other)*q+f.Add(y, z)))
				}
				rows = append(rows, row)
			}
		}
	}
	g := topology.LayRows(rows, c.P, topology.Classes("local", "cross"), func(s, t topology.SwitchID) topology.ClassID {
		if int(s) < q*q && int(t) >= q*q {
			return 2
		}
		return 1
	})
	n, k := len(rows), c.degree()
	return &SlimFly{c, topology.NewBuilt(g, topology.Facts{Switches: n, Terminals: n * c.P, Links: n * k / 2, Diameter: 2, Bisection: -1},
		topology.Forms{Degree: [2]int{k, k}, MeanDistance: 2 - float64(k)/float64(n-1), BisectionAtLeast: float64(q) * metrics.Halving(n)})}
}

// slimFlySets are the sets X and X' of differences in the two halves (Hafner,
// Discrete Mathematics 2004; Besta and Hoefler, SC 2014, section II-B). With a
// primitive element e of the field, as exponents:
//
//	delta =  1   X: 0, 2, ..., q-3                 X': 1, 3, ..., q-2
//	delta = -1   X: 0, 2, ..., 2w-2, and           X': 1, 3, ..., 2w-1, and
//	                2w-1, 2w+1, ..., 4w-3              2w, 2w+2, ..., 4w-2
//	delta =  0   X: 0, 2, ..., q-2                 X': 1, 3, ..., q-1
//
// Each contains with an element its negative.
func slimFlySets(f *topology.Field, delta int) (sets [2][]int) {
	w := (f.Order - delta) / 4
	add := func(half, first, last int) {
		for e := first; e <= last; e += 2 {
			sets[half] = append(sets[half], f.Power(e))
		}
	}
	switch delta {
	case 1:
		add(0, 0, f.Order-3)
		add(1, 1, f.Order-2)
	case -1:
		add(0, 0, 2*w-2)
		add(0, 2*w-1, 4*w-3)
		add(1, 1, 2*w-1)
		add(1, 2*w, 4*w-2)
	default:
		add(0, 0, f.Order-2)
		add(1, 1, f.Order-1)
	}
	for _, set := range sets {
		for _, d := range set {
			if !slices.Contains(set, f.Neg(d)) {
				panic(fmt.Sprintf("topology: slim-fly: a set of differences is not symmetric for q = %d", f.Order))
			}
		}
	}
	return sets
}

// Layout implements [LaidOut]: the groups of one half above, of the other below.
func (x *SlimFly) Layout() *topology.Layout {
	q := x.Q
	l := &topology.Layout{Shape: topology.Rings, Places: make([]topology.Place, 2*q*q), How: "The groups of half 0 above, those of half 1 below; groups of one half are not joined."}
	radius := topology.CircleRadius(q, 1)
	pitch := 2*radius + 2
	for s := range l.Places {
		half, group, y := s/(q*q), s/q%q, s%q
		center := topology.Place{X: pitch * float64(group), Y: (pitch*1.5 + float64(q)) * float64(half)}
		if y == 0 {
			l.Frames = append(l.Frames, topology.Frame{Name: fmt.Sprintf("%d/%d", half, group), Center: center, Radius: radius + 0.5})
		}
		l.Places[s] = topology.OnCircle(center, radius, y, q)
	}
	return l
}
