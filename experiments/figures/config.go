// Package figures draws tables of results. A figure (config.go) goes one way: rows that it selects,
// parted into series (groups.go), the values of their points (draw.go, values.go) or of bins
// (distribution.go), and fields, categories, marks, colours and panels (bars.go); then numbers from
// elsewhere. Package plot draws what comes of that. Names of axes and series are in label.go.
package figures

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/param"
)

// PlotConfig is a [[plot]] table: a figure drawn from results.csv (or another table of the run).
type PlotConfig struct {
	File         string            `toml:"file" doc:"name of the picture without extension; default: from y and x"`
	Title        string            `toml:"title" doc:"default: the title of the file"`
	Table        string            `toml:"table" doc:"results; performance, what points took to compute; or a further table of the kind such as links or histogram"`
	Style        string            `toml:"style" doc:"how values are drawn; cdf and percentile show the distribution of a table of bins, box its quartiles or those of several seeds, heat the column z over x and y" choices:"line|scatter|bar|histogram|cdf|percentile|box|heat"`
	X            string            `toml:"x" doc:"column along the horizontal axis"`
	Y            []string          `toml:"y" doc:"column, or list of columns, along the vertical axis; or arithmetic over columns, such as \"100 * accepted_load / offered_load\""`
	Z            string            `toml:"z" doc:"with style heat: column that the colours show"`
	By           []string          `toml:"by" doc:"columns that tell the series apart; default: the swept keys, but those that x follows"`
	Where        map[string]string `toml:"-"`
	Order        []string          `toml:"order" doc:"values of by in the order of the series; those that are not named follow"`
	Names        map[string]string `toml:"-"`
	ColourBy     string            `toml:"colour_by" doc:"column whose values choose the colours of series, on a scale if they are numbers; the other settings choose markers and dashes"`
	Panels       string            `toml:"panels" doc:"column; each of its values has a panel of its own, with the same ranges"`
	PanelColumns int               `toml:"panel_columns" doc:"panels side by side; 0: found" min:"0" max:"12"`
	Aggregate    string            `toml:"aggregate" doc:"what is shown of several seeds; sum, with style heat: all rows of a point in a cell added up, and the mean of points" choices:"mean|median|smallest|largest|sum"`
	Bins         int               `toml:"bins" doc:"with style line or scatter: x is divided into so many equal parts, each of which is one point; 0: none" min:"0" max:"10000"`
	Intervals    string            `toml:"intervals" doc:"how the 95 % confidence intervals of lines are drawn" choices:"band|bars|none"`
	Annotate     []string          `toml:"annotate" doc:"bound: the highest load that the channels can carry, proven, as a line; knee: from the highest load at which the network is steady to the lowest at which it is saturated, as a band" choices:"bound|knee"`
	Percentiles  []float64         `toml:"percentiles" doc:"with table histogram and style line: percentiles of the distribution, in place of y" unit:"%" min:"0" max:"100"`
	References   []ReferenceConfig `toml:"-"`
	Baseline     map[string]string `toml:"-"`
	Relative     string            `toml:"relative" doc:"with baseline: ratio, values over those of the baseline at the same x; speedup, the other way round; difference, values less those; gain, the ratio less 1 in per cent" choices:"ratio|speedup|difference|gain"`
	XLabel       string            `toml:"x_label" doc:"default: from the column's name"`
	YLabel       string            `toml:"y_label" doc:"default: from the column's name"`
	ZLabel       string            `toml:"z_label" doc:"with style heat: label of the scale of colours; default: from the column's name"`
	LogX         bool              `toml:"log_x" doc:"logarithmic horizontal axis"`
	LogY         bool              `toml:"log_y" doc:"logarithmic vertical axis; of style heat, scale of colours"`
	XRange       []float64         `toml:"x_range" doc:"both ends of the horizontal axis; default: found"`
	YRange       []float64         `toml:"y_range" doc:"both ends of the vertical axis, of style heat of the colours; default: found from the points that are not saturated"`
	YMax         float64           `toml:"y_max" doc:"end of the vertical axis; 0: found from the points that are not saturated" min:"0"`
	Size         string            `toml:"size" doc:"of the picture: page, 6.2 x 4 inches; one-column or two-columns of a paper, 3.4 or 7 inches wide; slide, 11 inches" choices:"page|one-column|two-columns|slide"`
	Width        float64           `toml:"width" doc:"of the picture; 0: by size" unit:"inches" min:"0" max:"60"`
	Height       float64           `toml:"height" doc:"of the picture, before what a long title or legend adds; 0: by size" unit:"inches" min:"0" max:"60"`
	FontSize     float64           `toml:"font_size" doc:"of the numbers along the axes, with which all else grows; 0: by size" unit:"points" min:"0" max:"72"`
	Formats      []string          `toml:"formats" doc:"files to write; csv: the numbers that the figure shows, FILE.data.csv" choices:"svg|png|pdf|csv"`

	Raw map[string]string // title and labels by their keys, with names of settings in the place of some of their values
}

// ResultsTable is the name of the table that every kind has.
const ResultsTable = "results"

// NewPlot is a figure with the defaults of everything but its columns.
func NewPlot() PlotConfig {
	return PlotConfig{
		Style: "line", Table: ResultsTable, Aggregate: "mean", Intervals: "band", Relative: "ratio", Size: "page",
		Formats: slices.Clone(DefaultFormats),
	}
}

// Forms of figures: all, and the forms of a figure whose file names none.
var (
	PictureFormats = []string{"svg", "png", "pdf"}
	DefaultFormats = []string{"svg", "png", "csv"}
)

// CSVFormat is the numbers of a figure; its files end in dataEnding.
const (
	CSVFormat  = "csv"
	dataEnding = ".data.csv"
)

// FileOf is the name of a figure's file in a format.
func FileOf(name, format string) string {
	if format == CSVFormat {
		return name + dataEnding
	}
	return name + "." + format
}

// sizes are width, height and font of the named sizes.
var sizes = map[string][3]float64{
	"one-column":  {3.4, 2.4, 7},
	"two-columns": {7, 3.2, 8},
	"slide":       {11, 6.2, 17},
}

// Validate finds out what is wrong with the settings of a figure.
func (p *PlotConfig) Validate() error {
	type config PlotConfig // without this method
	if !plot.Fits(p.YMax, false) {
		return &param.ParamError{Key: "y_max", Value: p.YMax, Want: "at least 0 and less than 1e150"}
	}
	for _, r := range []struct {
		key   string
		value []float64
		log   bool
	}{{"x_range", p.XRange, p.LogX}, {"y_range", p.YRange, p.LogY}} {
		switch {
		case len(r.value) == 0:
		case len(r.value) != 2 || !(r.value[0] < r.value[1]) || !plot.Fits(r.value[0], false) || !plot.Fits(r.value[1], false):
			return &param.ParamError{Key: r.key, Value: r.value, Want: "two numbers, the lower one first"}
		case r.log && !plot.Fits(r.value[0], true):
			return &param.ParamError{Key: r.key, Value: r.value, Want: "numbers above 0: the axis is logarithmic"}
		}
	}
	if small := p.Width > 0 && p.Width < 1 || p.Height > 0 && p.Height < 1; small {
		return &param.ParamError{Key: "width and height", Value: []float64{p.Width, p.Height}, Want: "at least 1 inch"}
	}
	if p.FontSize > 0 && p.FontSize < 3 {
		return &param.ParamError{Key: "font_size", Value: p.FontSize, Want: "at least 3 points"}
	}
	if p.Aggregate == "sum" && p.Style != "heat" {
		return &param.ParamError{Key: "aggregate", Value: p.Aggregate, Want: `mean, median, smallest or largest, or style = "heat"`}
	}
	return param.Validate((*config)(p))
}

// NameOf is the name of a figure's files where none is given.
func NameOf(y []string, x string) string { return strings.Join(append(slices.Clone(y), x), "-") }

// ReferenceConfig is a [[plot.reference]] table: numbers from elsewhere beside a figure's own, of a
// CSV file or a row of the targets.
type ReferenceConfig struct {
	File    string `toml:"file" doc:"CSV file, such as one of measurements: its columns are named as x and y of the figure, or x and y; a column series, if there is one, tells series apart, and that of panels, or panel, the panels"`
	Target  string `toml:"target" doc:"id of a row of the targets, in place of file; its value is converted to the unit of the axis. It leaves where --set changes the network, the program or its traffic"`
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

// refer adds the references to a figure. panels are its panels by the cells that choose them.
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

func (r *ReferenceConfig) shown(value float64) (float64, error) {
	if r.Formula == "" {
		return value, nil
	}
	f, err := results.ParseFormula(r.Formula, []string{"value"})
	if err != nil {
		return 0, fmt.Errorf("formula %q: %w", r.Formula, err)
	}
	return f(map[string]float64{"value": value}), nil
}

// inPanels are the figures that show a panel; all if it names none.
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

// placeOf is a cell's place along the horizontal axis; not ok for a category that the figure lacks.
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
	name, column := cmp.Or(r.Name, "paper"), p.X
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
	name := cmp.Or(r.Name, strings.TrimSuffix(filepath.Base(r.File), ".csv"))
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
		return nothing{errors.New("no row has numbers at a place of the figure")}
	}
	return nil
}
