package verdict

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/stats"
)

// errNoRows is the error of a measurement whose points the run does not have.
var errNoRows = errors.New("no row")

// measured is a value with half the width of its 95 % confidence interval, NaN where there is none.
type measured struct {
	value, half float64
	label       string // the cells of the columns that each names, or of the one that steady does
	moving      bool   // a time at a point that is saturated or undecided: it may grow with the length of the run
}

// measure computes the values of an expectation, in the target's unit where the metric has one of
// the same dimension: one for every set of cells of the columns that each names, otherwise a single
// one. overlay is laid over where. The error wraps errNoRows if the run has none of the points; a
// set of cells that lacks a part of the formula gives no value.
func (e *Expect) measure(t *results.Table, overlay map[string]string, unit string) ([]measured, error) {
	where := overlaid(e.Where, overlay)
	rows, err := e.rows(t, where)
	if err != nil {
		return nil, err
	}
	label := ""
	if e.Steady != "" {
		if rows, label, err = e.highestSteady(rows); err != nil {
			return nil, err
		}
		where = overlaid(where, map[string]string{e.Steady: label})
	}
	if len(e.Each) == 0 {
		m, err := e.overSeeds(rows, where, unit)
		if err != nil {
			return nil, err
		}
		m.label = label
		return []measured{m}, nil
	}
	sets, err := rows.Distinct(e.Each)
	if err != nil {
		return nil, err
	}
	var all []measured
	missing := error(nil)
	for _, cells := range sets {
		selection := map[string]string{}
		for i, column := range e.Each {
			selection[column] = cells[i]
		}
		where := overlaid(where, selection)
		some, err := e.rows(rows, selection)
		if err != nil {
			return nil, err
		}
		m, err := e.overSeeds(some, where, unit)
		switch m.label = strings.Join(cells, " "); {
		case errors.Is(err, errNoRows):
			missing = err
		case err != nil:
			return nil, fmt.Errorf("%s: %w", m.label, err)
		default:
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil, missing
	}
	return all, nil
}

// combine makes one number of the values that each gives, by default the one
// that is farthest from the target.
func (e *Expect) combine(target Target, all []measured) measured {
	best, sum, squares := all[0], 0.0, 0.0
	for _, m := range all {
		sum += m.value
		squares += m.half * m.half
		if e.Combine == "largest" && m.value > best.value || e.Combine == "smallest" && m.value < best.value || e.Combine == "every" && target.farther(m.value, best.value) {
			best = m
		}
	}
	if e.Combine == "mean" {
		n := float64(len(all))
		return measured{value: sum / n, half: math.Sqrt(squares) / n}
	}
	return best
}

// highestSteady are the rows with the highest value of the column steady, up to steady_to, at which
// the network keeps up in all rows and every part of the formula has some; and that value. Without
// any at steady_to the error wraps errNoRows.
func (e *Expect) highestSteady(t *results.Table) (rows *results.Table, value string, err error) {
	values, err := t.Distinct([]string{e.Steady})
	if err != nil {
		return nil, "", err
	}
	named := e.SteadyTo == ""
	for _, v := range values {
		some, err := t.Where(map[string]string{e.Steady: v[0]})
		if err != nil {
			return nil, "", err
		}
		complete, steady, err := e.keepsUp(some)
		if err != nil {
			return nil, "", err
		}
		at := e.SteadyTo != "" && results.SameCell(v[0], e.SteadyTo)
		named = named || at && complete
		above := e.SteadyTo != "" && !at && results.Number(v[0]) > results.Number(e.SteadyTo)
		if steady && !above && (rows == nil || results.Number(v[0]) > results.Number(value)) {
			rows, value = some, v[0]
		}
	}
	switch {
	case !named:
		return nil, "", fmt.Errorf("%w has %s = %s", errNoRows, e.Steady, e.SteadyTo)
	case rows == nil:
		return nil, "", fmt.Errorf("the network keeps up at no %s that all have", e.Steady)
	}
	return rows, value, nil
}

// keepsUp tells whether every part of the formula has rows, and whether the
// network is steady in all of them.
func (e *Expect) keepsUp(t *results.Table) (complete, steady bool, err error) {
	parts := []map[string]string{nil}
	if len(e.Of) > 0 {
		parts = nil
	}
	for _, name := range results.SortedKeys(e.Of) {
		parts = append(parts, e.Of[name])
	}
	steady = true
	for _, part := range parts {
		rows, err := t.Where(part)
		if err != nil || len(rows.Rows) == 0 {
			return false, false, err
		}
		for i := range rows.Rows {
			steady = steady && rows.State(i) == measure.Steady
		}
	}
	return true, steady, nil
}

// overSeeds computes the value for every seed by itself where the rows have several, so that
// variants that met the same random numbers are compared: the mean, with the interval of Student's
// t. With one seed the interval is the rows' own.
func (e *Expect) overSeeds(rows *results.Table, where map[string]string, unit string) (measured, error) {
	if !slices.Contains(rows.Columns, results.SeedKey) {
		return e.value(rows, where, unit)
	}
	seeds, err := rows.Distinct([]string{results.SeedKey})
	if err != nil || len(seeds) < 2 {
		return e.value(rows, where, unit)
	}
	var all stats.Running
	moving := false
	for _, seed := range seeds {
		where := overlaid(where, map[string]string{results.SeedKey: seed[0]})
		rows, err := e.rows(rows, where)
		if err != nil {
			return measured{}, err
		}
		m, err := e.value(rows, where, unit)
		if err != nil {
			return measured{}, err
		}
		all.Add(m.value)
		moving = moving || m.moving
	}
	return measured{value: all.Mean(), half: all.HalfWidth(0.95), moving: moving}, nil
}

// value is the metric over the rows, or the formula over selections of them. The
// parts of a formula are taken for independent: each moves the value by its own
// half-width, and the squares of these add up.
func (e *Expect) value(rows *results.Table, where map[string]string, unit string) (measured, error) {
	if e.Formula == "" {
		return e.selected(rows, where, unit)
	}
	names := results.SortedKeys(e.Of)
	f, err := results.ParseFormula(e.Formula, names)
	if err != nil {
		return measured{}, err
	}
	values, halves := map[string]float64{}, map[string]float64{}
	moving := false
	for _, name := range names {
		part := overlaid(where, e.Of[name])
		some, err := e.rows(rows, part)
		if err != nil {
			return measured{}, fmt.Errorf("%s: %w", name, err)
		}
		m, err := e.selected(some, part, unit)
		if err != nil {
			return measured{}, fmt.Errorf("%s: %w", name, err)
		}
		values[name], halves[name] = m.value, m.half
		moving = moving || m.moving
	}
	x := f(values)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return measured{}, fmt.Errorf("%s has no value", e.Formula)
	}
	squares := 0.0
	for _, name := range names {
		moved := maps.Clone(values)
		moved[name] += halves[name]
		by := f(moved) - x
		squares += by * by
	}
	return measured{value: x, half: math.Sqrt(squares), moving: moving}, nil
}

// selected is the metric over all rows: the mean, largest or smallest of a column, the number of
// the rows, or a metric of all of them. where says which rows they are.
func (e *Expect) selected(rows *results.Table, where map[string]string, unit string) (measured, error) {
	if derive := results.DerivedMetrics[e.Metric]; derive != nil {
		x, err := derive(rows)
		return measured{value: x, half: math.NaN()}, err
	}
	values, err := rows.Numbers(e.Metric)
	if err != nil {
		return measured{}, err
	}
	if e.Take == "count" {
		return measured{value: float64(len(values)), half: math.NaN()}, nil
	}
	halves, err := rows.HalfWidths(e.Metric)
	if err != nil {
		return measured{}, err
	}
	sum, squares, extreme := 0.0, 0.0, 0
	moving := false
	for i, x := range values {
		moving = moving || results.IsTime(e.Metric) && rows.State(i) != measure.Steady
		sum += x
		squares += halves[i] * halves[i]
		if e.Take == "largest" && x > values[extreme] || e.Take == "smallest" && x < values[extreme] {
			extreme = i
		}
	}
	if math.IsNaN(sum) {
		return measured{}, fmt.Errorf("%s has empty cells where %s", e.Metric, selectionText(where))
	}
	n, factor := float64(len(values)), results.UnitFactor(results.ColumnUnit(e.Metric), unit)
	if e.Take == "largest" || e.Take == "smallest" {
		return measured{value: values[extreme] * factor, half: halves[extreme] * factor, moving: moving}, nil
	}
	return measured{value: sum / n * factor, half: math.Sqrt(squares) / n * factor, moving: moving}, nil
}

// rows are the rows that a selection names; none are an error that wraps
// errNoRows, unless they are to be counted.
func (e *Expect) rows(t *results.Table, where map[string]string) (*results.Table, error) {
	if t == nil {
		return nil, fmt.Errorf("the run has no table %q", e.Table)
	}
	rows, err := t.Where(where)
	if err != nil {
		return nil, err
	}
	if len(rows.Rows) == 0 && (e.Take != "count" || len(t.Rows) == 0) {
		return nil, fmt.Errorf("%w has %s", errNoRows, selectionText(where))
	}
	return rows, nil
}

// overlaid is one selection laid over another.
func overlaid(under, over map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, under)
	maps.Copy(all, over)
	return all
}
