package topology

// The field arithmetic behind the difference sets and the graphs that are defined
// over finite fields: a field as the list of powers of a primitive element.

// primePower splits q = p^e, p prime; ok is false if q is not a power of one
// prime.
func primePower(q int) (p, e int, ok bool) {
	factors := primeFactors(q)
	if len(factors) != 1 {
		return 0, 0, false
	}
	p = factors[0]
	for r := q; r > 1; r /= p {
		e++
	}
	return p, e, true
}

// primeFactors lists the different prime factors of n in ascending order;
// none for n < 2.
func primeFactors(n int) []int {
	var factors []int
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			factors = append(factors, d)
			for n%d == 0 {
				n /= d
			}
		}
	}
	if n > 1 {
		factors = append(factors, n)
	}
	return factors
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
