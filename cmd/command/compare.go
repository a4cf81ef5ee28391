package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
)

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
	c.Flags().StringVar(&flags.format, "format", "text", "text or csv")
	quietFlag(c, &flags.quiet)
	completeColumns(c, "metric", "by", "between")
	choices(c, "format", "text", "csv")
	return c
}

// pair is a comparison with the names of its sides.
type pair struct {
	a, b string
	*experiments.Comparison
}

func (a *app) compare(ctx context.Context, args []string, flags *compareFlags) error {
	if flags.format != "text" && flags.format != "csv" {
		return usagef("--format %s: want text or csv", flags.format)
	}
	var tables []*experiments.Table
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
		c, err := experiments.Interruptible(ctx, func() (*experiments.Comparison, error) {
			return experiments.Compare(tables[0], tables[i], flags.metric, flags.by)
		})
		if errors.Is(err, experiments.ErrInterrupted) {
			return err
		}
		if err != nil {
			return usagef("%s and %s: %v", names[0], names[i], err)
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
	for _, p := range pairs {
		for _, d := range p.Differences {
			if d.Significance != results.NoInterval || d.Delta == 0 {
				return false
			}
		}
	}
	return true
}

// writeComparisons writes all pairs as one CSV table.
func writeComparisons(w io.Writer, pairs []pair) error {
	all := &experiments.Table{}
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
	t := &experiments.Table{Columns: append(slices.Clone(p.Keys), "a", "b", "b - a", "95 % interval", "relative", "p (Holm)", "judgement")}
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
