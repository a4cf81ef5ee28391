package measure

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/sim/stats"
)

// State is the verdict on a run.
type State uint8

const (
	Undecided State = iota // the run does not tell: too short, or too near to the capacity
	Steady                 // queues have become stationary: the network keeps up with the load
	Saturated              // queues grow as long as the load goes on
)

var stateNames = [...]string{Undecided: "undecided", Steady: "steady", Saturated: "saturated"}

func (s State) String() string { return stateNames[s] }

// ParseState is the inverse of [State.String].
func ParseState(name string) (State, error) {
	for s, n := range stateNames {
		if n == name {
			return State(s), nil
		}
	}
	return Undecided, fmt.Errorf("state %q: want steady, saturated or undecided", name)
}

// Evidence is what the verdict on a run, or on several of a point ([Evidence.Add]), is found from;
// zero: no run.
type Evidence struct {
	Offered float64 // flits per terminal and cycle; 0: by a closed workload, which offers no load
	Bound   float64 // the highest load that channels can carry, proven; 0: none known
	Packets int64   // measured
	Stuck   bool    // packets of the window had not arrived after twice its length

	worth                  float64  // length of the runs, in the least of one that is judged
	runs, measured         int      // in the latter there were slices enough
	growing                estimate // exponent of how far sources are behind
	behind, latency, short estimate // as [Evidence.Judge] holds them against steadyBelow and shortBelow
	filled, missing        estimate // shares of the flits offered in the window: that have stayed in the network, and that were not accepted
}

// The exponent of growth is 0 for a stationary queue, 1/2 at capacity and 1 beyond. A verdict wants
// the whole confidence interval on its side.
const (
	steadyBelow    = 1.0 / 3
	saturatedAbove = 0.5
	confidence     = 0.99
	// judgedIdle is the least length of a run judged by growth, in latencies of an idle network,
	// beside windowPackets packet times: the network fills first.
	judgedIdle = 4
)

// shortBelow is the share of the offered load by which the accepted one may differ from it in a
// steady run, beside the confidence interval. The interval is of what enters the network, which
// varies as births do: in a network that fills, deliveries vary by the filling, too, and would hide
// it. So what fills the network counts against the run if the window accepts less.
const shortBelow = 0.01

// enteredSlices is the most slices of which the interval of what enters the network is built.
const enteredSlices = 40

// leastPackets is the number of measured packets from which a run can be steady.
const leastPackets = 100

// negligible is the share of the mean latency beside which growth is measured if queues are
// shorter.
const negligible = 0.25

// Reasons for a verdict.
const (
	ByBound     = "bound"            // saturated: more is offered than channels can carry
	ByGrowth    = "backlog grows"    // saturated
	ByDrain     = "packets stuck"    // saturated
	ByTests     = "stationary"       // steady
	ByPackets   = "too few packets"  // undecided
	ByWindow    = "window too short" // undecided: too few slices that do not depend on each other
	ByBacklog   = "backlog unclear"  // undecided: may be growing
	ByLatency   = "latency unclear"  // likewise
	ByAccepting = "accepts less"     // undecided: than is offered
)

// Judge is the verdict and its reason.
//
// A run is saturated if more is offered than the channels can carry, or if the sources fall behind
// further and further: they are the only queues without bound. It is steady if neither they nor the
// latency grows, and as much is accepted as offered, if a load is. Growth is an exponent
// ([stats.Growth]) with its 99 % confidence interval.
func (e *Evidence) Judge() (State, string) {
	switch {
	case e.Bound > 0 && e.Offered > e.Bound*(1+1e-9):
		return Saturated, ByBound
	case e.Stuck:
		return Saturated, ByDrain
	case e.measured > 0 && e.measured == e.runs && e.worth >= 1 && e.growing.low() > saturatedAbove:
		return Saturated, ByGrowth
	case e.Packets < leastPackets:
		return Undecided, ByPackets
	case e.measured < e.runs || e.runs == 0 || !(e.worth >= 1):
		return Undecided, ByWindow
	case !(e.behind.high() < steadyBelow):
		return Undecided, ByBacklog
	case !(e.latency.high() < steadyBelow):
		return Undecided, ByLatency
	case !(e.short.low() < shortBelow && min(e.filled.low(), e.missing.mean) < shortBelow):
		return Undecided, ByAccepting
	}
	return Steady, ByTests
}

// Add takes in the evidence of another run of the same point.
func (e *Evidence) Add(o Evidence) {
	e.Offered, e.Bound = o.Offered, o.Bound
	e.Packets += o.Packets
	e.Stuck = e.Stuck || o.Stuck
	e.worth += o.worth
	e.runs += o.runs
	e.measured += o.measured
	e.growing.add(o.growing)
	e.behind.add(o.behind)
	e.latency.add(o.latency)
	e.short.add(o.short)
	e.filled.add(o.filled)
	e.missing.add(o.missing)
}

// measure finds the evidence in a run's slices. idle is its packets' mean latency without waiting,
// in cycles.
func (e *Evidence) measure(slices []progressSlice, terminals int, idle float64) {
	e.runs = 1
	var t, latency, behind []float64
	var accepted stats.Running
	var entered []float64
	for _, s := range slices {
		accepted.Add(s.rate() / float64(terminals))
		entered = append(entered, float64(s.entered)/float64(s.cycles)/float64(terminals))
		if s.packets > 0 {
			t = append(t, float64(s.end)-float64(s.cycles)/2)
			latency = append(latency, float64(s.latency)/float64(s.packets))
			behind = append(behind, s.behind/float64(s.cycles))
		}
	}
	ofLatency, ok := stats.MeasureGrowth(t, latency)
	ofBehind, ok2 := stats.MeasureGrowth(t, behind)
	if !ok || !ok2 {
		return
	}
	e.measured = 1
	floor := negligible * ofLatency.Level
	e.growing.observe(ofBehind, ofBehind.Level)
	e.behind.observe(ofBehind, max(ofBehind.Level, floor))
	e.latency.observe(ofLatency, max(ofLatency.Level-idle, floor))
	e.short = estimate{runs: 1}
	if e.Offered > 0 {
		var births stats.Running // which do not depend on each other
		for _, x := range stats.Joined(entered, enteredSlices) {
			births.Add(x)
		}
		e.short.mean, e.short.half = 1-accepted.Mean()/e.Offered, births.HalfWidth(confidence)/e.Offered
	}
}

// fill compares the flits in the network at the window's beginning and end, as shares of those
// offered. They differ in stationary networks, too: packets under way vary at least as independent
// births do (Poisson).
func (e *Evidence) fill(begin, end, packetFlits, offered float64) {
	quantile := math.Sqrt2 * math.Erfinv(confidence)
	e.filled = estimate{(end - begin) / offered, quantile * math.Sqrt((end+begin)*packetFlits) / offered, 1}
}

// estimate is the mean over runs of a number with a confidence interval.
type estimate struct {
	mean float64
	half float64 // half of the interval's width
	runs float64
}

// observe makes e the exponent of growth relative to a level.
func (e *estimate) observe(g stats.Growth, level float64) {
	*e = estimate{runs: 1}
	if level > 0 {
		var low float64
		e.mean, low, _ = g.Exponent(level, confidence)
		e.half = e.mean - low
	}
}

// add joins estimates of independent runs: widths add up as standard errors do.
func (e *estimate) add(o estimate) {
	n := e.runs + o.runs
	if n == 0 {
		return
	}
	e.mean = (e.mean*e.runs + o.mean*o.runs) / n
	e.half = math.Hypot(e.half*e.runs, o.half*o.runs) / n
	e.runs = n
}

func (e *estimate) low() float64  { return e.mean - e.half }
func (e *estimate) high() float64 { return e.mean + e.half }
