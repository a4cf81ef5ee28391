package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/report"
)

func (a *app) reproduceCommand() *cobra.Command {
	var flags runFlags
	c := &cobra.Command{
		Use:   "reproduce [PAPER[/ARTIFACT]]...",
		Short: "Run the experiments of papers and judge them by the published numbers",
		Example: `  weft reproduce --quick
  weft reproduce dragonfly/fig10a connections`,
		RunE: func(c *cobra.Command, args []string) error { return a.reproduce(c, args, &flags) },
	}
	c.Flags().BoolVar(&flags.quick, "quick", false, "the small variant of each experiment")
	c.Flags().StringVarP(&flags.out, "out", "o", filepath.Join("results", "reproduce"), "result folder `DIR`")
	flags.registerExecution(c)
	return c
}

// paperFiles finds the experiment files of the named papers and artifacts; of
// all papers without names.
func paperFiles(names []string) ([]string, error) {
	all := experiments.Embedded("papers")
	if len(names) == 0 {
		return all, nil
	}
	var files []string
	for _, name := range names {
		found := false
		for _, file := range all {
			short := strings.TrimSuffix(strings.TrimPrefix(file, "papers/"), ".toml")
			if short == name || strings.HasPrefix(short, name+"/") {
				found = true
				if !slices.Contains(files, file) {
					files = append(files, file)
				}
			}
		}
		if !found {
			var known []string
			for _, file := range all {
				known = append(known, strings.TrimSuffix(strings.TrimPrefix(file, "papers/"), ".toml"))
			}
			return nil, usagef("no experiment %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	return files, nil
}

func (a *app) reproduce(c *cobra.Command, names []string, flags *runFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	paths, err := paperFiles(names)
	if err != nil {
		return err
	}
	files, err := flags.open(paths)
	if err != nil {
		return err
	}
	a.warn(files)
	folders := make([]string, len(files))
	for i, path := range paths {
		folders[i] = filepath.Join(flags.out, strings.TrimSuffix(strings.TrimPrefix(path, "papers/"), ".toml"))
	}
	if err := a.preflightRun(files, folders, flags.resume); err != nil {
		return err
	}
	var verdicts []experiments.Verdict
	failed := false
	for i, f := range files {
		dir := folders[i]
		outcome, err := a.execute(c.Context(), f, dir, flags)
		if errors.Is(err, experiments.ErrInterrupted) {
			fmt.Fprintf(a.stderr, "interrupted in %s; go on with the same command and --resume\n", f.Name)
			return &statusError{status: exitFailure}
		}
		if err != nil {
			return err
		}
		failed = failed || len(outcome.Failures) > 0
		verdicts = append(verdicts, f.Verdicts(outcome.Results, outcome.Tables)...)
	}
	table := experiments.VerdictTable(verdicts)
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		return err
	}
	if err := experiments.WriteFile(filepath.Join(flags.out, "verdicts.csv"), b.Bytes()); err != nil {
		return err
	}
	if page, err := report.Make([]string{flags.out}); err != nil {
		fmt.Fprintf(a.stderr, "warning: no report.html: %v\n", err) // an older folder beside those of this run
	} else if err := experiments.WriteFile(filepath.Join(flags.out, "report.html"), page); err != nil {
		return err
	}
	if err := printVerdicts(a.stdout, table); err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, countVerdicts(verdicts))
	if failed || experiments.AnyMissed(verdicts) {
		return &statusError{status: exitFailure}
	}
	return nil
}

// printVerdicts writes the table of verdicts for a reader: without ids, which
// verdicts.csv has, and with five digits.
func printVerdicts(out io.Writer, table *experiments.Table) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{table.Columns}, table.Rows...) {
		cells := slices.Clone(row[1:])
		for i, cell := range cells {
			if x, err := strconv.ParseFloat(cell, 64); err == nil {
				cells[i] = strconv.FormatFloat(x, 'g', 5, 64)
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// countVerdicts says how often each verdict was reached.
func countVerdicts(verdicts []experiments.Verdict) string {
	var parts []string
	for _, c := range experiments.CountVerdicts(verdicts) {
		parts = append(parts, fmt.Sprintf("%d %s", c.N, c.Verdict))
	}
	return fmt.Sprintf("%d targets: %s", len(verdicts), strings.Join(parts, ", "))
}
