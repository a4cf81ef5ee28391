package command

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/chakra"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/mpi/trace"
)

func (a *app) traceCommand() *cobra.Command {
	t := skeletons.DefaultTrace()
	var flags fileFlags
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
						return usagef("--%s is for traces; %s is an experiment", name, t.File)
					}
				}
			} else if flags.given() {
				return usagef("--set, --seed and --quick change experiment files; %s is none", t.File)
			}
			if to == "" && out != "" {
				ending := strings.TrimPrefix(filepath.Ext(out), ".")
				if to = map[string]string{"goal": "goal", "bin": "goal-binary", "et": "chakra"}[ending]; to == "" {
					return usagef("-o %s: want --to goal|goal-binary|chakra, or a name that ends in .goal, .bin or .et", out)
				}
			}
			if err := cmp.Or(
				refusedIf(out == "" && to != "", "--to %s: want -o FILE", to),
				refusedIf(!(t.Compute >= 0), "--compute-scale %v: want at least 0", t.Compute),
				refusedIf(!(t.Flops >= 1), "--host-flops %v: want at least 1", t.Flops),
			); err != nil {
				return err
			}
			return a.trace(c.Context(), &t, &flags, out, to)
		},
	}
	flags.register(c)
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write to")
	c.Flags().StringVar(&to, "to", "", "format of FILE: goal, goal-binary, chakra (default: by its ending)")
	choices(c, "to", "goal", "goal-binary", "chakra")
	c.Flags().StringVar(&t.Format, "format", t.Format, "format of the trace: auto, goal, chakra, dumpi, otf2, simgrid")
	choices(c, "format", "auto", "goal", "chakra", "dumpi", "otf2", "simgrid")
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
func (a *app) trace(ctx context.Context, t *skeletons.Trace, flags *fileFlags, out, to string) error {
	type imported struct {
		schedule *goal.Schedule
		report   *trace.Report
		err      error
	}
	get := t.Read
	if filepath.Ext(t.File) == ".toml" {
		f, err := flags.openOne(ctx, t.File)
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
		if err := read.report.Write(a.stdout); err != nil {
			return err
		}
	}
	if read.err != nil {
		return &usageError{read.err}
	}
	text := fmt.Sprintf("%-12s %10d\n", "ranks", read.schedule.Ranks())
	for _, k := range []struct {
		name, unit string
		kind       mpi.Kind
	}{{"sends", "B", mpi.Send}, {"receives", "B", mpi.Recv}, {"computations", "ns", mpi.Calc}} {
		n, size := read.schedule.Count(k.kind)
		text += fmt.Sprintf("%-12s %10d  %d %s\n", k.name, n, size, k.unit)
	}
	if err := a.print(text); err != nil || out == "" {
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

// writeTrace writes a schedule to files.
func writeTrace(g *goal.Schedule, out, to string) error {
	create := func(name string) (*os.File, error) {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, usagef("-o %v: a new file is wanted", err)
		}
		return f, nil
	}
	if to == "chakra" {
		// What the format cannot say is found before anything is written.
		err := chakra.Export(g, func(int) (io.WriteCloser, error) { return os.OpenFile(os.DevNull, os.O_WRONLY, 0) })
		if err != nil {
			return &usageError{err}
		}
		return chakra.Export(g, func(rank int) (io.WriteCloser, error) {
			return create(fmt.Sprintf("%s.%d.et", strings.TrimSuffix(out, ".et"), rank))
		})
	}
	f, err := create(out)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if to == "goal" {
		err = g.WriteText(w)
	} else {
		err = g.WriteBinary(w)
	}
	if err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
