package topology

// The field arithmetic behind the difference sets and the graphs that are defined
// over finite fields: a field as the list of powers of a primitive element.

// PrimePower splits q = p^e, p prime; ok is false if q is not a power of one
// prime.
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

// Field is GF(p^n). An element is a polynomial over GF(p) of degree below n,
// written as the integer whose base-p digits are its coefficients, the
// constant term lowest.
type Field struct {
	p, n  int
	Order int     // p^n
	exp   []int32 // len = order-1: powers of the primitive element
	log   []int32 // len = order: exponents; 0 has none
}

// newField builds GF(p^n) with the first primitive polynomial in the order of
// the integers that spell its coefficients. x is primitive modulo a monic f
// exactly if its powers run through all p^n - 1 non-zero residues; they are
// then all invertible, so that f needs no separate test of irreducibility.
// Cost: at worst a few dozen passes over the field.
func newField(p, n int) *Field {
	f := &Field{p: p, n: n, Order: 1}
	for range n {
		f.Order *= p
	}
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

// tabulate fills exp with the powers of x modulo x^n + low and tells whether
// they are all different.
func (f *Field) tabulate(low int) bool {
	top := f.Order / f.p
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
