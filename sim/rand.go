package sim

import (
	"math"
	"math/bits"
	"sort"
	"sync/atomic"

	"github.com/weft-sim/weft/sim/snapshot"
)

// Stream is a source of pseudo-random numbers, 8 bytes of state (SplitMix64: Steele, Lea, Flood,
// OOPSLA 2014). The zero value is a valid, fixed stream; make others with [NewStream]. A Stream is
// not safe for concurrent use; give every consumer its own.
type Stream struct{ state uint64 }

// NewStream returns the stream of consumer (role, id) under seed. Different names start at
// unrelated points of the sequence.
func NewStream(seed uint64, role string, id int) Stream {
	h := mix(seed + golden)
	for i := 0; i < len(role); i++ {
		h = mix(h ^ uint64(role[i])*golden)
	}
	return Stream{mix(h ^ (uint64(id)+1)*0xd1342543de82ef95)}
}

// ArchiveStream writes the state of a stream or reads it.
func ArchiveStream(a *snapshot.Archive, s *Stream) { snapshot.Uint64(a, &s.state) }

const golden = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uint64 returns 64 random bits. With it a *Stream is a math/rand/v2 Source.
func (s *Stream) Uint64() uint64 {
	s.state += golden
	return mix(s.state)
}

// IntN returns a number in [0, n), without bias (Lemire 2019). n must be positive.
func (s *Stream) IntN(n int) int {
	if n <= 0 {
		panic("sim: Stream.IntN of a number that is not positive")
	}
	hi, lo := bits.Mul64(s.Uint64(), uint64(n))
	if lo < uint64(n) {
		for limit := -uint64(n) % uint64(n); lo < limit; {
			hi, lo = bits.Mul64(s.Uint64(), uint64(n))
		}
	}
	return int(hi)
}

// Float64 returns a number in [0, 1) with 53 random bits.
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// Shuffle permutes p uniformly (Fisher and Yates).
func Shuffle[T any](s *Stream, p []T) {
	for i := len(p) - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		p[i], p[j] = p[j], p[i]
	}
}

// Geometric draws the number of Bernoulli trials up to and including the first success: 1, 2, 3,
// ... with mean 1/p. Build it once per probability: first draws cost a logarithm each, then one
// draw makes a table; later ones look into that, or take a logarithm beyond it.
type Geometric struct {
	scale float64         // 1 / ln(1-p); 0: p is 1
	table *geometricTable // nil: none is made
}

// geometricTable is made once it has been worth its while.
type geometricTable struct {
	steps atomic.Pointer[geometricSteps]
	draws atomic.Int32 // without it
}

// tableLogarithms is about a table's cost.
const tableLogarithms = 1500

// geometricSteps inverts the distribution for small numbers of trials.
type geometricSteps struct {
	// above[n] is the least fraction of a draw, in units of 2^-53, that gives more than n+1 trials.
	above [tabulatedTrials]uint64
	// from[b] is the number of entries of above that are at most b<<guideShift.
	from [1 << (53 - guideShift)]uint16
}

const (
	tabulatedTrials = 256
	guideShift      = 45
)

// NewGeometric prepares draws with success probability p in (0, 1]; with p = 0, draws are beyond
// every run.
func NewGeometric(p float64) Geometric {
	switch {
	case p >= 1:
		return Geometric{}
	case p <= 0:
		return Geometric{scale: math.Inf(-1)}
	}
	return Geometric{1 / math.Log1p(-p), new(geometricTable)}
}

func (g Geometric) tabulate() *geometricSteps {
	t := new(geometricSteps)
	for n := range t.above {
		t.above[n] = g.leastAbove(int64(n) + 1)
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

// leastAbove is the least fraction, in units of 2^-53, that gives more trials than so many; 2^53 if
// none does. It is 1-(1-p)^trials but for some units of rounding.
func (g Geometric) leastAbove(trials int64) uint64 {
	guess := int(-math.Expm1(float64(trials)/g.scale) * (1 << 53))
	above := func(x int) bool { return g.invert(uint64(x)) > trials }
	for reach := 2; ; reach *= 2 {
		low, high := max(0, guess-reach), min(1<<53, guess+reach)
		if (low == 0 || !above(low)) && (high == 1<<53 || above(high)) {
			return uint64(low + sort.Search(high-low, func(i int) bool { return above(low + i) }))
		}
	}
}

// Draw returns the next gap, at least 1 and at most 2^60.
func (g Geometric) Draw(s *Stream) int64 {
	if g.scale == 0 {
		return 1
	}
	x := s.Uint64() >> 11
	if g.table == nil {
		return g.invert(x)
	}
	steps := g.table.steps.Load()
	if steps == nil {
		if g.table.draws.Add(1) < tableLogarithms {
			return g.invert(x)
		}
		steps = g.tabulate()
		g.table.steps.Store(steps) // threads that draw at once make the same
	}
	n := uint32(steps.from[x>>guideShift])
	for n < tabulatedTrials && x >= steps.above[n] {
		n++
	}
	if n == tabulatedTrials {
		return g.invert(x)
	}
	return int64(n) + 1
}

// invert is the number of trials at a fraction of the distribution, in units of 2^-53.
func (g Geometric) invert(fraction uint64) int64 {
	x := math.Log(1-float64(fraction)*0x1p-53) * g.scale // 1-u is in (0, 1]: the logarithm is finite
	if !(x < 1<<60) {
		return 1 << 60
	}
	return 1 + int64(x)
}
