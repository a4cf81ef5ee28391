package command

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
)

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
