package experiments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/param"
)

// ExpectConfig is an [[expect]] table: a row of the targets and how the
// measured value follows from the results.
type ExpectConfig struct {
	Target              string                       `toml:"target" doc:"id of a row of the targets; weft reproduce judges the measured value by its tolerance"`
	Metric              string                       `toml:"metric" doc:"column; or steady_throughput: the highest accepted load among steady points; or saturation_throughput, as papers define it: the highest accepted load among points with accepted >= 0.95 of offered"`
	Table               string                       `toml:"table" doc:"results, or a further table of the kind such as links"`
	Where               map[string]string            `toml:"-"`
	Take                string                       `toml:"take" doc:"what is taken of several selected rows; count: how many there are, 0 if none" choices:"mean|largest|smallest|count"`
	Each                []string                     `toml:"each" doc:"column, or list of columns: every set of their values among the rows of where gives a value of its own"`
	Combine             string                       `toml:"combine" doc:"what becomes of the values of each: every, each has to meet the target and the one farthest from it is shown; or one number" choices:"every|mean|largest|smallest"`
	Steady              string                       `toml:"steady" doc:"column, such as traffic.load, of which only the highest value counts at which the state is steady in all selected rows, those of of and of all seeds included"`
	SteadyTo            string                       `toml:"steady_to" doc:"with steady: the value that the target names, the highest that is looked at; if the network does not keep up there, the row is missed, and the value shown is that of the highest at which it does"`
	Of                  map[string]map[string]string `toml:"-"`
	Formula             string                       `toml:"formula" doc:"arithmetic (+ - * /, parentheses, min(a, b), max(a, b)) over the names under [expect.of], each a selection of rows beyond where; default: the value itself"`
	Calibrated          string                       `toml:"calibrated" doc:"the parameter that was fitted to this row: within the target's tolerance the verdict is calibrated, outside it is missed"`
	RestsOn             string                       `toml:"rests_on" doc:"what the measured value comes from: simulated, count (what an algorithm gives), formula, repeat (a simulation that another row was judged by), timed (weft's own time); left out: by the kind" choices:"|simulated|count|formula|repeat|timed"`
	Counterexample      string                       `toml:"counterexample" doc:"column that counts what contradicts the paper in any model; if it is above counterexample_above over the rows of where, the verdict is refuted"`
	CounterexampleAbove float64                      `toml:"counterexample_above" doc:"the most that the paper allows of it"`
	Baseline            map[string]string            `toml:"-"`
	BaselineIs          string                       `toml:"baseline_is" doc:"what the rows of baseline are, such as \"without connections\""`
	Note                string                       `toml:"note" doc:"what to say beside the verdict"`
}

// figures decodes [[plot]] and [[expect]] and checks that the columns they
// name exist, and the files of a run that is not finished.
func (f *File) figures(finished bool) {
	d := f.doc
	dec := &decoder{doc: d, unknown: map[string]string{}}
	for path, table := range d.Elements("plot", d.Root["plot"], "tables, [[plot]]") {
		p := NewPlot()
		p.Where = readSelection(d, document.Join(path, "where"), table["where"])
		p.Baseline = readSelection(d, document.Join(path, "baseline"), table["baseline"])
		p.Names = readSelection(d, document.Join(path, "names"), table["names"])
		p.References = f.references(document.Join(path, "reference"), table["reference"], dec, finished)
		dec.table(path, without(table, "where", "baseline", "names", "reference"), &p)
		f.plotDefaults(path, &p)
		f.Plots = append(f.Plots, p)
	}
	for path, table := range d.Elements("expect", d.Root["expect"], "tables, [[expect]]") {
		e := ExpectConfig{Table: figures.ResultsTable, Take: "mean", Combine: "every", Of: map[string]map[string]string{}}
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
func (f *File) plotDefaults(path string, p *PlotConfig) {
	d := f.doc
	if p.Title == "" {
		p.Title = f.Title
	}
	if p.X == "" {
		d.Problem(path, "has no x: name a column, for example x = %q", f.columnNames()[len(f.keys)+1])
	}
	ofBins := slices.Contains([]string{"histogram", "cdf", "percentile"}, p.Style) || p.Style == "box" && p.Table != figures.ResultsTable
	if len(p.Y) == 0 && !ofBins && len(p.Percentiles) == 0 {
		d.Problem(path, "has no y: name a column or a list of columns")
	}
	if p.Style == "heat" && p.Z == "" {
		d.Problem(path, "has no z: style heat needs the column that the colours show")
	}
	if p.File == "" {
		p.File = figures.NameOf(p.Y, p.X)
	}
	switch {
	case strings.ContainsAny(p.File, `/\`):
		d.Problem(document.Join(path, "file"), "= %q: want a name without folders", p.File)
	case strings.HasPrefix(p.File, "."), len(p.File) > longestFileName:
		d.Problem(document.Join(path, "file"), "= %s: want a name of at most %d bytes that does not begin with a dot", document.Show(p.File), longestFileName)
	case slices.ContainsFunc(f.Plots, func(other PlotConfig) bool { return strings.EqualFold(other.File, p.File) }):
		d.Problem(document.Join(path, "file"), "= %q: an earlier figure has this name; give each a file of its own", p.File)
	}
	if !f.checkTable(path, p.Table) {
		return
	}
	f.checkColumn(document.Join(path, "x"), p.X)
	for _, y := range p.Y {
		f.checkValues(document.Join(path, "y"), y)
	}
	f.checkValues(document.Join(path, "z"), p.Z)
	f.checkColumn(document.Join(path, "panels"), p.Panels)
	f.checkColumn(document.Join(path, "colour_by"), p.ColourBy)
	f.checkSelection(document.Join(path, "baseline"), p.Baseline)
	for _, by := range p.By {
		f.checkColumn(document.Join(path, "by"), by)
	}
	f.checkSelection(document.Join(path, "where"), p.Where)
}

// longestFileName leaves room for an extension in the 255 bytes that file
// systems allow.
const longestFileName = 240

// checkTable tells whether a figure or an expectation is about the results,
// whose columns can be judged; those of other tables of the kind are known only
// once a point has run.
func (f *File) checkTable(path, name string) bool {
	if name == performanceTable {
		return false
	}
	t := named(f.kind.tables, name)
	if name != figures.ResultsTable && t == nil {
		known := []string{figures.ResultsTable}
		for _, t := range f.kind.tables {
			known = append(known, t.Name)
		}
		f.doc.Problem(document.Join(path, "table"), "= %q: not a table of kind %q%s: there are %s", name, f.kind.name, param.DidYouMean(name, known), strings.Join(known, ", "))
	}
	if t != nil && t.Asked != "" && !f.sets(t.Asked) {
		f.doc.Problem(document.Join(path, "table"), "= %q: nothing in the file asks for this table: set %s", name, t.Asked)
	}
	return name == figures.ResultsTable
}

// sets tells whether a setting is anything but false, 0 or empty in some point.
func (f *File) sets(key string) bool {
	for _, p := range f.Points {
		for _, s := range p.settings {
			if s.Key == key && !reflect.ValueOf(s.Value).IsZero() {
				return true
			}
		}
	}
	return len(f.Points) == 0
}

// columnNames lists the columns of results.csv.
func (f *File) columnNames() []string {
	names := []string{"point"}
	names = append(names, f.keys...)
	if !slices.Contains(names, "seed") {
		names = append(names, "seed")
	}
	names = append(names, "replications")
	for _, c := range f.kind.columns {
		names = append(names, c.Name)
	}
	return names
}

// checkValues checks a column, or arithmetic over columns.
func (f *File) checkValues(key, name string) {
	if names := f.columnNames(); results.IsFormula(name) && !slices.Contains(names, name) {
		if _, _, err := results.ParseFormulaOver(name, names); err != nil {
			f.doc.Problem(key, "= %q: %v", name, err)
		}
		return
	}
	f.checkColumn(key, name)
}

func (f *File) checkSelection(path string, selection map[string]string) {
	for _, name := range results.SortedKeys(selection) {
		f.checkColumn(document.Join(path, name), name)
	}
}

func (f *File) checkColumn(key, name string) {
	if names := f.columnNames(); name != "" && !slices.Contains(names, name) {
		f.doc.Problem(key, "= %q: not a column of the results%s: there are %s", name, param.DidYouMean(name, names), strings.Join(names, ", "))
	}
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

// references decodes the references of a figure.
func (f *File) references(path string, raw any, dec *decoder, finished bool) (all []ReferenceConfig) {
	for path, table := range f.doc.Elements(path, raw, "tables, [[plot.reference]]") {
		r := ReferenceConfig{Axis: "y"}
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
			t, err := targetByID(r.Target)
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
		if r.File != "" && !filepath.IsAbs(r.File) {
			r.File = filepath.Join(f.inputFolder(), r.File)
		}
		if r.File != "" && !finished {
			if _, err := ReadTableFile(r.File); err != nil {
				f.doc.Problem(document.Join(path, "file"), "%v", err)
			}
		}
		all = append(all, r)
	}
	return all
}

// draw writes the figures of a file into its result folder and returns their
// names. Figures that cannot be drawn, such as those without a point, are left
// out, with an error at the end, which is [ErrInterrupted] if ctx ended first.
func (f *File) draw(ctx context.Context, found *Table, tables map[string]*Table, dir string) ([]string, error) {
	var written []string
	var left []error
	for i := range f.Plots {
		p := &f.Plots[i]
		source, err := f.plotSource(p, found, tables)
		if err != nil {
			left = append(left, fmt.Errorf("%s: plot %s: %w", f.Name, p.File, err))
			continue
		}
		for _, format := range p.Formats {
			picture, err := Interruptible(ctx, func() ([]byte, error) { return p.Draw(source, format) })
			if errors.Is(err, ErrInterrupted) {
				return written, err
			}
			if err != nil {
				left = append(left, fmt.Errorf("%s: plot %s: %w", f.Name, p.File, err))
				break
			}
			name := figures.FileOf(p.File, format)
			if err := results.WriteInside(dir, name, picture); err != nil {
				left = append(left, err)
				break
			}
			written = append(written, name)
		}
	}
	return written, errors.Join(left...)
}

// plotSource finds the table of a figure: rows of further tables have the state of
// their points, and those of the performance all columns of the results.
func (f *File) plotSource(p *PlotConfig, found *Table, tables map[string]*Table) (*PlotSource, error) {
	table := found
	if p.Table != figures.ResultsTable {
		if table = tables[p.Table]; table == nil {
			return nil, fmt.Errorf("the run has no table %q: nothing in the file asks for it", p.Table)
		}
		columns := []string{results.StateColumn}
		if p.Table == performanceTable {
			columns = found.Columns
		}
		table = table.Joined(found, columns)
	}
	return &PlotSource{Table: table, Bound: func(point int) float64 {
		for _, p := range f.Points {
			if p.Index == point {
				return f.LoadBound(p)
			}
		}
		return 0
	}}, nil
}

// PlotSource is what a figure of the folder's file is drawn from.
func (f *Folder) PlotSource(p *PlotConfig) (*PlotSource, error) {
	tables := f.Tables
	if p.Table == performanceTable {
		t, err := readFolderTable(f.Dir, performanceFile)
		if err != nil {
			return nil, err
		}
		tables = map[string]*Table{performanceTable: t}
	}
	return f.File.plotSource(p, f.Results, tables)
}

// performanceTable is what points took to compute.
const performanceTable = "performance"
