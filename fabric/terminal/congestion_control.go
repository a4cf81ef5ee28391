package terminal

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// CongestionControl holds the settings of congestion control of InfiniBand's adapters, by the names of
// opensm.conf but for the last two. What is set there for a service level is set here for all.
type CongestionControl struct {
	PortControl int    `toml:"cc_ca_cong_setting_port_control" doc:"0: each queue pair has an index into the table; 1: all queue pairs of a service level have one" min:"0" max:"1"`
	Timer       int64  `toml:"cc_ca_cong_setting_ccti_timer" doc:"after which an index falls by one, in units of 1.024 us; 0: it does not" min:"0" max:"65535"`
	Increase    int    `toml:"cc_ca_cong_setting_ccti_increase" doc:"of an index at a BECN" min:"0" max:"255"`
	Minimum     int    `toml:"cc_ca_cong_setting_ccti_min" doc:"below which no index falls" min:"0" max:"65535"`
	Table       string `toml:"cc_cct" doc:"table of inter-packet delays, \"shift:multiplier,...\": (time of the packet >> shift) * multiplier; \"\": entry i is cct_shift:i"`
	Shift       int    `toml:"cct_shift" doc:"of all entries, if cc_cct gives none" min:"0" max:"3"`
	Limit       int    `toml:"ccti_limit" doc:"above which no index grows; 0: the last entry of cc_cct" min:"0" max:"16383"`
}

// DefaultCongestionControl holds the values of MLNX_OFED's congestion control manager, a part of OpenSM,
// where they are known, and of Gran et al. (IPDPS 2012): the timer, the limit. OpenSM alone has 0
// everywhere: nothing is marked, and no BECN has an effect. Its trigger threshold is left out: it
// makes a line in a log.
func DefaultCongestionControl() CongestionControl {
	return CongestionControl{Timer: 150, Increase: 1, Limit: 127}
}

// Validate checks the table and what points into it; see [param.Validate].
func (c *CongestionControl) Validate() error {
	_, err := c.delays()
	return err
}

// perSL tells whether all queue pairs of a service level have one index.
func (c *CongestionControl) perSL() bool { return c.PortControl == 1 }

// delayEntry is one of the table: the delay after a packet is (its time >> shift) * multiplier,
// which leaves 2^shift / (multiplier + 2^shift) of the rate.
type delayEntry struct {
	shift, multiplier uint16
}

// delayTable is a table of inter-packet delays, with what moves the indices into it: shared by the
// queue pairs of an adapter.
type delayTable struct {
	CongestionControl
	entries []delayEntry
	timer   sim.Time
}

// delays is what the settings come to.
func (c CongestionControl) delays() (*delayTable, error) {
	d := &delayTable{CongestionControl: c, timer: sim.Time(c.Timer) * 1024 * sim.Nanosecond}
	if c.Table == "" {
		if c.Limit == 0 {
			return nil, &param.ParamError{Key: "ccti_limit", Value: c.Limit, Want: "at least 1 without cc_cct"}
		}
		for i := range c.Limit + 1 {
			d.entries = append(d.entries, delayEntry{uint16(c.Shift), uint16(i)})
		}
	} else {
		for i, text := range strings.Split(c.Table, ",") {
			e, err := parseDelay(strings.TrimSpace(text))
			if err != nil {
				return nil, &param.ParamError{Key: "cc_cct", Value: strconv.Quote(c.Table), Want: fmt.Sprintf("%v in entry %d", err, i)}
			}
			d.entries = append(d.entries, e)
		}
		if d.Limit == 0 {
			d.Limit = len(d.entries) - 1
		}
	}
	if last := len(d.entries) - 1; d.Limit > last {
		return nil, &param.ParamError{Key: "ccti_limit", Value: d.Limit, Want: fmt.Sprintf("at most %d, the last entry of cc_cct", last)}
	}
	if d.Minimum > d.Limit {
		return nil, &param.ParamError{Key: "cc_ca_cong_setting_ccti_min", Value: d.Minimum, Want: fmt.Sprintf("at most the limit of the index, %d", d.Limit)}
	}
	return d, nil
}

// parseDelay reads "shift:multiplier": 2 and 14 bits.
func parseDelay(text string) (delayEntry, error) {
	shift, multiplier, _ := strings.Cut(text, ":")
	s, err := strconv.ParseUint(shift, 0, 2)
	m, err2 := strconv.ParseUint(multiplier, 0, 14)
	if err != nil || err2 != nil {
		return delayEntry{}, fmt.Errorf("\"shift:multiplier\" with a shift of 0 to 3 and a multiplier of 0 to 16383, not %q", text)
	}
	return delayEntry{uint16(s), uint16(m)}, nil
}

// share is the part of the rate of a link that an index leaves.
func (d *delayTable) share(index int) float64 {
	e := d.entries[index]
	unit := math.Ldexp(1, int(e.shift))
	return unit / (float64(e.multiplier) + unit)
}

// congestionIndex is the congestion control table index, CCTI, of a queue pair or a service level
// (InfiniBand Architecture Specification, volume 1, annex A10). It is at the minimum until the
// first BECN.
//
// Choices where the annex leaves one: the timer starts with the BECN that raises an index from
// the minimum, runs on at further ones, as that of Intel's hfi1 does, and stops at the minimum;
// an expiry goes before a BECN of the same time. What it has done is found out when the index is
// next asked for, so that it needs no events.
type congestionIndex struct {
	above   int      // the minimum
	expires sim.Time // if above is not 0
}

// at is the index at a time.
func (x *congestionIndex) at(now sim.Time, d *delayTable) int {
	if x.above > 0 && d.timer > 0 && now >= x.expires {
		expiries := (now-x.expires)/d.timer + 1
		x.above = int(max(0, sim.Time(x.above)-expiries))
		x.expires += expiries * d.timer
	}
	return d.Minimum + x.above
}

// onBECN takes a BECN into account.
func (x *congestionIndex) onBECN(now sim.Time, d *delayTable) {
	before := x.at(now, d)
	if x.above == 0 {
		x.expires = now + d.timer
	}
	x.above = min(before+d.Increase, d.Limit) - d.Minimum
}

// delay is how long after the end of a packet that takes a time on the link the next one of the
// queue pair or service level may begin.
func (x *congestionIndex) delay(now, packet sim.Time, d *delayTable) sim.Time {
	e := d.entries[x.at(now, d)]
	return packet >> e.shift * sim.Time(e.multiplier)
}
