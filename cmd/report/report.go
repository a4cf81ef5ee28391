// Package report is the subcommand that puts result folders into one page, and has weft reproduce do so.
package report

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/cmd/command"
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/report"
)

func init() {
	command.Register(newCommand)
	command.RegisterReport(report.Make)
}

func newCommand(a *command.App) *cobra.Command {
	var out string
	var quiet bool
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Put result folders into one HTML page: question, settings, results, figures, verdicts, link loads",
		Long: `Put the result folders in and below each DIR into one HTML page without
external resources. Points at which the network did not keep up are marked; the
experiments of papers show each target beside the measured value. Where
measure.links was set, the page holds a map of the links' load, where
measure.series was, one that changes over time, and where measure.blame was, the
parts of the latency and the worst channels.

  weft reproduce --quick --out r
  weft report r`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			out = cmp.Or(out, filepath.Join(args[0], "report.html"))
			page, err := experiments.Interruptible(c.Context(), func() ([]byte, error) { return report.Make(args, out) })
			if err != nil {
				return err
			}
			return a.WriteNamed(out, page, quiet)
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write (default: report.html in the first DIR)")
	command.QuietFlag(c, &quiet)
	return c
}
