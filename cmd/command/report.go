package command

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/report"
	"github.com/weft-sim/weft/experiments/results"
)

func (a *app) reportCommand() *cobra.Command {
	var out string
	var quiet bool
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Put result folders into one HTML page: question, settings, results, figures, verdicts, link loads",
		Long: `Put the result folders in and below each DIR into one HTML page without
external resources. Points at which the network did not keep up are marked; the
experiments of papers show each target beside the measured value. Where
measure.links was set, the page holds a map of the links' load, where
measure.series was, one that changes over time, and where measure.blame was, the
parts of the latency and the worst channels.

  weft reproduce --quick --out r
  weft report r`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				out = filepath.Join(args[0], "report.html")
			}
			page, err := experiments.Interruptible(c.Context(), func() ([]byte, error) { return report.Make(args, out) })
			if err != nil {
				return err
			}
			return a.writeNamed(out, page, quiet)
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write (default: report.html in the first DIR)")
	quietFlag(c, &quiet)
	return c
}

func (a *app) plotCommand() *cobra.Command {
	p := figures.NewPlot()
	var out string
	var quiet bool
	var where, names, baseline, references []string
	c := &cobra.Command{
		Use:   "plot RESULTS.csv",
		Short: "Draw a figure from a table of results",
		Long: `Draw a figure from a table of results. The options are the keys of [[plot]] in
experiment files; see docs/experiments.md. The table of a result folder brings what
its manifest says: the bound of the channels, and the states of points.`,
		Example: `  weft plot results/torus/results.csv --y accepted_load
  weft plot results.csv --x offered_load --y latency_mean_ns --y latency_p99_ns --by routing.type --log-y -o tail.pdf
  weft plot results.csv --y '100*accepted_load/offered_load' --panels traffic.pattern
  weft plot results/knee/results.csv --annotate bound,knee --size one-column -o knee.pdf
  weft plot results/knee/histogram.csv --style percentile --x latency_from_ns --where traffic.load=0.3`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			for _, list := range []struct {
				flag  string
				given []string
				to    *map[string]string
			}{{"where", where, &p.Where}, {"name", names, &p.Names}, {"baseline", baseline, &p.Baseline}} {
				for _, one := range list.given {
					key, value, ok := strings.Cut(one, "=")
					if !ok || key == "" {
						return usagef("--%s %s: want KEY=VALUE", list.flag, one)
					}
					if *list.to == nil {
						*list.to = map[string]string{}
					}
					(*list.to)[key] = value
				}
			}
			for _, name := range references {
				p.References = append(p.References, figures.ReferenceConfig{File: name})
			}
			p.Table = strings.TrimSuffix(filepath.Base(args[0]), ".csv")
			if !c.Flags().Changed("y") && (len(p.Percentiles) > 0 || slices.Contains([]string{"histogram", "cdf", "percentile", "box"}, p.Style)) {
				p.Y = nil
			}
			if err := p.Validate(); err != nil {
				return &usageError{err}
			}
			if out == "" {
				out = strings.TrimSuffix(args[0], filepath.Ext(args[0])) + ".svg"
			}
			format := strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
			if !slices.Contains(append(slices.Clone(figures.PictureFormats), "csv"), format) {
				return usagef("-o %s: want a name that ends in .svg, .png or .pdf, or .csv for its numbers", out)
			}
			source, err := plotSource(c.Context(), args[0], &p)
			if err != nil {
				return err
			}
			picture, err := attempt(c.Context(), func() ([]byte, error) {
				picture, err := p.Draw(source, format)
				return picture, prefixed(args[0], err)
			})
			if err != nil {
				return err
			}
			return a.writeNamed(out, picture, quiet)
		},
	}
	f := c.Flags()
	f.StringVarP(&p.X, "x", "x", "offered_load", "column along the horizontal axis")
	f.StringArrayVarP(&p.Y, "y", "y", []string{"latency_mean_ns"}, "column along the vertical axis, or arithmetic over columns; may be repeated")
	f.StringVarP(&p.Z, "z", "z", "", "with --style heat: column that the colours show")
	f.StringSliceVar(&p.By, "by", nil, "columns that tell the series apart")
	f.StringArrayVar(&where, "where", nil, "show only rows with `COLUMN=VALUE`; may be repeated")
	choice(c, &p.Style, "style", "line", "line, scatter, bar, histogram, cdf, percentile, box or heat", "line", "scatter", "bar", "histogram", "cdf", "percentile", "box", "heat")
	f.StringVar(&p.Title, "title", "", "title of the figure")
	f.StringVar(&p.XLabel, "x-label", "", "label of the horizontal axis")
	f.StringVar(&p.YLabel, "y-label", "", "label of the vertical axis")
	f.StringSliceVar(&p.Order, "order", nil, "values of --by in the order of the series")
	f.StringArrayVar(&names, "name", nil, "name of a value in legends, `VALUE=NAME`; may be repeated")
	f.StringVar(&p.ColourBy, "colour-by", "", "column whose values choose the colours of series")
	f.StringVar(&p.Panels, "panels", "", "column; each of its values has a panel of its own")
	f.IntVar(&p.PanelColumns, "panel-columns", 0, "panels side by side (default: found)")
	choice(c, &p.Aggregate, "aggregate", "mean", "what is shown of several seeds: mean, median, smallest or largest", "mean", "median", "smallest", "largest")
	f.IntVar(&p.Bins, "bins", 0, "divide the range of x into so many equal parts, each one point")
	choice(c, &p.Intervals, "intervals", "band", "confidence intervals of lines: band, bars or none", "band", "bars", "none")
	f.StringSliceVar(&p.Annotate, "annotate", nil, "bound, knee: draw the proven bound of the channels, and where each series ceases to be steady")
	f.Float64SliceVar(&p.Percentiles, "percentiles", nil, "of a histogram.csv: percentiles over x in place of y")
	f.StringArrayVar(&references, "reference", nil, "draw the points of a `FILE`.csv beside, such as measurements; may be repeated")
	f.StringArrayVar(&baseline, "baseline", nil, "divide by the rows with `COLUMN=VALUE`; may be repeated")
	choice(c, &p.Relative, "relative", "ratio", "with --baseline: ratio, or speedup", "ratio", "speedup")
	f.BoolVar(&p.LogX, "log-x", false, "logarithmic horizontal axis")
	f.BoolVar(&p.LogY, "log-y", false, "logarithmic vertical axis")
	f.Float64SliceVar(&p.XRange, "x-range", nil, "both ends of the horizontal axis, `LOW,HIGH`")
	f.Float64SliceVar(&p.YRange, "y-range", nil, "both ends of the vertical axis, `LOW,HIGH`")
	f.Float64Var(&p.YMax, "y-max", 0, "end of the vertical axis (default: found from the points that are not saturated)")
	choice(c, &p.Size, "size", "page", "page, one-column, two-columns or slide", "page", "one-column", "two-columns", "slide")
	f.Float64Var(&p.Width, "width", 0, "of the picture in `INCHES` (default: by --size)")
	f.Float64Var(&p.Height, "height", 0, "of the picture in `INCHES` (default: by --size)")
	f.Float64Var(&p.FontSize, "font-size", 0, "of the numbers along the axes in `POINTS`, with which all else grows (default: by --size)")
	completeColumns(c, "x", "y", "z", "by", "colour-by", "panels")
	f.StringVarP(&out, "output", "o", "", "`FILE`.svg, .png or .pdf, or .csv for its numbers (default: beside the table)")
	quietFlag(c, &quiet)
	return c
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
	return attempt(ctx, func() (*results.Table, error) { return results.ReadTableFile(name) })
}

type compareFlags struct {
	metric, between, format string
	by                      []string
	quiet                   bool
}

func (a *app) compareCommand() *cobra.Command {
	var flags compareFlags
	c := &cobra.Command{
		Use:   "compare A.csv [B.csv]",
		Short: "Say which differences between two tables of results, or between variants in one, are significant",
		Long: `Compare a metric of B.csv with that of A.csv, or with --between the variants
in one table with the first of them. Rows are matched by the swept keys; rows
that differ only in their seed are replications of one another.

  weft compare old/results.csv new/results.csv
  weft compare results.csv --between routing.type

The test is Welch's t on the means and the half-widths of their 95 % confidence
intervals, or on replications; with the same seeds on both sides, Student's on
the differences seed by seed. P values are adjusted for the number of tests
(Holm), for all of one pair of variants together: where nothing differs, a
difference is reported in at most 5 % of comparisons. Times at saturated points
are not judged, nor those at undecided ones: they grow with the length of the run,
or may do so.

Exit status: 0 no difference is significant, 1 some are, 2 the tables cannot be
compared, or have neither intervals nor replications to judge differences by.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return a.compare(c.Context(), args, &flags) },
	}
	c.Flags().StringVar(&flags.metric, "metric", "latency_mean_ns", "`COLUMN` to compare")
	c.Flags().StringSliceVar(&flags.by, "by", nil, "`COLUMNS` that rows are matched by (default: those swept in both tables)")
	c.Flags().StringVar(&flags.between, "between", "", "`COLUMN` of one table whose values are compared")
	choice(c, &flags.format, "format", "text", "text or csv", "text", "csv")
	quietFlag(c, &flags.quiet)
	completeColumns(c, "metric", "by", "between")
	return c
}

// pair is a comparison with the names of its sides.
type pair struct {
	a, b string
	*results.Comparison
}

func (a *app) compare(ctx context.Context, args []string, flags *compareFlags) error {
	if flags.format != "text" && flags.format != "csv" {
		return usagef("--format %s: want text or csv", flags.format)
	}
	var tables []*results.Table
	for _, name := range args {
		table, err := readTable(ctx, name)
		if err != nil {
			return err
		}
		tables = append(tables, table)
	}
	names := args
	switch {
	case len(args) == 2 && flags.between != "":
		return usagef("--between compares variants within one table: give one, or two without --between")
	case len(args) == 1 && flags.between == "":
		return usagef("one table: name a second, or the variants to compare with --between COLUMN")
	case len(args) == 1:
		values, parts, err := tables[0].Split(flags.between)
		if err != nil {
			return usagef("%s: %v", args[0], err)
		}
		if len(values) < 2 {
			return usagef("%s: %s has one value, want at least two to compare", args[0], flags.between)
		}
		names, tables = values, parts
	}
	var pairs []pair
	significant := 0
	for i := 1; i < len(tables); i++ {
		c, err := attempt(ctx, func() (*results.Comparison, error) {
			c, err := results.Compare(tables[0], tables[i], flags.metric, flags.by)
			return c, prefixed(names[0]+" and "+names[i], err)
		})
		if err != nil {
			return err
		}
		pairs = append(pairs, pair{names[0], names[i], c})
		significant += c.Significant()
	}
	var err error
	if flags.format == "csv" {
		err = writeComparisons(a.stdout, pairs)
	} else {
		for i, p := range pairs {
			if i > 0 {
				fmt.Fprintln(a.stdout)
			}
			if err = printComparison(a.stdout, p); err != nil {
				break
			}
		}
	}
	switch {
	case err != nil:
		return err
	case significant > 0:
		return &statusError{status: exitFailure}
	case undecided(pairs):
		return usagef("no difference could be judged: the tables hold neither confidence intervals nor replications of %s (set measure.replications, or measure for longer)", flags.metric)
	}
	return nil
}

// undecided tells whether no difference could be judged for want of intervals.
func undecided(pairs []pair) bool {
	decided := func(d results.Difference) bool { return d.Significance != results.NoInterval || d.Delta == 0 }
	return !slices.ContainsFunc(pairs, func(p pair) bool { return slices.ContainsFunc(p.Differences, decided) })
}

// writeComparisons writes all pairs as one CSV table.
func writeComparisons(w io.Writer, pairs []pair) error {
	all := &results.Table{}
	for _, p := range pairs {
		t := p.Table()
		all.Columns = append([]string{"baseline", "variant"}, t.Columns...)
		for _, row := range t.Rows {
			all.Rows = append(all.Rows, append([]string{p.a, p.b}, row...))
		}
	}
	return all.Write(w)
}

// printComparison prints a pair for people.
func printComparison(out io.Writer, p pair) error {
	fmt.Fprintf(out, "%s of %s (b) against %s (a)\n\n", p.Metric, p.b, p.a)
	t := &results.Table{Columns: append(slices.Clone(p.Keys), "a", "b", "b - a", "95 % interval", "relative", "p (Holm)", "judgement")}
	short := func(x float64, format string) string {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return ""
		}
		return fmt.Sprintf(format, x)
	}
	saturated, undecided, paired := 0, 0, false
	for _, d := range p.Differences {
		interval := ""
		if !math.IsNaN(d.HalfWidth) {
			interval = short(d.Delta-d.HalfWidth, "%.4g") + " to " + short(d.Delta+d.HalfWidth, "%.4g")
		}
		t.Rows = append(t.Rows, append(slices.Clone(d.Key),
			short(d.A, "%.5g"), short(d.B, "%.5g"), short(d.Delta, "%+.4g"), interval, short(100*d.Delta/d.A, "%+.2f %%"), short(d.Holm, "%.2g"), d.Significance))
		switch d.Significance {
		case results.NotSteady:
			saturated++
		case results.NotDecided:
			undecided++
		}
		paired = paired || d.Paired
	}
	if err := t.WriteAligned(out); err != nil {
		return err
	}
	method := "Welch's t test"
	if paired {
		method = "Student's t test on differences seed by seed"
	}
	fmt.Fprintf(out, "\n%d of %d differences are significant (%s, two-sided, 5 %% for all tests together by Holm's method)\n", p.Significant(), p.Tests(), method)
	for _, rest := range []struct {
		n    int
		text string
	}{
		{saturated, "saturated and not judged: latencies grow with the length of the run"},
		{undecided, "undecided and not judged: latencies may grow with the length of the run"},
		{p.OnlyA, "only in a"}, {p.OnlyB, "only in b"},
	} {
		if rest.n > 0 {
			fmt.Fprintln(out, strconv.Itoa(rest.n)+" "+rest.text)
		}
	}
	return nil
}
