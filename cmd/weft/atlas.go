package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/atlas"
)

func (a *app) atlasCommand() *cobra.Command {
	var terminals, radix int
	var rank, out string
	var set []string
	c := &cobra.Command{
		Use:   "atlas",
		Short: "List the networks that can be built at a size, ranked",
		Long: `List, of each family that scales, the smallest network of at least so many terminals on
switches of so many ports, with its distances, bound of uniform traffic, cables, power and
price. The floor and the prices are those of kind cost, and assumptions: --set changes them.`,
		Example: `  weft atlas --terminals 1000 --radix 32
  weft atlas --terminals 1000 --radix 32 --rank optical --set price.optical=900`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := experiments.Interruptible(c.Context(), func() ([]atlas.Listed, error) {
				return atlas.List(c.Context(), terminals, radix, rank, set)
			})
			if err != nil {
				return &usageError{err}
			}
			table := atlas.ListTable(all)
			if out != "" {
				return writeTable(filepath.Clean(out), table)
			}
			return aligned(a.stdout, table)
		},
	}
	c.Flags().IntVar(&terminals, "terminals", 1000, "at least so many `N` terminals")
	c.Flags().IntVar(&radix, "radix", 64, "at most `R` ports of a switch")
	c.Flags().StringVar(&rank, "rank", "price", "what the list is sorted by")
	choices(c, "rank", atlas.Ranks()...)
	c.Flags().StringArrayVar(&set, "set", nil, "change a setting of the floor or the prices, as `KEY=VALUE`")
	c.Flags().StringVarP(&out, "output", "o", "", "write the table as CSV to `FILE`")
	return c
}
