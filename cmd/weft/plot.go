package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
)

func (a *app) plotCommand() *cobra.Command {
	p := experiments.PlotConfig{Style: "line"}
	var out string
	c := &cobra.Command{
		Use:   "plot RESULTS.csv",
		Short: "Draw a figure from a table of results",
		Example: `  weft plot results/torus/results.csv --y accepted_load
  weft plot results.csv --x offered_load --y latency_mean_ns --y latency_p99_ns --by routing.type --log-y -o tail.pdf`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := p.Validate(); err != nil {
				return &usageError{err}
			}
			table, err := readTable(c.Context(), args[0])
			if err != nil {
				return err
			}
			if out == "" {
				out = strings.TrimSuffix(args[0], filepath.Ext(args[0])) + ".svg"
			}
			format := strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
			if !slices.Contains(experiments.PictureFormats, format) {
				return usagef("-o %s: want a name that ends in .svg, .png or .pdf", out)
			}
			picture, err := experiments.Interruptible(c.Context(), func() ([]byte, error) { return p.Picture(table, format) })
			if errors.Is(err, experiments.ErrInterrupted) {
				return err
			}
			if err != nil {
				return &usageError{fmt.Errorf("%s: %w", args[0], err)}
			}
			return writeOutput(out, picture)
		},
	}
	c.Flags().StringVarP(&p.X, "x", "x", "offered_load", "column along the horizontal axis")
	c.Flags().StringArrayVarP(&p.Y, "y", "y", []string{"latency_mean_ns"}, "column along the vertical axis; may be repeated")
	c.Flags().StringSliceVar(&p.By, "by", nil, "columns that tell the series apart")
	c.Flags().StringVar(&p.Style, "style", "line", "line, bar or histogram")
	c.Flags().StringVar(&p.Title, "title", "", "title of the figure")
	c.Flags().BoolVar(&p.LogX, "log-x", false, "logarithmic horizontal axis")
	c.Flags().BoolVar(&p.LogY, "log-y", false, "logarithmic vertical axis")
	c.Flags().Float64Var(&p.YMax, "y-max", 0, "end of the vertical axis (default: found from the points that are not saturated)")
	completeColumns(c, "x", "y", "by")
	choices(c, "style", "line", "bar", "histogram")
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE`.svg, .png or .pdf (default: beside the table)")
	return c
}

// readTable reads a CSV file that the user names.
func readTable(ctx context.Context, name string) (*experiments.Table, error) {
	table, err := experiments.Interruptible(ctx, func() (*experiments.Table, error) { return experiments.ReadTableFile(name) })
	if errors.Is(err, experiments.ErrInterrupted) {
		return nil, err
	}
	if err != nil {
		return nil, &usageError{err}
	}
	return table, nil
}
