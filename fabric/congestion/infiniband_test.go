package congestion

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// ccVectors are the settings of the vectors: Gran's, with four delays to a packet time; 519.5 ns
// are those of 2,078 bytes at 32 Gb/s.
var ccVectors = map[string]func(*InfiniBand){
	"20_becns_10us_apart":      func(*InfiniBand) {},
	"becn_every_100us_for_2ms": func(*InfiniBand) {},
	"increase4_limit10":        func(c *InfiniBand) { c.Increase, c.Limit, c.Timer = 4, 10, 50 },
}

// TestInfiniBandVectors: the index, the delay and the share of the rate after each BECN and each
// expiry; just before an expiry the index is the one before. An index that is asked once, at the
// end, is the same as one that is asked at each row.
func TestInfiniBandVectors(t *testing.T) {
	var delays *Delays
	var x, rarely Index
	scenario, rows := "", vector(t, "testdata/ibcc_ccti.csv.gz")
	for i, row := range rows {
		if row["scenario"] != scenario {
			scenario = row["scenario"]
			c := DefaultInfiniBand()
			c.Shift = 2
			ccVectors[scenario](&c)
			delays = simtest.Must(c.Delays())(t)
			x, rarely = Index{}, Index{}
		}
		where := fmt.Sprintf("row %d, %s at %s us", i+2, scenario, row["time_us"])
		now := microseconds(t, row["time_us"])
		if row["event"] == "becn" {
			x.OnBECN(now, delays)
			rarely.OnBECN(now, delays)
		} else if before := x.At(now-1, delays); before != x.At(now, delays)+1 {
			t.Errorf("%s: index %d before the timer goes off and %d after it", where, before, x.At(now, delays))
		}
		if got, want := x.At(now, delays), int(integer(t, row["ccti"])); got != want {
			t.Errorf("%s: index %d, want %d", where, got, want)
		}
		e := delays.entries[x.At(now, delays)]
		if got, want := fmt.Sprint(e.shift, " ", e.multiplier), row["shift"]+" "+row["multiplier"]; got != want {
			t.Errorf("%s: entry %s, want %s", where, got, want)
		}
		if got, want := x.Delay(now, 519500, delays).Nanoseconds(), number(t, row["inter_packet_delay_ns"]); got != want {
			t.Errorf("%s: delay %g ns, want %g", where, got, want)
		}
		if got, want := delays.Share(x.At(now, delays)), number(t, row["rate_share"]); math.Abs(got-want) > 0.5001e-6 {
			t.Errorf("%s: share %g, want %g", where, got, want)
		}
		if i+1 == len(rows) || rows[i+1]["scenario"] != scenario {
			if got := rarely.At(now, delays); got != x.At(now, delays) {
				t.Errorf("%s: index %d when asked at the end, want %d", where, got, x.At(now, delays))
			}
		}
	}
	if len(rows) != 95 {
		t.Errorf("%d rows, want 95", len(rows))
	}
}

// TestInfiniBandIndex: a minimum bounds the index, the timer starts anew from there, and without
// a timer the index stays.
func TestInfiniBandIndex(t *testing.T) {
	c := DefaultInfiniBand()
	c.Minimum, c.Increase, c.Table, c.Limit = 3, 2, "0:0, 0:1, 1:1, 2:0x10, 3:9, 0:16383", 0
	d := simtest.Must(c.Delays())(t)
	var x Index
	if got := x.Delay(0, 1000, d); got != 250*16 {
		t.Errorf("delay %d ps at the minimum, want 4000", got)
	}
	for range 3 {
		x.OnBECN(0, d)
	}
	if x.At(0, d) != 5 {
		t.Errorf("index %d, want the last entry, 5", x.At(0, d))
	}
	if back := archived(t, &x); back != x {
		t.Errorf("archived %+v, read %+v", x, back)
	}
	if got := x.At(sim.Second, d); got != 3 {
		t.Errorf("index %d after a second, want the minimum, 3", got)
	}
	x.OnBECN(sim.Second, d)
	if x.At(sim.Second+153*sim.Microsecond, d) != 5 {
		t.Errorf("index %d 153 us after a BECN, want 5: the timer starts anew", x.At(sim.Second+153*sim.Microsecond, d))
	}
	c.Timer = 0
	d = simtest.Must(c.Delays())(t)
	if x.OnBECN(sim.Second, d); x.At(100*sim.Second, d) != 5 {
		t.Errorf("index %d after 99 seconds without a timer, want 5", x.At(100*sim.Second, d))
	}
}

// TestInfiniBandRefused: tables that cannot be, and what points beyond them.
func TestInfiniBandRefused(t *testing.T) {
	c := DefaultInfiniBand()
	if err := param.Validate(&c); err != nil {
		t.Error(err)
	}
	for want, set := range map[string]func(*InfiniBand){
		`in entry 1`:                      func(c *InfiniBand) { c.Table = "1:2,4:5" },
		`not "7"`:                         func(c *InfiniBand) { c.Table = "7" },
		`not ""`:                          func(c *InfiniBand) { c.Table = "0:1," },
		`not "0:16384"`:                   func(c *InfiniBand) { c.Table = "0:16384" },
		`at most 1, the last entry`:       func(c *InfiniBand) { c.Table = "0:1,0:2"; c.Limit = 2 },
		`ccti_limit = 0: want at least 1`: func(c *InfiniBand) { c.Limit = 0 },
		`cc_ca_cong_setting_ccti_min = 128: want at most the limit of the index, 127`: func(c *InfiniBand) { c.Minimum = 128 },
	} {
		c := DefaultInfiniBand()
		set(&c)
		simtest.Fail(t, param.Validate(&c), want)
	}
}
