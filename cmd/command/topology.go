package command

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/atlas"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/experiments/results"
)

func (a *App) topologyCommand() *cobra.Command {
	var flags FileFlags
	var format, out, lfts, diff, algorithm string
	var tables []string
	point := -1
	c := &cobra.Command{
		Use:   "topology FILE.toml|FILE|DIR",
		Short: "Describe the network of an experiment file or a network file, draw it, or write it in another form",
		Long: `Describe the network of an experiment file, or of a file that holds one: weft's
JSON form, the output of ibnetdiscover, ibdiagnet's db_csv, or a netlist of ibsim.
Pictures (svg, png, pdf) show levels, groups or coordinates as the family has them. Of
the result folder DIR of a run with measure.links, the picture shows the load of every
channel at one point: that with the highest load, or --point.

--lfts writes the forwarding tables of the experiment's routing as OpenSM dumps
them; its option lfts_file, with routing_engine file, loads them.

--diff says what has changed in a later network: switches and hosts by GUID or
name, cables, their speeds; and, with the routes of both, which pairs of hosts have
lost their path or take another. Routes are those of two experiment files, of a
routing named with --routing, or of two files of tables.`,
		Example: `  weft topology examples/fat-tree
  weft topology examples/fat-tree --set topology.k=4 -o tree.svg
  weft topology examples/quickstart --set topology.h=2 -o dragonfly.dot
  weft topology ibnetdiscover.txt -o cluster.json
  weft topology examples/fat-tree --set routing.up=hashed --lfts fat-tree.lfts
  weft topology monday.txt --diff today.txt --tables monday.lfts,today.lfts`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if diff != "" {
				return a.diff(c.Context(), args[0], diff, &flags, tables, algorithm)
			}
			if algorithm != "" || tables != nil {
				return Usagef("--routing and --tables are for --diff")
			}
			if format == "" && out != "" {
				ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
				if !slices.Contains(network.Formats(), ending) {
					return Usagef("-o %s: want --format %s, or a name that ends like one of them", out, strings.Join(network.Formats(), "|"))
				}
				format = ending
			}
			n, err := a.network(c.Context(), args[0], &flags, point)
			if err != nil {
				return err
			}
			if lfts != "" {
				if err := a.writeTables(c.Context(), n, lfts); err != nil || out == "" && format == "" {
					return err
				}
			}
			text, err := Attempt(c.Context(), func() ([]byte, error) {
				var b bytes.Buffer
				if format == "" {
					n.Describe(&b)
					return b.Bytes(), nil
				}
				err := n.Write(&b, format)
				return b.Bytes(), err
			})
			if err != nil {
				return err
			}
			return a.printTo(out, text)
		},
	}
	flags.Register(c)
	Choice(c, &format, "format", "", strings.Join(network.Formats(), ", ")+" (default: by the ending of FILE, or a summary)", network.Formats()...)
	c.Flags().IntVar(&point, "point", -1, "of a result folder: the `NUMBER` of the point whose load is shown (default: that with the highest load)")
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write to (default: standard output)")
	c.Flags().StringVar(&diff, "diff", "", "the network `LATER`, to say what has changed")
	c.Flags().StringVar(&algorithm, "routing", "", "routing whose paths --diff compares")
	c.Flags().StringSliceVar(&tables, "tables", nil, "`BEFORE,AFTER`: files of forwarding tables whose paths --diff compares")
	c.Flags().StringVar(&lfts, "lfts", "", "`FILE` to write the routing's forwarding tables to")
	return c
}

// diff says what has changed from one network to another.
func (a *App) diff(ctx context.Context, before, after string, flags *FileFlags, tables []string, algorithm string) error {
	if err := cmp.Or(
		RefusedIf(tables != nil && len(tables) != 2, "--tables %s: want two files, those of the networks before and after", strings.Join(tables, ",")),
		RefusedIf(tables != nil && algorithm != "", "--tables and --routing: want one of them"),
	); err != nil {
		return err
	}
	var networks [2]*network.Network
	for i, name := range []string{before, after} {
		var err error
		if networks[i], err = a.network(ctx, name, flags, -1); err != nil {
			return err
		}
	}
	difference, err := Attempt(ctx, func() (*network.Change, error) { return networks[0].Diff(networks[1], tables, algorithm) })
	if err != nil {
		return err
	}
	difference.Write(a.Stdout)
	return nil
}

// writeTables writes the forwarding tables of a network's routing.
func (a *App) writeTables(ctx context.Context, n *network.Network, path string) error {
	var warnings []string
	text, err := Attempt(ctx, func() ([]byte, error) {
		var b bytes.Buffer
		var err error
		warnings, err = n.WriteTables(&b)
		return b.Bytes(), err
	})
	if err != nil {
		return err
	}
	a.warned(warnings)
	return writeOutput(path, text)
}

// network builds the network of an experiment file, or of a point of a result
// folder, or reads one.
func (a *App) network(ctx context.Context, name string, flags *FileFlags, point int) (*network.Network, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		if flags.Given() {
			return nil, Usagef("--set, --seed and --quick change experiment files; %s is a result folder", name)
		}
		return experiments.Interruptible(ctx, func() (*network.Network, error) {
			folder, err := engine.ReadFolder(name)
			if err != nil {
				return nil, err
			}
			return networkOfFolder(folder, point)
		})
	}
	if point >= 0 {
		return nil, Usagef("--point is for result folders; %s is none", name)
	}
	if err == nil && filepath.Ext(name) != ".toml" {
		n, err := files(ctx, func() (*network.Network, error) { return network.Import(name) })
		if err == nil {
			a.warned(n.Warnings)
		}
		return n, err
	}
	f, err := flags.OpenOne(ctx, name)
	if err != nil {
		return nil, err
	}
	return Attempt(ctx, func() (*network.Network, error) { return network.Of(f, f.Points[0]) })
}

// networkOfFolder is the network of a point, with the load of its channels where the run
// recorded that. point < 0 chooses among the points with loads that which carried
// the most, or else the first of all. The error is a *engine.FolderError.
func networkOfFolder(f *engine.Folder, point int) (*network.Network, error) {
	loads, err := f.ChannelLoads()
	if err != nil {
		return nil, err
	}
	if point < 0 {
		point = f.File.Points[0].Index
		most := -1.0
		for _, p := range f.File.Points {
			sum := 0.0
			for _, c := range loads[p.Index] {
				sum += c.Load
			}
			if loads[p.Index] != nil && sum > most {
				point, most = p.Index, sum
			}
		}
	}
	for _, p := range f.File.Points {
		if p.Index != point {
			continue
		}
		n, err := network.Of(f.File, p)
		if err != nil {
			return nil, &engine.FolderError{Dir: f.Dir, Reason: err.Error()}
		}
		n.Loads = loads[point]
		return n, nil
	}
	return nil, &engine.FolderError{Dir: f.Dir, Reason: fmt.Sprintf("has no point %d: want 0 to %d", point, len(f.File.Points)-1)}
}

func (a *App) atlasCommand() *cobra.Command {
	var flags RunFlags
	var terminals, radix int
	var rank string
	var measure bool
	var set, only []string
	c := &cobra.Command{
		Use:   "atlas",
		Short: "List topologies with their routings, certified and measured; or what can be built at a size, ranked",
		Long: `Certify every registered routing on a network of every registered topology: virtual channels
needed, certificate or cycle, bounds from channel loads, cost. --measure also runs them: zero-load
latency and saturation. The result folder gets atlas.csv, a page, atlas.md, and
the same with a picture of every network, pictures.md.

With --terminals or --radix, list instead, of each family that scales, the smallest network of at
least so many terminals on switches of so many ports, with its distances, bound of uniform
traffic, cables, power and price. The floor and the prices are those of kind cost, and
assumptions: --set changes them.`,
		Example: `  weft atlas --topology kautz
  weft atlas --terminals 1000 --radix 32
  weft atlas --terminals 1000 --radix 32 --rank optical --set price.optical=900`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("terminals") || c.Flags().Changed("radix") {
				return a.atlasList(c.Context(), terminals, radix, rank, set, flags.Out)
			}
			if err := flags.Check(); err != nil {
				return err
			}
			return a.atlasPairs(c.Context(), only, set, measure, &flags)
		},
	}
	c.Flags().IntVar(&terminals, "terminals", 1000, "at least so many `N` terminals")
	c.Flags().IntVar(&radix, "radix", 64, "at most `R` ports of a switch")
	Choice(c, &rank, "rank", "price", "what the list is sorted by", atlas.Ranks()...)
	c.Flags().StringArrayVar(&only, "topology", nil, "certify this `NAME` alone; may be given several times")
	c.Flags().BoolVar(&measure, "measure", false, "run the pairs, too")
	c.Flags().StringArrayVar(&set, "set", nil, "change a setting of the floor or the prices, as `KEY=VALUE`")
	c.Flags().StringVarP(&flags.Out, "out", "o", "", "result folder `DIR` (default: the table goes to standard output; with --measure, results/atlas)")
	flags.RegisterExecution(c)
	return c
}

// atlasList lists what can be built.
func (a *App) atlasList(ctx context.Context, terminals, radix int, rank string, set []string, out string) error {
	all, err := Attempt(ctx, func() ([]atlas.Listed, error) { return atlas.List(ctx, terminals, radix, rank, set) })
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return Usagef("no family has a network of at least %d terminals (--terminals) on switches of at most %d ports (--radix)", terminals, radix)
	}
	table := atlas.ListTable(all)
	if out != "" {
		return table.WriteFile(filepath.Join(out, "list.csv"))
	}
	return table.WriteAligned(a.Stdout)
}

// atlasPairs certifies pairs, and measures them.
func (a *App) atlasPairs(ctx context.Context, only, set []string, measure bool, flags *RunFlags) error {
	networks, err := atlas.NetworksOf(only)
	if err != nil {
		return &UsageError{err}
	}
	if measure && flags.Out == "" {
		flags.Out = filepath.Join("results", "atlas")
	}
	var entries []*atlas.Entry
	for _, n := range networks {
		e, err := Attempt(ctx, func() (*atlas.Entry, error) { return atlas.NewEntry(ctx, n, set) })
		if err != nil {
			return err
		}
		if measure {
			if err := a.atlasMeasure(ctx, e, flags); err != nil {
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
	command := "weft atlas"
	if measure {
		command += " --measure"
	}
	if err := results.WriteBelow(filepath.Join(flags.Out, "atlas.md"), []byte(atlas.Page(entries, command, false))); err != nil {
		return err
	}
	return results.WriteBelow(filepath.Join(flags.Out, "pictures.md"), []byte(atlas.Page(entries, command, true)))
}

// drawEntry writes the picture of a network.
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

// atlasMeasure runs the measurements of an entry.
func (a *App) atlasMeasure(ctx context.Context, e *atlas.Entry, flags *RunFlags) error {
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
