package hca

import (
	"math/bits"

	"github.com/weft-sim/weft/sim"
)

// serializer turns bytes into time at a rate and carries what a picosecond
// cannot hold, so that long streams keep the exact rate.
type serializer struct{ remainder uint64 }

// time is that of n bytes at a rate in bits per second.
func (s *serializer) time(n int64, rate sim.Rate) sim.Time {
	const bitPicoseconds = 8 * 1e12 // picoseconds times bit/s of one byte
	hi, lo := bits.Mul64(uint64(n), bitPicoseconds)
	lo, carry := bits.Add64(lo, s.remainder, 0)
	quotient, remainder := bits.Div64(hi+carry, lo, uint64(rate))
	s.remainder = remainder
	return sim.Time(quotient)
}
