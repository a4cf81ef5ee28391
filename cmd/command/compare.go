package command

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
)

type compareFlags struct {
	metric, between, baseline, format string
	by, where                         []string
	best, quiet                       bool
}

func (a *App) compareCommand() *cobra.Command {
	var flags compareFlags
	c := &cobra.Command{
		Use:   "compare A [B]",
		Short: "Say which differences between two tables of results, or between variants in one, are significant",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.compare(c.Context(), args, &flags)
		},
	}
	c.Flags().StringVar(&flags.metric, "metric", "", "`COLUMN` to compare (default: latency_mean_ns, or the first by which the kind is ranked; with --best all of these)")
	c.Flags().StringSliceVar(&flags.by, "by", nil, "`COLUMNS` that rows are matched by (default: those swept in both tables)")
	c.Flags().StringVar(&flags.between, "between", "", "`COLUMN` of one table whose values are compared")
	c.Flags().StringVar(&flags.baseline, "baseline", "", "`VALUE` of --between that the others are compared with, or COLUMN=VALUE (default: the first)")
	c.Flags().StringArrayVar(&flags.where, "where", nil, "compare only rows with `COLUMN=VALUE`; may be repeated")
	c.Flags().BoolVar(&flags.best, "best", false, "rank the variants in one table: those of --between, or of all swept settings that are no demand")
	Choice(c, &flags.format, "format", "text", "text or csv", "text", "csv")
	QuietFlag(c, &flags.quiet)
	completeColumns(c, "metric", "by", "between")
	return c
}

// pair is a comparison with the names of its sides.
type pair struct {
	a, b string
	*results.Comparison
}

func (a *App) compare(ctx context.Context, args []string, flags *compareFlags) error {
	if flags.format != "text" && flags.format != "csv" {
		return Usagef("--format %s: want text or csv", flags.format)
	}
	if column, value, ok := strings.Cut(flags.baseline, "="); ok && (flags.between == "" || flags.between == column) {
		flags.between, flags.baseline = column, value
	}
	tables, err := selected(ctx, args, flags.where)
	if err != nil {
		return err
	}
	names := args
	switch {
	case flags.best && (len(args) == 2 || flags.baseline != "" || len(flags.by) > 0):
		return Usagef("--best ranks all variants of one table: leave out the second, --baseline and --by")
	case flags.best:
		return a.best(args[0], tables[0], flags)
	case len(args) == 2 && flags.between != "":
		return Usagef("--between and --baseline compare variants within one table: give one, or two without them")
	case len(args) == 2 && flags.baseline != "":
		return Usagef("--baseline %s: is for one table: the first of two is the baseline", flags.baseline)
	case len(args) == 1 && flags.between == "":
		return Usagef("one table: name a second, or the variants to compare with --between COLUMN, or --best")
	case len(args) == 1:
		if names, tables, err = variants(tables[0], flags); err != nil {
			return Usagef("%s: %v", args[0], err)
		}
	}
	goals := experiments.Goals(tables[0])
	if flags.metric == "" {
		flags.metric = "latency_mean_ns"
		if len(goals) > 0 && !slices.Contains(tables[0].Columns, flags.metric) {
			flags.metric = goals[0].Column
		}
	}
	var pairs []pair
	significant := 0
	for i := 1; i < len(tables); i++ {
		c, err := Attempt(ctx, func() (*results.Comparison, error) {
			c, err := results.Compare(tables[0], tables[i], flags.metric, flags.by)
			if err == nil && len(goals) > 0 && goals[0].Exact {
				c.TakeExact()
			}
			return c, prefixed(names[0]+" and "+names[i], err)
		})
		if err != nil {
			return err
		}
		pairs = append(pairs, pair{names[0], names[i], c})
		significant += c.Significant()
	}
	if flags.format == "csv" {
		err = writeComparisons(a.Stdout, pairs)
	} else {
		for i, p := range pairs {
			if i > 0 {
				fmt.Fprintln(a.Stdout)
			}
			if err = printComparison(a.Stdout, p); err != nil {
				break
			}
		}
	}
	switch {
	case err != nil:
		return err
	case significant > 0:
		return &StatusError{Status: ExitFailure}
	case undecided(pairs):
		return Usagef("no difference could be judged: the tables hold neither confidence intervals nor replications of %s (sweep the seed, set measure.replications where the kind has it, or measure for longer)", flags.metric)
	}
	return nil
}

// selected reads tables, of each the rows that --where selects.
func selected(ctx context.Context, names, where []string) (tables []*results.Table, err error) {
	selection, err := keyValues("where", where)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		table, err := readTable(ctx, name)
		if err != nil {
			return nil, err
		}
		some, err := table.Where(selection)
		if err == nil && len(selection) > 0 && len(some.Rows) == 0 {
			err = table.Unmet(selection)
		}
		if err != nil {
			return nil, Usagef("%s: --where: %v", name, err)
		}
		tables = append(tables, some)
	}
	return tables, nil
}

// variants parts a table by the values of --between, the baseline first.
func variants(t *results.Table, flags *compareFlags) (names []string, tables []*results.Table, err error) {
	if names, tables, err = t.Split(flags.between); err != nil {
		return nil, nil, err
	}
	if len(names) < 2 {
		return nil, nil, fmt.Errorf("%s has one value, want at least two to compare", flags.between)
	}
	if flags.baseline == "" {
		return names, tables, nil
	}
	at := slices.IndexFunc(names, func(name string) bool { return results.SameCell(name, flags.baseline) })
	if at < 0 {
		return nil, nil, fmt.Errorf("--baseline: %w", t.Unmet(map[string]string{flags.between: flags.baseline}))
	}
	first, table := names[at], tables[at]
	return slices.Insert(slices.Delete(names, at, at+1), 0, first), slices.Insert(slices.Delete(tables, at, at+1), 0, table), nil
}

// best ranks the variants of a table.
func (a *App) best(name string, t *results.Table, flags *compareFlags) error {
	goals := experiments.Goals(t)
	if flags.metric != "" {
		if _, err := t.Column(flags.metric); err != nil {
			return Usagef("%s: %v", name, err)
		}
		goals = slices.DeleteFunc(goals, func(g results.Goal) bool { return g.Column != flags.metric })
		if len(goals) == 0 && !results.IsTime(flags.metric) {
			return Usagef("--best --metric %s: is no time, and its kind does not say whether more of it is better", flags.metric)
		}
		if len(goals) == 0 {
			goals = []results.Goal{{Column: flags.metric, Name: flags.metric}}
		}
	}
	var by []string
	if flags.between != "" {
		by = []string{flags.between}
	}
	r, err := t.Rank(goals, by)
	switch {
	case err != nil:
		return Usagef("%s: %v", name, err)
	case len(r.All) == 0:
		return Usagef("%s: there is nothing to rank: no column says which variant is better (--metric)", name)
	case flags.format == "csv":
		return r.Table().Write(a.Stdout)
	}
	for _, sentence := range r.Answer() {
		fmt.Fprintln(a.Stdout, sentence)
	}
	fmt.Fprintln(a.Stdout)
	if err := printed(r.Table(), "method", "p").WriteAligned(a.Stdout); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout, "\ndifference: from the best; all pairs of variants are tested, 5 % for each metric under each demand by Holm's method")
	return nil
}

// printed is a table for people: numbers are shortened, and some columns and those without a cell left out.
func printed(t *results.Table, without ...string) *results.Table {
	short := &results.Table{Rows: make([][]string, len(t.Rows))}
	for i, name := range t.Columns {
		full := func(row []string) bool { return row[i] != "" }
		if slices.Contains(without, name) || !slices.ContainsFunc(t.Rows, full) {
			continue
		}
		short.Columns = append(short.Columns, name)
		for j, row := range t.Rows {
			cell := row[i]
			if x := results.Number(cell); len(cell) > 6 && x == x {
				cell = fmt.Sprintf("%.4g", x)
			}
			short.Rows[j] = append(short.Rows[j], cell)
		}
	}
	return short
}

// undecided tells whether no difference could be judged for want of intervals.
func undecided(pairs []pair) bool {
	decided := func(d results.Difference) bool { return d.Significance != results.NoInterval }
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

func printComparison(out io.Writer, p pair) error {
	fmt.Fprintf(out, "%s of %s (b) against %s (a)\n\n", p.Metric, p.b, p.a)
	t := &results.Table{Columns: append(slices.Clone(p.Keys), "a", "b", "b - a", "95 % interval", "relative", "p (Holm)", "judgement")}
	short := func(x float64, format string) string {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return ""
		}
		return fmt.Sprintf(format, x)
	}
	var methods []string
	blank, notSteady := 0, 0
	for _, d := range p.Differences {
		interval := ""
		if !math.IsNaN(d.HalfWidth) {
			interval = short(d.Delta-d.HalfWidth, "%.4g") + " to " + short(d.Delta+d.HalfWidth, "%.4g")
		}
		t.Rows = append(t.Rows, append(slices.Clone(d.Key),
			short(d.A, "%.5g"), short(d.B, "%.5g"), short(d.Delta, "%+.4g"), interval, short(100*d.Delta/d.A, "%+.2f %%"), short(d.Holm, "%.2g"), d.Significance))
		switch {
		case d.Method != "":
			methods = results.AddNew(methods, methodNames[d.Method])
		case d.Significance == results.NoInterval:
			blank++
		case d.Significance != results.Equal:
			notSteady++
		}
	}
	if err := t.WriteAligned(out); err != nil {
		return err
	}
	method := ""
	if len(methods) > 0 {
		method = strings.Join(methods, ", ") + ", "
	}
	if p.Tests() == 0 && p.Significant() > 0 {
		fmt.Fprintf(out, "\n%d of %d differ: formulas leave nothing to chance\n", p.Significant(), len(p.Differences))
		return nil
	}
	fmt.Fprintf(out, "\n%d of %d differences are significant (%stwo-sided, 5 %% for all tests together by Holm's method)\n", p.Significant(), p.Tests(), method)
	for _, rest := range []struct {
		n    int
		text string
	}{
		{notSteady, "saturated or undecided and not judged: latencies grow with the length of the run, or may do so"},
		{blank, "without an interval and not judged"},
		{p.OnlyA, "only in a"}, {p.OnlyB, "only in b"},
	} {
		if rest.n > 0 {
			fmt.Fprintln(out, rest.n, rest.text)
		}
	}
	return nil
}

var methodNames = map[string]string{
	results.Paired:    "Student's t test on differences seed by seed",
	results.Welch:     "Welch's t test",
	results.Intervals: "t test on the intervals of single rows",
}
