package core

import (
	"math"

	"github.com/weft-sim/weft/fabric"
)

// IntervalShift is the fixed-point precision of departure times: rates that
// do not divide the clock keep their mean to one part in a million. It is the precision of
// [fabric.ChannelTiming], too.
const IntervalShift = 20

// WholeCycle is the first cycle that begins at a fixed-point time or later.
func WholeCycle(t int64) int64 { return (t + 1<<IntervalShift - 1) >> IntervalShift }

// timing is a channel class in the numbers that the core reckons with.
type timing struct {
	latency  int32 // cycles, at least 1
	interval int64 // time a flit occupies the channel, in cycles << intervalShift
}

// timings are those of the channel classes.
func timings(classes []fabric.ChannelTiming) []timing {
	all := make([]timing, len(classes))
	for i, t := range classes {
		all[i] = timing{int32(t.Latency), int64(math.Round(t.CyclesPerFlit * (1 << IntervalShift)))}
	}
	return all
}
