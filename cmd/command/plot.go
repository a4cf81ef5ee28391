package command

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
)

func (a *App) plotCommand() *cobra.Command {
	p := figures.NewPlot()
	var out string
	var quiet bool
	var where, names, baseline, references []string
	c := &cobra.Command{
		Use:   "plot RESULTS.csv",
		Short: "Draw a figure from a table of results",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			for _, list := range []struct {
				flag  string
				given []string
				to    *map[string]string
			}{{"where", where, &p.Where}, {"name", names, &p.Names}, {"baseline", baseline, &p.Baseline}} {
				if *list.to, err = keyValues(list.flag, list.given); err != nil {
					return err
				}
			}
			for _, name := range references {
				p.References = append(p.References, figures.ReferenceConfig{File: name})
			}
			name := args[0]
			if inside := filepath.Join(name, results.File); results.Exists(inside) { // a result folder
				name = inside
			}
			p.Table = strings.TrimSuffix(filepath.Base(name), ".csv")
			if !c.Flags().Changed("y") && (len(p.Percentiles) > 0 || slices.Contains([]string{"histogram", "cdf", "percentile", "box"}, p.Style)) {
				p.Y = nil
			}
			if err := p.Validate(); err != nil {
				return &UsageError{err}
			}
			out = cmp.Or(out, strings.TrimSuffix(args[0], filepath.Ext(args[0]))+".svg")
			format := strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
			if !slices.Contains(append(slices.Clone(figures.PictureFormats), "csv"), format) {
				return Usagef("-o %s: want a name that ends in .svg, .png or .pdf, or .csv for its numbers", out)
			}
			source, err := plotSource(c.Context(), name, &p)
			if err != nil {
				return err
			}
			picture, err := Attempt(c.Context(), func() ([]byte, error) {
				picture, err := p.Draw(source, format)
				return picture, prefixed(args[0], err)
			})
			if err != nil {
				return err
			}
			return a.WriteNamed(out, picture, quiet)
		},
	}
	f := c.Flags()
	f.StringVarP(&p.X, "x", "x", "offered_load", "column along the horizontal axis")
	f.StringArrayVarP(&p.Y, "y", "y", []string{"latency_mean_ns"}, "column along the vertical axis, or arithmetic over columns; may be repeated")
	f.StringVarP(&p.Z, "z", "z", "", "with --style heat: column that the colours show")
	f.StringSliceVar(&p.By, "by", nil, "columns that tell the series apart")
	f.StringArrayVar(&where, "where", nil, "show only rows with `COLUMN=VALUE`; may be repeated")
	Choice(c, &p.Style, "style", "line", "line, scatter, bar, histogram, cdf, percentile, box or heat", "line", "scatter", "bar", "histogram", "cdf", "percentile", "box", "heat")
	f.StringVar(&p.Title, "title", "", "title of the figure")
	f.StringVar(&p.XLabel, "x-label", "", "label of the horizontal axis")
	f.StringVar(&p.YLabel, "y-label", "", "label of the vertical axis")
	f.StringVar(&p.ZLabel, "z-label", "", "with --style heat: label of the scale of colours")
	f.StringSliceVar(&p.Order, "order", nil, "values of --by in the order of the series")
	f.StringArrayVar(&names, "name", nil, "name of a value in legends, `VALUE=NAME`; may be repeated")
	f.StringVar(&p.ColourBy, "colour-by", "", "column whose values choose the colours of series")
	f.StringVar(&p.Panels, "panels", "", "column; each of its values has a panel of its own")
	f.IntVar(&p.PanelColumns, "panel-columns", 0, "panels side by side (default: found)")
	Choice(c, &p.Aggregate, "aggregate", "mean", "what is shown of several seeds: mean, median, smallest or largest; sum, with style heat", "mean", "median", "smallest", "largest", "sum")
	f.IntVar(&p.Bins, "bins", 0, "divide the range of x into so many equal parts, each one point")
	Choice(c, &p.Intervals, "intervals", "band", "confidence intervals of lines: band, bars or none", "band", "bars", "none")
	f.StringSliceVar(&p.Annotate, "annotate", nil, "bound, knee: draw the proven bound of the channels, and where each series ceases to be steady")
	f.Float64SliceVar(&p.Percentiles, "percentiles", nil, "of a histogram.csv: percentiles over x in place of y")
	f.StringArrayVar(&references, "reference", nil, "draw the points of a `FILE`.csv beside, such as measurements; may be repeated")
	f.StringArrayVar(&baseline, "baseline", nil, "divide by the rows with `COLUMN=VALUE`; may be repeated")
	Choice(c, &p.Relative, "relative", "ratio", "with --baseline: ratio, speedup, difference, or gain in per cent", "ratio", "speedup", "difference", "gain")
	f.BoolVar(&p.LogX, "log-x", false, "logarithmic horizontal axis")
	f.BoolVar(&p.LogY, "log-y", false, "logarithmic vertical axis")
	f.Float64SliceVar(&p.XRange, "x-range", nil, "both ends of the horizontal axis, `LOW,HIGH`")
	f.Float64SliceVar(&p.YRange, "y-range", nil, "both ends of the vertical axis, `LOW,HIGH`")
	f.Float64Var(&p.YMax, "y-max", 0, "end of the vertical axis (default: found from the points that are not saturated)")
	Choice(c, &p.Size, "size", "page", "page, one-column, two-columns or slide", "page", "one-column", "two-columns", "slide")
	f.Float64Var(&p.Width, "width", 0, "of the picture in `INCHES` (default: by --size)")
	f.Float64Var(&p.Height, "height", 0, "of the picture in `INCHES` (default: by --size)")
	f.Float64Var(&p.FontSize, "font-size", 0, "of the numbers along the axes in `POINTS`, with which all else grows (default: by --size)")
	completeColumns(c, "x", "y", "z", "by", "colour-by", "panels")
	f.StringVarP(&out, "output", "o", "", "`FILE`.svg, .png or .pdf, or .csv for its numbers (default: beside the table)")
	QuietFlag(c, &quiet)
	return c
}

// keyValues reads an option that is given as KEY=VALUE, any number of times.
func keyValues(flag string, given []string) (all map[string]string, err error) {
	for _, one := range given {
		key, value, ok := strings.Cut(one, "=")
		if !ok || key == "" {
			return nil, Usagef("--%s %s: want KEY=VALUE", flag, one)
		}
		if all == nil {
			all = map[string]string{}
		}
		all[key] = value
	}
	return all, nil
}

// plotSource reads a table, with what its result folder knows where it stands in one.
func plotSource(ctx context.Context, name string, p *figures.PlotConfig) (*figures.PlotSource, error) {
	table, err := readTable(ctx, name)
	if err != nil {
		return nil, err
	}
	source, err := experiments.Interruptible(ctx, func() (*figures.PlotSource, error) {
		folder, err := engine.ReadFolder(filepath.Dir(name))
		if err != nil {
			return nil, nil // a table by itself
		}
		of, err := folder.PlotSource(p)
		if err != nil {
			return nil, nil // not one of the folder's
		}
		return of, nil
	})
	if err != nil || source != nil {
		return source, err
	}
	return &figures.PlotSource{Table: table}, nil
}

// prefixed is an error with what it is about before it; nil stays nil.
func prefixed(about string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", about, err)
}

// readTable reads a CSV file that the user names.
func readTable(ctx context.Context, name string) (*results.Table, error) {
	return Attempt(ctx, func() (*results.Table, error) { return results.ReadTableFile(name) })
}
