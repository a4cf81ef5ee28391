package figures

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
)

// ReferenceConfig is a [[plot.reference]] table: numbers from elsewhere that a figure
// shows beside its own, of a CSV file or a row of the targets.
type ReferenceConfig struct {
	File    string `toml:"file" doc:"CSV file, such as one of measurements: its columns are named as x and y of the figure, or x and y; a column series, if there is one, tells series apart, and that of panels, or panel, the panels"`
	Target  string `toml:"target" doc:"id of a row of the targets, in place of file; its value is converted to the unit of the axis"`
	X       string `toml:"x" doc:"with target: where its value stands along the horizontal axis; none: it is a line across"`
	Axis    string `toml:"axis" doc:"with target and without x: the axis of its value" choices:"y|x"`
	Panel   string `toml:"panel" doc:"with target: value of panels, or the name of a panel; none: all panels"`
	Series  string `toml:"series" doc:"with target: the series that it is about, as in the legend: beside whose bar it stands, or whose name is at the line"`
	Formula string `toml:"formula" doc:"arithmetic over value: what is drawn in its place, such as \"1 + value\""`
	Name    string `toml:"name" doc:"in the legend; default: paper, of a file the name of the file"`

	// Of the row of the targets: its value, unit, and kind of tolerance.
	Value float64 `toml:"-"`
	Unit  string  `toml:"-"`
	Bound string  `toml:"-"`
}

// refer adds the references to a figure. panels are the names of its panels by the cells
// that choose them.
func (p *PlotConfig) refer(f *plot.Figure, panels map[string]*plot.Figure) error {
	for i := range p.References {
		r := &p.References[i]
		var err error
		if r.Target != "" {
			err = p.referTarget(f, panels, r)
		} else {
			err = p.referFile(f, panels, r)
		}
		if err != nil {
			return fmt.Errorf("reference %s: %w", r.File+r.Target, err)
		}
	}
	return nil
}

// shown is what is drawn of a value.
func (r *ReferenceConfig) shown(value float64) (float64, error) {
	if r.Formula == "" {
		return value, nil
	}
	f, err := results.ParseFormula(r.Formula, []string{"value"})
	if err != nil {
		return 0, fmt.Errorf("formula %q: %w", r.Formula, err)
	}
	return f.Value(map[string]float64{"value": value}), nil
}

// inPanels are the figures that show something of a panel; all where it names none.
func inPanels(f *plot.Figure, panels map[string]*plot.Figure, panel string) (all []*plot.Figure) {
	if len(f.Panels) == 0 {
		return []*plot.Figure{f}
	}
	for cell, one := range panels {
		if panel == "" || results.SameCell(cell, panel) || one.Title == panel {
			all = append(all, one)
		}
	}
	return all
}

// placeOf is the place of a cell along the horizontal axis; ok is false for a category
// that the figure has not.
func (p *PlotConfig) placeOf(f *plot.Figure, cell string) (x float64, ok bool) {
	if !p.categorical() {
		x = results.Number(cell)
		return x, !math.IsNaN(x)
	}
	at := slices.IndexFunc(f.Categories, func(name string) bool {
		return results.SameCell(name, cell) || name == p.nameOf(cell, CellName(p.X, cell))
	})
	return float64(at), at >= 0
}

func (p *PlotConfig) referTarget(f *plot.Figure, panels map[string]*plot.Figure, r *ReferenceConfig) error {
	name, column := r.Name, p.X
	if name == "" {
		name = "paper"
	}
	if r.Axis != "x" && len(p.Y) > 0 {
		column = p.Y[0]
	}
	value, err := r.shown(r.Value * results.UnitFactor(r.Unit, results.ColumnUnit(column)))
	if err != nil {
		return err
	}
	for _, one := range inPanels(f, panels, r.Panel) {
		if r.X == "" {
			label := strings.TrimSpace(r.Series + " " + boundSigns[r.Bound] + strconv.FormatFloat(value, 'g', 4, 64))
			one.Marks = append(one.Marks, plot.Mark{Name: name, Label: label, Vertical: r.Axis == "x", From: value, To: value, Hue: plot.ReferenceHue})
			continue
		}
		if x, ok := p.placeOf(one, r.X); ok {
			addReference(one, name, r.Series, x, value, true)
		}
	}
	return nil
}

// boundSigns say of targets that are bounds what they are.
var boundSigns = map[string]string{"at_least": "≥ ", "at_most": "≤ "}

// addReference adds a point to the reference of a name and series, in the order of x.
func addReference(f *plot.Figure, name, series string, x, y float64, apart bool) {
	i := slices.IndexFunc(f.References, func(r plot.Reference) bool { return r.Name == name && r.Bar == series })
	if i < 0 {
		i = len(f.References)
		f.References = append(f.References, plot.Reference{Name: name, Bar: series, Apart: apart})
	}
	r := &f.References[i]
	at, _ := slices.BinarySearch(r.X, x)
	r.X, r.Y = slices.Insert(r.X, at, x), slices.Insert(r.Y, at, y)
}

func (p *PlotConfig) referFile(f *plot.Figure, panels map[string]*plot.Figure, r *ReferenceConfig) error {
	t, err := results.ReadTableFile(r.File)
	if err != nil {
		return err
	}
	column := func(names ...string) int {
		for _, name := range names {
			if at := slices.Index(t.Columns, name); at >= 0 && name != "" {
				return at
			}
		}
		return -1
	}
	x, y := column(p.X, "x"), column(append(slices.Clone(p.Y), "y", "value")...)
	if x < 0 || y < 0 {
		return fmt.Errorf("want columns %q and %q, or x and y: there are %s", p.X, strings.Join(p.Y, ", "), strings.Join(t.Columns, ", "))
	}
	series, panel := column("series"), column(p.Panels, "panel")
	name := r.Name
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(r.File), ".csv")
	}
	found := false
	for _, row := range t.Rows {
		value, err := r.shown(results.Number(row[y]))
		if err != nil {
			return err
		}
		cell := func(i int) string {
			if i < 0 {
				return ""
			}
			return row[i]
		}
		for _, one := range inPanels(f, panels, cell(panel)) {
			where, ok := p.placeOf(one, row[x])
			if !ok || math.IsNaN(value) {
				continue
			}
			found = true
			addReference(one, name, cell(series), where, value, p.Style == string(plot.Scatter))
		}
	}
	if !found {
		return fmt.Errorf("no row has numbers at a place of the figure")
	}
	return nil
}
