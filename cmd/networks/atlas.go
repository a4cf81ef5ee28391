// Package networks is the field's topologies beside those that papers run on, what BookSim2 measured of networks,
// and the atlas of all, a subcommand.
package networks

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/cmd/command"
	"github.com/weft-sim/weft/experiments/atlas"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/experiments/results"
	_ "github.com/weft-sim/weft/fabric/topology/families"
)

func init() { command.Register(atlasCommand) }

//go:embed help.txt
var help string

func atlasCommand(a *command.App) *cobra.Command {
	var flags command.RunFlags
	var terminals, radix int
	var rank string
	var measure bool
	var set, only []string
	c := &cobra.Command{
		Use:   "atlas",
		Short: "List topologies with their routings, certified and measured; or what can be built at a size, ranked",
		Long:  help,
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list := c.Flags().Changed("terminals") || c.Flags().Changed("radix")
			if err := cmp.Or(
				command.RefusedIf(flags.Out == "-", "--out -: want a folder; without --out the table goes to standard output"),
				command.RefusedIf(list && (measure || len(only) > 0), "--measure and --topology are of pairs that are certified, without --terminals and --radix"),
				command.RefusedIf(!list && c.Flags().Changed("rank"), "--rank sorts the list of --terminals and --radix"),
				command.RefusedIf(!measure && c.Flags().Changed("format"), "--format is for the results of --measure"),
			); err != nil {
				return err
			}
			if list {
				return listBuildable(c.Context(), a, terminals, radix, rank, set, flags.Out)
			}
			if err := flags.Check(); err != nil {
				return err
			}
			return certifyPairs(c.Context(), a, only, set, measure, &flags)
		},
	}
	c.Flags().IntVar(&terminals, "terminals", 1000, "at least so many `N` terminals")
	c.Flags().IntVar(&radix, "radix", 64, "at most `R` ports of a switch")
	command.Choice(c, &rank, "rank", "price", "what the list is sorted by", atlas.Ranks()...)
	c.Flags().StringArrayVar(&only, "topology", nil, "certify this `NAME` alone; may be given several times")
	c.Flags().BoolVar(&measure, "measure", false, "run the pairs, too")
	c.Flags().StringArrayVar(&set, "set", nil, "change a setting of the floor or the prices, as `KEY=VALUE`")
	c.Flags().StringVarP(&flags.Out, "out", "o", "", "result folder `DIR` (default: the table goes to standard output; with --measure, results/atlas)")
	flags.RegisterExecution(c)
	return c
}

func listBuildable(ctx context.Context, a *command.App, terminals, radix int, rank string, set []string, out string) error {
	all, err := command.Attempt(ctx, func() ([]atlas.Listed, error) { return atlas.List(ctx, terminals, radix, rank, set) })
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return command.Usagef("no family has a network of at least %d terminals (--terminals) on switches of at most %d ports (--radix)", terminals, radix)
	}
	table := atlas.ListTable(all)
	if out != "" {
		return table.WriteFile(filepath.Join(out, "list.csv"))
	}
	return table.WriteAligned(a.Stdout)
}

func certifyPairs(ctx context.Context, a *command.App, only, set []string, measure bool, flags *command.RunFlags) error {
	networks, err := atlas.NetworksOf(only)
	if err != nil {
		return &command.UsageError{Err: err}
	}
	if measure && flags.Out == "" {
		flags.Out = filepath.Join("results", "atlas")
	}
	var entries []*atlas.Entry
	for _, n := range networks {
		e, err := command.Attempt(ctx, func() (*atlas.Entry, error) { return atlas.NewEntry(ctx, n, set) })
		if err != nil {
			return err
		}
		if measure {
			if err := measureEntry(ctx, a, e, flags); err != nil {
				return err
			}
		}
		entries = append(entries, e)
	}
	table := atlas.EntryTable(entries)
	if flags.Out == "" {
		return table.WriteAligned(a.Stdout)
	}
	if err := table.WriteFile(filepath.Join(flags.Out, "atlas.csv")); err != nil {
		return err
	}
	for _, e := range entries {
		if err := drawEntry(e, flags.Out); err != nil {
			return err
		}
	}
	line := "weft atlas"
	if measure {
		line += " --measure"
	}
	if err := results.WriteBelow(filepath.Join(flags.Out, "atlas.md"), []byte(atlas.Page(entries, line, false))); err != nil {
		return err
	}
	return results.WriteBelow(filepath.Join(flags.Out, "pictures.md"), []byte(atlas.Page(entries, line, true)))
}

func drawEntry(e *atlas.Entry, dir string) error {
	t, err := e.Build()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := (&network.Network{Topology: t}).Write(&b, "svg"); err != nil {
		return fmt.Errorf("%s: %w", e.Family, err)
	}
	return results.WriteBelow(filepath.Join(dir, e.Family+".svg"), b.Bytes())
}

func measureEntry(ctx context.Context, a *command.App, e *atlas.Entry, flags *command.RunFlags) error {
	session := a.Session(ctx, flags)
	for _, m := range e.Measurements() {
		file, err := session.Load(m.Name+".toml", m.Text, false)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		outcome, err := session.Run(m.Name, file, filepath.Join(flags.Out, m.Name))
		if err != nil {
			return err
		}
		if len(outcome.Failures) > 0 {
			return fmt.Errorf("%s: %d points failed", m.Name, len(outcome.Failures))
		}
		if err := e.Keep(m, outcome.Results); err != nil {
			return err
		}
	}
	return nil
}
