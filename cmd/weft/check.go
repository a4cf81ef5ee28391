package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
)

func (a *app) checkCommand() *cobra.Command {
	flags := fileFlags{both: true}
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Find all errors of experiment files without running them, and say what they would do",
		Example: `  weft check examples/torus
  weft check my.toml --set topology.dims=[16,16] --set traffic.load=0.4`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			files, err := flags.open(c.Context(), args)
			if err != nil {
				return err
			}
			a.warn(files)
			reports, err := a.preflight(c.Context(), files, func(i int) (*experiments.Report, error) { return files[i].Preflight(true) })
			if err != nil {
				return err
			}
			for i, f := range files {
				points := fmt.Sprintf("%d points", len(f.Points))
				if n := reports[i].Refined; n > 0 {
					points += fmt.Sprintf(", up to %d more by refinement", n)
				}
				fmt.Fprintf(a.stdout, "%s: valid, %s, %d warnings\n%s\n%s", f.Name, points, len(f.Warnings)+len(reports[i].Warnings), findings(reports[i]), f.Resolved())
			}
			return nil
		},
	}
	flags.register(c)
	flags.registerAllowDeadlock(c)
	return c
}

// findings lists the notes of a report, a line each under their topics.
func findings(r *experiments.Report) string {
	var b strings.Builder
	topic := ""
	for _, n := range r.Notes {
		label := n.Topic
		if label == topic {
			label = ""
		}
		topic = n.Topic
		if n.Where != "" {
			n.Text = n.Where + ": " + n.Text
		}
		fmt.Fprintf(&b, "  %-12s %s\n", label, experiments.Legible(n.Text))
	}
	return b.String()
}
