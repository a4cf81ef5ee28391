// Package infiniband is what weft knows of InfiniBand's subnet managers: files of fabrics, tables and groups,
// OpenSM's engines, and the subcommands routes and multicast.
package infiniband

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-sim/weft/cmd/command"
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	_ "github.com/weft-sim/weft/experiments/opensmruns" // weft reproduce opensm
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/routes"
	_ "github.com/weft-sim/weft/routing/lft" // routing lft, and the form of forwarding tables
	"github.com/weft-sim/weft/routing/opensm"
)

func init() {
	command.Register(routesCommand)
	command.Register(multicastCommand)
}

// routesFlags are the options of weft routes.
type routesFlags struct {
	command.FileFlags
	config   string
	manager  string
	lanes    int
	engines  []string
	patterns []string
	jobs     string
	draws    int
	dumps    bool
	hottest  int
	out      string
}

//go:embed routes.txt
var routesHelp string

func routesCommand(a *command.App) *cobra.Command {
	var flags routesFlags
	c := &cobra.Command{
		Use:   "routes FILE.toml|FILE",
		Short: "Compute the routes of OpenSM on a network: as it is configured, or by several engines side by side",
		Long:  routesHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			configured := flags.config != "" && len(flags.engines) == 0
			for _, name := range []string{"pattern", "hottest", "jobs", "draws"} {
				if configured && c.Flags().Changed(name) {
					return command.Usagef("--%s compares engines: add --engine", name)
				}
			}
			if err := cmp.Or(
				command.RefusedIf(flags.out == "-", "--out -: want a folder; without --out the table goes to standard output"),
				command.RefusedIf(flags.dumps && (!configured || flags.out == ""), "--dumps goes with --opensm and -o"),
				command.RefusedIf(!slices.Contains([]int{1, 2, 4, 8, 15}, flags.lanes), "--lanes %d: want 1, 2, 4, 8 or 15", flags.lanes),
				command.RefusedIf(flags.hottest < 0, "--hottest %d: want at least 0", flags.hottest),
			); err != nil {
				return err
			}
			request, err := routesRequest(c.Context(), a, args[0], &flags)
			if err != nil {
				return err
			}
			if configured {
				return configuredRoutes(c.Context(), a, request, &flags)
			}
			return compareRoutes(c.Context(), a, request, &flags)
		},
	}
	flags.FileFlags.Register(c)
	c.Flags().StringVar(&flags.config, "opensm", "", "configuration `FILE` of OpenSM, such as opensm.conf")
	c.Flags().StringVar(&flags.manager, "sm", "", "`NAME` of the host that the subnet manager runs on (default: the configuration's guid, else H0, else the first)")
	c.Flags().IntVar(&flags.lanes, "lanes", 8, "data virtual lanes of the ports: 1, 2, 4, 8 or 15")
	c.Flags().StringSliceVar(&flags.engines, "engine", nil, "`ENGINE` to compare, or all; may be repeated")
	command.Choices(c, "engine", append(routes.Engines(), "all")...)
	c.Flags().StringSliceVar(&flags.patterns, "pattern", nil, "`PATTERN` of traffic that loads the cables, see weft list patterns; may be repeated (default: uniform, all to all, unless there are --jobs)")
	c.Flags().StringVar(&flags.jobs, "jobs", "", "`FILE` of jobs that load the cables together, a line each: NAME HOSTS [PATTERN [LOAD]]")
	c.Flags().IntVar(&flags.draws, "draws", 1, "times that patterns which depend on chance are drawn: loads are means")
	command.Choices(c, "pattern", routes.Patterns()...)
	c.Flags().IntVar(&flags.hottest, "hottest", 5, "cables with the most load that are listed for each engine")
	c.Flags().BoolVar(&flags.dumps, "dumps", false, "write OpenSM's own forms of the tables, too")
	c.Flags().StringVarP(&flags.out, "out", "o", "", "result folder `DIR`")
	return command.Completed(c, true, command.ExperimentNames)
}

// compared lists the engines that are asked for by name; none: the configuration's engines, or all.
func (f *routesFlags) compared() []string {
	if slices.Contains(f.engines, "all") {
		return routes.Engines()
	}
	return f.engines
}

// routesRequest reads the network and the configuration.
func routesRequest(ctx context.Context, a *command.App, name string, flags *routesFlags) (*routes.Request, error) {
	network, err := a.Network(ctx, name, &flags.FileFlags, -1)
	if err != nil {
		return nil, err
	}
	request := &routes.Request{Network: network.Topology, Manager: flags.manager, Lanes: flags.lanes}
	if request.Config, err = command.OfFiles(ctx, func() (*opensm.Config, error) { return routes.ReadConfig(flags.config, flags.compared()...) }); err != nil {
		return nil, err
	}
	a.Warned(request.Config.Warnings)
	if len(network.Faults) > 0 {
		a.Warned([]string{name + ": its faults are left out: the engines route the network in order"})
	}
	return request, nil
}

func configuredRoutes(ctx context.Context, a *command.App, request *routes.Request, flags *routesFlags) error {
	begin := experiments.ProcessorSeconds()
	outcome, err := command.OfFiles(ctx, request.Configure)
	if err != nil {
		return err
	}
	seconds := experiments.ProcessorSeconds() - begin
	if err := outcome.Refused(); err != nil {
		return &command.StatusError{Status: command.ExitFailure, Err: err}
	}
	if err := writeFolder(flags.out, func() (map[string][]byte, error) { return outcome.Files(flags.dumps) }, routes.FileNames); err != nil {
		return err
	}
	if len(request.Config.Engines) == 0 {
		fmt.Fprintf(a.Stderr, "warning: routing_engine is not set: OpenSM's default %s\n", routes.DefaultEngine)
	}
	fmt.Fprintf(a.Stderr, "%s took %.3f s of processor time\n", outcome.Tables.Engine, seconds)
	outcome.Describe(a.Stdout)
	return nil
}

// writeFolder writes files into the folder that -o names, if any, and removes files of an
// earlier run that are not among them.
func writeFolder(dir string, made func() (map[string][]byte, error), known []string) error {
	if dir == "" {
		return nil
	}
	files, err := made()
	if err != nil {
		return err
	}
	if err := engine.MakeFolder(dir); err != nil {
		return err
	}
	for _, name := range known {
		path := filepath.Join(dir, name)
		if content, wanted := files[name]; wanted {
			if err := results.WriteFile(path, content); err != nil {
				return err
			}
		} else if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// demands are what loads the cables.
func (flags *routesFlags) demands(request *routes.Request) (demands []*routes.Demand, err error) {
	patterns := flags.patterns
	if len(patterns) == 0 && flags.jobs == "" {
		patterns = []string{"uniform"}
	}
	if flags.draws < 1 || flags.draws > 10_000 {
		return nil, fmt.Errorf("--draws %d: want 1 to 10000", flags.draws)
	}
	for _, name := range patterns {
		d, err := routes.PatternDemand(request.Network, name, flags.draws)
		if err != nil {
			return nil, err
		}
		demands = append(demands, d)
	}
	if flags.jobs != "" {
		jobs, err := routes.ReadJobsFile(flags.jobs, request.Network, 1)
		if err != nil {
			return nil, err
		}
		demands = append(demands, routes.JobDemand(jobs))
	}
	return demands, nil
}

func compareRoutes(ctx context.Context, a *command.App, request *routes.Request, flags *routesFlags) error {
	engines := flags.compared()
	if len(engines) == 0 {
		engines = routes.Engines()
	}
	for _, name := range engines {
		if !slices.Contains(routes.Engines(), name) {
			return command.Usagef("--engine %s: want %s or all", name, strings.Join(routes.Engines(), ", "))
		}
	}
	demands, err := command.OfFiles(ctx, func() ([]*routes.Demand, error) { return flags.demands(request) })
	if err != nil {
		return err
	}
	c, err := command.OfFiles(ctx, func() (*routes.Comparison, error) {
		return request.Compare(engines, demands, experiments.ProcessorSeconds)
	})
	if err != nil {
		return err
	}
	if err := writeFolder(flags.out, c.Files, routes.ComparisonFiles); err != nil {
		return err
	}
	for _, e := range c.Engines {
		fmt.Fprintf(a.Stderr, "%s took %.3f s of processor time\n", e.Engine, e.Seconds)
	}
	if err := c.Table().WriteAligned(a.Stdout); err != nil {
		return err
	}
	if jobs := c.Jobs(); jobs != nil {
		fmt.Fprintln(a.Stdout)
		if err := jobs.WriteAligned(a.Stdout); err != nil {
			return err
		}
	}
	if flags.hottest > 0 {
		c.Describe(a.Stdout, flags.hottest)
	}
	return nil
}

//go:embed multicast.txt
var multicastHelp string

func multicastCommand(a *command.App) *cobra.Command {
	var job routes.MulticastFiles
	var flags command.RunFlags
	c := &cobra.Command{
		Use:   "multicast FILE.toml... | --topology FILE --groups FILE",
		Short: "Route multicast groups: an experiment file, or the files of a real cluster",
		Long:  multicastHelp,
		RunE: func(c *cobra.Command, args []string) error {
			files := job.Topology != "" || job.Groups != ""
			idle, is := []string{"cache", "force", "format", "jobs", "no-cache", "quick", "resume", "seed", "set", "threads"}, "for experiment files, not for --topology and --groups"
			if !files {
				idle, is = []string{"engine", "entries", "min-hops", "tables"}, "for --topology and --groups, not for experiment files"
			}
			var given []string
			c.Flags().Visit(func(f *pflag.Flag) {
				if slices.Contains(idle, f.Name) {
					given = append(given, "--"+f.Name)
				}
			})
			switch {
			case files && len(args) > 0:
				return command.Usagef("either experiment files or --topology and --groups, not both")
			case c.Flags().Changed("entries") && job.Entries < 1:
				return command.Usagef("--entries = %d: want at least 1; leave it out for as many as it takes", job.Entries)
			case !files && len(args) == 0:
				return command.Usagef("name an experiment file, or --topology and --groups; see weft multicast --help")
			case len(given) > 0:
				return command.Usagef("%s: %s", strings.Join(given, ", "), is)
			case files:
				quiet, _ := c.Flags().GetBool("quiet")
				return multicastFiles(c.Context(), a, job, flags.Out, quiet)
			}
			return a.RunFiles(c.Context(), args, &flags)
		},
	}
	flags.Register(c)
	flags.RegisterExecution(c)
	c.Flags().StringVar(&job.Topology, "topology", "", "`FILE` with the fabric")
	c.Flags().StringVar(&job.Groups, "groups", "", "`FILE` with the groups, an OpenSM SA dump")
	c.Flags().StringVar(&job.MinHops, "min-hops", "", "`FILE` with OpenSM's min-hop tables (lid matrix dump) for engine minhop-mc")
	c.Flags().StringVar(&job.Tables, "tables", "", "`FILE` with the forwarding tables that the cluster has (opensm.mcfdbs): a row installed says what they make of the groups")
	c.Flags().StringVar(&job.Engine, "engine", "mr4lms", "engine whose forwarding tables are written")
	c.Flags().IntVar(&job.Entries, "entries", 0, "forwarding-table entries of every switch (default: as many as it takes)")
	c.Flags().StringVarP(&flags.Out, "out", "o", "", "result folder `DIR`")
	return command.Completed(c, true, command.ExperimentNames)
}

// multicastFiles routes the groups of a real cluster.
func multicastFiles(ctx context.Context, a *command.App, job routes.MulticastFiles, out string, quiet bool) error {
	if job.Topology == "" || job.Groups == "" {
		return command.Usagef("--topology and --groups go together")
	}
	if out == "-" {
		return command.Usagef("--out -: the table is on standard output already; name a folder for the forwarding tables")
	}
	_, absent := os.Stat(out)
	if out != "" {
		if err := engine.MakeFolder(out); err != nil {
			return err
		}
	}
	outcome, err := command.OfFiles(ctx, job.Run)
	if err != nil {
		if out != "" && absent != nil {
			_ = os.Remove(out) // nothing was written
		}
		return err
	}
	a.Warned(outcome.Warnings)
	if !quiet {
		fmt.Fprintln(a.Stderr, outcome.Summary())
	}
	if err := outcome.WriteTable(a.Stdout); err != nil {
		return err
	}
	return writeFolder(out, outcome.Files, routes.MulticastFileNames())
}
