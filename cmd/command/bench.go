package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
)

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
