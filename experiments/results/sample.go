package results

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// sample is what a table knows about one combination of keys: rows that differ only in their seeds.
type sample struct {
	key       []string
	name      string   // of the key, the same for 0.30 and 0.3
	seeds     []string // "" without a column of seeds
	values    []float64
	halfWidth float64       // of the 95 % interval of a single row; NaN if unknown
	runs      float64       // replications that a single row sums up
	step      float64       // to which the values are known
	state     measure.State // of the worst row: saturated, undecided, steady
}

// rounded says that the values are known to a step at best.
func (s *sample) rounded(step float64) { s.step = max(s.step, step) }

// estimate is a mean with its error's variance, and that variance's degrees of freedom, or a lower
// bound of them.
type estimate struct {
	mean, variance, freedom float64
	known                   bool
}

// leastBatchFreedom is a lower bound for intervals of single rows, which are of batch means: a
// table does not say how many.
const leastBatchFreedom = stats.LeastBatches - 1

// estimate takes the spread of replications, or a single row's interval. A spread of zero says that
// all values lie within one step, not that they are equal: a uniform error within it has a variance
// of a twelfth of its square.
func (s *sample) estimate() estimate {
	r := stats.Of(s.values)
	e := estimate{mean: r.Mean(), variance: math.NaN(), freedom: leastBatchFreedom}
	rounding := s.step * s.step / 12
	switch n := float64(len(s.values)); {
	case n > 1:
		return estimate{r.Mean(), max(r.Variance(), rounding) / n, n - 1, true}
	case s.runs > 1:
		e.freedom, e.known = s.runs-1, true
	}
	if !math.IsInf(s.halfWidth, 0) {
		standardError := s.halfWidth / studentQuantile(e.freedom)
		e.variance = standardError * standardError
	}
	if s.halfWidth == 0 {
		e.variance = rounding
	}
	return e
}

// studentQuantile is what a standard error is multiplied by for a two-sided 95 % interval.
func studentQuantile(freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975)
}

// same tells whether all values of a list are one number.
func same(values []float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return x != values[0] })
}

// paired are the values of two samples with their common seeds, seed by seed; none if these are
// fewer than two, or than half of the larger sample.
func paired(a, b *sample) (ofA, ofB []float64) {
	for i, seed := range a.seeds {
		if j := slices.Index(b.seeds, seed); j >= 0 && seed != "" {
			ofA, ofB = append(ofA, a.values[i]), append(ofB, b.values[j])
		}
	}
	if n := len(ofA); n < 2 || 2*n < max(len(a.values), len(b.values)) {
		return nil, nil
	}
	return ofA, ofB
}

// gathering makes samples of the rows of a table, of one metric.
type gathering struct {
	table          *Table
	values, halves []float64
	percentile     bool
	step           float64 // that all values are multiples of
}

// gather reads what samples of a metric need.
func (t *Table) gather(metric string) (*gathering, error) {
	values, err := t.Numbers(metric)
	if err != nil {
		return nil, err
	}
	values = lists.Map(values, stats.Finite)
	known := func(i int) bool {
		return !math.IsNaN(values[i]) || t.Cell(i, metric) == "" && t.State(i) != measure.Steady
	} // saturated rows have no latencies
	if rows := Indices(len(values)); len(rows) > 0 && !slices.ContainsFunc(rows, known) {
		return nil, fmt.Errorf("column %q has no numbers", metric)
	}
	halves, err := t.HalfWidths(metric)
	if err != nil {
		return nil, err
	}
	return &gathering{t, values, halves, percentile().MatchString(metric), resolution(values)}, nil
}

// percentile is in the names of columns from histogram buckets, at most 1/128 of their value wide.
var percentile = input.Pattern(`_p\d+(_|$)`)

func (g *gathering) sample(rows []int) *sample {
	s := &sample{halfWidth: g.halves[rows[0]], runs: Number(g.table.Cell(rows[0], "replications")), state: measure.Steady}
	for _, i := range rows {
		s.values = append(s.values, g.values[i])
		s.seeds = append(s.seeds, g.table.Cell(i, SeedKey))
		s.state = worse(s.state, g.table.State(i))
		if g.percentile {
			s.rounded(math.Abs(g.values[i]) / 128)
		}
	}
	s.rounded(g.step)
	return s
}

// samples gathers the rows by key, in the order of first appearance.
func (g *gathering) samples(by []string) ([]*sample, error) {
	t := g.table
	keys, err := t.Places(by)
	if err != nil {
		return nil, err
	}
	name := func(i int) string { return KeyOf(t.Rows[i], keys...) }
	rowsWith := "rows"
	if len(by) > 0 {
		rowsWith = "rows with the same " + strings.Join(by, ", ")
	}
	var all []*sample
	for _, rows := range Grouped(Indices(len(t.Rows)), name) {
		for _, key := range sweptColumns(t) {
			if !slices.Contains(by, key) && slices.ContainsFunc(rows, func(i int) bool { return t.Cell(i, key) != t.Cell(rows[0], key) }) {
				return nil, fmt.Errorf("%s differ in %s: match by it too, or choose some with --where", rowsWith, key)
			}
		}
		s := g.sample(rows)
		s.key, s.name = Pick(t.Rows[rows[0]], keys), name(rows[0])
		for i, seed := range s.seeds {
			if seed != "" && slices.Contains(s.seeds[:i], seed) {
				return nil, fmt.Errorf("%s have seed %s twice: match by what they differ in, too", rowsWith, seed)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// sweptColumns lists a results table's swept keys without the seed, between point and replications.
func sweptColumns(t *Table) []string {
	return lists.Filter(t.Columns[:max(slices.Index(t.Columns, "replications"), 0)], func(name string) bool { return name != "point" && name != SeedKey })
}

// worse is the verdict on two rows together.
func worse(a, b measure.State) measure.State {
	for _, s := range []measure.State{measure.Saturated, measure.Undecided} {
		if a == s || b == s {
			return s
		}
	}
	return measure.Steady
}

// resolution is the largest step that all values are multiples of, by Euclid's algorithm: 1 for
// whole latencies at 1 ns. Means of many values come to about a millionth of the largest.
func resolution(values []float64) (step float64) {
	largest := 0.0
	for _, x := range values {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			largest = max(largest, math.Abs(x))
		}
	}
	least := 1e-6 * largest
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		a, b := step, math.Abs(x)
		for b > least {
			rest := math.Mod(a, b)
			if b-rest < least {
				rest = 0
			}
			a, b = b, rest
		}
		step = a
	}
	return step
}
