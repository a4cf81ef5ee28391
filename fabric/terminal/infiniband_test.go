package terminal

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// ccVectors are the settings of the vectors: Gran's, with four delays to a packet time; 519.5 ns
// are those of 2,078 bytes at 32 Gb/s.
var ccVectors = map[string]func(*CongestionControl){
	"20_becns_10us_apart":      func(*CongestionControl) {},
	"becn_every_100us_for_2ms": func(*CongestionControl) {},
	"increase4_limit10":        func(c *CongestionControl) { c.Increase, c.Limit, c.Timer = 4, 10, 50 },
}

// TestCongestionControlVectors: the index, the delay and the share of the rate after each BECN and each
// expiry; just before an expiry the index is the one before. An index that is asked once, at the
// end, is the same as one that is asked at each row.
func TestCongestionControlVectors(t *testing.T) {
	var delays *delayTable
	var x, rarely congestionIndex
	scenario, rows := "", simtest.Table(t, "testdata/ibcc_ccti.csv.gz")
	for i, row := range rows {
		if row["scenario"] != scenario {
			scenario = row["scenario"]
			c := DefaultCongestionControl()
			c.Shift = 2
			ccVectors[scenario](&c)
			delays = simtest.Must(c.delays())(t)
			x, rarely = congestionIndex{}, congestionIndex{}
		}
		where := fmt.Sprintf("row %d, %s at %s us", i+2, scenario, row["time_us"])
		number := func(name string) float64 { return simtest.Must(strconv.ParseFloat(row[name], 64))(t) }
		now := sim.Time(math.Round(number("time_us") * 1e6))
		if row["event"] == "becn" {
			x.onBECN(now, delays)
			rarely.onBECN(now, delays)
		} else if before := x.at(now-1, delays); before != x.at(now, delays)+1 {
			t.Errorf("%s: index %d before the timer goes off and %d after it", where, before, x.at(now, delays))
		}
		simtest.Equal(t, x.at(now, delays), int(number("ccti")), "%s: index", where)
		e := delays.entries[x.at(now, delays)]
		simtest.Equal(t, fmt.Sprint(e.shift, " ", e.multiplier), row["shift"]+" "+row["multiplier"], "%s: entry", where)
		simtest.Equal(t, x.delay(now, 519500, delays).Nanoseconds(), number("inter_packet_delay_ns"), "%s: delay ns", where)
		got, want := 1/(1+float64(e.multiplier)/math.Ldexp(1, int(e.shift))), number("rate_share")
		simtest.ErrorIf(t, math.Abs(got-want) > 0.5001e-6, "%s: share %g, want %g", where, got, want)
		if i+1 == len(rows) || rows[i+1]["scenario"] != scenario {
			simtest.Equal(t, rarely.at(now, delays), x.at(now, delays), "%s: index when asked at the end", where)
		}
	}
	simtest.ErrorIf(t, len(rows) != 95, "%d rows, want 95", len(rows))
}

// TestCongestionIndex: a minimum bounds the index, the timer starts anew from there, and without
// a timer the index stays.
func TestCongestionIndex(t *testing.T) {
	c := DefaultCongestionControl()
	c.Minimum, c.Increase, c.Table, c.Limit = 3, 2, "0:0, 0:1, 1:1, 2:0x10, 3:9, 0:16383", 0
	d := simtest.Must(c.delays())(t)
	var x congestionIndex
	simtest.Equal(t, x.delay(0, 1000, d), 250*16, "delay ps at the minimum")
	for range 3 {
		x.onBECN(0, d)
	}
	simtest.ErrorIf(t, x.at(0, d) != 5, "index %d, want the last entry, 5", x.at(0, d))
	back := snapshottest.Copy(t, &x)
	simtest.ErrorIf(t, back != x, "archived %+v, read %+v", x, back)
	simtest.Equal(t, x.at(sim.Second, d), 3, "index after a second, the minimum:")
	x.onBECN(sim.Second, d)
	simtest.Equal(t, x.at(sim.Second+153*sim.Microsecond, d), 5, "index 153 us after a BECN, want 5: the timer starts anew")
	c.Timer = 0
	d = simtest.Must(c.delays())(t)
	x.onBECN(sim.Second, d)
	simtest.ErrorIf(t, x.at(100*sim.Second, d) != 5, "index %d after 99 seconds without a timer, want 5", x.at(100*sim.Second, d))
}

// TestCongestionControlRefused: tables that cannot be, and what points beyond them.
func TestCongestionControlRefused(t *testing.T) {
	c := DefaultCongestionControl()
	simtest.Check(t, param.Validate(&c))
	for want, set := range map[string]func(*CongestionControl){
		`in entry 1`:                      func(c *CongestionControl) { c.Table = "1:2,4:5" },
		`not "7"`:                         func(c *CongestionControl) { c.Table = "7" },
		`not ""`:                          func(c *CongestionControl) { c.Table = "0:1," },
		`not "0:16384"`:                   func(c *CongestionControl) { c.Table = "0:16384" },
		`at most 1, the last entry`:       func(c *CongestionControl) { c.Table = "0:1,0:2"; c.Limit = 2 },
		`ccti_limit = 0: want at least 1`: func(c *CongestionControl) { c.Limit = 0 },
		`cc_ca_cong_setting_ccti_min = 128: want at most the limit of the index, 127`: func(c *CongestionControl) { c.Minimum = 128 },
	} {
		c := DefaultCongestionControl()
		set(&c)
		simtest.Fail(t, param.Validate(&c), want)
	}
}
