package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// Knee is where a variant of a load sweep ceases to keep up. Numbers that are not known are NaN.
type Knee struct {
	Variant string  // the swept settings but load and seed, as far as they vary
	Highest float64 // the highest offered load that was tried
	Point   int     // index of the variant's first point
	Steady  float64 // the highest offered load at which every seed is steady, below Not
	Not     float64 // the lowest at which some seed is saturated; between the two, the verdict is open
	Seeds   int
	// Accepted is the mean over seeds of the load accepted at Steady, Idle the mean latency in ns
	// at the lowest load; Half is Student's 95 % interval over seeds, or the one run's, NaN without
	// one.
	Accepted, AcceptedHalf float64
	Idle, IdleHalf         float64
	IdleLoad               float64
}

// Knees finds the knee of every variant of a table; nil if no offered load is swept. Cost: linear
// in the rows.
func (t *Table) Knees() []Knee {
	offered, err := t.Numbers("offered_load")
	if err != nil || !slices.Contains(t.Columns, StateColumn) {
		return nil
	}
	d, err := t.divide(nil)
	if err != nil || !d.load { // the load of measure.find follows from other settings
		return nil
	}
	keys := append(d.demand, d.design...)
	slices.Sort(keys)
	variant := func(i int) string { return equations(Pick(t.Columns, keys), Pick(t.Rows[i], keys)) }
	var knees []Knee
	several := false
	for _, rows := range Grouped(Indices(len(t.Rows)), variant) {
		k := t.knee(rows, offered)
		k.Variant = variant(rows[0])
		knees = append(knees, k)
		several = several || slices.ContainsFunc(rows, func(i int) bool { return offered[i] != offered[rows[0]] })
	}
	if !several {
		return nil
	}
	return knees
}

// LoadKey is the setting that curves run along.
const LoadKey = "traffic.load"

// knee finds the knee of one variant, from its rows.
func (t *Table) knee(rows []int, offered []float64) Knee {
	k := Knee{Steady: math.NaN(), Not: math.NaN(), Accepted: math.NaN(), Idle: math.NaN()}
	if at := slices.Index(t.Columns, "point"); at >= 0 {
		k.Point = int(Number(t.Rows[rows[0]][at]))
	}
	byLoad := slices.Clone(rows)
	slices.SortStableFunc(byLoad, func(i, j int) int { return cmp.Compare(offered[i], offered[j]) })
	k.Highest = offered[byLoad[len(byLoad)-1]]
	var lowest, last []int // rows at the lowest load, and at the last one at which all are steady
	for len(byLoad) > 0 {
		n := 1
		for n < len(byLoad) && sameNumber(offered[byLoad[n]], offered[byLoad[0]]) {
			n++
		}
		at := byLoad[:n]
		byLoad = byLoad[n:]
		k.Seeds = max(k.Seeds, n)
		if lowest == nil {
			lowest = at
		}
		is := func(state measure.State) func(int) bool {
			return func(i int) bool { return t.State(i) == state }
		}
		if slices.ContainsFunc(at, is(measure.Saturated)) {
			k.Not = offered[at[0]]
			break
		}
		if !slices.ContainsFunc(at, is(measure.Undecided)) {
			last, k.Steady = at, offered[at[0]]
		}
	}
	k.Accepted, k.AcceptedHalf = t.meanOf("accepted_load", last)
	k.Idle, k.IdleHalf = t.meanOf("latency_mean_ns", lowest)
	k.IdleLoad = offered[lowest[0]]
	return k
}

// meanOf is the mean of a column over some rows, with the half-width of its interval.
func (t *Table) meanOf(column string, rows []int) (mean, half float64) {
	values, err := t.Numbers(column)
	if err != nil || len(rows) == 0 {
		return math.NaN(), math.NaN()
	}
	r := stats.Of(lists.Map(rows, func(i int) float64 { return values[i] }))
	halves, err := t.HalfWidths(column)
	switch {
	case r.N() > 1:
		half = r.HalfWidth(0.95)
	case err != nil:
		half = math.NaN()
	default:
		half = halves[rows[0]]
	}
	return r.Mean(), half
}

func sameNumber(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

// Metrics that a selection of rows, usually all loads of one variant, comes down to.
const (
	saturationMetric = "saturation_throughput" // the rule of papers: see acceptedAt95
	steadyMetric     = "steady_throughput"     // weft's own verdict
	peaksMetric      = "peaks"                 // of a histogram: see Peaks
)

// DerivedMetrics are computed from several rows.
var DerivedMetrics = map[string]func(*Table) (float64, error){
	saturationMetric: acceptedAt95,
	steadyMetric:     steadyThroughput,
	peaksMetric:      Peaks,
}

// steadyThroughput is the highest accepted load among the steady rows, NaN if there are none.
func steadyThroughput(t *Table) (float64, error) {
	accepted, err := t.Numbers("accepted_load")
	if err != nil {
		return math.NaN(), err
	}
	best := math.NaN()
	for i, x := range accepted {
		if t.State(i) == measure.Steady && !(x <= best) {
			best = x
		}
	}
	return best, nil
}

// acceptedAt95 is the highest accepted load among the rows that accept at least
// 0.95 of what is offered; if none does, the accepted load at the lowest offered
// one. NaN if there are no rows. Papers and BookSim2 call this the saturation throughput; it is no
// verdict, since a network that falls behind by less than 5 % passes it (see [State]).
func acceptedAt95(t *Table) (float64, error) {
	offered, err := t.Numbers("offered_load")
	accepted, err2 := t.Numbers("accepted_load")
	if err := cmp.Or(err, err2); err != nil {
		return math.NaN(), err
	}
	best, lowest, atLowest := math.NaN(), math.Inf(1), math.NaN()
	for i := range offered {
		if accepted[i] >= 0.95*offered[i] && !(accepted[i] <= best) {
			best = accepted[i]
		}
		if offered[i] < lowest {
			lowest, atLowest = offered[i], accepted[i]
		}
	}
	if math.IsNaN(best) {
		return atLowest, nil
	}
	return best, nil
}

// Peaks counts the peaks of a histogram of latencies: parts of it with at least a hundredth of all packets,
// between which the packets per ns fall to less than a tenth of the peak before and rise again to more
// than ten times as many, which noise of some hundred packets in a bin does not.
func Peaks(t *Table) (float64, error) {
	from, err := t.Numbers("latency_from_ns")
	to, err2 := t.Numbers("latency_to_ns")
	packets, err3 := t.Numbers("packets")
	if err := cmp.Or(err, err2, err3); err != nil {
		return math.NaN(), err
	}
	all, parts := 0.0, []float64{0} // packets
	highest, lowest := 0.0, 0.0     // packets per ns of the part's peak, and after it
	for i, n := range packets {
		density := n / (to[i] - from[i])
		if i > 0 && from[i] > to[i-1] { // bins without packets are left out
			lowest = 0
		}
		if 10*lowest < highest && density > 10*lowest {
			parts, highest = append(parts, 0), 0
		}
		if lowest = min(lowest, density); density >= highest {
			highest, lowest = density, density
		}
		parts[len(parts)-1] += n
		all += n
	}
	peaks := 0.0
	for _, part := range parts {
		if part > 0 && part >= all/100 {
			peaks++
		}
	}
	return peaks, nil
}

// StateColumn holds the verdict on a point, as [core.State] writes it.
const StateColumn = "state"

// State is the verdict on row i of a table of results. Without one, as in other kinds' tables or by
// hand, it is steady, but where a column "saturated" says "true".
func (t *Table) State(i int) measure.State {
	if s, err := measure.ParseState(t.Cell(i, StateColumn)); err == nil {
		return s
	}
	if t.Cell(i, "saturated") == "true" {
		return measure.Saturated
	}
	return measure.Steady
}

// CountStates says how many rows have each verdict: "74 steady, 6 undecided, 40 saturated"; ""
// without verdicts.
func (t *Table) CountStates() string {
	if !slices.Contains(t.Columns, StateColumn) {
		return ""
	}
	counts := map[measure.State]int{}
	for i := range t.Rows {
		counts[t.State(i)]++
	}
	var parts []string
	for _, s := range []measure.State{measure.Steady, measure.Undecided, measure.Saturated} {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %v", counts[s], s))
		}
	}
	return strings.Join(parts, ", ")
}
