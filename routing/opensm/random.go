package opensm

// cRandom is the C library's generator behind rand() and random(), as glibc has
// it: an additive feedback generator x[i] = x[i-3] + x[i-31] modulo 2^32 whose
// lowest bit is dropped. The state is filled by the minimal standard generator
// (Park and Miller, Communications of the ACM 1988) and run for 310 steps.
type cRandom struct {
	state [31]uint32
	at    int
}

// newCRandom seeds the generator as srandom does. A program that never does has
// seed 1.
func newCRandom(seed uint32) *cRandom {
	r := &cRandom{at: 3}
	if seed == 0 {
		seed = 1
	}
	word := int64(int32(seed))
	r.state[0] = seed
	for i := 1; i < len(r.state); i++ {
		// Schrage's method, which leaves negative seeds another remainder.
		word = 16807*(word%127773) - 2836*(word/127773)
		if word < 0 {
			word += 2147483647
		}
		r.state[i] = uint32(word)
	}
	for range 310 {
		r.next()
	}
	return r
}

// next is the next number of random(), 31 bits.
func (r *cRandom) next() int {
	// The state is a ring: the slot at hand is 31 steps old, the one 28 further
	// on is 3 steps old.
	from := r.at + 28
	if from >= 31 {
		from -= 31
	}
	r.state[r.at] += r.state[from]
	v := r.state[r.at] >> 1
	if r.at++; r.at == 31 {
		r.at = 0
	}
	return int(v)
}
