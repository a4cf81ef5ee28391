package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/routes"
)

func (a *app) multicastCommand() *cobra.Command {
	var job routes.MulticastFiles
	var flags runFlags
	c := &cobra.Command{
		Use:   "multicast FILE.toml... | --topology FILE --groups FILE",
		Short: "Route multicast groups: an experiment file, or the files of a real cluster",
		Long: `Route multicast groups with MR4LMS and with OpenSM's algorithms.

With experiment files, the same as weft run. With --topology (ibnetdiscover output,
ibsim netlist, or weft's JSON form) and --groups (an OpenSM SA dump), every engine
routes the groups of that cluster: the table tells how many forwarding-table entries
each needs and the largest number of groups on a cable (EFI), without and with the
limit of --entries. With --tables, a row more is about the tables that are installed,
and names a group that they do not serve. With -o, DIR gets the table as engines.csv and the forwarding
tables of --engine in OpenSM's form; those of another engine that an earlier run left
there are removed.`,
		Example: `  weft multicast --topology ibnetdiscover.txt --groups opensm-sa.dump --entries 64
  weft multicast --topology ibnetdiscover.txt --groups opensm-sa.dump --engine mr4lms-plus -o tables`,
		RunE: func(c *cobra.Command, args []string) error {
			files := job.Topology != "" || job.Groups != ""
			switch {
			case files && len(args) > 0:
				return usagef("either experiment files or --topology and --groups, not both")
			case c.Flags().Changed("entries") && job.Entries < 1:
				return usagef("--entries = %d: want at least 1; leave it out for as many as it takes", job.Entries)
			case files:
				var idle []string
				c.Flags().Visit(func(f *pflag.Flag) {
					if slices.Contains([]string{"force", "format", "jobs", "quick", "resume", "seed", "set", "threads"}, f.Name) {
						idle = append(idle, "--"+f.Name)
					}
				})
				if len(idle) > 0 {
					return usagef("%s: for experiment files, not for --topology and --groups", strings.Join(idle, ", "))
				}
				return a.multicastFiles(c.Context(), job, flags.out)
			case len(args) == 0:
				return usagef("name an experiment file, or --topology and --groups; see weft multicast --help")
			}
			return a.run(c.Context(), args, &flags)
		},
	}
	flags.register(c)
	flags.registerExecution(c)
	c.Flags().StringVar(&job.Topology, "topology", "", "`FILE` with the fabric")
	c.Flags().StringVar(&job.Groups, "groups", "", "`FILE` with the groups, an OpenSM SA dump")
	c.Flags().StringVar(&job.MinHops, "min-hops", "", "`FILE` with OpenSM's min-hop tables (lid matrix dump) for engine minhop-mc")
	c.Flags().StringVar(&job.Tables, "tables", "", "`FILE` with the forwarding tables that the cluster has (opensm.mcfdbs): a row installed says what they make of the groups")
	c.Flags().StringVar(&job.Engine, "engine", "mr4lms", "engine whose forwarding tables are written")
	c.Flags().IntVar(&job.Entries, "entries", 0, "forwarding-table entries of every switch (default: as many as it takes)")
	c.Flags().StringVarP(&flags.out, "out", "o", "", "result folder `DIR`")
	return c
}

// multicastFiles routes the groups of a real cluster.
func (a *app) multicastFiles(ctx context.Context, job routes.MulticastFiles, out string) error {
	if job.Topology == "" || job.Groups == "" {
		return usagef("--topology and --groups go together")
	}
	if out == "-" {
		return usagef("--out -: the table is on standard output already; name a folder for the forwarding tables")
	}
	_, absent := os.Stat(out)
	if out != "" {
		if err := experiments.MakeFolder(out); err != nil {
			return err
		}
	}
	outcome, err := experiments.Interruptible(ctx, job.Run)
	if err != nil {
		if out != "" && absent != nil {
			_ = os.Remove(out) // nothing was written
		}
		if errors.Is(err, experiments.ErrInterrupted) {
			return err
		}
		return &statusError{exitUsage, err}
	}
	for _, w := range outcome.Warnings {
		fmt.Fprintf(a.stderr, "warning: %s\n", w)
	}
	fmt.Fprintln(a.stderr, outcome.Summary())
	if err := outcome.WriteTable(a.stdout); err != nil || out == "" {
		return err
	}
	files, err := outcome.Files()
	if err != nil {
		return err
	}
	return writeFolder(out, files, routes.MulticastFileNames())
}
