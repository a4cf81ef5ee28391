package hca

import (
	"math/bits"

	"github.com/weft-sim/weft/sim"
)

// serializer turns bytes into time and carries what a picosecond cannot hold, so
// that long streams keep the exact rate.
type serializer struct{ remainder uint64 }

// divider does the divisions of serializers of one rate, in bits per second. It
// keeps the results for some sizes, since those of a program's messages are few.
type divider struct {
	rate  uint64
	known [16]division
}

// division is the time of so many bytes: time ps and rest/rate of one more. The
// zero value is right.
type division struct {
	bytes int64
	time  sim.Time
	rest  uint64
}

func (d *divider) of(bytes int64) *division {
	k := &d.known[uint64(bytes)*0x9e3779b97f4a7c15>>60]
	if k.bytes != bytes {
		const bitPicoseconds = 8 * 1e12 // picoseconds times bit/s of one byte
		hi, lo := bits.Mul64(uint64(bytes), bitPicoseconds)
		quotient, rest := bits.Div64(hi, lo, d.rate)
		*k = division{bytes, sim.Time(quotient), rest}
	}
	return k
}

// time is that of so many bytes.
func (s *serializer) time(bytes int64, d *divider) sim.Time {
	k := d.of(bytes)
	t := k.time
	s.remainder += k.rest
	if s.remainder >= d.rate {
		s.remainder -= d.rate
		t++
	}
	return t
}
