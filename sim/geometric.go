package sim

import (
	"math"
	"sort"
)

// Geometric draws the number of Bernoulli trials up to and including the first
// success: 1, 2, 3, ... with mean 1/p. Build it once per probability, which costs
// some 10,000 logarithms; a draw costs a look into a table or, beyond the table, a
// logarithm.
type Geometric struct {
	scale float64 // 1 / ln(1-p); 0: p is 1
	steps *geometricSteps
}

// geometricSteps inverts the distribution for small numbers of trials.
type geometricSteps struct {
	// above[n] is the least fraction of a draw, in units of 2^-53, that gives
	// more than n+1 trials.
	above [tabulatedTrials]uint64
	// from[b] is the number of entries of above that are at most b<<guideShift.
	from [1 << (53 - guideShift)]uint16
}

const (
	tabulatedTrials = 256
	guideShift      = 45
)

// NewGeometric prepares draws with success probability p in (0, 1]. p = 0
// gives a distribution whose draws are far beyond every run.
func NewGeometric(p float64) Geometric {
	switch {
	case p >= 1:
		return Geometric{}
	case p <= 0:
		return Geometric{scale: math.Inf(-1)}
	}
	g := Geometric{scale: 1 / math.Log1p(-p)}
	g.steps = g.tabulate()
	return g
}

func (g Geometric) tabulate() *geometricSteps {
	t := new(geometricSteps)
	for n := range t.above {
		t.above[n] = uint64(sort.Search(1<<53, func(x int) bool { return g.invert(uint64(x)) > int64(n)+1 }))
	}
	n := uint16(0)
	for b := range t.from {
		for n < tabulatedTrials && t.above[n] <= uint64(b)<<guideShift {
			n++
		}
		t.from[b] = n
	}
	return t
}

// Draw returns the next gap, at least 1 and at most 2^60.
func (g Geometric) Draw(s *Stream) int64 {
	if g.scale == 0 {
		return 1
	}
	x := s.Uint64() >> 11
	if g.steps == nil {
		return g.invert(x)
	}
	n := uint32(g.steps.from[x>>guideShift])
	for n < tabulatedTrials && x >= g.steps.above[n] {
		n++
	}
	if n == tabulatedTrials {
		return g.invert(x)
	}
	return int64(n) + 1
}

// invert is the number of trials at a fraction of the distribution, in units of
// 2^-53.
func (g Geometric) invert(fraction uint64) int64 {
	x := math.Log(1-float64(fraction)*0x1p-53) * g.scale // 1-u is in (0, 1]: the logarithm is finite
	if !(x < 1<<60) {
		return 1 << 60
	}
	return 1 + int64(x)
}
