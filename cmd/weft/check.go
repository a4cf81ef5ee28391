package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) checkCommand() *cobra.Command {
	var flags fileFlags
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Find all errors of experiment files without running them, and say what they would do",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := flags.open(args)
			if err != nil {
				return err
			}
			a.warn(files)
			for _, f := range files {
				fmt.Fprintf(a.stdout, "%s: valid, %d points, %d warnings\n\n%s", f.Name, len(f.Points), len(f.Warnings), f.Resolved())
			}
			return nil
		},
	}
	flags.register(c)
	return c
}
