package sim

import "math/bits"

// Serializer turns bytes into time and carries what a picosecond cannot hold, so that long streams
// keep the exact rate. The zero value carries nothing.
type Serializer struct{ remainder uint64 }

// Divider does the divisions of serializers of one rate. It keeps the results for some sizes, since
// a program's messages, or a network's packets, have few sizes.
type Divider struct {
	rate  uint64 // bits per second
	known [16]division
}

// NewDivider returns the divider of a rate, which must be positive.
func NewDivider(r Rate) Divider { return Divider{rate: uint64(r)} }

// division is the time of so many bytes: time ps and rest/rate of one more. The zero value is right.
type division struct {
	bytes int64
	time  Time
	rest  uint64
}

func (d *Divider) of(bytes int64) *division {
	k := &d.known[uint64(bytes)*0x9e3779b97f4a7c15>>60]
	if k.bytes != bytes {
		const bitPicoseconds = 8 * 1e12 // picoseconds times bit/s of one byte
		hi, lo := bits.Mul64(uint64(bytes), bitPicoseconds)
		quotient, rest := bits.Div64(hi, lo, d.rate)
		*k = division{bytes, Time(quotient), rest}
	}
	return k
}

// Time is how long the bytes take: whole picoseconds, one more where the remainders of earlier
// bytes make one up.
func (s *Serializer) Time(bytes int64, d *Divider) Time {
	k := d.of(bytes)
	t := k.time
	s.remainder += k.rest
	if s.remainder >= d.rate {
		s.remainder -= d.rate
		t++
	}
	return t
}
