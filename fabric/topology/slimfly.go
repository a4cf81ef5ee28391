package topology

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim/param"
)

// SlimFlyConfig configures the topology "slim-fly"; see [SlimFly].
type SlimFlyConfig struct {
	Q int `toml:"q" doc:"order: a prime power that is -1, 0 or 1 modulo 4; there are 2*q*q switches" min:"3" max:"509"`
	P int `toml:"p" doc:"terminals of a switch; 0: half the ports to other switches, rounded up, as its authors have it" min:"0" max:"4096"`
}

func init() {
	register("slim-fly", "Slim Fly: McKay-Miller-Širáň graph, any two switches at most two hops apart", SlimFlyConfig{Q: 5}, newSlimFly)
}

// Validate checks what the tags cannot.
func (c *SlimFlyConfig) Validate() error {
	if _, _, ok := primePower(c.Q); !ok || c.Q%4 == 2 {
		return &param.ParamError{Key: "q", Value: c.Q, Want: "a prime power from 3 on: 3, 4, 5, 7, 8, 9, 11, 13, ..."}
	}
	return checkPorts("q", c.Q, 2*c.Q*c.Q*(c.degree()+c.terminals()))
}

// delta is -1, 0 or 1, with which q = 4w + delta.
func (c *SlimFlyConfig) delta() int { return (c.Q+1)%4 - 1 }

func (c *SlimFlyConfig) degree() int { return (3*c.Q - c.delta()) / 2 }

func (c *SlimFlyConfig) terminals() int {
	if c.P > 0 {
		return c.P
	}
	return (c.degree() + 1) / 2
}

// SlimFly is the topology of Besta and Hoefler (SC 2014) on the graphs of McKay,
// Miller and Širáň (J. Combinatorial Theory B 74, 1998) as Hafner (2004) writes them:
// two halves of q groups of q switches, over the field of q = 4w + delta elements.
// Switch (half, x, y) has number half*q*q + x*q + y; field elements are numbered as
// polynomials over GF(p), the constant term lowest. With the sets X and X' of
// [slimFlySets],
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
// Switches N = 2q², ports to other switches k = (3q-delta)/2, links N*k/2. The
// diameter is 2: of the ordered pairs N*k are neighbours and all others two hops
// apart, so that the mean distance of distinct switches is 2 - k/(N-1). Bisection: no
// closed form, but at least N/4 times the algebraic connectivity, which is q: in the
// test for all orders to 27, not proven here for all.
type SlimFly struct {
	SlimFlyConfig
	built
}

func newSlimFly(c SlimFlyConfig) *SlimFly {
	c.P = c.terminals()
	f, _ := fieldOf(c.Q) // Validate has seen that there is one
	q := c.Q
	var rows [][]SwitchID
	for half, set := range slimFlySets(f, c.delta()) {
		for group := range q {
			for y := range q {
				row := make([]SwitchID, 0, c.degree())
				for _, d := range set {
					row = append(row, SwitchID((half*q+group)*q+f.add(y, d)))
				}
				for other := range q {
					z := f.mul(group, other) // m*x
					if half == 0 {
						z = f.neg(z) // c = y - m*x
					}
					row = append(row, SwitchID(((1-half)*q+other)*q+f.add(y, z)))
				}
				rows = append(rows, row)
			}
		}
	}
	g := layRows(rows, c.P, classes("local", "cross"), func(s, t SwitchID) ClassID {
		if int(s) < q*q && int(t) >= q*q {
			return 2
		}
		return 1
	})
	n, k := len(rows), c.degree()
	return &SlimFly{c, built{g, Facts{Switches: n, Terminals: n * c.P, Links: n * k / 2, Diameter: 2, Bisection: -1},
		Forms{Degree: [2]int{k, k}, MeanDistance: 2 - float64(k)/float64(n-1), BisectionAtLeast: float64(q) * Halving(n)}}}
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
func slimFlySets(f *field, delta int) (sets [2][]int) {
	w := (f.order - delta) / 4
	add := func(half, first, last int) {
		for e := first; e <= last; e += 2 {
			sets[half] = append(sets[half], f.power(e))
		}
	}
	switch delta {
	case 1:
		add(0, 0, f.order-3)
		add(1, 1, f.order-2)
	case -1:
		add(0, 0, 2*w-2)
		add(0, 2*w-1, 4*w-3)
		add(1, 1, 2*w-1)
		add(1, 2*w, 4*w-2)
	default:
		add(0, 0, f.order-2)
		add(1, 1, f.order-1)
	}
	for _, set := range sets {
		for _, d := range set {
			if !slices.Contains(set, f.neg(d)) {
				panic(fmt.Sprintf("topology: slim-fly: a set of differences is not symmetric for q = %d", f.order))
			}
		}
	}
	return sets
}

// Layout implements [LaidOut]: the groups of one half above, of the other below.
func (x *SlimFly) Layout() *Layout {
	q := x.Q
	l := &Layout{Shape: Rings, Places: make([]Place, 2*q*q), How: "The groups of half 0 above, those of half 1 below; groups of one half are not joined."}
	radius := circleRadius(q, 1)
	pitch := 2*radius + 2
	for s := range l.Places {
		half, group, y := s/(q*q), s/q%q, s%q
		center := Place{pitch * float64(group), (pitch*1.5 + float64(q)) * float64(half)}
		if y == 0 {
			l.Frames = append(l.Frames, Frame{Name: fmt.Sprintf("%d/%d", half, group), Center: center, Radius: radius + 0.5})
		}
		l.Places[s] = onCircle(center, radius, y, q)
	}
	return l
}
