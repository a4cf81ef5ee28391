package results

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// Judgements of a difference. For times of a network that does not keep up it names the side: "a
// saturated", "b undecided", "both saturated", "a saturated, b undecided".
const (
	Higher      = "higher"
	Lower       = "lower"
	Unclear     = "not significant"
	Equal       = "equal"       // the same numbers, without any spread
	NoInterval  = "no interval" // neither a confidence interval nor several seeds
	familyError = 0.05          // of all judgements of a comparison together
)

// Methods of a test.
const (
	Paired    = "paired"    // Student's, on the differences seed by seed
	Welch     = "welch"     // on the spreads of replications
	Intervals = "intervals" // on the half-widths of single rows
)

// Comparison says which differences between two tables of results are significant. Rows are matched
// by the values of Keys; rows that differ only in their seed are replications.
//
// Where the sides have at least two seeds in common, and half of the larger side's seeds, the test
// is Student's on the differences seed by seed: common random numbers make them small. Otherwise
// the standard error is the root of the sum of squares of both sides' errors, from the spread of
// replications or the half-width of a single row's interval. The degrees of freedom are Welch's
// (1947) where both sides have at least five replications. With fewer, Welch's approximation errs
// (2 and 20 replications of one normal distribution differ in 12 % of trials), and single rows do
// not say how many they have: then the side with fewer decides; a single row counts as 4, which
// errs in at most 5 % (Banerjee 1960). For let the squared error of a side have the share w of the
// variance, and its interval the quantile t and the estimate V of the variance, relative to the
// true one. The distribution function F of the square of a normal variable is concave, so that
// F(sum of w t^2 V) is at least the sum of w F(t^2 V), whose mean is 0.95. Two single rows differ
// if their difference is larger than the root of the sum of squares of their half-widths, whatever
// their degrees of freedom are, from 4 on.
//
// Errors of single rows with a common seed count as independent. They are positively
// correlated as a rule (0.34 to 1 over routings and buffers of a dragonfly), so that the test
// errs towards "not significant"; by how much, one row of each does not tell.
//
// All tests are two-sided. P values are adjusted for the number of tests by Holm's method (1979),
// so that with no differences at all, "higher" or "lower" appears in at most 5 % of comparisons.
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
	Method       string  // "": not tested
	Significance string
}

// Significant counts the differences judged higher or lower.
func (c *Comparison) Significant() int {
	return c.count(func(d *Difference) bool { return d.Significance == Higher || d.Significance == Lower })
}

// TakeExact judges differences without an interval by their sign: of values worked out by formulas.
func (c *Comparison) TakeExact() {
	for i := range c.Differences {
		if d := &c.Differences[i]; d.Significance == NoInterval {
			if d.Significance = Higher; d.Delta < 0 {
				d.Significance = Lower
			}
		}
	}
}

// Compare compares a metric of two tables. by lists the columns to match rows by; without any,
// those swept in both.
func Compare(a, b *Table, metric string, by []string) (*Comparison, error) {
	if len(by) == 0 {
		by = lists.Filter(sweptColumns(a), func(key string) bool { return slices.Contains(sweptColumns(b), key) })
	}
	c := &Comparison{Metric: metric, Keys: by}
	tables, names := [2]*Table{a, b}, [2]string{"first", "second"}
	var metrics [2]*gathering
	var sides [2][]*sample
	for i, t := range tables {
		var err error
		if metrics[i], err = t.gather(metric); err == nil && len(t.Rows) == 0 {
			err = errors.New("has no rows")
		}
		if err != nil {
			return nil, fmt.Errorf("%s table: %w", names[i], err)
		}
	}
	for i, g := range metrics {
		var err error
		g.step = resolution(append(slices.Clone(metrics[0].values), metrics[1].values...))
		if sides[i], err = g.samples(by); err != nil {
			return nil, fmt.Errorf("%s table: %w", names[i], err)
		}
	}
	ofA, ofB := sides[0], sides[1]
	byKey := lists.Table(ofB, func(s *sample) (string, *sample) { return s.name, s })
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
	adjust(c.Differences)
	return c, nil
}

// difference tests one pair of samples; Holm is left to adjust.
func difference(a, b *sample, isTime bool) Difference {
	of, other := a.estimate(), b.estimate()
	d := Difference{
		Key: a.key, A: of.mean, B: other.mean,
		HalfWidth: math.NaN(), T: math.NaN(), DF: math.NaN(), P: math.NaN(), Holm: math.NaN(),
	}
	variance, freedom, method := of.variance+other.variance, min(of.freedom, other.freedom), Intervals
	equal := same(append(slices.Clone(a.values), b.values...)) && !(a.halfWidth > 0) && !(b.halfWidth > 0)
	if len(a.values) > 1 && len(b.values) > 1 {
		method = Welch
	}
	if of.known && other.known && freedom >= 4 {
		x, y := of.variance, other.variance
		freedom = (x + y) * (x + y) / (x*x/of.freedom + y*y/other.freedom) // Welch and Satterthwaite
	}
	if ofA, ofB := paired(a, b); len(ofA) > 0 {
		var inA, inB, between stats.Running
		for i := range ofA {
			inA.Add(ofA[i])
			inB.Add(ofB[i])
			between.Add(ofB[i] - ofA[i])
		}
		n, rounding := float64(len(ofA)), (a.step*a.step+b.step*b.step)/12
		d.A, d.B = inA.Mean(), inB.Mean()
		variance, freedom, method = max(between.Variance(), rounding)/n, n-1, Paired
		equal = slices.Equal(ofA, ofB)
	}
	d.Delta = d.B - d.A
	switch {
	case isTime && worse(a.state, b.state) != measure.Steady:
		d.Significance = notSteady(a.state, b.state)
	case equal:
		d.Significance = Equal
	case math.IsNaN(d.Delta) || math.IsNaN(variance):
		d.Significance = NoInterval
	default:
		standardError := math.Sqrt(variance)
		d.Method, d.DF = method, freedom
		d.HalfWidth = studentQuantile(freedom) * standardError
		d.T = d.Delta / standardError
		d.P = 2 * distuv.StudentsT{Sigma: 1, Nu: freedom}.Survival(math.Abs(d.T))
	}
	return d
}

// notSteady says which of two sides does not keep up.
func notSteady(a, b measure.State) string {
	switch {
	case a == b:
		return "both " + a.String()
	case b == measure.Steady:
		return "a " + a.String()
	case a == measure.Steady:
		return "b " + b.String()
	}
	return "a " + a.String() + ", b " + b.String()
}

// adjust sets Holm's p values and judges by them: the k-th smallest of m is multiplied by m-k+1, at
// least the one before.
func adjust(differences []Difference) {
	var tested []*Difference
	for i := range differences {
		if d := &differences[i]; !math.IsNaN(d.P) {
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

func formatted(values ...any) []string { return lists.Map(values, FormatCell) }

// Table is the comparison as CSV.
func (c *Comparison) Table() *Table {
	t := &Table{Columns: append(slices.Clone(c.Keys),
		"a", "b", "difference", "difference_ci95", "relative", "method", "t", "degrees_of_freedom", "p", "p_holm", "judgement")}
	for _, d := range c.Differences {
		t.Rows = append(t.Rows, append(slices.Clone(d.Key),
			formatted(d.A, d.B, d.Delta, d.HalfWidth, stats.Finite(d.Delta/d.A), d.Method, d.T, d.DF, d.P, d.Holm, d.Significance)...))
	}
	return t
}

// Split divides a table by a column's values, in order of first appearance; the parts lack the
// column, and swept columns in lockstep with it.
func (t *Table) Split(column string) (values []string, parts []*Table, err error) {
	at, err := t.Column(column)
	if err != nil {
		return nil, nil, err
	}
	left := []int{at}
	for i, name := range t.Columns {
		if i != at && slices.Contains(sweptColumns(t), name) && t.Follows(i, at) && !t.Follows(i) {
			left = append(left, i)
		}
	}
	without := func(cells []string) (rest []string) {
		for i, cell := range cells {
			if !slices.Contains(left, i) {
				rest = append(rest, cell)
			}
		}
		return rest
	}
	for _, rows := range Grouped(t.Rows, func(row []string) string { return row[at] }) {
		part := &Table{Columns: without(t.Columns), Rows: lists.Map(rows, without)}
		values, parts = append(values, rows[0][at]), append(parts, part)
	}
	return values, parts, nil
}

// Follows tells whether a column has one value in all rows that agree in some others.
func (t *Table) Follows(column int, others ...int) bool {
	values := map[string]string{}
	for _, row := range t.Rows {
		key := KeyOf(row, others...)
		if value, known := values[key]; known && !SameCell(value, row[column]) {
			return false
		}
		values[key] = row[column]
	}
	return true
}

// Needed leaves out the columns that follow from those before them.
func (t *Table) Needed(columns []int) (some []int) {
	for _, i := range columns {
		if !t.Follows(i, some...) {
			some = append(some, i)
		}
	}
	return some
}
