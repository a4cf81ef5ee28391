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
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/network"
)

func (a *App) topologyCommand() *cobra.Command {
	var flags FileFlags
	var format, out, lfts, diff, algorithm string
	var tables []string
	point := -1
	c := &cobra.Command{
		Use:   "topology FILE.toml|FILE|DIR",
		Short: "Describe the network of an experiment file or a network file, draw it, or write it in another form",
		Args:  cobra.ExactArgs(1),
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
			n, err := a.Network(c.Context(), args[0], &flags, point)
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
		if networks[i], err = a.Network(ctx, name, flags, -1); err != nil {
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
	a.Warned(warnings)
	return writeOutput(path, text)
}

// Network builds the network of an experiment file, or of a point of a result folder, or reads one.
func (a *App) Network(ctx context.Context, name string, flags *FileFlags, point int) (*network.Network, error) {
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
		n, err := OfFiles(ctx, func() (*network.Network, error) { return network.Import(name) })
		if err == nil {
			a.Warned(n.Warnings)
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
		point = 0
		most := -1.0
		for i := range f.File.Points {
			sum := 0.0
			for _, c := range loads[i] {
				sum += c.Load
			}
			if loads[i] != nil && sum > most {
				point, most = i, sum
			}
		}
	}
	if point >= len(f.File.Points) {
		return nil, &engine.FolderError{Dir: f.Dir, Reason: fmt.Sprintf("has no point %d: want 0 to %d", point, len(f.File.Points)-1)}
	}
	n, err := network.Of(f.File, f.File.Points[point])
	if err != nil {
		return nil, &engine.FolderError{Dir: f.Dir, Reason: err.Error()}
	}
	n.Loads = loads[point]
	return n, nil
}
