package command

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
)

// mergeCommand joins the shares that weft run --shard has left.
func (a *app) mergeCommand() *cobra.Command {
	var flags runFlags
	c := &cobra.Command{
		Use:   "merge FILE SHARE...",
		Short: "Put the shares of a sweep together",
		Long: `Put the shares of a sweep together that weft run --shard has computed, on any
machines. FILE and its options are those of the shares; SHARE is the result folder of
one. The folder that comes out is the one that weft run would have left. Points that
[sweep.refine] adds hang on the results of all others and are computed now.`,
		Example: `  weft run my.toml --shard 1/2 --out share-1
  weft run my.toml --shard 2/2 --out share-2
  weft merge my.toml share-1 share-2 --out results/my`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			flags.command = commandLine(c, args)
			if flags.out == "-" {
				return usagef("--out -: want a result folder")
			}
			flags.shares = args[1:]
			return a.run(c.Context(), args[:1], &flags)
		},
	}
	flags.register(c)
	flags.registerAllowDeadlock(c)
	flags.registerExecution(c)
	c.Flags().StringVarP(&flags.out, "out", "o", "", "result folder `DIR` (default results/NAME)")
	return c
}

// interrupted says how to go on.
func (a *app) interrupted(outcome *experiments.Outcome, f *experiments.File, dir string) error {
	kept := ""
	if outcome.Kept > 0 {
		kept = fmt.Sprintf(", and %d as far as they are", outcome.Kept)
	}
	fmt.Fprintf(a.stderr, "interrupted: %d of %d points of %s are finished and safe in %s%s; go on with the same command and --resume\n",
		outcome.Finished, outcome.Points, f.Name, dir, kept)
	return &statusError{status: exitFailure}
}

// slurmTaskCommand is what the tasks of weft run --executor slurm start.
func (a *app) slurmTaskCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "slurm-task JOB.json TASK",
		Short:  "Compute the points of one task of a job array (started by Slurm)",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			task, err := strconv.Atoi(args[1])
			if err != nil {
				return usagef("%q is not the number of a task", args[1])
			}
			return experiments.SlurmTask(c.Context(), args[0], task)
		},
	}
}
