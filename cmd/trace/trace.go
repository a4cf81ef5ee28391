// Package trace is the subcommand that reads, describes and writes traces of applications.
package trace

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/cmd/command"
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/chakra"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/replay"
	"github.com/weft-sim/weft/mpi/trace"
)

func init() { command.Register(newCommand) }

//go:embed help.txt
var help string

func newCommand(a *command.App) *cobra.Command {
	t := replay.Default()
	var flags command.FileFlags
	var out, to string
	c := &cobra.Command{
		Use:   "trace FILE",
		Short: "Say what a trace holds and what of it can be replayed, or write it, or a program, in another format",
		Long:  help,
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if t.File = args[0]; filepath.Ext(t.File) == ".toml" {
				for _, name := range []string{"format", "host-flops", "groups", "drop", "allreduce", "allgather", "alltoall", "broadcast", "reduce"} {
					if c.Flags().Changed(name) {
						return command.Usagef("--%s is for traces; %s is an experiment", name, t.File)
					}
				}
			} else if flags.Given() {
				return command.Usagef("--set, --seed and --quick change experiment files; %s is none", t.File)
			}
			if to == "" && out != "" {
				ending := strings.TrimPrefix(filepath.Ext(out), ".")
				if to = map[string]string{"goal": "goal", "bin": "goal-binary", "et": "chakra"}[ending]; to == "" {
					return command.Usagef("-o %s: want --to goal|goal-binary|chakra, or a name that ends in .goal, .bin or .et", out)
				}
			}
			if err := cmp.Or(
				command.RefusedIf(out == "" && to != "", "--to %s: want -o FILE", to),
				command.RefusedIf(!(t.Compute >= 0), "--compute-scale %v: want at least 0", t.Compute),
				command.RefusedIf(!(t.Flops >= 1), "--host-flops %v: want at least 1", t.Flops),
			); err != nil {
				return err
			}
			first := out
			if to == "chakra" {
				first = rankFile(out, 0)
			}
			if _, err := os.Lstat(first); out != "" && err == nil {
				return command.Usagef("-o %s: %s is there already: want a new file", out, first)
			}
			return run(c.Context(), a, &t, &flags, out, to)
		},
	}
	flags.Register(c)
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write to")
	command.Choice(c, &to, "to", "", "format of FILE: goal, goal-binary, chakra (default: by its ending)", "goal", "goal-binary", "chakra")
	command.Choice(c, &t.Format, "format", t.Format, "format of the trace: auto, goal, chakra, dumpi, otf2, simgrid", "auto", "goal", "chakra", "dumpi", "otf2", "simgrid")
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

// run reads a trace, prints the report, and writes it in another format.
func run(ctx context.Context, a *command.App, t *replay.Trace, flags *command.FileFlags, out, to string) error {
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
		return &command.UsageError{Err: read.err}
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

func exported(f *experiments.File, scale float64) (*goal.Schedule, *trace.Report, error) {
	config, ok := f.Points[0].Config().(interface {
		Programs() ([]mpi.Job, error)
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

func rankFile(out string, rank int) string {
	return fmt.Sprintf("%s.%d.et", strings.TrimSuffix(out, ".et"), rank)
}

// writeTrace writes a schedule to new files, which are complete or absent.
func writeTrace(g *goal.Schedule, out, to string) error {
	if to == "chakra" {
		// What the format cannot say is found before anything is written.
		err := chakra.Export(g, func(int) (io.WriteCloser, error) { return os.OpenFile(os.DevNull, os.O_WRONLY, 0) })
		if err != nil {
			return &command.UsageError{Err: err}
		}
		var written []string
		err = chakra.Export(g, func(rank int) (io.WriteCloser, error) {
			f, err := os.OpenFile(rankFile(out, rank), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			if err != nil {
				return nil, command.Usagef("-o %v: a new file is wanted", err)
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
