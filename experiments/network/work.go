package network

import (
	"math"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Counter tells run, on every call, what f has done since the last.
func Counter(f *core.Fabric, run *experiments.Run) func() {
	var counted core.Counters
	return func() {
		now := f.Counters
		hops, injected := now.FlitHops-counted.FlitHops, now.InjectedFlits-counted.InjectedFlits
		run.Count(2*hops+injected, hops) // every hop is the arrival of a flit and of a credit
		counted = now
	}
}

// WorthBusy, which only tests change, is the number of terminals with traffic times cycles
// of a window from which a second thread pays, where not all of them send all the time;
// WorthOpen where they do, 0: as the fabric has it.
var WorthBusy, WorthOpen = int64(2000), int64(0)

// CyclesOf is the number of cycles that begin in a time.
func CyclesOf(t, clock sim.Time) int64 { return int64((t + clock - 1) / clock) }

// Memory is the memory of an empty network, in bytes: of records of a port, of its virtual
// channels, and of a terminal with its random streams.
func Memory(g *topology.Graph, vcs int) float64 {
	return float64(g.NumPorts())*(100+60*float64(vcs)) + float64(g.Terminals())*400
}

// BlameTimes is what blame makes of the time: BenchmarkBlame of fabric, at load
// 0.7.
const BlameTimes = 1.8

// NoteBlame counts what blame takes.
func NoteBlame(p *experiments.Preflight) {
	p.Slower(BlameTimes)
	p.Note("cost", "measure.blame takes about %v times as long as a run without, counted below", BlameTimes)
}

// JainIndex is the fairness of shares (Jain, Chiu and Hawe 1984): the square
// of their sum over n times the sum of their squares. 1 if all are equal, k/n
// if k of them have everything; NaN if there is nothing to share.
func JainIndex(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// Mean is the mean of some values; NaN of none.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}
