package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
)

func (a *app) checkCommand() *cobra.Command {
	flags := fileFlags{both: true}
	resolved := false
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Find all errors of experiment files without running them, and say what they would do",
		Long: `Find all errors of experiment files without running them, and say what is known
before a run: whether the network can deadlock, how many virtual channels it needs,
what its channels can carry at most, latency in an idle network, cost. The last line
about each file is the verdict.

Exit status: 0 all files can run, 2 some cannot.`,
		Example: `  weft check examples/torus
  weft check my.toml --set topology.dims=[16,16] --set traffic.load=0.4
  weft check examples/torus --resolved`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			bad := false
			for _, name := range args {
				err := a.checkFile(c, name, &flags, resolved)
				var problems experiments.Problems
				if err != nil && !errors.As(err, &problems) {
					return err
				}
				if len(problems) > 0 {
					bad = true
					fmt.Fprintln(a.stderr, problems)
					fmt.Fprintf(a.stderr, "%s: not valid, %s: it cannot run\n", name, count(len(problems), "problem"))
				}
			}
			if bad {
				return &statusError{status: exitUsage}
			}
			return nil
		},
	}
	flags.register(c)
	flags.registerAllowDeadlock(c)
	flags.cache.register(c)
	c.Flags().BoolVar(&resolved, "resolved", false, "print the file with every setting spelt out, too")
	return c
}

// checkFile examines one file and prints what it finds.
func (a *app) checkFile(c *cobra.Command, name string, flags *fileFlags, resolved bool) error {
	files, err := flags.open(c.Context(), []string{name})
	if err != nil {
		return err
	}
	a.warn(files)
	f := files[0]
	reports, err := a.preflight(c.Context(), files, func(int) (*experiments.Report, error) { return f.Preflight(true) })
	if err != nil {
		return err
	}
	r := reports[0]
	points := count(len(f.Points), "point")
	if r.Refined > 0 {
		points += fmt.Sprintf(", up to %d more by refinement", r.Refined)
	}
	warnings := len(f.Warnings) + len(r.Warnings)
	fmt.Fprintf(a.stdout, "%s: valid, %s, %s\n%s", f.Name, points, count(warnings, "warning"), findings(r))
	verdict := "can run"
	if r.Beyond > 0 {
		verdict += fmt.Sprintf("; %s more than the channels can carry, and will be saturated", offer(r.Beyond, len(f.Points)))
	}
	if warnings > 0 {
		verdict += "; see the " + strings.TrimPrefix(count(warnings, "warning"), "1 ")
	}
	fmt.Fprintf(a.stdout, "  %-12s %s\n", "verdict", verdict)
	if resolved {
		fmt.Fprintf(a.stdout, "\n%s", f.Resolved())
	}
	return nil
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// offer says how many of some points offer something.
func offer(n, of int) string {
	switch {
	case of == 1:
		return "its point offers"
	case n == of:
		return "all points offer"
	case n == 1:
		return "1 point offers"
	}
	return fmt.Sprintf("%d points offer", n)
}

// findings lists the notes of a report, a line each under their topics.
func findings(r *experiments.Report) string {
	var b strings.Builder
	topic := ""
	for _, n := range r.Notes {
		label := n.Topic
		if label == topic {
			label = ""
		}
		topic = n.Topic
		if n.Where != "" {
			n.Text = n.Where + ": " + n.Text
		}
		fmt.Fprintf(&b, "  %-12s %s\n", label, experiments.Legible(n.Text))
	}
	return b.String()
}

// warn prints what the kinds have to say about the files.
func (a *app) warn(files []*experiments.File) {
	for _, f := range files {
		a.warnings(f, f.Warnings)
	}
}

func (a *app) warnings(f *experiments.File, list []experiments.Warning) {
	for _, w := range list {
		fmt.Fprintf(a.stderr, "%s: warning: %s %s\n", f.Place(w.Key), w.Key, w.Message)
	}
}

// preflight examines all files before any of them runs and prints the
// warnings; what forbids a run is returned together, for all files.
func (a *app) preflight(ctx context.Context, files []*experiments.File, examine func(i int) (*experiments.Report, error)) ([]*experiments.Report, error) {
	return ofAll(ctx, len(files), examine, func(i int, report *experiments.Report) { a.warnings(files[i], report.Warnings) })
}

// preflightRun is preflight before a run, of points that are not finished.
func (a *app) preflightRun(ctx context.Context, files []*experiments.File, folders []string, resume bool) error {
	_, err := a.preflight(ctx, files, func(i int) (*experiments.Report, error) {
		if resume {
			return files[i].PreflightRest(folders[i])
		}
		return files[i].Preflight(false)
	})
	return err
}
