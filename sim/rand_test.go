package sim

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/stats"
)

func TestStreamsDifferByName(t *testing.T) {
	seen := map[uint64]string{}
	for _, role := range []string{"birth", "routing", ""} {
		for id := range 1000 {
			for seed := range uint64(3) {
				s := NewStream(seed, role, id)
				x := s.Uint64()
				other, dup := seen[x]
				simtest.FatalIf(t, dup, "streams %q and %q begin alike", other, role)
				seen[x] = role
			}
		}
	}
}

// TestStreamIsFrozen pins the sequence: results must not change from version
// to version without notice in the change log.
func TestStreamIsFrozen(t *testing.T) {
	s := NewStream(1, "birth", 0)
	want := [3]uint64{s.Uint64(), s.Uint64(), s.Uint64()}
	simtest.ErrorIf(t, want != [3]uint64{frozen0, frozen1, frozen2}, "stream (1, birth, 0) begins %#x", want)
}

// TestIntN counts 700,000 draws in 7 cells: chi-square with 6 degrees exceeds 35 once in 200,000.
func TestIntN(t *testing.T) {
	r := NewStream(5, "intn", 0)
	var cells [7]float64
	for range 700_000 {
		cells[r.IntN(7)]++
	}
	chi := 0.0
	for _, c := range cells {
		chi += (c - 100_000) * (c - 100_000) / 100_000
	}
	simtest.ErrorIf(t, chi > 35, "chi-square = %v, cells %v", chi, cells)
}

const (
	frozen0 = 0x9e36d39919c42cf7
	frozen1 = 0xc42d8fa4839bb5ca
	frozen2 = 0x51a66559fd0378da
)

// TestGeometric holds mean and variance against 1/p and (1-p)/p^2. With 200,000 draws the mean's
// standard error is sqrt(1-p)/(p*447); six of them are exceeded once in 5e8.
func TestGeometric(t *testing.T) {
	for _, p := range []float64{1, 0.7, 0.1, 0.001} {
		g, r := NewGeometric(p), NewStream(5, "geometric", 0)
		var x stats.Running
		for range 200_000 {
			x.Add(float64(g.Draw(&r)))
		}
		simtest.ErrorIf(t, math.Abs(x.Mean()-1/p) > 6*math.Sqrt(1-p)/p/447, "p = %v: mean %v, want %v", p, x.Mean(), 1/p)
		want := (1 - p) / p / p
		simtest.ErrorIf(t, math.Abs(x.Variance()-want) > 0.05*want, "p = %v: variance %v, want %v", p, x.Variance(), want)
	}
	r := NewStream(5, "geometric", 1)
	x := NewGeometric(0).Draw(&r)
	simtest.ErrorIf(t, x < 1<<59, "p = 0 draws %d", x)
}

// TestGeometricTable holds the table against the logarithm, at random and where the table's steps are.
func TestGeometricTable(t *testing.T) {
	r := NewStream(6, "geometric", 0)
	for _, p := range []float64{1e-6, 0.003, 0.1, 0.4, 0.97, 1 - 1e-12} {
		g := NewGeometric(p)
		for range 20_000 {
			before := r
			x := r.Uint64() >> 11
			got, want := g.Draw(&before), g.invert(x)
			simtest.FatalIf(t, got != want, "p = %v: fraction %#x draws %d, want %d", p, x, got, want)
		}
		for n, x := range g.tabulate().above {
			simtest.FatalIf(t, x > 0 && g.invert(x-1) > int64(n)+1, "p = %v: %#x gives %d trials already", p, x-1, g.invert(x-1))
			simtest.FatalIf(t, x < 1<<53 && g.invert(x) <= int64(n)+1, "p = %v: %#x gives %d trials only, want more than %d", p, x, g.invert(x), n+1)
		}
	}
}

func TestParseTime(t *testing.T) {
	for in, want := range map[string]Time{
		"1ns": 1000, "2.5us": 2_500_000, " 600 ps ": 600, "0.001ns": 1, "1s": 1e12, "7µs": 7e6, "0ns": 0, "-1ns": -1000,
	} {
		got, err := ParseTime(in)
		simtest.ErrorIf(t, err != nil || got != want, "ParseTime(%q) = %d, %v, want %d", in, got, err, want)
	}
	for _, in := range []string{"", "1", "ns", "1 parsec", "0.0001ns", "1e3ns", "1.2.3ns", "99999999999s", "--1ns"} {
		got, err := ParseTime(in)
		simtest.ErrorIf(t, err == nil, "ParseTime(%q) = %v, want an error", in, got)
	}
	kept := Time(7)
	simtest.Fail(t, kept.UnmarshalText([]byte("1 parsec")), "unknown unit")
	simtest.Equal(t, kept, 7, "behind an error a time is")
	for want, at := range map[string]Time{"999ps": 999, "1000.001ns": 1_000_001, "1.5us": 1_500_000, "-2.25ms": -2_250_000_000, "2s": 2e12} {
		simtest.Equal(t, at.String(), want, "%d ps print as", int64(at)) // the largest unit with three decimals at most
	}
}

func TestParseBytesAndRate(t *testing.T) {
	for in, want := range map[string]Bytes{
		"64": 64, "8kB": 8000, "8KB": 8000, "2MB": 2e6, "3GB": 3e9, "8KiB": 8192, "1.5MiB": 3 << 19, "2GiB": 1 << 31, "0B": 0,
	} {
		got, err := ParseBytes(in)
		simtest.ErrorIf(t, err != nil || got != want, "ParseBytes(%q) = %d, %v, want %d", in, got, err, want)
	}
	for in, want := range map[string]Rate{
		"40Gb/s": 40e9, "3.04GB/s": 24.32e9, "100 Gb/s": 100e9, "7b/s": 7, "2kb/s": 2e3, "2Kb/s": 2e3, "3Mb/s": 3e6, "4Tb/s": 4e12,
		"7B/s": 56, "2kB/s": 16e3, "2KB/s": 16e3, "3MB/s": 24e6, "4TB/s": 32e12,
	} {
		got, err := ParseRate(in)
		simtest.ErrorIf(t, err != nil || got != want, "ParseRate(%q) = %d, %v, want %d", in, got, err, want)
	}
	for _, in := range []string{"0.5B", "-1B", "3 apples", "40Gb", "0Gb/s"} {
		_, errBytes := ParseBytes(in)
		_, errRate := ParseRate(in)
		simtest.ErrorIf(t, errBytes == nil || errRate == nil, "%q is taken for a size or a rate", in)
	}
}

func FuzzUnitsRoundTrip(f *testing.F) {
	for _, v := range []int64{0, 1, 999, 1000, 1001, 1_000_000, 123_456_789_012, -5} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v int64) {
		const most = 1 << 53 // printing goes through a float
		v %= most
		got, err := ParseTime(Time(v).String())
		simtest.ErrorIf(t, err != nil || got != Time(v), "time %d prints as %v, which reads as %d, %v", v, Time(v), got, err)
		if v < 0 {
			return
		}
		size, err := ParseBytes(Bytes(v).String())
		simtest.ErrorIf(t, err != nil || size != Bytes(v), "size %d prints as %v, which reads as %d, %v", v, Bytes(v), size, err)
		if v == 0 {
			return
		}
		rate, err := ParseRate(Rate(v).String())
		simtest.ErrorIf(t, err != nil || rate != Rate(v), "rate %d prints as %v, which reads as %d, %v", v, Rate(v), rate, err)
	})
}

func TestSerializerCarriesRemainders(t *testing.T) {
	var s Serializer
	d, total := NewDivider(3e9), Time(0)
	for range 3000 {
		total += s.Time(1, &d) // 8000/3 ps
	}
	simtest.ErrorIf(t, total != 8*Microsecond, "3000 B at 3 Gb/s take %v, want 8us", total)
	// More sizes than the divider remembers: 0 to 99 B are 4950 B, ten times
	// 13.2 us.
	for i := range int64(1000) {
		total += s.Time(i%100, &d)
	}
	simtest.ErrorIf(t, total != 140*Microsecond, "another 49500 B end at %v, want 140us", total)
}
