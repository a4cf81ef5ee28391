package sim

import (
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

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
}

func TestParseBytesAndRate(t *testing.T) {
	for in, want := range map[string]Bytes{"64": 64, "8kB": 8000, "8KiB": 8192, "1.5MiB": 3 << 19, "0B": 0} {
		got, err := ParseBytes(in)
		simtest.ErrorIf(t, err != nil || got != want, "ParseBytes(%q) = %d, %v, want %d", in, got, err, want)
	}
	for in, want := range map[string]Rate{"40Gb/s": 40e9, "3.04GB/s": 24.32e9, "100 Gb/s": 100e9} {
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
		if got, err := ParseTime(Time(v).String()); err != nil || got != Time(v) {
			t.Errorf("time %d prints as %v, which reads as %d, %v", v, Time(v), got, err)
		}
		if v < 0 {
			return
		}
		if got, err := ParseBytes(Bytes(v).String()); err != nil || got != Bytes(v) {
			t.Errorf("size %d prints as %v, which reads as %d, %v", v, Bytes(v), got, err)
		}
		if v == 0 {
			return
		}
		if got, err := ParseRate(Rate(v).String()); err != nil || got != Rate(v) {
			t.Errorf("rate %d prints as %v, which reads as %d, %v", v, Rate(v), got, err)
		}
	})
}

func TestSerializerCarriesRemainders(t *testing.T) {
	var s Serializer
	d := NewDivider(3e9)
	total := Time(0)
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
