package topology

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Design is a symmetric block design (N, m, sigma): N points, N blocks of m points, every point in
// m blocks, every two points together in exactly sigma blocks, so that sigma*(N-1) = m*(m-1).
// Points become processors and blocks become switches (Podlazov 2012, section 1).
//
// All designs here are developed from a difference set D of an abelian group: block b holds the
// points b - D[0], ..., b - D[m-1]. This labels ports: the cable between block b and point b - D[j]
// is at port j on both sides, so each block and each point sees every port number once.
type Design struct {
	points, size, sigma int
	base                []int   // D; len = m
	bitwise             bool    // the group is (Z_2)^n, not Z_N
	portOf              []int32 // len = N: index in D of each group element, or -1
}

// newDesign develops a difference set; sigma follows from its size.
func newDesign(points int, base []int, bitwise bool) *Design {
	d := &Design{
		points: points, size: len(base), sigma: len(base) * (len(base) - 1) / (points - 1),
		base: base, bitwise: bitwise, portOf: slices.Repeat([]int32{-1}, points),
	}
	for j, e := range base {
		d.portOf[e] = int32(j)
	}
	return d
}

// Points is N, the number of points and of blocks.
func (d *Design) Points() int { return d.points }

// Size is m, the number of points in a block and of blocks through a point.
func (d *Design) Size() int { return d.size }

// Sigma is the number of blocks that two points share.
func (d *Design) Sigma() int { return d.sigma }

// Point is the point at port j of a block.
func (d *Design) Point(block, j int) int { return d.minus(block, d.base[j]) }

// Block is the block at port j of a point.
func (d *Design) Block(point, j int) int {
	if d.bitwise {
		return point ^ d.base[j]
	}
	return (point + d.base[j]) % d.points
}

// Port is the port, on both sides, of the cable between a block and a point; not ok if there is
// none.
func (d *Design) Port(block, point int) (j int, ok bool) {
	j = int(d.portOf[d.minus(block, point)])
	return j, j >= 0
}

func (d *Design) minus(a, b int) int {
	switch {
	case d.bitwise:
		return a ^ b
	case a < b:
		return a - b + d.points
	}
	return a - b
}

// MaxDesignSize is the largest block size m that [NewDesign] builds.
const MaxDesignSize = 128

// biplanes are the designs with sigma = 2 of the paper's outlook (and one more), by block size.
// Sources: 4: the complement of the Fano plane; 5: the quadratic residues modulo 11; 9: the fourth
// powers modulo 37; 6: the zeros of x0 = x1*x2 + x3*x4 are a bent function's, whose six ones form a
// difference set of (Z_2)^4 (Dillon 1974). Hall, Combinatorial Theory, chapter 11, lists all four.
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

// NewDesign builds the symmetric design with blocks of m points of which every two share sigma.
// sigma = 1 are the projective planes of order m-1, which exist if m-1 is a prime power; no other
// order is known, and 6 and 10 are known not to exist. sigma = 2 are a few biplanes. Errors are
// *param.ParamError for the keys "m" and "sigma".
func NewDesign(m, sigma int) (*Design, error) {
	switch sigma {
	case 1:
		p, e, ok := PrimePower(m - 1)
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
	works := func(m int) bool { _, _, ok := PrimePower(m - 1); return ok }
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

// singer returns the difference set of the projective plane of order q = p^e (Singer, Trans. AMS
// 1938): with a primitive element a of GF(q^3), the exponents i modulo q*q+q+1 for which the trace
// of a^i to GF(q), a^i + a^(iq) + a^(iqq), is 0: the points of a line, on which a acts as a cycle
// through the whole plane. It is returned in the normal form of [leastEquivalent].
func singer(p, e int) []int {
	f := newField(p, 3*e)
	q := Power(p, e)
	n := q*q + q + 1
	base := lists.Filter(Numbers[int](n), func(i int) bool {
		return f.Add(f.Power(i), f.Add(f.Power(i*q), f.Power(i*q*q))) == 0
	})
	return leastEquivalent(base, n)
}

// leastEquivalent brings a difference set modulo n with sigma = 1 into the form found in tables:
// among all u*D + v with u prime to n that contain 0 and 1, the one that is first in lexicographic
// order, sorted. For n = 7 it is 0, 1, 3, the paper's.
func leastEquivalent(base []int, n int) []int {
	var best []int
	member := make([]int, n) // the last u for which this is in u*D
	for u := 1; u < n; u++ {
		if GCD(u, n) != 1 {
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

// GCD is the greatest common divisor.
func GCD[N ~int | ~int64](a, b N) N {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Power is base to a power of at least 0.
func Power(base, exponent int) int {
	n := 1
	for range exponent {
		n *= base
	}
	return n
}

// PCCConfig configures the topology "pcc".
type PCCConfig struct {
	M     int `toml:"m" doc:"ports of a switch and of a processor; m-1 a prime power for sigma = 1; 4, 5, 6 or 9 for sigma = 2" unit:"ports" min:"3" max:"128"`
	Sigma int `toml:"sigma" doc:"switches that two processors share" min:"1" max:"2"`
}

func init() {
	param.Register(Registry, "pcc", "simplest system network PCC(N, m, sigma): a symmetric block design of m-port processors and m x m switches (Podlazov 2012)",
		PCCConfig{M: 3, Sigma: 1},
		func(c PCCConfig, _ struct{}) (Topology, error) { return AsTopology(NewPCC(c)) })
}

// NewPCC builds PCC(N, m, sigma), N = m(m-1)/sigma + 1: N processors of m
// ports and N switches of m ports, joined where the block design says so.
//
// In the graph a processor is a switch node (its m-port adapter: the splitter/joiner that works on
// all ports at once) with one terminal. That is PK_1, so a [DistributedSwitch] of one cascade
// stands for it; nodes 0..N-1 are the processors, N..2N-1 the switches. A processor forwards
// nothing: a routing that leads through one uses the detours that the paper leaves to software.
//
// Closed forms: 2N nodes, N*m cables, any two terminals 2 cables apart.
func NewPCC(c PCCConfig) (*DistributedSwitch, error) {
	design, err := NewDesign(c.M, c.Sigma)
	if err != nil {
		return nil, err
	}
	s := newDistributedSwitch(design)
	return s, s.freeze()
}

// Field arithmetic behind the difference sets and the graphs over finite fields: a field is the
// list of powers of a primitive element.

// PrimePower splits q = p^e, p prime; ok is false if q is not a power of one prime.
func PrimePower(q int) (p, e int, ok bool) {
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

// Field is GF(p^n). An element is a polynomial over GF(p) of degree below n, written as the integer
// whose base-p digits are its coefficients, the constant term lowest.
type Field struct {
	p, n  int
	Order int     // p^n
	exp   []int32 // len = order-1: powers of the primitive element
	log   []int32 // len = order: exponents; 0 has none
}

// newField builds GF(p^n) with the first primitive polynomial in the order of the integers that
// spell its coefficients. x is primitive modulo a monic f exactly if its powers run through all p^n
// - 1 non-zero residues; they are then all invertible, so that f needs no separate test of
// irreducibility. Cost: at worst a few dozen passes over the field.
func newField(p, n int) *Field {
	f := &Field{p: p, n: n, Order: Power(p, n)}
	f.exp = make([]int32, f.Order-1)
	for low := 1; low < f.Order; low++ {
		if low%p != 0 && f.tabulate(low) {
			f.log = make([]int32, f.Order)
			for i, a := range f.exp {
				f.log[a] = int32(i)
			}
			return f
		}
	}
	panic("topology: a finite field without a primitive polynomial")
}

// FieldOf is the field of q elements; ok is false if q is not a prime power.
func FieldOf(q int) (f *Field, ok bool) {
	p, n, ok := PrimePower(q)
	if !ok {
		return nil, false
	}
	return newField(p, n), true
}

// tabulate fills exp with the powers of x modulo x^n + low; it is true if all are different.
func (f *Field) tabulate(low int) bool {
	top := f.Order / f.p
	// Multiplying by x moves every digit up by one; the digit c that leaves comes back as -c*low.
	back := lists.Make(f.p, func(c int) int { return f.scale(low, f.p-c) })
	a := 1
	for i := range f.exp {
		if i > 0 && a == 1 {
			return false
		}
		f.exp[i] = int32(a)
		a = f.Add(a%top*f.p, back[a/top])
	}
	return a == 1
}

// Add is the sum of two elements: digit by digit modulo p.
func (f *Field) Add(a, b int) int {
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
func (f *Field) scale(a, c int) int {
	sum := 0
	for range c % f.p {
		sum = f.Add(sum, a)
	}
	return sum
}

// Power is the i-th power of the primitive element, i >= 0.
func (f *Field) Power(i int) int { return int(f.exp[i%(f.Order-1)]) }

// Mul is the product of two elements.
func (f *Field) Mul(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	return f.Power(int(f.log[a]) + int(f.log[b]))
}

// Neg is the element that makes 0 with a.
func (f *Field) Neg(a int) int { return f.scale(a, f.p-1) }

// Divide is a/b; b is not 0.
func (f *Field) Divide(a, b int) int {
	if a == 0 {
		return 0
	}
	return f.Power(int(f.log[a]) + f.Order - 1 - int(f.log[b]))
}
