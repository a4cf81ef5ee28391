// Package sim is weft's foundation: simulated time, the event kernel, named random streams, units.
//
// # Contract
//
// Time is an integer count of picoseconds; floating point enters only in statistics. Simultaneous
// events have a total order that depends on the model alone (see [Event]). Every consumer of
// randomness draws from a stream of its own, named by (seed, role, id), so that adding one disturbs
// no other. The same model with the same seed therefore gives the same results, bit for bit, on
// every machine and for every number of threads.
package sim

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// Time is a point in simulated time or a duration, in picoseconds; its range is about 106 days.
type Time int64

// Units of time.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// MaxTime is later than every event.
const MaxTime Time = math.MaxInt64

var timeUnits = map[string]int64{
	"ps": int64(Picosecond), "ns": int64(Nanosecond), "us": int64(Microsecond), "µs": int64(Microsecond), "ms": int64(Millisecond), "s": int64(Second),
}

// ParseTime reads a duration with its unit: "1ns", "2.5us", "600 ps". It must be a whole number of
// picoseconds; nothing is rounded.
func ParseTime(s string) (Time, error) {
	return quantity[Time]("time", s, timeUnits, func(suffix string) error {
		if suffix == "" {
			return fmt.Errorf("time %q has no unit: write for example \"10ns\" (ps, ns, us, ms, s)", s)
		}
		return fmt.Errorf("time %q has an unknown unit %q: use ps, ns, us, ms or s", s, suffix)
	})
}

// quantity reads a number with its unit, exactly; unknown is the error of any other unit.
func quantity[T ~int64](what, s string, units map[string]int64, unknown func(suffix string) error) (T, error) {
	number, suffix := splitUnit(s)
	unit, ok := units[suffix]
	if !ok {
		return 0, unknown(suffix)
	}
	n, err := scaleDecimal(number, unit)
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", what, s, err)
	}
	return T(n), nil
}

// UnmarshalText makes Time readable from experiment files.
func (t *Time) UnmarshalText(text []byte) error { return unmarshal(t, ParseTime, text) }

// unmarshal reads a quantity; it stays as it is after an error.
func unmarshal[T any](to *T, parse func(string) (T, error), text []byte) error {
	v, err := parse(string(text))
	if err == nil {
		*to = v
	}
	return err
}

// MarshalText is the inverse of UnmarshalText.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// String prints the time exactly, in the largest unit with at most three decimal places.
func (t Time) String() string {
	if t == 0 {
		return "0ns"
	}
	abs := t
	if abs < 0 {
		abs = -abs
	}
	for _, suffix := range []string{"s", "ms", "us", "ns"} {
		if unit := Time(timeUnits[suffix]); abs >= unit && abs%(unit/1000) == 0 {
			return strconv.FormatFloat(float64(t)/float64(unit), 'f', -1, 64) + suffix
		}
	}
	return strconv.FormatInt(int64(t), 10) + "ps"
}

// Nanoseconds is the time in nanoseconds, for statistics.
func (t Time) Nanoseconds() float64 { return float64(t) / float64(Nanosecond) }

// Microseconds is the time in microseconds, for statistics.
func (t Time) Microseconds() float64 { return float64(t) / float64(Microsecond) }

// Seconds is the time in seconds, for statistics.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// Bytes is a size of data.
type Bytes int64

var byteUnits = map[string]int64{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

// ParseBytes reads a size: "64", "64B", "8kB" (8000), "8KiB" (8192), "1MiB".
func ParseBytes(s string) (Bytes, error) {
	n, err := quantity[Bytes]("size", s, byteUnits, func(suffix string) error {
		return fmt.Errorf("size %q has an unknown unit %q: use B, kB, MB, GB, KiB, MiB or GiB", s, suffix)
	})
	if n < 0 {
		return 0, fmt.Errorf("size %q is negative", s)
	}
	return n, err
}

// UnmarshalText makes Bytes readable from experiment files.
func (b *Bytes) UnmarshalText(text []byte) error { return unmarshal(b, ParseBytes, text) }

// MarshalText is the inverse of UnmarshalText.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String prints the size exactly, with a binary unit where one divides it.
func (b Bytes) String() string {
	for _, suffix := range []string{"GiB", "MiB", "KiB"} {
		if unit := byteUnits[suffix]; b != 0 && int64(b)%unit == 0 {
			return strconv.FormatInt(int64(b)/unit, 10) + suffix
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// Rate is a data rate in bits per second.
type Rate int64

var rateUnits = map[string]int64{
	"b/s": 1, "kb/s": 1e3, "Kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12,
	"B/s": 8, "kB/s": 8e3, "KB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9, "TB/s": 8e12,
}

// ParseRate reads a data rate: "40Gb/s", "3.04GB/s", "100 Gb/s".
func ParseRate(s string) (Rate, error) {
	n, err := quantity[Rate]("rate", s, rateUnits, func(string) error {
		return fmt.Errorf("rate %q: write for example \"40Gb/s\" or \"3.04GB/s\" (b/s or B/s with k, M, G, T)", s)
	})
	if err == nil && n <= 0 {
		return 0, fmt.Errorf("rate %q must be positive", s)
	}
	return n, err
}

// UnmarshalText makes Rate readable from experiment files.
func (r *Rate) UnmarshalText(text []byte) error { return unmarshal(r, ParseRate, text) }

// MarshalText is the inverse of UnmarshalText.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String prints the rate exactly, in Gb/s.
func (r Rate) String() string { return strconv.FormatFloat(float64(r)/1e9, 'f', -1, 64) + "Gb/s" }

// PicosecondsFor is the time to send n bytes, in picoseconds with fraction, for callers to round
// once: long streams keep the exact rate.
func (r Rate) PicosecondsFor(n Bytes) float64 { return float64(n) * 8 * 1e12 / float64(r) }

// splitUnit divides "2.5 us" into "2.5" and "us".
func splitUnit(s string) (number, unit string) {
	s = strings.TrimSpace(s)
	i := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r == '.' || r == '-' || r == '+' || r == '_')
	})
	if i < 0 {
		return s, ""
	}
	return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i:])
}

// scaleDecimal is number*unit as an exact integer.
func scaleDecimal(number string, unit int64) (int64, error) {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/unit {
		return n * unit, nil
	}
	r, ok := new(big.Rat).SetString(strings.ReplaceAll(number, "_", ""))
	if !ok {
		return 0, fmt.Errorf("%q is not a number", number)
	}
	r.Mul(r, new(big.Rat).SetInt64(unit))
	if !r.IsInt() {
		return 0, fmt.Errorf("finer than the smallest unit that weft counts in")
	}
	if !r.Num().IsInt64() {
		return 0, fmt.Errorf("out of range")
	}
	return r.Num().Int64(), nil
}

// Serializer turns bytes into time and carries fractions of a picosecond, so that long streams keep
// the exact rate. The zero value carries nothing.
type Serializer struct{ remainder uint64 }

// Divider does the divisions of serializers of one rate. It keeps some results, since a program's
// messages, or a network's packets, have few sizes.
type Divider struct {
	rate  uint64 // bits per second
	known [16]division
}

// NewDivider returns the divider of a rate, which must be positive.
func NewDivider(r Rate) Divider { return Divider{rate: uint64(r)} }

// Rate is the rate that it divides by.
func (d *Divider) Rate() Rate { return Rate(d.rate) }

// division is the time of so many bytes: time ps and rest/rate of one more. Zero is right.
type division struct {
	bytes int64
	time  Time
	rest  uint64
}

func (d *Divider) divide(k *division, bytes int64) {
	const bitPicoseconds = 8 * 1e12 // picoseconds times bit/s of one byte
	hi, lo := bits.Mul64(uint64(bytes), bitPicoseconds)
	quotient, rest := bits.Div64(hi, lo, d.rate)
	*k = division{bytes, Time(quotient), rest}
}

// Time is how long the bytes take in picoseconds, one more if earlier remainders make one up.
func (s *Serializer) Time(bytes int64, d *Divider) Time {
	k := &d.known[uint64(bytes)*0x9e3779b97f4a7c15>>60]
	if k.bytes != bytes {
		d.divide(k, bytes)
	}
	s.remainder += k.rest
	_, short := bits.Sub64(s.remainder, d.rate, 0) // 1 if they make up none; no branch, which nothing would predict
	s.remainder -= d.rate & (short - 1)
	return k.time + Time(1-short)
}
