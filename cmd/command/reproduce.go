package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/catalogue"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/lists"
)

func (a *App) reproduceCommand() *cobra.Command {
	var flags RunFlags
	var data string
	c := &cobra.Command{
		Use:   "reproduce [PAPER[/ARTIFACT]]...",
		Short: "Run the experiments of papers and judge them by the published numbers",
		Long:  `Run the experiments of papers and judge them by the published numbers.` + otherData(),
		Example: `  weft reproduce --quick
  weft reproduce dragonfly/fig10a connections` + otherExamples(),
		RunE: func(c *cobra.Command, args []string) error {
			flags.Command = commandLine(c, args)
			if err := cmp.Or(RefusedIf(flags.Out == "-", "--out -: want a folder"), flags.Check()); err != nil {
				return err
			}
			reference, err := a.reference(c.Context(), args, data, &flags)
			if err != nil {
				return err
			}
			if reference, err = reference.Select(args); err != nil {
				return &UsageError{err}
			}
			outcome, err := a.Session(c.Context(), &flags).Judge(reference)
			switch {
			case err != nil:
				return err
			case outcome.Unreadable:
				return &StatusError{Status: ExitUsage}
			case outcome.Failed:
				return &StatusError{Status: ExitFailure}
			}
			return nil
		},
	}
	if len(sourceNames()) > 0 {
		c.Flags().StringVar(&data, "data", "", "folder `DIR` of the data in the place of papers")
	}
	c.Flags().BoolVar(&flags.beside, "beside", false, "also the experiments that stand beside those of a paper: trials, of which no row is judged")
	c.Flags().BoolVar(&flags.quick, "quick", false, "the small variant of each experiment")
	c.Flags().StringVarP(&flags.Out, "out", "o", filepath.Join("results", "reproduce"), "result folder `DIR`")
	flags.RegisterExecution(c)
	return c
}

// otherData is the help on what stands in the place of papers.
func otherData() string {
	text := ""
	for _, name := range sourceNames() {
		text += "\n\n" + judge.Sources()[name].Help
	}
	if text != "" {
		text = "\n\nIn the place of papers, weft is held against the data of other programs, by its name:" + text
	}
	return text
}

// otherExamples are command lines with such data.
func otherExamples() string {
	text := ""
	for _, name := range sourceNames() {
		text += "\n  " + judge.Sources()[name].Example
	}
	return text
}

func sourceNames() []string { return slices.Sorted(maps.Keys(judge.Sources())) }

// reference is what the names speak of: the data of a source, or the papers.
func (a *App) reference(ctx context.Context, names []string, data string, flags *RunFlags) (*judge.Reference, error) {
	sources, found := judge.Sources(), ""
	for i, name := range names {
		first, _, _ := strings.Cut(name, "/")
		if sources[first].Open == nil {
			first = ""
		}
		if i > 0 && first != found {
			return nil, Usagef("%s has verdicts of its own: name it alone", cmp.Or(found, first))
		}
		found = first
	}
	switch r := sources[found]; {
	case found == "" && data != "":
		return nil, Usagef("--data %s: is a folder for weft reproduce %s", data, strings.Join(sourceNames(), ", "))
	case found == "":
		return a.papers(ctx, flags), nil
	case r.Needs != "" && data == "":
		return nil, Usagef("%s needs --data DIR, a folder of %s; see weft reproduce --help", found, r.Needs)
	default:
		return experiments.Interruptible(ctx, func() (*judge.Reference, error) { return r.Open(data) })
	}
}

// Session runs experiments for judgements.
func (a *App) Session(ctx context.Context, flags *RunFlags) *judge.Session {
	jobs := cmp.Or(flags.Jobs, runtime.GOMAXPROCS(0))
	pool := engine.NewPool(jobs)
	return &judge.Session{Context: ctx, Stdout: a.Stdout, Stderr: a.Stderr, Out: flags.Out, Quick: flags.quick, Options: flags.options(), Jobs: jobs,
		Execute: func(f *experiments.File, dir string, beside bool) (*engine.Outcome, error) {
			own := *flags
			own.lines, own.Pool = beside, pool
			return a.execute(ctx, f, dir, &own)
		}}
}

// paperName is how a paper's experiment file is named: PAPER/ARTIFACT.
func paperName(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(path, "papers/"), ".toml")
}

func (a *App) papers(ctx context.Context, flags *RunFlags) *judge.Reference {
	files := map[string]*experiments.File{} // by the name of the entry
	paths := experiments.Embedded("papers")
	of := make([][]verdict.Verdict, len(paths)) // by entry
	section := &judge.Section{File: "verdicts.csv", Columns: verdict.Table(nil).Columns, SideBySide: true}
	section.Columns = section.Columns[:len(section.Columns)-2]
	for i, path := range paths {
		name := paperName(path)
		section.Entries = append(section.Entries, &judge.Entry{Name: name, Aside: !flags.beside && experiments.StandsBeside(path), Judge: func(s *judge.Session) ([]judge.Row, bool, error) {
			file := files[name]
			outcome, err := s.Run(file.Name, file, filepath.Join(flags.Out, name))
			if err != nil {
				return nil, false, err
			}
			of[i] = file.Verdicts(outcome.Results, outcome.Tables)
			return judge.RowsOf(verdict.Table(of[i])), len(outcome.Failures) > 0, nil
		}})
	}
	section.Prepare = func(entries []*judge.Entry) error {
		paths, folders := make([]string, len(entries)), make([]string, len(entries))
		for i, e := range entries {
			paths[i], folders[i] = "papers/"+e.Name+".toml", filepath.Join(flags.Out, e.Name)
		}
		all, err := flags.open(ctx, paths)
		if err != nil {
			return err
		}
		a.warn(all)
		if err := flags.checkFolders(folders); err != nil {
			return err
		}
		if err := a.preflightRun(ctx, all, folders, flags.Resume); err != nil {
			return err
		}
		fmt.Fprintln(a.Stderr, experiments.ReproductionTime(paths, flags.quick, runtime.GOMAXPROCS(0)))
		for i, e := range entries {
			files[e.Name] = all[i]
		}
		return nil
	}
	section.Conclude = func(_ *results.Table, _ judge.Count, failed bool) (judge.Conclusion, error) {
		if err := a.writeReport(ctx, flags.Out); err != nil {
			return judge.Conclusion{}, err
		}
		verdicts := slices.Concat(of...)
		return judge.Conclusion{Text: countVerdicts(verdicts), Failed: failed || verdict.AnyMissed(verdicts)}, printVerdicts(a.Stdout, verdicts, widthOf(a.Stdout))
	}
	return &judge.Reference{Entry: "experiment", Sections: []*judge.Section{section}}
}

// report makes a page of the results below folders, which is written to path; nil: the program has
// no weft report.
var report func(folders []string, path string) ([]byte, error)

// RegisterReport makes weft reproduce write a page of its results, and weft run name the command that
// does. Packages call it when they are initialized.
func RegisterReport(page func(folders []string, path string) ([]byte, error)) { report = page }

// writeReport writes the page of all results in a folder to report.html there.
func (a *App) writeReport(ctx context.Context, dir string) error {
	if report == nil {
		return nil
	}
	path := filepath.Join(dir, "report.html")
	page, err := experiments.Interruptible(ctx, func() ([]byte, error) { return report([]string{dir}, path) })
	switch {
	case errors.Is(err, experiments.ErrInterrupted):
		return err
	case err != nil:
		fmt.Fprintf(a.Stderr, "warning: no report.html: %v\n", err) // an older folder beside this run's folders
		return nil
	}
	return results.WriteFile(path, page)
}

// verdictOrder is the order in which verdicts are printed: what a reader has to know first.
var verdictOrder = []string{verdict.Missed, verdict.Refuted, verdict.Met, verdict.Calibrated, verdict.Reported}

// otherWidth is the number of columns where the output is no terminal.
const otherWidth = 100

// widthOf is the number of columns of what is written to.
func widthOf(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return otherWidth
}

// printVerdicts writes verdicts for a reader, misses first, each kind by paper, in lines of so many
// columns at most: without ids, which verdicts.csv has, and with five digits. What was not
// run is counted by countVerdicts only.
func printVerdicts(out io.Writer, verdicts []verdict.Verdict, width int) error {
	w := bufio.NewWriter(out)
	for _, name := range verdictOrder {
		some := slices.DeleteFunc(slices.Clone(verdicts), func(v verdict.Verdict) bool { return v.Verdict != name })
		slices.SortStableFunc(some, func(a, b verdict.Verdict) int { return strings.Compare(a.Target.Paper, b.Target.Paper) })
		paper := ""
		for i := range some {
			if x := some[i].Target; x.Paper != paper {
				paper = x.Paper
				fmt.Fprintf(w, "%s: %s\n", name, paper)
			}
			writeVerdict(w, &some[i], width)
		}
	}
	return w.Flush()
}

// writeVerdict writes a verdict with its note below.
func writeVerdict(w io.Writer, v *verdict.Verdict, width int) {
	x := v.Target
	bound := map[string]string{"at_least": "at least ", "at_most": "at most "}[x.ToleranceKind]
	unit := " " + x.Unit
	if x.Unit == "ratio" || x.Unit == "fraction" {
		unit = ""
	}
	measured := "none"
	if !math.IsNaN(v.Measured) {
		measured = results.Short(v.Measured)
		if v.Half > 0 && !math.IsInf(v.Half, 0) {
			measured += " +- " + strconv.FormatFloat(v.Half, 'g', 2, 64)
		}
		measured += unit
	}
	rests := v.RestsOn
	if v.Quick {
		rests += ", quick"
	}
	text := fmt.Sprintf("%s: %s, %s: %s of %s%s%s (%s)", x.Artifact, x.Case, strings.ReplaceAll(x.Metric, "_", " "), measured, bound, results.Short(x.Value), unit, rests)
	wrap(w, text, "  ", width)
	if v.Note != "" {
		wrap(w, v.Note, "      ", width)
	}
}

// wrap writes text in lines of so many columns at most, words that are longer apart, all but the first
// with four more columns before them.
func wrap(w io.Writer, text, indent string, width int) {
	for i, line := range catalogue.Wrap(text, width-len(indent)-4) {
		fmt.Fprintln(w, indent+strings.Repeat(" ", 4*min(i, 1))+line)
	}
}

// countVerdicts says how often each verdict was reached, and what the rows met rest on.
func countVerdicts(verdicts []verdict.Verdict) string {
	list := func(counts []verdict.Tally) string {
		return lists.Join(counts, ", ", func(c verdict.Tally) string { return fmt.Sprintf("%d %s", c.N, c.Verdict) })
	}
	text := fmt.Sprintf("%d targets: %s", len(verdicts), list(verdict.Tallies(verdicts)))
	if met := list(verdict.TalliesOfMet(verdicts)); met != "" {
		text += "; of those met " + met
	}
	return text
}
