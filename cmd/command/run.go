package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/results"
)

func (a *App) runCommand() *cobra.Command {
	var flags RunFlags
	c := &cobra.Command{
		Use:   "run FILE...",
		Short: "Run experiment files and write results, figures and provenance",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			flags.Command = commandLine(c, args)
			flags.wantsKept = c.Flags().Changed("snapshot-every") && flags.SnapshotEvery > 0
			return a.RunFiles(c.Context(), args, &flags)
		},
	}
	flags.Register(c)
	flags.registerAllowDeadlock(c)
	flags.RegisterExecution(c)
	c.Flags().StringVarP(&flags.Out, "out", "o", "", "result folder `DIR`; - writes results.csv to standard output and nothing else (default results/NAME)")
	c.Flags().StringVar(&flags.shard, "shard", "", "compute share `I/N` of the points only, such as 2/8, for weft merge (default result folder results/NAME.share-I-of-N)")
	c.Flags().DurationVar(&flags.SnapshotEvery, "snapshot-every", 5*time.Minute, "how often a point that takes longer keeps its state in the result folder, for --resume after a kill; 0: never")
	Choice(c, &flags.executor, "executor", "local", "where points are computed: local, or slurm: as a job array of the cluster that this machine belongs to", "local", "slurm")
	c.Flags().IntVar(&flags.slurm.Chunk, "chunk", 0, "with --executor slurm: points a task (default: so many that there are at most 64 tasks)")
	c.Flags().DurationVar(&flags.slurm.Poll, "poll", 2*time.Second, "with --executor slurm: time between looks at the queue")
	c.Flags().StringArrayVar(&flags.slurm.Sbatch, "sbatch", nil, "with --executor slurm: a further `ARGUMENT` of sbatch, such as --sbatch=--partition=long; may be repeated")
	return c
}

// RunFiles computes experiment files into their result folders.
func (a *App) RunFiles(ctx context.Context, names []string, flags *RunFlags) error {
	if err := flags.Check(); err != nil {
		return err
	}
	files, err := flags.open(ctx, names)
	if err != nil {
		return err
	}
	a.warn(files)
	folders, err := resultFolders(files, flags.Out)
	if err != nil {
		return err
	}
	if s := flags.Shard; s.Of > 0 && flags.Out == "" {
		for i := range folders {
			folders[i] += fmt.Sprintf(".share-%d-of-%d", s.Index, s.Of)
		}
	}
	if err := flags.checkFolders(folders); err != nil {
		return err
	}
	if err := a.checkKept(files, flags); err != nil {
		return err
	}
	if flags.Shares == nil {
		if err := a.preflightRun(ctx, files, folders, flags.Resume); err != nil {
			return err
		}
	}
	failed := false
	for i, f := range files {
		outcome, err := a.execute(ctx, f, folders[i], flags)
		switch {
		case errors.Is(err, experiments.ErrInterrupted) && folders[i] != "":
			return a.interrupted(outcome, f, folders[i])
		case err != nil:
			return err
		}
		a.next(outcome, folders[i], flags)
		failed = failed || len(outcome.Failures) > 0
	}
	if failed {
		return &StatusError{Status: ExitFailure}
	}
	return nil
}

// resultFolders names the result folder of each file: "" for standard output.
func resultFolders(files []*experiments.File, out string) ([]string, error) {
	folders := make([]string, len(files))
	taken := map[string]string{}
	for i, f := range files {
		switch {
		case out == "-" && len(files) > 1:
			return nil, Usagef("--out - takes one file: the tables of %d would run into each other", len(files))
		case out == "-":
			continue
		case out == "":
			folders[i] = filepath.Join("results", f.Stem())
		case len(files) == 1:
			folders[i] = out
		default:
			folders[i] = filepath.Join(out, f.Stem())
		}
		if other, both := taken[folders[i]]; both {
			return nil, Usagef("%s and %s would both be written to %s; run them one by one with --out", other, f.Name, folders[i])
		}
		taken[folders[i]] = f.Name
	}
	return folders, nil
}

// checkFolders finds the folders that hold other results, before anything is
// computed for any of them.
func (f *RunFlags) checkFolders(folders []string) error {
	const most = 3
	var occupied []error
	for _, dir := range folders {
		if dir == "" {
			continue
		}
		if err := engine.CheckFolder(dir, f.Resume, f.Force); err != nil {
			occupied = append(occupied, err)
		}
	}
	if more := len(occupied) - most; more > 0 {
		occupied = append(occupied[:most], fmt.Errorf("and %d more", more))
	}
	return errors.Join(occupied...)
}

// checkKept finds out, where that is asked for, whether points can be kept while they are computed:
// files whose points all begin again after a kill are refused, and of others it says how many do.
func (a *App) checkKept(files []*experiments.File, flags *RunFlags) error {
	if !flags.wantsKept {
		return nil
	}
	for _, f := range files {
		var first *experiments.Point
		begin := 0
		for _, p := range f.Points {
			if f.BeginsAgain(p) == "" {
				continue
			}
			if begin++; first == nil {
				first = p
			}
		}
		switch {
		case begin == len(f.Points):
			return Usagef("--snapshot-every: points of kind %q (%s) begin again after a kill: %s", f.Kind(), f.Name, f.BeginsAgain(first))
		case begin > 0:
			fmt.Fprintf(a.Stderr, "%s: warning: --snapshot-every: of %d points %d begin again after a kill, such as point %d (%s): %s\n", f.Name, len(f.Points), begin, first.Index, f.Describe(first), f.BeginsAgain(first))
		}
	}
	return nil
}

// execute runs or merges one file, shows its progress, and says what came out; dir "" means
// standard output.
func (a *App) execute(ctx context.Context, f *experiments.File, dir string, flags *RunFlags) (*engine.Outcome, error) {
	e := flags.Execution
	e.Dir = dir
	if flags.executor == "slurm" {
		slurm := flags.slurm
		slurm.Options, e.Slurm = flags.options(), &slurm
		if !flags.quiet {
			slurm.Notify = func(message string) { fmt.Fprintln(a.Stderr, message) }
		}
	}
	bar := a.terminal
	if flags.lines {
		bar = a.Stderr
	}
	progress := newProgress(bar, a.Stderr, f, flags.quiet)
	e.Progress = progress.update
	outcome, err := engine.Execute(ctx, f, e)
	progress.finish()
	if outcome == nil || errors.Is(err, experiments.ErrInterrupted) {
		return outcome, err
	}
	for _, x := range outcome.Failures {
		fmt.Fprintf(a.Stderr, "%s: point %d failed (%s): %s\n", f.Name, x.Point.Index, f.Describe(x.Point), x.Reason)
	}
	for _, x := range outcome.Warnings {
		fmt.Fprintf(a.Stderr, "%s: warning: point %d (%s): %s\n", f.Name, x.Point.Index, f.Describe(x.Point), x.Reason)
	}
	for _, x := range outcome.Empty {
		fmt.Fprintf(a.Stderr, "%s: warning: %s\n", f.Name, x)
	}
	if err != nil {
		return outcome, err // such as a figure that cannot be drawn
	}
	if dir == "" {
		text, err := outcome.Results.Encode(flags.Formats[0])
		if err != nil {
			return outcome, err
		}
		return outcome, a.Print(string(text))
	}
	if !flags.quiet {
		for _, why := range slices.Sorted(maps.Keys(outcome.OnOneThread)) {
			fmt.Fprintf(a.Stderr, "%s: %d of %d points on one thread: %s\n", f.Name, outcome.OnOneThread[why], outcome.Points, why)
		}
		summary := fmt.Sprintf("%s: %d points", dir, outcome.Finished)
		if outcome.Reused > 0 {
			summary += fmt.Sprintf(" (%d from an earlier run)", outcome.Reused)
		}
		if e.Shard.Of > 0 {
			fmt.Fprintf(a.Stderr, "%s, share %s; put the shares together with weft merge\n", summary, e.Shard)
			return outcome, nil
		}
		fmt.Fprintln(a.Stderr, summary+" in "+strings.Join(append([]string{"results.csv"}, outcome.Figures...), ", "))
		if links := outcome.Tables[results.LinksName]; links != nil {
			a.printHottest(f, links)
		}
	}
	return outcome, nil
}

// next ends a run: how many points have each verdict, and the command that shows them.
func (a *App) next(outcome *engine.Outcome, dir string, flags *RunFlags) {
	if flags.quiet || dir == "" || flags.Shard.Of > 0 || outcome.Finished == 0 {
		return
	}
	var parts []string
	if states := outcome.Results.CountStates(); states != "" {
		parts = append(parts, states)
	}
	if report != nil {
		parts = append(parts, "next: weft report "+shellWord(dir))
	}
	if len(parts) > 0 {
		fmt.Fprintln(a.Stderr, strings.Join(parts, "; "))
	}
}

// printHottest names the channel that carried the most, and that between switches.
func (a *App) printHottest(f *experiments.File, links *results.Table) {
	index, all, ok := results.Hottest(links, false)
	if !ok {
		return
	}
	describe := func(index int, c results.ChannelLoad) string {
		at := ""
		if index < len(f.Points) && len(f.SweptKeys()) > 0 { // refinement adds others
			at = " (" + f.Describe(f.Points[index]) + ")"
		}
		load := fmt.Sprintf("%.3g %% of what it can carry", 100*c.Load)
		if c.Load > 0.995 { // what was handed to it; some of that may still wait behind the crossbar
			load = "full"
		}
		return fmt.Sprintf("%s to %s, %s%s", c.From, c.To, load, at)
	}
	fmt.Fprintln(a.Stderr, "hottest channel: "+describe(index, all))
	if index, cable, ok := results.Hottest(links, true); ok && cable != all && cable.Load > 0 {
		fmt.Fprintln(a.Stderr, "hottest cable between switches: "+describe(index, cable))
	}
}

// mergeCommand joins the shares that weft run --shard has left.
func (a *App) mergeCommand() *cobra.Command {
	var flags RunFlags
	c := &cobra.Command{
		Use:   "merge FILE SHARE...",
		Short: "Put the shares of a sweep together",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			flags.Command = commandLine(c, args)
			if flags.Out == "-" {
				return Usagef("--out -: want a result folder")
			}
			flags.Shares = args[1:]
			return a.RunFiles(c.Context(), args[:1], &flags)
		},
	}
	flags.Register(c)
	flags.registerAllowDeadlock(c)
	flags.RegisterExecution(c)
	c.Flags().StringVarP(&flags.Out, "out", "o", "", "result folder `DIR` (default results/NAME)")
	return c
}

// interrupted says how to go on.
func (a *App) interrupted(outcome *engine.Outcome, f *experiments.File, dir string) error {
	kept := ""
	if outcome.Kept > 0 {
		kept = fmt.Sprintf(", and %d as far as they are", outcome.Kept)
	}
	fmt.Fprintf(a.Stderr, "interrupted: %d of %d points of %s are finished and safe in %s%s; go on with the same command and --resume\n",
		outcome.Finished, outcome.Points, f.Name, dir, kept)
	return &StatusError{Status: ExitFailure}
}

// slurmTaskCommand is what the tasks of weft run --executor slurm start.
func (a *App) slurmTaskCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "slurm-task JOB.json TASK",
		Short:  "Compute the points of one task of a job array (started by Slurm)",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			task, err := strconv.Atoi(args[1])
			if err != nil {
				return Usagef("%q is not the number of a task", args[1])
			}
			return engine.SlurmTask(c.Context(), args[0], task)
		},
	}
}
