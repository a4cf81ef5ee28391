package experiments

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Verdict is a target beside what was measured.
type Verdict struct {
	Target   Target
	Measured float64 // NaN: not measured
	Verdict  string
	Note     string
}

// checkExpect finds what is wrong with an [[expect]] table before anything
// runs.
func (f *File) checkExpect(path string, e *ExpectConfig) {
	d := f.doc
	if _, err := targetByID(e.Target); err != nil {
		d.fault(join(path, "target"), "= %q: %v", e.Target, err)
	}
	if e.Metric == "" {
		d.fault(path, "has no metric: name a column, or %s", saturationMetric)
	}
	names := sortedKeys(e.Of)
	switch {
	case e.Formula == "" && len(names) > 0:
		d.fault(join(path, "of"), "is given without a formula, for example formula = %q", strings.Join(names, " / "))
	case e.Formula != "" && len(names) == 0:
		d.fault(join(path, "formula"), "has no names: give the selections under of, for example of = { a = { \"routing.type\" = \"min\" }, b = { \"routing.type\" = \"val\" } }")
	case e.Formula != "":
		if _, err := parseFormula(e.Formula, names); err != nil {
			d.fault(join(path, "formula"), "= %q: %v", e.Formula, err)
		}
	}
	if !f.checkTable(path, e.Table) {
		return
	}
	if e.Metric != saturationMetric {
		f.checkColumn(join(path, "metric"), e.Metric)
	}
	for _, name := range sortedKeys(e.Where) {
		f.checkColumn(join(path, "where."+name), name)
	}
	for _, name := range names {
		for _, column := range sortedKeys(e.Of[name]) {
			f.checkColumn(join(path, "of."+tomlKey(name)+"."+column), column)
		}
	}
}

// Verdicts judges the expectations of a file by its results. tables holds the
// further tables of the run.
func (f *File) Verdicts(results *Table, tables map[string]*Table) []Verdict {
	var verdicts []Verdict
	for _, e := range f.Expects {
		target, err := targetByID(e.Target)
		if err != nil {
			panic("experiments: " + err.Error()) // Load has checked it
		}
		v := Verdict{Target: target, Note: e.Note}
		table := results
		if e.Table != resultsTable {
			table = tables[e.Table]
		}
		v.Measured, err = e.measure(table, target.Unit)
		if err != nil {
			v.Measured, v.Verdict = math.NaN(), Missed
			v.Note = strings.TrimPrefix(v.Note+"; not measured: "+err.Error(), "; ")
		} else {
			v.Verdict = target.Judge(v.Measured)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// measure computes the value of an expectation, in the target's unit where the
// metric has one of the same dimension.
func (e *ExpectConfig) measure(t *Table, unit string) (float64, error) {
	if t == nil {
		return math.NaN(), fmt.Errorf("the run has no table %q", e.Table)
	}
	if e.Formula == "" {
		return e.selected(t, nil, unit)
	}
	values := map[string]float64{}
	for _, name := range sortedKeys(e.Of) {
		x, err := e.selected(t, e.Of[name], unit)
		if err != nil {
			return math.NaN(), fmt.Errorf("%s: %w", name, err)
		}
		values[name] = x
	}
	f, err := parseFormula(e.Formula, sortedKeys(e.Of))
	if err != nil {
		return math.NaN(), err
	}
	x := f.value(values)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.NaN(), fmt.Errorf("%s has no value", e.Formula)
	}
	return x, nil
}

// selected is the metric over the rows that where and the selection name: the
// mean of a column, or the saturation throughput.
func (e *ExpectConfig) selected(t *Table, more map[string]string, unit string) (float64, error) {
	where := maps.Clone(e.Where)
	if where == nil {
		where = map[string]string{}
	}
	maps.Copy(where, more)
	rows, err := t.Where(where)
	if err != nil {
		return math.NaN(), err
	}
	if len(rows.Rows) == 0 {
		return math.NaN(), fmt.Errorf("no row has %s", selectionText(where))
	}
	if e.Metric == saturationMetric {
		return saturationThroughput(rows)
	}
	values, err := rows.Numbers(e.Metric)
	if err != nil {
		return math.NaN(), err
	}
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	if math.IsNaN(sum) {
		return math.NaN(), fmt.Errorf("%s has empty cells where %s", e.Metric, selectionText(where))
	}
	return sum / float64(len(values)) * unitFactor(columnUnit(e.Metric), unit), nil
}

func selectionText(where map[string]string) string {
	if len(where) == 0 {
		return "any value"
	}
	parts := make([]string, 0, len(where))
	for _, name := range sortedKeys(where) {
		parts = append(parts, name+" = "+where[name])
	}
	return strings.Join(parts, ", ")
}

// unitScales lists the units that convert into one another.
var unitScales = []map[string]float64{
	{"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1},
	{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "mib": 1 << 20},
}

// columnUnit is the unit at the end of a column's name: "ns" of
// latency_mean_ns; empty if there is none.
func columnUnit(column string) string {
	unit := column[strings.LastIndexByte(column, '_')+1:]
	for _, scale := range unitScales {
		if _, ok := scale[unit]; ok && unit != column {
			return unit
		}
	}
	return ""
}

// unitFactor converts from one unit to another; 1 where they do not convert.
func unitFactor(from, to string) float64 {
	for _, scale := range unitScales {
		a, okA := scale[from]
		b, okB := scale[to]
		if okA && okB {
			return a / b
		}
	}
	return 1
}

// VerdictTable is the content of verdicts.csv.
func VerdictTable(verdicts []Verdict) *Table {
	t := &Table{Columns: []string{"paper", "artifact", "case", "metric", "target", "measured", "unit", "kind", "verdict", "note"}}
	for _, v := range verdicts {
		x := v.Target
		t.Rows = append(t.Rows, []string{
			x.Paper, x.Artifact, x.Case, x.Metric, formatCell(x.Value), formatCell(v.Measured), x.Unit, x.Kind, v.Verdict, v.Note,
		})
	}
	return t
}

// AnyMissed tells whether a target was missed.
func AnyMissed(verdicts []Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Verdict == Missed })
}
