package figures

import (
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/sim/param"
)

// PlotConfig is a [[plot]] table: a figure drawn from results.csv (or another
// table of the run).
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
	Relative     string            `toml:"relative" doc:"with baseline: ratio, values over those of the baseline at the same x; or speedup, the other way round" choices:"ratio|speedup"`
	XLabel       string            `toml:"x_label" doc:"default: from the column's name"`
	YLabel       string            `toml:"y_label" doc:"default: from the column's name"`
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

	RawTitle string // with names of settings in the place of some of their values
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

// Forms of figures, and those of one whose file names none.
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

// setSize gives a figure its size.
func (p *PlotConfig) setSize(f *plot.Figure) {
	named := sizes[p.Size] // zeros: the usual size
	f.Width, f.Height, f.FontSize = named[0], named[1], named[2]
	for _, one := range []struct {
		given float64
		to    *float64
	}{{p.Width, &f.Width}, {p.Height, &f.Height}, {p.FontSize, &f.FontSize}} {
		if one.given > 0 {
			*one.to = one.given
		}
	}
}

// Validate finds out what is wrong with the settings of a figure.
func (p *PlotConfig) Validate() error {
	type config PlotConfig // without this method
	if math.IsInf(p.YMax, 0) {
		return &param.ParamError{Key: "y_max", Value: p.YMax, Want: "a number"}
	}
	for _, r := range []struct {
		key   string
		value []float64
		log   bool
	}{{"x_range", p.XRange, p.LogX}, {"y_range", p.YRange, p.LogY}} {
		switch {
		case len(r.value) == 0:
		case len(r.value) != 2 || !(r.value[0] < r.value[1]) || math.IsInf(r.value[0], 0) || math.IsInf(r.value[1], 0):
			return &param.ParamError{Key: r.key, Value: r.value, Want: "two numbers, the lower one first"}
		case r.log && r.value[0] <= 0:
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
