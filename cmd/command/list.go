package command

import (
	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
)

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [CATEGORY [NAME]]",
		Short: "List topologies, routings, patterns, kinds and experiments, with their settings, units and defaults",
		Example: `  weft list
  weft list routings
  weft list kinds traffic`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := experiments.List(a.stdout, args...); err != nil {
				return &usageError{err}
			}
			return nil
		},
	}
}
