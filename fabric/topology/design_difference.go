package topology

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/sim/param"
)

// MaxDesignSize is the largest block size m that [NewDesign] builds.
const MaxDesignSize = 128

// biplanes are the designs with sigma = 2 of the paper's outlook (and one
// more), by block size. Sources: 4: the complement of the Fano plane; 5: the
// quadratic residues modulo 11; 9: the fourth powers modulo 37; 6: the zeros
// of x0 = x1*x2 + x3*x4 are a bent function's, whose six ones form a
// difference set of (Z_2)^4 (Dillon 1974). Hall, Combinatorial Theory,
// chapter 11, lists all four.
var biplanes = map[int]struct {
	points  int
	base    []int
	bitwise bool
}{
	4: {7, []int{0, 1, 2, 4}, false},
	5: {11, []int{1, 3, 4, 5, 9}, false},
	6: {16, []int{3, 7, 11, 12, 13, 14}, true},
	9: {37, []int{1, 7, 9, 10, 12, 16, 26, 33, 34}, false},
}

// NewDesign builds the symmetric design with blocks of m points of which
// every two share sigma. sigma = 1 are the projective planes of order m-1,
// which exist if m-1 is a prime power; no other order is known, and 6 and 10
// are known not to exist. sigma = 2 are a few biplanes. Errors are
// *param.ParamError for the keys "m" and "sigma".
func NewDesign(m, sigma int) (*Design, error) {
	switch sigma {
	case 1:
		p, e, ok := primePower(m - 1)
		if m > MaxDesignSize || !ok {
			return nil, &param.ParamError{Key: "m", Value: m, Want: "a prime power plus one (no other projective plane is known), such as " + nearSizes(m)}
		}
		return newDesign(m*(m-1)+1, singer(p, e), false), nil
	case 2:
		if b, ok := biplanes[m]; ok {
			return newDesign(b.points, b.base, b.bitwise), nil
		}
		return nil, &param.ParamError{Key: "m", Value: m, Want: "4, 5, 6 or 9 with sigma = 2"}
	}
	return nil, &param.ParamError{Key: "sigma", Value: sigma, Want: "1 or 2"}
}

// nearSizes names the nearest block sizes of projective planes.
func nearSizes(m int) string {
	works := func(m int) bool { _, _, ok := primePower(m - 1); return ok }
	below := min(m-1, MaxDesignSize)
	for below >= 3 && !works(below) {
		below--
	}
	above := max(m+1, 3)
	for above <= MaxDesignSize && !works(above) {
		above++
	}
	switch {
	case below < 3:
		return strconv.Itoa(above)
	case above > MaxDesignSize:
		return fmt.Sprintf("%d, the largest supported", below)
	}
	return fmt.Sprintf("%d or %d", below, above)
}

// singer returns the difference set of the projective plane of order q = p^e
// (Singer, Trans. AMS 1938): with a primitive element a of GF(q^3), the
// exponents i modulo q*q+q+1 for which the trace of a^i to GF(q),
// a^i + a^(iq) + a^(iqq), is 0: the points of a line, on which a acts as a
// cycle through the whole plane. It is returned in the normal form of
// [leastEquivalent].
func singer(p, e int) []int {
	f := newField(p, 3*e)
	q := 1
	for range e {
		q *= p
	}
	n := q*q + q + 1
	base := make([]int, 0, q+1)
	for i := range n {
		if f.add(f.power(i), f.add(f.power(i*q), f.power(i*q*q))) == 0 {
			base = append(base, i)
		}
	}
	return leastEquivalent(base, n)
}

// leastEquivalent brings a difference set modulo n with sigma = 1 into the
// form found in tables: among all u*D + v with u prime to n that contain 0 and
// 1, the one that is first in lexicographic order, sorted. For n = 7 it is 0,
// 1, 3, the paper's.
func leastEquivalent(base []int, n int) []int {
	var best []int
	member := make([]int, n) // the last u for which this is in u*D
	for u := 1; u < n; u++ {
		if gcd(u, n) != 1 {
			continue
		}
		moved := make([]int, len(base))
		for i, d := range base {
			moved[i] = u * d % n
			member[moved[i]] = u
		}
		zero := moved[slices.IndexFunc(moved, func(d int) bool { return member[(d+1)%n] == u })]
		for i := range moved {
			moved[i] = (moved[i] - zero + n) % n
		}
		slices.Sort(moved)
		if best == nil || slices.Compare(moved, best) < 0 {
			best = moved
		}
	}
	return best
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
