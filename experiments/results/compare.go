package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/stats"
)

// Judgements of a difference.
const (
	Higher      = "higher"
	Lower       = "lower"
	Unclear     = "not significant"
	Equal       = "equal"       // the same numbers, without any spread
	NotSteady   = "saturated"   // a time that grows with the length of the run
	NotDecided  = "undecided"   // a time that may do so
	NoInterval  = "no interval" // neither a confidence interval nor several seeds
	familyError = 0.05          // of all judgements of a comparison together
)

// Comparison says which differences between two tables of results are
// significant. Rows are matched by the values of Keys; rows that differ only
// in their seed are replications.
//
// Where both sides have at least two replications, with the same seeds, the
// test is Student's on the differences seed by seed: common random numbers
// make them small. Otherwise it is Welch's (1947), on standard errors from the
// spread of the replications or from the half-widths of the confidence
// intervals of single rows. Those of batch means have 19 to 39 degrees of
// freedom, which a table does not say; taking the standard error for 39 and
// the test for 19 errs towards "not significant" by at most 4 %. So does using
// Welch's test on single rows with a common seed, whose errors are positively
// correlated. Both are two-sided. P values are adjusted for the number of
// tests by Holm's method (1979), so that with no differences at all, "higher"
// or "lower" appears in at most 5 % of comparisons.
type Comparison struct {
	Metric      string
	Keys        []string
	Differences []Difference
	OnlyA       int // combinations of keys that B has no row for
	OnlyB       int
}

// Difference is B against A for one combination of keys.
type Difference struct {
	Key          []string
	A, B         float64 // means
	Delta        float64 // B - A
	HalfWidth    float64 // of the 95 % interval of Delta
	T, DF        float64
	P, Holm      float64 // NaN: not tested
	Paired       bool    // seed by seed
	Significance string
}

// Significant counts the differences judged higher or lower.
func (c *Comparison) Significant() int {
	return c.count(func(d *Difference) bool { return d.Significance == Higher || d.Significance == Lower })
}

// Compare compares a metric of two tables. by lists the columns that rows are
// matched by; without any, those swept in both.
func Compare(a, b *Table, metric string, by []string) (*Comparison, error) {
	if len(by) == 0 {
		for _, key := range sweptColumns(a) {
			if slices.Contains(sweptColumns(b), key) {
				by = append(by, key)
			}
		}
	}
	c := &Comparison{Metric: metric, Keys: by}
	ofA, err := a.samples(metric, by)
	if err != nil {
		return nil, fmt.Errorf("first table: %w", err)
	}
	ofB, err := b.samples(metric, by)
	if err != nil {
		return nil, fmt.Errorf("second table: %w", err)
	}
	byKey := map[string]*sample{}
	for _, s := range ofB {
		byKey[s.name] = s
	}
	for _, s := range ofA {
		other := byKey[s.name]
		if other == nil {
			c.OnlyA++
			continue
		}
		c.Differences = append(c.Differences, difference(s, other, IsTime(metric)))
	}
	c.OnlyB = len(ofB) - len(c.Differences)
	if len(c.Differences) == 0 {
		return nil, fmt.Errorf("no row of one table matches a row of the other in %s", strings.Join(by, ", "))
	}
	c.adjust()
	return c, nil
}

// sweptColumns lists the swept keys of a results table but for the seed: what
// stands between point and replications.
func sweptColumns(t *Table) []string {
	var keys []string
	for _, name := range t.Columns[:max(slices.Index(t.Columns, "replications"), 0)] {
		if name != "point" && name != "seed" {
			keys = append(keys, name)
		}
	}
	return keys
}

// sample is what one table knows about one combination of keys.
type sample struct {
	key       []string
	name      string // of the key, the same for 0.30 and 0.3
	seeds     []string
	values    []float64
	halfWidth float64       // of a single row; NaN if unknown
	runs      float64       // replications that a single row sums up
	state     measure.State // of the worst row: saturated, undecided, steady
}

// samples gathers the rows by key, in the order of first appearance.
func (t *Table) samples(metric string, by []string) ([]*sample, error) {
	values, err := t.Numbers(metric)
	if err != nil {
		return nil, err
	}
	if len(values) > 0 && !slices.ContainsFunc(values, func(x float64) bool { return x == x }) {
		return nil, fmt.Errorf("column %q has no numbers", metric)
	}
	keys, err := t.Places(by)
	if err != nil {
		return nil, err
	}
	cell := func(row []string, column string) string {
		if i := slices.Index(t.Columns, column); i >= 0 {
			return row[i]
		}
		return ""
	}
	interval := t.intervalColumn(metric)
	name := func(i int) (name string) {
		for _, cell := range Pick(t.Rows[i], keys) {
			name += CanonicalCell(cell) + "\x00"
		}
		return name
	}
	var all []*sample
	for _, rows := range Grouped(Indices(len(t.Rows)), name) {
		first := t.Rows[rows[0]]
		s := &sample{key: Pick(first, keys), name: name(rows[0]), halfWidth: Number(cell(first, interval)), runs: Number(cell(first, "replications")), state: measure.Steady}
		for _, i := range rows {
			row := t.Rows[i]
			for _, key := range sweptColumns(t) {
				if !slices.Contains(by, key) && cell(row, key) != cell(first, key) {
					same := "rows"
					if len(by) > 0 {
						same = "rows with the same " + strings.Join(by, ", ")
					}
					return nil, fmt.Errorf("%s differ in %s: match by it too, or compare fewer rows", same, key)
				}
			}
			s.values = append(s.values, values[i])
			s.seeds = append(s.seeds, cell(row, "seed"))
			s.state = worse(s.state, t.State(i))
		}
		all = append(all, s)
	}
	return all, nil
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

// Degrees of freedom that batch means have at least and at most.
const leastBatchFreedom, mostBatchFreedom = 19, 39

// estimate is the mean with its standard error and degrees of freedom.
func (s *sample) estimate() (mean, standardError, freedom float64) {
	var r stats.Running
	for _, x := range s.values {
		r.Add(x)
	}
	switch n := float64(len(s.values)); {
	case n > 1:
		return r.Mean(), math.Sqrt(r.Variance() / n), n - 1
	case s.runs > 1:
		return r.Mean(), s.halfWidth / studentQuantile(s.runs-1), s.runs - 1
	}
	return r.Mean(), s.halfWidth / studentQuantile(mostBatchFreedom), leastBatchFreedom
}

// studentQuantile is what a standard error is multiplied by for a two-sided
// 95 % interval.
func studentQuantile(freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975)
}

// difference tests one pair of samples; Holm is left to adjust.
func difference(a, b *sample, isTime bool) Difference {
	meanA, errorA, freedomA := a.estimate()
	meanB, errorB, freedomB := b.estimate()
	d := Difference{
		Key: a.key, A: meanA, B: meanB, Delta: meanB - meanA,
		HalfWidth: math.NaN(), T: math.NaN(), DF: math.NaN(), P: math.NaN(), Holm: math.NaN(),
	}
	va, vb := errorA*errorA, errorB*errorB
	standardError := math.Sqrt(va + vb)
	d.DF = (va + vb) * (va + vb) / (va*va/freedomA + vb*vb/freedomB) // Welch and Satterthwaite
	if len(a.values) > 1 && slices.Equal(a.seeds, b.seeds) {
		d.Paired = true
		var r stats.Running
		for i := range a.values {
			r.Add(b.values[i] - a.values[i])
		}
		standardError, d.DF = math.Sqrt(r.Variance()/float64(r.N())), float64(r.N()-1)
	}
	switch {
	case isTime && worse(a.state, b.state) == measure.Saturated:
		d.Significance, d.DF = NotSteady, math.NaN()
	case isTime && worse(a.state, b.state) == measure.Undecided:
		d.Significance, d.DF = NotDecided, math.NaN()
	case math.IsNaN(d.Delta) || math.IsNaN(standardError):
		d.Significance, d.DF = NoInterval, math.NaN()
	case standardError == 0 && d.Delta == 0:
		d.Significance, d.DF = Equal, math.NaN()
	case standardError == 0: // every replication agrees
		d.HalfWidth, d.T, d.P = 0, math.Inf(int(math.Copysign(1, d.Delta))), 0
	default:
		d.HalfWidth = studentQuantile(d.DF) * standardError
		d.T = d.Delta / standardError
		d.P = 2 * distuv.StudentsT{Sigma: 1, Nu: d.DF}.Survival(math.Abs(d.T))
	}
	return d
}

// adjust sets Holm's p values and judges by them: the k-th smallest of m is
// multiplied by m-k+1, and none may be smaller than the one before.
func (c *Comparison) adjust() {
	var tested []*Difference
	for i := range c.Differences {
		if d := &c.Differences[i]; !math.IsNaN(d.P) {
			tested = append(tested, d)
		}
	}
	slices.SortStableFunc(tested, func(a, b *Difference) int { return cmp.Compare(a.P, b.P) })
	least := 0.0
	for k, d := range tested {
		least = max(least, min(1, d.P*float64(len(tested)-k)))
		d.Holm = least
		switch {
		case d.Holm >= familyError:
			d.Significance = Unclear
		case d.Delta > 0:
			d.Significance = Higher
		default:
			d.Significance = Lower
		}
	}
}

// Tests is the number of differences that were tested.
func (c *Comparison) Tests() int {
	return c.count(func(d *Difference) bool { return !math.IsNaN(d.P) })
}

func (c *Comparison) count(is func(*Difference) bool) (n int) {
	for i := range c.Differences {
		if is(&c.Differences[i]) {
			n++
		}
	}
	return n
}

// Table is the comparison as CSV.
func (c *Comparison) Table() *Table {
	t := &Table{Columns: append(slices.Clone(c.Keys),
		"a", "b", "difference", "difference_ci95", "relative", "method", "t", "degrees_of_freedom", "p", "p_holm", "judgement")}
	for _, d := range c.Differences {
		method := "welch"
		switch {
		case math.IsNaN(d.P):
			method = ""
		case d.Paired:
			method = "paired"
		}
		row := slices.Clone(d.Key)
		for _, x := range []any{d.A, d.B, d.Delta, d.HalfWidth, stats.Finite(d.Delta / d.A), method, d.T, d.DF, d.P, d.Holm, d.Significance} {
			row = append(row, FormatCell(x))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Split divides a table by the values of a column, in the order of first
// appearance; the parts lack the column.
func (t *Table) Split(column string) (values []string, parts []*Table, err error) {
	i, err := t.Column(column)
	if err != nil {
		return nil, nil, err
	}
	columns := slices.Delete(slices.Clone(t.Columns), i, i+1)
	for _, rows := range Grouped(t.Rows, func(row []string) string { return row[i] }) {
		part := &Table{Columns: columns}
		for _, row := range rows {
			part.Rows = append(part.Rows, slices.Delete(slices.Clone(row), i, i+1))
		}
		values, parts = append(values, rows[0][i]), append(parts, part)
	}
	return values, parts, nil
}
