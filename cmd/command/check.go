package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/results"
)

func (a *App) checkCommand() *cobra.Command {
	flags := FileFlags{both: true}
	resolved := false
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Find all errors of experiment files without running them, and say what they would do",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			bad := false
			for _, name := range args {
				err := a.checkFile(c, name, &flags, resolved)
				var problems document.Problems
				if err != nil && !errors.As(err, &problems) {
					return err
				}
				if len(problems) > 0 {
					bad = true
					fmt.Fprintln(a.Stderr, problems)
					fmt.Fprintf(a.Stderr, "%s: not valid, %s: it cannot run\n", name, count(problems.Count(), "problem"))
				}
			}
			if bad {
				return &StatusError{Status: ExitUsage}
			}
			return nil
		},
	}
	flags.Register(c)
	flags.registerAllowDeadlock(c)
	flags.cache.register(c)
	c.Flags().BoolVar(&resolved, "resolved", false, "print the file with every setting spelt out, too")
	return c
}

// checkFile examines one file and prints what it finds.
func (a *App) checkFile(c *cobra.Command, name string, flags *FileFlags, resolved bool) error {
	f, err := flags.OpenOne(c.Context(), name)
	if err != nil {
		return err
	}
	a.warnings(f, f.Warnings)
	reports, err := a.preflight(c.Context(), []*experiments.File{f}, func(int) (*experiments.Report, error) { return f.Preflight(true) })
	if err != nil {
		return err
	}
	r := reports[0]
	points := count(len(f.Points), "point")
	if r.Refined > 0 {
		points += fmt.Sprintf(", up to %d more by refinement", r.Refined)
	}
	warnings := len(f.Warnings) + len(r.Warnings)
	fmt.Fprintf(a.Stdout, "%s: valid, %s, %s\n%s", f.Name, points, count(warnings, "warning"), findings(r))
	verdict := "can run"
	if r.Beyond > 0 {
		verdict += fmt.Sprintf("; %s more than the channels can carry, and will be saturated", offer(r.Beyond, len(f.Points)))
	}
	if warnings > 0 {
		verdict += "; see the " + strings.TrimPrefix(count(warnings, "warning"), "1 ")
	}
	fmt.Fprintf(a.Stdout, "  %-12s %s\n", "verdict", verdict)
	if resolved {
		fmt.Fprintf(a.Stdout, "\n%s", f.Resolved())
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

// mostNotes and mostWarnings are how many notes of a topic, and how many warnings about a key, are printed
// one by one.
const mostNotes, mostWarnings = 100, 10

// findings lists the notes of a report, a line each under their topics.
func findings(r *experiments.Report) string {
	var b strings.Builder
	topic, times := "", map[string]int{}
	for i, n := range r.Notes {
		if times[n.Topic]++; times[n.Topic] > mostNotes {
			if i+1 == len(r.Notes) || r.Notes[i+1].Topic != n.Topic {
				fmt.Fprintf(&b, "  %-12s and %d more\n", "", times[n.Topic]-mostNotes)
			}
			continue
		}
		label := n.Topic
		if label == topic {
			label = ""
		}
		topic = n.Topic
		if n.Where != "" {
			n.Text = n.Where + ": " + n.Text
		}
		fmt.Fprintf(&b, "  %-12s %s\n", label, document.Legible(n.Text))
	}
	return b.String()
}

// warn prints what the kinds have to say about the files.
func (a *App) warn(files []*experiments.File) {
	for _, f := range files {
		a.warnings(f, f.Warnings)
	}
}

func (a *App) warnings(f *experiments.File, list []experiments.Warning) {
	times := map[string]int{}
	for _, w := range list {
		if times[w.Key]++; times[w.Key] > mostWarnings {
			continue
		}
		where := ""
		if w.Where != "" {
			where = "; for " + document.Legible(w.Where)
		}
		fmt.Fprintf(a.Stderr, "%s: warning: %s%s\n", f.Place(w.Key), strings.TrimSpace(w.Key+" "+w.Message), where)
	}
	for _, key := range results.SortedKeys(times) {
		if more := times[key] - mostWarnings; more > 0 {
			fmt.Fprintf(a.Stderr, "%s: warning: %s: %d more like these\n", f.Place(key), key, more)
		}
	}
}

// preflight examines all files before any of them runs and prints the
// warnings; what forbids a run is returned together, for all files.
func (a *App) preflight(ctx context.Context, files []*experiments.File, examine func(i int) (*experiments.Report, error)) ([]*experiments.Report, error) {
	return ofAll(ctx, len(files), examine, func(i int, report *experiments.Report) { a.warnings(files[i], report.Warnings) })
}

// preflightRun is preflight before a run, of points that are not finished.
func (a *App) preflightRun(ctx context.Context, files []*experiments.File, folders []string, resume bool) error {
	_, err := a.preflight(ctx, files, func(i int) (*experiments.Report, error) {
		if resume {
			return files[i].PreflightRest(engine.FinishedPoints(files[i], folders[i]))
		}
		return files[i].Preflight(false)
	})
	return err
}

// FileFlags are the options that change how an experiment file is read.
type FileFlags struct {
	set   []string
	seed  seedFlag
	quick bool
	both  bool // find the problems of the quick variant too
	// allowDeadlock is an option of the commands that certify.
	allowDeadlock bool
	cache         cacheFlags
}

// Register adds the options to a command.
func (f *FileFlags) Register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.set, "set", nil, "set a key of the file, `KEY=VALUE` with dotted KEY; may be repeated")
	completeSettings(c)
	c.Flags().Var(&f.seed, "seed", "seed of the random streams in place of the file's")
	c.Flags().BoolVar(&f.quick, "quick", false, "apply the file's [quick] table: smaller and shorter")
}

// Given tells whether any of them is.
func (f *FileFlags) Given() bool { return f.quick || len(f.set) > 0 || f.seed.given }

// registerAllowDeadlock adds the option of commands that certify.
func (f *FileFlags) registerAllowDeadlock(c *cobra.Command) {
	c.Flags().BoolVar(&f.allowDeadlock, "allow-deadlock", false, "accept networks that can deadlock: too few virtual channels, or a cycle of channels that wait for each other")
}

func (f *FileFlags) options() experiments.Options {
	set := f.set
	if f.seed.given {
		set = append(set[:len(set):len(set)], "seed="+f.seed.String())
	}
	return experiments.Options{Set: set, Quick: f.quick, CheckQuick: f.both, AllowDeadlock: f.allowDeadlock, Cache: f.cache.open()}
}

// open reads all files; problems of all of them are reported together.
func (f *FileFlags) open(ctx context.Context, names []string) ([]*experiments.File, error) {
	return ofAll(ctx, len(names), func(i int) (*experiments.File, error) { return experiments.Open(names[i], f.options()) }, func(int, *experiments.File) {})
}

// OpenOne reads one file. Its errors are [document.Problems], or [experiments.ErrInterrupted].
func (f *FileFlags) OpenOne(ctx context.Context, name string) (*experiments.File, error) {
	all, err := f.open(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// ofAll is what read gives for each of n files, done being told of it at once; problems
// of all of them are reported together.
func ofAll[T any](ctx context.Context, n int, read func(i int) (T, error), done func(i int, x T)) ([]T, error) {
	var all []T
	var problems document.Problems
	for i := range n {
		x, err := experiments.Interruptible(ctx, func() (T, error) { return read(i) })
		var bad document.Problems
		switch {
		case errors.As(err, &bad):
			problems = append(problems, bad...)
		case err != nil:
			return nil, err
		default:
			done(i, x)
			all = append(all, x)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return all, nil
}

// RunFlags are the options of commands that compute the points of files.
type RunFlags struct {
	FileFlags
	engine.Execution        // but for what hangs on the file: Dir, Slurm and Progress
	Out              string // the result folder; "-": standard output
	shard            string
	quiet            bool
	beside           bool // of weft reproduce: trials, too
	wantsKept        bool // SnapshotEvery is given
	lines            bool // of progress, in the place of a bar
	executor         string
	slurm            engine.Slurm // but for Options and Notify
}

// RegisterExecution adds the options that say how points are computed.
func (f *RunFlags) RegisterExecution(c *cobra.Command) {
	c.Flags().IntVarP(&f.Jobs, "jobs", "j", 0, "points computed side by side (default: one a core)")
	c.Flags().IntVar(&f.Threads, "threads", 1, "threads of one point")
	f.cache.register(c)
	c.Flags().BoolVar(&f.Resume, "resume", false, "keep the finished points of an interrupted run, and of an older version of the file those that have not changed")
	c.Flags().BoolVar(&f.Force, "force", false, "replace the results of an earlier run in the folder; without it, and without --resume, they are left alone")
	c.Flags().StringSliceVar(&f.Formats, "format", []string{"csv"}, "tables of results as csv or jsonl (JSON lines); a result folder has csv in any case, and --out - takes one")
	Choices(c, "format", results.TableFormats...)
	QuietFlag(c, &f.quiet)
}

// QuietFlag is --quiet of a command.
func QuietFlag(c *cobra.Command, quiet *bool) {
	c.Flags().BoolVar(quiet, "quiet", false, "nothing on standard error but warnings and errors")
}

// Check refuses impossible options, with a [*UsageError].
func (f *RunFlags) Check() error {
	var unshared error
	if f.shard != "" {
		f.Shard, unshared = engine.ParseShard(f.shard)
	}
	printed, slurm := f.Out == "-", f.executor == "slurm"
	err := cmp.Or(
		RefusedIf(f.Jobs < 0, "--jobs %d: want at least 1, or 0 for one a core", f.Jobs),
		RefusedIf(f.Threads < 1, "--threads %d: want at least 1", f.Threads),
		RefusedIf(f.Resume && printed, "--resume needs a result folder; --out - has none"),
		RefusedIf(f.Force && printed, "--force needs a result folder; --out - has none"),
		RefusedIf(f.Resume && f.Force, "--resume keeps what --force replaces: give one of them"),
		RefusedIf(f.SnapshotEvery < 0, "--snapshot-every %v: want a time, or 0 for never", f.SnapshotEvery),
		RefusedIf(f.wantsKept && printed, "--snapshot-every needs a result folder; --out - has none"),
		RefusedIf(unshared != nil, "--shard %v", unshared),
		RefusedIf(f.shard != "" && printed, "--shard needs a result folder; --out - has none"),
		RefusedIf(f.shard != "" && slurm, "--shard is for other batch systems: leave it out with --executor slurm"),
		RefusedIf(!slices.Contains([]string{"", "local", "slurm"}, f.executor), "--executor %s: want local or slurm", f.executor),
		RefusedIf(!slurm && (f.slurm.Chunk != 0 || len(f.slurm.Sbatch) > 0), "--chunk and --sbatch are for --executor slurm"),
		RefusedIf(slurm && printed, "--executor slurm needs a result folder; --out - has none"),
		RefusedIf(slurm && f.slurm.Chunk < 0, "--chunk %d: want at least 1", f.slurm.Chunk),
		RefusedIf(slurm && f.slurm.Poll <= 0, "--poll %v: want more than nothing", f.slurm.Poll),
	)
	for _, format := range f.Formats {
		err = cmp.Or(err, RefusedIf(!slices.Contains(results.TableFormats, format), "--format %s: want csv or jsonl", format))
	}
	return cmp.Or(err, RefusedIf(printed && len(f.Formats) != 1, "--format %s: --out - takes one format", strings.Join(f.Formats, ",")))
}

// CacheVariable is the environment variable that names the cache folder.
const CacheVariable = "WEFT_CACHE"

// cacheFlags say where certificates and channel loads are kept for later runs.
type cacheFlags struct {
	dir     string
	off     bool
	command *cobra.Command // whose standard error hears of what is wrong; nil: nothing is kept
}

func (f *cacheFlags) register(c *cobra.Command) {
	f.command = c
	c.Flags().StringVar(&f.dir, "cache", "", "folder `DIR` in which certificates and channel loads are kept for later runs (default $"+CacheVariable+", or weft in the user's cache folder)")
	c.Flags().BoolVar(&f.off, "no-cache", false, "keep nothing for later runs, and use nothing that earlier ones have kept")
}

// open is the cache to use; nil: none.
func (f *cacheFlags) open() *experiments.Cache {
	if f.command == nil || f.off {
		return nil
	}
	dir := cmp.Or(f.dir, os.Getenv(CacheVariable))
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil // a user without a home keeps nothing
		}
		dir = filepath.Join(user, "weft")
	}
	return &experiments.Cache{
		Dir: dir, Limit: experiments.DefaultCacheLimit, Least: experiments.DefaultCacheLeast,
		Warn: func(message string) { fmt.Fprintln(f.command.ErrOrStderr(), "warning: cache:", message) },
	}
}
