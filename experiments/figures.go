package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// figures decodes [[plot]] and [[expect]] and checks that the columns they
// name exist, and the files of a run that is not finished.
func (f *File) figures(finished bool) {
	d := f.doc
	dec := &decoder{doc: d, unknown: map[string]string{}}
	for path, table := range d.Elements("plot", d.Root["plot"], "tables, [[plot]]") {
		p := figures.NewPlot()
		p.Where = readSelection(d, document.Join(path, "where"), table["where"])
		p.Baseline = readSelection(d, document.Join(path, "baseline"), table["baseline"])
		p.Names = readSelection(d, document.Join(path, "names"), table["names"])
		p.References = f.references(document.Join(path, "reference"), table["reference"], dec, finished)
		dec.table(path, without(table, "where", "baseline", "names", "reference"), &p)
		f.plotDefaults(path, &p)
		f.Plots = append(f.Plots, p)
	}
	for path, table := range d.Elements("expect", d.Root["expect"], "tables, [[expect]]") {
		e := verdict.Expect{Table: figures.ResultsTable, Take: "mean", Combine: "every", Of: map[string]map[string]string{}}
		e.Where = readSelection(d, document.Join(path, "where"), table["where"])
		e.Baseline = readSelection(d, document.Join(path, "baseline"), table["baseline"])
		of, ok := table["of"].(map[string]any)
		if !ok && table["of"] != nil {
			d.Problem(document.Join(path, "of"), "= %s: want a table of selections", document.Show(table["of"]))
		}
		for _, name := range results.SortedKeys(of) {
			e.Of[name] = readSelection(d, document.Join(path, "of."+document.QuoteName(name)), of[name])
		}
		dec.table(path, without(table, "where", "of", "baseline"), &e)
		f.checkExpect(path, &e)
		f.Expects = append(f.Expects, e)
	}
	for _, key := range results.SortedKeys(dec.unknown) {
		d.Problem(key, "%s", dec.unknown[key])
	}
}

// readSelection reads a table of column = value; keys may be nested.
func readSelection(d *document.Tree, path string, raw any) map[string]string {
	selection := map[string]string{}
	if raw == nil {
		return selection
	}
	table, ok := raw.(map[string]any)
	if !ok {
		d.Problem(path, "= %s: want a table of columns and their values", document.Show(raw))
		return selection
	}
	for _, s := range d.Flatten(path, table, func(map[string]any) bool { return false }) {
		selection[document.KeyUnder(path, s.Key)] = results.FormatCell(s.Value)
	}
	return selection
}

// plotDefaults fills in what a plot leaves open and checks its columns.
func (f *File) plotDefaults(path string, p *figures.PlotConfig) {
	d := f.doc
	p.Title = cmp.Or(p.Title, f.Title)
	if p.X == "" {
		d.Problem(path, "has no x: name a column, for example x = %q", f.ColumnNames()[len(f.keys)+1])
	}
	ofBins := slices.Contains([]string{"histogram", "cdf", "percentile"}, p.Style) || p.Style == "box" && p.Table != figures.ResultsTable
	if len(p.Y) == 0 && !ofBins && len(p.Percentiles) == 0 {
		d.Problem(path, "has no y: name a column or a list of columns")
	}
	if p.Style == "heat" && p.Z == "" {
		d.Problem(path, "has no z: style heat needs the column that the colours show")
	}
	p.File = cmp.Or(p.File, figures.NameOf(p.Y, p.X))
	switch {
	case strings.ContainsAny(p.File, `/\`):
		d.Problem(document.Join(path, "file"), "= %q: want a name without folders", p.File)
	case strings.HasPrefix(p.File, "."), len(p.File) > longestFileName:
		d.Problem(document.Join(path, "file"), "= %s: want a name of at most %d bytes that does not begin with a dot", document.Show(p.File), longestFileName)
	case slices.ContainsFunc(f.Plots, func(other figures.PlotConfig) bool { return strings.EqualFold(other.File, p.File) }):
		d.Problem(document.Join(path, "file"), "= %q: an earlier figure has this name; give each a file of its own", p.File)
	}
	if f.checkTable(path, p.Table) {
		f.checkColumns(func(key string) string { return document.Join(path, key) }, p)
	}
}

// longestFileName leaves room for an extension in the 255 bytes that file systems allow.
const longestFileName = 240

// checkTable tells whether the kind has a table that a figure or an expectation is about.
func (f *File) checkTable(path, name string) bool {
	t := f.kind.tables.Named(name)
	known := f.columnsOf(name) != nil
	if !known {
		known := []string{figures.ResultsTable}
		known = append(known, lists.Map(f.kind.tables, func(t FurtherTable) string { return t.Name })...)
		f.doc.Problem(document.Join(path, "table"), "= %q: not a table of kind %q%s: there are %s", name, f.kind.name, param.DidYouMean(name, known), strings.Join(known, ", "))
	}
	if t != nil && t.Asked != "" && !f.sets(t.Asked) {
		f.doc.Problem(document.Join(path, "table"), "= %q: nothing in the file asks for this table: set %s", name, t.Asked)
	}
	return known
}

// sets tells whether a setting is anything but false, 0 or empty in some point.
func (f *File) sets(key string) bool {
	for _, p := range f.Points {
		if v := reflect.ValueOf(p.valueOf(key)); v.IsValid() && !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0) {
			return true
		}
	}
	return len(f.Points) == 0
}

// Lead is what stands before every row of a point: its number, the values of
// the swept keys, and the seed unless that is swept.
func (f *File) Lead(p *Point) []string {
	lead := append([]string{strconv.Itoa(p.Index)}, p.Swept...)
	if !slices.Contains(f.keys, results.SeedKey) {
		lead = append(lead, strconv.FormatUint(p.Seed, 10))
	}
	return lead
}

func (f *File) leadNames() []string {
	return results.AddNew(append([]string{"point"}, f.keys...), results.SeedKey)
}

// ColumnNames lists the columns of results.csv.
func (f *File) ColumnNames() []string {
	names := append(f.leadNames(), "replications")
	names = append(names, lists.Map(f.kind.columns, func(c Column) string { return c.Name })...)
	return names
}

func without(table map[string]any, names ...string) map[string]any {
	rest := map[string]any{}
	for name, value := range table {
		if !slices.Contains(names, name) {
			rest[name] = value
		}
	}
	return rest
}

// subjects are the tables that say what a published number is about. The others say how that is
// modelled and measured.
var subjects = []string{"groups", "job", "placement", "topology", "traffic", "workload"}

// leavePublished takes published numbers out of the figures where one of the settings that will be laid
// over the file changes what they are about. What the file sweeps, and the load, figures show.
func leavePublished(d *document.Tree, set []string) {
	told := d.Problems
	axes, _ := readAxes(d)
	d.Problems = told // it is read again, with what is laid over it
	for _, s := range set {
		key, value, err := document.ParseSetting(s)
		key = strings.TrimPrefix(strings.TrimPrefix(key, "sweep."), "lockstep.")
		table, _, _ := strings.Cut(key, ".")
		if err != nil || !slices.Contains(subjects, table) || key == "traffic.load" || reflect.DeepEqual(d.Own(key), value) ||
			slices.ContainsFunc(axes, func(a axis) bool { return slices.Contains(a.keys, key) }) {
			continue
		}
		plots, _ := document.Tables(d.Root["plot"])
		for _, plot := range plots {
			all, _ := document.Tables(plot["reference"])
			if all = slices.DeleteFunc(all, func(r map[string]any) bool { return r["target"] != nil }); len(all) == 0 {
				delete(plot, "reference")
			} else {
				plot["reference"] = all
			}
		}
	}
}

func (f *File) references(path string, raw any, dec *decoder, finished bool) (all []figures.ReferenceConfig) {
	for path, table := range f.doc.Elements(path, raw, "tables, [[plot.reference]]") {
		r := figures.ReferenceConfig{Axis: "y"}
		for _, key := range []string{"x", "panel"} { // cells: numbers, too
			if value, given := table[key]; given {
				table = without(table, key)
				table[key] = results.FormatCell(value)
			}
		}
		dec.table(path, table, &r)
		if (r.File == "") == (r.Target == "") {
			f.doc.Problem(path, "has to name one of file and target")
		}
		if r.Target != "" {
			t, err := verdict.TargetByID(r.Target)
			if err != nil {
				f.doc.Problem(document.Join(path, "target"), "= %q: %v", r.Target, err)
			}
			r.Value, r.Unit, r.Bound = t.Value, t.Unit, t.ToleranceKind
		}
		if r.Formula != "" {
			if _, err := results.ParseFormula(r.Formula, []string{"value"}); err != nil {
				f.doc.Problem(document.Join(path, "formula"), "= %q: %v", r.Formula, err)
			}
		}
		r.File = input.In(f.inputFolder(), r.File)
		if r.File != "" && !finished {
			if _, err := results.ReadTableFile(r.File); err != nil {
				f.doc.Problem(document.Join(path, "file"), "%v", err)
			}
		}
		all = append(all, r)
	}
	return all
}

// Draw writes the figures of a file into its result folder and returns their
// names. Figures without a point to draw are left out, and empty says why; others that
// cannot be drawn are an error at the end, which is [ErrInterrupted] if ctx ended first.
func (f *File) Draw(ctx context.Context, found *results.Table, tables map[string]*results.Table, dir string) (written, empty []string, err error) {
	var left []error
	leave := func(p *figures.PlotConfig, err error) {
		if errors.Is(err, figures.ErrNothing) {
			empty = append(empty, fmt.Sprintf("plot %s: %v", p.File, err))
		} else {
			left = append(left, fmt.Errorf("%s: plot %s: %w", f.Name, p.File, err))
		}
	}
	type picture struct {
		of     *figures.PlotConfig
		format string
		data   []byte
		err    error
	}
	var pictures []*picture
	var drawn errgroup.Group // on all processors: a picture takes as long as a small point
	drawn.SetLimit(runtime.GOMAXPROCS(0))
	for i := range f.Plots {
		p := &f.Plots[i]
		source, err := f.PlotSource(p, found, tables)
		if err != nil {
			leave(p, err)
			continue
		}
		for _, format := range p.Formats {
			one := &picture{of: p, format: format}
			pictures = append(pictures, one)
			drawn.Go(func() error {
				one.data, one.err = Interruptible(ctx, func() ([]byte, error) { return p.Draw(source, format) })
				return nil
			})
		}
	}
	_ = drawn.Wait()
	var failed *figures.PlotConfig // its other pictures are left out
	for _, p := range pictures {
		name := figures.FileOf(p.of.File, p.format)
		switch {
		case errors.Is(p.err, ErrInterrupted):
			return written, empty, p.err
		case p.of == failed:
			continue
		case p.err != nil:
			leave(p.of, p.err)
		default:
			if p.err = results.WriteInside(dir, name, p.data); p.err == nil {
				written = append(written, name)
				continue
			}
			left = append(left, p.err)
		}
		failed = p.of
	}
	return written, empty, errors.Join(left...)
}

// FailuresTable names the table of points that failed.
const FailuresTable = "failures"

// PlotSource finds the table of a figure: rows of further tables have the state of
// their points, and those of the performance all columns of the results.
func (f *File) PlotSource(p *figures.PlotConfig, found *results.Table, tables map[string]*results.Table) (*figures.PlotSource, error) {
	table := found
	if p.Table != figures.ResultsTable {
		if table = tables[p.Table]; table == nil {
			return nil, fmt.Errorf("the run has no table %q: nothing in the file asks for it", p.Table)
		}
		columns := []string{results.StateColumn}
		if p.Table == PerformanceTable {
			columns = found.Columns
		}
		table = table.Joined(found, columns)
	}
	return &figures.PlotSource{Table: table, Failures: tables[FailuresTable], Bound: func(point int) float64 {
		if point < 0 || point >= len(f.Points) { // of a table that was changed
			return 0
		}
		return f.LoadBound(f.Points[point])
	}}, nil
}

// PictureNames lists the pictures that a resolved file asks for. It may be of another version
// of weft, so nothing but their names is read from it.
func PictureNames(name, text string) []string {
	d, err := document.Parse(name, text)
	if err != nil {
		return nil
	}
	dec := &decoder{doc: d, unknown: map[string]string{}}
	var names []string
	for path, table := range d.Elements("plot", d.Root["plot"], "") {
		p := figures.NewPlot()
		dec.table(path, only(table, "file", "x", "y", "formats"), &p)
		file := cmp.Or(p.File, figures.NameOf(p.Y, p.X))
		for _, format := range p.Formats {
			if (slices.Contains(figures.PictureFormats, format) || format == figures.CSVFormat) && !strings.ContainsAny(file, `/\`) {
				names = append(names, figures.FileOf(file, format))
			}
		}
	}
	return names
}

// checkExpect finds what is wrong with an [[expect]] table before anything runs.
func (f *File) checkExpect(path string, e *verdict.Expect) {
	d := f.doc
	if _, err := verdict.TargetByID(e.Target); err != nil {
		d.Problem(document.Join(path, "target"), "= %q: %v", e.Target, err)
	}
	if e.Metric == "" {
		d.Problem(path, "has no metric: name a column, or %s", strings.Join(results.SortedKeys(results.DerivedMetrics), " or "))
	}
	names := results.SortedKeys(e.Of)
	switch {
	case e.Formula == "" && len(names) > 0:
		d.Problem(document.Join(path, "of"), "is given without a formula, for example formula = %q", strings.Join(names, " / "))
	case e.Formula != "" && len(names) == 0:
		d.Problem(document.Join(path, "formula"), "has no names: give the selections under of, for example of = { a = { \"routing.type\" = \"min\" }, b = { \"routing.type\" = \"val\" } }")
	case e.Formula != "":
		if _, err := results.ParseFormula(e.Formula, names); err != nil {
			d.Problem(document.Join(path, "formula"), "= %q: %v", e.Formula, err)
		}
	}
	if (e.BaselineIs == "") != (len(e.Baseline) == 0) {
		d.Problem(path, "has baseline or baseline_is alone: the one selects rows, the other says what they are")
	}
	if !f.checkTable(path, e.Table) || e.Table != figures.ResultsTable {
		return
	}
	columns := f.ColumnNames()
	check := func(key, name string) { f.checkColumn(document.Join(path, key), name, e.Table, columns) }
	checkAll := func(key string, selection map[string]string) {
		for _, name := range results.SortedKeys(selection) {
			check(document.Join(key, name), name)
		}
	}
	for _, column := range e.Each {
		check("each", column)
	}
	check("counterexample", e.Counterexample)
	check("steady", e.Steady)
	if e.SteadyTo != "" && (e.Steady == "" || math.IsNaN(results.Number(e.SteadyTo))) {
		d.Problem(document.Join(path, "steady_to"), "= %q: want a number, and steady, the column that it is a value of", e.SteadyTo)
	}
	checkAll("baseline", e.Baseline)
	if results.DerivedMetrics[e.Metric] == nil {
		check("metric", e.Metric)
	}
	checkAll("where", e.Where)
	for _, name := range names {
		checkAll("of."+document.QuoteName(name), e.Of[name])
	}
}

// Verdicts judges the expectations of a file by its results. tables holds the
// further tables of the run.
func (f *File) Verdicts(results *results.Table, tables map[string]*results.Table) []verdict.Verdict {
	var verdicts []verdict.Verdict
	for _, e := range f.Expects {
		v := e.Judge(results, tables)
		v.RestsOn, v.Quick = e.RestsOn, f.Quick
		if v.RestsOn == "" {
			v.RestsOn = verdict.Simulated
			if f.kind != nil && f.kind.restsOn != "" {
				v.RestsOn = f.kind.restsOn
			}
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}
