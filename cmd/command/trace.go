package command

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/chakra"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/mpi/trace"
)

func (a *App) traceCommand() *cobra.Command {
	t := skeletons.DefaultTrace()
	var flags FileFlags
	var out, to string
	c := &cobra.Command{
		Use:   "trace FILE",
		Short: "Say what a trace holds and what of it can be replayed, or write it, or a program, in another format",
		Long: `Say what a trace holds: GOAL text or binary, SimGrid's time-independent actions,
OTF2 (FILE is NAME.otf2), or Chakra or DUMPI, of which FILE is that of one rank and the
others stand beside it; plain or packed with gzip or zstd, in a folder or a tar file
(ARCHIVE/FILE, or ARCHIVE that holds one trace). The report has a
line for every kind of operation: replayed, approximated or refused, how many, and why.
A trace of which something would be left out is refused, unless --drop is given.
Collectives become the messages of weft's algorithms.

-o writes the schedule that is replayed: as GOAL text, GOAL binary, or Chakra, a file
NAME.RANK.et a rank. Of an experiment FILE.toml of kind mpi or jobs, with one point, it is
what its programs do, the ranks of jobs behind each other.`,
		Example: `  weft trace app.goal
  weft trace app.0.et --groups groups.json --allreduce allreduce-recursive-doubling
  weft trace app.bin -o app.goal
  weft trace app.goal --to chakra -o app
  weft trace program.toml --set job.ranks=64 -o program.goal`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if t.File = args[0]; filepath.Ext(t.File) == ".toml" {
				for _, name := range []string{"format", "host-flops", "groups", "drop", "allreduce", "allgather", "alltoall", "broadcast", "reduce"} {
					if c.Flags().Changed(name) {
						return Usagef("--%s is for traces; %s is an experiment", name, t.File)
					}
				}
			} else if flags.Given() {
				return Usagef("--set, --seed and --quick change experiment files; %s is none", t.File)
			}
			if to == "" && out != "" {
				ending := strings.TrimPrefix(filepath.Ext(out), ".")
				if to = map[string]string{"goal": "goal", "bin": "goal-binary", "et": "chakra"}[ending]; to == "" {
					return Usagef("-o %s: want --to goal|goal-binary|chakra, or a name that ends in .goal, .bin or .et", out)
				}
			}
			if err := cmp.Or(
				RefusedIf(out == "" && to != "", "--to %s: want -o FILE", to),
				RefusedIf(!(t.Compute >= 0), "--compute-scale %v: want at least 0", t.Compute),
				RefusedIf(!(t.Flops >= 1), "--host-flops %v: want at least 1", t.Flops),
			); err != nil {
				return err
			}
			first := out
			if to == "chakra" {
				first = rankFile(out, 0)
			}
			if _, err := os.Lstat(first); out != "" && err == nil {
				return Usagef("-o %s: %s is there already: want a new file", out, first)
			}
			return a.trace(c.Context(), &t, &flags, out, to)
		},
	}
	flags.Register(c)
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write to")
	Choice(c, &to, "to", "", "format of FILE: goal, goal-binary, chakra (default: by its ending)", "goal", "goal-binary", "chakra")
	Choice(c, &t.Format, "format", t.Format, "format of the trace: auto, goal, chakra, dumpi, otf2, simgrid", "auto", "goal", "chakra", "dumpi", "otf2", "simgrid")
	c.Flags().Float64Var(&t.Flops, "host-flops", t.Flops, "simgrid: floating-point operations a second of a `RANK`")
	c.Flags().StringVar(&t.Groups, "groups", "", "chakra: `FILE` of process groups, a JSON object of lists of ranks")
	c.Flags().BoolVar(&t.Drop, "drop", false, "leave out what cannot be replayed")
	c.Flags().Float64Var(&t.Compute, "compute-scale", t.Compute, "`FACTOR` of computing times")
	for _, f := range []struct {
		name string
		to   *string
	}{{"allreduce", &t.Allreduce}, {"allgather", &t.Allgather}, {"alltoall", &t.Alltoall}, {"broadcast", &t.Broadcast}, {"reduce", &t.Reduce}} {
		c.Flags().StringVar(f.to, f.name, *f.to, "`ALGORITHM` of "+f.name+" (see weft list collectives)")
	}
	return c
}

// trace reads a trace, prints the report, and writes it in another format.
func (a *App) trace(ctx context.Context, t *skeletons.Trace, flags *FileFlags, out, to string) error {
	type imported struct {
		schedule *goal.Schedule
		report   *trace.Report
		err      error
	}
	get := t.Read
	if filepath.Ext(t.File) == ".toml" {
		f, err := flags.OpenOne(ctx, t.File)
		if err != nil {
			return err
		}
		get = func() (*goal.Schedule, *trace.Report, error) { return exported(f, t.Compute) }
	}
	read, err := experiments.Interruptible(ctx, func() (imported, error) {
		g, report, err := get()
		return imported{g, report, err}, nil
	})
	if err != nil {
		return err
	}
	if read.report != nil {
		if err := read.report.Write(a.Stdout); err != nil {
			return err
		}
	}
	if read.err != nil {
		return &UsageError{read.err}
	}
	text := fmt.Sprintf("%-12s %10d\n", "ranks", read.schedule.Ranks())
	for _, k := range []struct {
		name, unit string
		kind       mpi.Kind
	}{{"sends", "B", mpi.Send}, {"receives", "B", mpi.Recv}, {"computations", "ns", mpi.Calc}} {
		n, size := read.schedule.Count(k.kind)
		text += fmt.Sprintf("%-12s %10d  %d %s\n", k.name, n, size, k.unit)
	}
	if err := a.Print(text); err != nil || out == "" {
		return err
	}
	return writeTrace(read.schedule, out, to)
}

// exported is the schedule of an experiment's programs.
func exported(f *experiments.File, scale float64) (*goal.Schedule, *trace.Report, error) {
	config, ok := f.Points[0].Config().(interface {
		Programs() ([]trace.Program, error)
	})
	if !ok {
		return nil, nil, fmt.Errorf("%s: kind %s has no program; want mpi or jobs", f.Name, f.Kind())
	}
	if n := len(f.Points); n > 1 {
		return nil, nil, fmt.Errorf("%s: has %d points; want one (--set takes the place of a sweep)", f.Name, n)
	}
	programs, err := config.Programs()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	g, report, err := trace.Export(f.Name, programs)
	if err == nil {
		g.ScaleCompute(scale)
	}
	return g, report, err
}

// rankFile is the file of a rank's Chakra trace.
func rankFile(out string, rank int) string {
	return fmt.Sprintf("%s.%d.et", strings.TrimSuffix(out, ".et"), rank)
}

// writeTrace writes a schedule to new files, which are complete or absent.
func writeTrace(g *goal.Schedule, out, to string) error {
	if to == "chakra" {
		// What the format cannot say is found before anything is written.
		err := chakra.Export(g, func(int) (io.WriteCloser, error) { return os.OpenFile(os.DevNull, os.O_WRONLY, 0) })
		if err != nil {
			return &UsageError{err}
		}
		var written []string
		err = chakra.Export(g, func(rank int) (io.WriteCloser, error) {
			f, err := os.OpenFile(rankFile(out, rank), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			if err != nil {
				return nil, Usagef("-o %v: a new file is wanted", err)
			}
			written = append(written, f.Name())
			return f, nil
		})
		if err != nil {
			for _, name := range written {
				_ = os.Remove(name)
			}
		}
		return err
	}
	write := g.WriteBinary
	if to == "goal" {
		write = g.WriteText
	}
	return results.StreamInside(filepath.Dir(out), filepath.Base(out), func(f *os.File) error {
		w := bufio.NewWriter(f)
		return cmp.Or(write(w), w.Flush())
	})
}

type benchFlags struct {
	format  string
	threads int
	child   bool
	compare []string
}

func (a *App) benchCommand() *cobra.Command {
	var flags benchFlags
	c := &cobra.Command{
		Use:   "bench [WORKLOAD...]",
		Short: "Measure how fast this machine simulates, on a fixed set of workloads",
		Long: `Run a fixed set of workloads, each in a process of its own, and print what it
costs: CPU time per flit-hop (a flit crossing a switch) or per event, events a
second of wall time, peak memory, allocations. weft bench --format csv keeps the
figures; weft bench --compare OLD.csv,NEW.csv shows two of them side by side.

` + workloadList(),
		Example: `  weft bench dragonfly-1056
  weft bench --format csv > old.csv
  weft bench --compare old.csv,new.csv`,
		RunE: func(c *cobra.Command, args []string) error { return a.bench(c.Context(), args, &flags) },
	}
	Choice(c, &flags.format, "format", "text", "text or csv", "text", "csv")
	c.Flags().IntVar(&flags.threads, "threads", 1, "threads of a run")
	c.Flags().StringSliceVar(&flags.compare, "compare", nil, "`OLD.csv,NEW.csv` of earlier runs to compare; nothing is run")
	c.Flags().BoolVar(&flags.child, "in-this-process", false, "run one workload here and print its row")
	_ = c.Flags().MarkHidden("in-this-process")
	return c
}

func workloadList() string {
	var b strings.Builder
	for _, w := range experiments.Workloads {
		fmt.Fprintf(&b, "  %-16s %s\n", w.Name, w.Doc)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (a *App) bench(ctx context.Context, names []string, flags *benchFlags) error {
	if err := cmp.Or(
		RefusedIf(flags.format != "text" && flags.format != "csv", "--format %s: want text or csv", flags.format),
		RefusedIf(flags.threads < 1, "--threads %d: want at least 1", flags.threads),
		RefusedIf(len(flags.compare) > 0 && len(names) > 0, "--compare runs nothing: leave out %s", strings.Join(names, ", ")),
	); err != nil {
		return err
	}
	if len(flags.compare) > 0 {
		return a.compareBenches(ctx, flags.compare)
	}
	for _, name := range names {
		if !slices.Contains(workloadNames(nil), name) {
			return Usagef("no workload %q; there are\n%s", name, workloadList())
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(experiments.Workloads), func(w experiments.Workload) bool {
		return len(names) > 0 && !slices.Contains(names, w.Name)
	})
	if flags.child {
		if len(chosen) != 1 {
			return Usagef("--in-this-process needs one workload")
		}
		row, err := experiments.Interruptible(ctx, func() ([]string, error) { return chosen[0].Measure(ctx, flags.threads) })
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Stdout, strings.Join(row, ","))
		return nil
	}
	t := &results.Table{Columns: experiments.BenchColumns}
	for _, w := range chosen {
		row, err := a.benchProcess(ctx, w.Name, flags.threads)
		if err != nil {
			return err
		}
		t.Rows = append(t.Rows, row)
	}
	if flags.format == "csv" {
		return t.Write(a.Stdout)
	}
	return t.WriteAligned(a.Stdout)
}

// benchProcess measures a workload in a process of its own.
func (a *App) benchProcess(ctx context.Context, name string, threads int) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self, "bench", "--in-this-process", fmt.Sprintf("--threads=%d", threads), name)
	c.Stderr = a.Stderr
	out, err := c.Output()
	if ctx.Err() != nil {
		return nil, experiments.ErrInterrupted
	}
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", name, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), ","), nil
}

// compareBenches prints the cost of a unit in two tables and their ratio.
func (a *App) compareBenches(ctx context.Context, files []string) error {
	if len(files) != 2 {
		return Usagef("--compare wants two files, OLD.csv,NEW.csv")
	}
	var sides [2]map[string]float64
	var order []string
	for i, name := range files {
		t, err := readTable(ctx, name)
		if err != nil {
			return err
		}
		at, err := t.Column("workload")
		if err != nil {
			return Usagef("%s: %v", name, err)
		}
		costs, err := t.Numbers("ns_per_unit")
		if err != nil {
			return Usagef("%s: %v", name, err)
		}
		sides[i] = map[string]float64{}
		for r, row := range t.Rows {
			sides[i][row[at]] = costs[r]
			if i == 0 {
				order = append(order, row[at])
			}
		}
	}
	t := &results.Table{Columns: []string{"workload", "old_ns_per_unit", "new_ns_per_unit", "new_over_old"}}
	for _, name := range order {
		if after, both := sides[1][name]; both {
			before := sides[0][name]
			t.Rows = append(t.Rows, []string{name, fmt.Sprintf("%.4g", before), fmt.Sprintf("%.4g", after), fmt.Sprintf("%.3f", after/before)})
		}
	}
	if len(t.Rows) == 0 {
		return Usagef("%s and %s have no workload in common", files[0], files[1])
	}
	return t.WriteAligned(a.Stdout)
}
