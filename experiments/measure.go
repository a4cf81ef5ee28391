package experiments

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/sim"
)

// errNoRows is the error of a measurement whose points the run does not have.
var errNoRows = errors.New("no row")

// measured is a value with half the width of its 95 % confidence interval, NaN
// where there is none.
type measured struct {
	value, half float64
	label       string // the cells of the columns that each names
}

// measure computes the values of an expectation, in the target's unit where the
// metric has one of the same dimension: one for every set of cells of the columns
// that each names, otherwise a single one. overlay is laid over where. The error
// wraps errNoRows if the run has none of the points; a set of cells that lacks
// a part of the formula gives no value.
func (e *ExpectConfig) measure(t *Table, overlay map[string]string, unit string) ([]measured, error) {
	if t == nil {
		return nil, fmt.Errorf("the run has no table %q", e.Table)
	}
	where := overlaid(e.Where, overlay)
	rows, err := e.rows(t, where)
	if err != nil {
		return nil, err
	}
	if len(e.Each) == 0 {
		m, err := e.overSeeds(rows, where, unit)
		if err != nil {
			return nil, err
		}
		return []measured{m}, nil
	}
	sets, err := rows.distinct(e.Each)
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
func (e *ExpectConfig) combine(target Target, all []measured) measured {
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

// overSeeds computes the value for every seed by itself where the rows have
// several, so that variants that met the same random numbers are compared: the
// mean, with the interval of Student's t. With one seed the interval is that of
// the rows.
func (e *ExpectConfig) overSeeds(rows *Table, where map[string]string, unit string) (measured, error) {
	if !slices.Contains(rows.Columns, seedColumn) {
		return e.value(rows, where, unit)
	}
	seeds, err := rows.distinct([]string{seedColumn})
	if err != nil || len(seeds) < 2 {
		return e.value(rows, where, unit)
	}
	var all sim.Running
	for _, seed := range seeds {
		where := overlaid(where, map[string]string{seedColumn: seed[0]})
		rows, err := e.rows(rows, where)
		if err != nil {
			return measured{}, err
		}
		m, err := e.value(rows, where, unit)
		if err != nil {
			return measured{}, err
		}
		all.Add(m.value)
	}
	return measured{value: all.Mean(), half: all.HalfWidth(0.95)}, nil
}

// seedColumn is the column of the results with the seed of a point.
const seedColumn = "seed"

// value is the metric over the rows, or the formula over selections of them. The
// parts of a formula are taken for independent: each moves the value by its own
// half-width, and the squares of these add up.
func (e *ExpectConfig) value(rows *Table, where map[string]string, unit string) (measured, error) {
	if e.Formula == "" {
		return e.selected(rows, where, unit)
	}
	names := sortedKeys(e.Of)
	f, err := parseFormula(e.Formula, names)
	if err != nil {
		return measured{}, err
	}
	values, halves := map[string]float64{}, map[string]float64{}
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
	}
	x := f.value(values)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return measured{}, fmt.Errorf("%s has no value", e.Formula)
	}
	squares := 0.0
	for _, name := range names {
		moved := maps.Clone(values)
		moved[name] += halves[name]
		by := f.value(moved) - x
		squares += by * by
	}
	return measured{value: x, half: math.Sqrt(squares)}, nil
}

// selected is the metric over all rows: the mean, largest or smallest of a
// column, the number of the rows, or the saturation throughput. where says which
// rows they are.
func (e *ExpectConfig) selected(rows *Table, where map[string]string, unit string) (measured, error) {
	if e.Metric == saturationMetric {
		x, err := saturationThroughput(rows)
		return measured{value: x, half: math.NaN()}, err
	}
	values, err := rows.Numbers(e.Metric)
	if err != nil {
		return measured{}, err
	}
	if e.Take == "count" {
		return measured{value: float64(len(values)), half: math.NaN()}, nil
	}
	halves := make([]float64, len(values))
	for i := range halves {
		halves[i] = math.NaN()
	}
	if ci := rows.intervalColumn(e.Metric); ci != "" {
		if halves, err = rows.Numbers(ci); err != nil {
			return measured{}, err
		}
	}
	sum, squares, extreme := 0.0, 0.0, 0
	for i, x := range values {
		sum += x
		squares += halves[i] * halves[i]
		if e.Take == "largest" && x > values[extreme] || e.Take == "smallest" && x < values[extreme] {
			extreme = i
		}
	}
	if math.IsNaN(sum) {
		return measured{}, fmt.Errorf("%s has empty cells where %s", e.Metric, selectionText(where))
	}
	n, factor := float64(len(values)), unitFactor(columnUnit(e.Metric), unit)
	if e.Take == "largest" || e.Take == "smallest" {
		return measured{value: values[extreme] * factor, half: halves[extreme] * factor}, nil
	}
	return measured{value: sum / n * factor, half: math.Sqrt(squares) / n * factor}, nil
}

// rows are the rows that a selection names; none are an error that wraps
// errNoRows, unless they are to be counted.
func (e *ExpectConfig) rows(t *Table, where map[string]string) (*Table, error) {
	rows, err := t.Where(where)
	if err != nil {
		return nil, err
	}
	if len(rows.Rows) == 0 && (e.Take != "count" || len(t.Rows) == 0) {
		return nil, fmt.Errorf("%w has %s", errNoRows, selectionText(where))
	}
	return rows, nil
}

// distinct lists the sets of cells that some columns have in the rows, in the
// order of their first rows.
func (t *Table) distinct(columns []string) ([][]string, error) {
	var sets [][]string
	index := make([]int, len(columns))
	for i, column := range columns {
		var err error
		if index[i], err = t.Column(column); err != nil {
			return nil, err
		}
	}
	for _, row := range t.Rows {
		cells := make([]string, len(index))
		for i, at := range index {
			cells[i] = row[at]
		}
		if !slices.ContainsFunc(sets, func(s []string) bool { return slices.EqualFunc(s, cells, sameCell) }) {
			sets = append(sets, cells)
		}
	}
	return sets, nil
}

// overlaid is one selection laid over another.
func overlaid(under, over map[string]string) map[string]string {
	all := maps.Clone(under)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, over)
	return all
}
