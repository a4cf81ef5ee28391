package topology

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// Every block size up to 33 whose predecessor is a prime power, counted by
// hand: 2 3 4 5 7 8 9 11 13 16 17 19 23 25 27 29 31 32.
var planeSizes = []int{3, 4, 5, 6, 8, 9, 10, 12, 14, 17, 18, 20, 24, 26, 28, 30, 32, 33}

// Verify counts what the definition demands: N different points in no block twice, every point once
// at every port, every two points in sigma blocks. Cost: N*m*m steps and N*N counters.
func (d *Design) Verify() error {
	if d.sigma*(d.points-1) != d.size*(d.size-1) {
		return fmt.Errorf("topology: (%d, %d, %d) is not a symmetric design: sigma(N-1) differs from m(m-1)", d.points, d.size, d.sigma)
	}
	var problems []error
	together := make([]int32, d.points*d.points)
	for b := range d.points {
		for i := range d.size {
			x := d.Point(b, i)
			if back := d.Block(x, i); back != b {
				problems = append(problems, fmt.Errorf("topology: port %d of block %d leads to point %d, whose port %d leads to block %d", i, b, x, i, back))
			}
			for j := range d.size {
				together[x*d.points+d.Point(b, j)]++
			}
		}
	}
	for x := range d.points {
		for y := range d.points {
			want := d.sigma
			if x == y {
				want = d.size
			}
			if got := int(together[x*d.points+y]); got != want {
				problems = append(problems, fmt.Errorf("topology: points %d and %d share %d blocks, want %d", x, y, got, want))
			}
		}
	}
	return errors.Join(problems...)
}

func TestDesignProjectivePlanes(t *testing.T) {
	var built []int
	for m := 2; m <= 33; m++ {
		d, err := NewDesign(m, 1)
		if err != nil {
			continue
		}
		built = append(built, m)
		simtest.ErrorIf(t, d.Points() != m*(m-1)+1 || d.Size() != m || d.Sigma() != 1,
			"m = %d: got (%d, %d, %d)", m, d.Points(), d.Size(), d.Sigma())
		err = d.Verify()
		simtest.ErrorIf(t, err != nil, "m = %d: %v", m, err)
	}
	simtest.ErrorIf(t, !slices.Equal(built, planeSizes), "built m = %v, want %v", built, planeSizes)
}

func TestDesignBiplanes(t *testing.T) {
	for _, want := range [][2]int{{7, 4}, {11, 5}, {16, 6}, {37, 9}} {
		d := simtest.Must(NewDesign(want[1], 2))(t)
		simtest.ErrorIf(t, d.Points() != want[0] || d.Sigma() != 2, "m = %d: got (%d, %d, %d)", want[1], d.Points(), d.Size(), d.Sigma())
		if err := d.Verify(); err != nil {
			t.Errorf("(%d, %d, 2): %v", want[0], want[1], err)
		}
	}
}

// The normal form agrees with the published perfect difference sets
// (Singer 1938, table; Baumert, Cyclic Difference Sets, table 6.1).
func TestDesignPublishedDifferenceSets(t *testing.T) {
	for m, want := range map[int][]int{
		3: {0, 1, 3},
		4: {0, 1, 3, 9},
		5: {0, 1, 4, 14, 16},
		6: {0, 1, 3, 8, 12, 18},
		8: {0, 1, 3, 13, 32, 36, 43, 52},
	} {
		d := simtest.Must(NewDesign(m, 1))(t)
		simtest.ErrorIf(t, !slices.Equal(d.base, want), "m = %d: difference set %v, want %v", m, d.base, want)
	}
}

// Each switch sees every processor port exactly once, and Port, Point, Block
// and Meet are views of one incidence relation.
func TestDesignPortLabelling(t *testing.T) {
	for _, c := range [][2]int{{3, 1}, {5, 1}, {9, 1}, {4, 2}, {6, 2}} {
		d := simtest.Must(NewDesign(c[0], c[1]))(t)
		for b := range d.Points() {
			ports := map[int]bool{}
			for x := range d.Points() {
				if j, ok := d.Port(b, x); ok {
					ports[j] = true
					simtest.FatalIf(t, d.Point(b, j) != x || d.Block(x, j) != b, "m = %d: port %d of block %d and of point %d do not meet", c[0], j, b, x)
				}
			}
			if len(ports) != d.Size() {
				t.Errorf("m = %d: block %d sees the ports %v", c[0], b, ports)
			}
		}
	}
}

func TestDesignVerifyFindsProblems(t *testing.T) {
	for _, base := range [][]int{{0, 1, 2}, {0, 1, 1}, {0, 1}} {
		simtest.ErrorIf(t, newDesign(7, base, false).Verify() == nil, "base %v modulo 7 passed", base)
	}
}

func TestDesignRefusals(t *testing.T) {
	for _, c := range []struct {
		m, sigma int
		want     string
	}{
		{7, 1, "such as 6 or 8"},
		{1, 1, "such as 3"},
		{1000, 1, "such as 128, the largest supported"},
		{7, 2, "4, 5, 6 or 9"},
		{3, 3, "sigma = 3: want 1 or 2"},
	} {
		simtest.Refuse(NewDesign(c.m, c.sigma))(t, c.want)
	}
}

// The field tables satisfy the axioms that the difference sets rest on: the
// powers of the primitive element are all non-zero elements, multiplication
// (addition of exponents) distributes over addition.
func TestDesignFieldAxioms(t *testing.T) {
	for _, c := range [][2]int{{2, 3}, {2, 6}, {3, 3}, {3, 4}, {5, 3}, {7, 2}} {
		t.Run(fmt.Sprintf("GF(%d^%d)", c[0], c[1]), func(t *testing.T) {
			f := newField(c[0], c[1])
			log := make([]int, f.Order)
			for i := range log {
				log[i] = -1
			}
			for i, a := range f.exp {
				simtest.FatalIf(t, a == 0 || log[a] >= 0, "power %d is %d again", i, a)
				log[a] = i
			}
			multiply := func(a, b int) int {
				if a == 0 || b == 0 {
					return 0
				}
				return f.Power(log[a] + log[b])
			}
			for a := range f.Order {
				for b := range f.Order {
					simtest.FatalIf(t, f.Add(a, b) != f.Add(b, a) || f.Add(f.Add(a, b), f.scale(b, f.p-1)) != a, "addition fails at %d, %d", a, b)
					c := (a*7 + b*3 + 1) % f.Order
					simtest.FatalIf(t, multiply(c, f.Add(a, b)) != f.Add(multiply(c, a), multiply(c, b)), "%d(%d+%d) does not distribute", c, a, b)
				}
			}
		})
	}
}
