package command

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/report"
)

func (a *app) reproduceCommand() *cobra.Command {
	var flags runFlags
	var data string
	c := &cobra.Command{
		Use:   "reproduce [PAPER[/ARTIFACT]]...",
		Short: "Run the experiments of papers and judge them by the published numbers",
		Long: `Run the experiments of papers and judge them by the published numbers.

In the place of papers, booksim, or booksim/CURVE, holds weft against curves
measured with BookSim2: those that come with weft or, with --data, those of a
folder. There, NAME.csv is a curve (columns offered_flits_per_node_cycle, status,
avg_packet_latency_cycles, accepted_flits_per_node_cycle; curve and seed where a
table holds several) and NAME.cfg the configuration that BookSim2 was given.

opensm, opensm/FABRIC or opensm/FABRIC/RUN, with --data, holds weft's routing
engines of OpenSM against tables that OpenSM computed. There, index.tsv lists the
runs (fabric, variant, engine, options as in opensm.conf, joined by " ; ", status,
hashes of the tables), nets/FABRIC.net is a netlist, and runs/FABRIC/RUN.lft, .sl
and .sl2vl hold the tables.

atlas, or atlas/CURVE, holds weft against the numbers, graphs and curves of the field's
topologies that come with weft, or those of a folder of that form: targets.csv, curves.csv,
curves/ and graphs/. atlas/targets is the numbers alone.`,
		Example: `  weft reproduce --quick
  weft reproduce dragonfly/fig10a connections
  weft reproduce booksim --data measured/
  weft reproduce opensm --data tables/
  weft reproduce atlas/targets`,
		RunE: func(c *cobra.Command, args []string) error {
			flags.command = commandLine(c, args)
			if err := flags.check(); err != nil {
				return err
			}
			if subnet, err := namesSubnet(args, data); subnet || err != nil {
				if err != nil {
					return err
				}
				return a.reproduceSubnet(c.Context(), args, data, flags.out)
			}
			peer, err := namesPeer(args, data)
			if err != nil {
				return err
			}
			switch peer {
			case peerName:
				return a.reproducePeer(c.Context(), args, data, &flags)
			case atlasName:
				return a.reproduceAtlas(c.Context(), args, data, &flags)
			}
			return a.reproduce(c, args, &flags)
		},
	}
	c.Flags().StringVar(&data, "data", "", "with booksim: folder `DIR` of curves with their configurations; with opensm: of tables; with atlas: of the form of its reference")
	c.Flags().BoolVar(&flags.quick, "quick", false, "the small variant of each experiment")
	c.Flags().StringVarP(&flags.out, "out", "o", filepath.Join("results", "reproduce"), "result folder `DIR`")
	flags.registerExecution(c)
	return c
}

// paperFiles finds the experiment files of the named papers and artifacts; of
// all papers without names.
func paperFiles(names []string) ([]string, error) {
	all := experiments.Embedded("papers")
	if len(names) == 0 {
		return all, nil
	}
	var files []string
	for _, name := range names {
		found := false
		for _, file := range all {
			short := strings.TrimSuffix(strings.TrimPrefix(file, "papers/"), ".toml")
			if short == name || strings.HasPrefix(short, name+"/") {
				found = true
				if !slices.Contains(files, file) {
					files = append(files, file)
				}
			}
		}
		if !found {
			var known []string
			for _, file := range all {
				known = append(known, strings.TrimSuffix(strings.TrimPrefix(file, "papers/"), ".toml"))
			}
			return nil, usagef("no experiment %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	return files, nil
}

func (a *app) reproduce(c *cobra.Command, names []string, flags *runFlags) error {
	paths, err := paperFiles(names)
	if err != nil {
		return err
	}
	files, err := flags.open(c.Context(), paths)
	if err != nil {
		return err
	}
	a.warn(files)
	folders := make([]string, len(files))
	for i, path := range paths {
		folders[i] = filepath.Join(flags.out, strings.TrimSuffix(strings.TrimPrefix(path, "papers/"), ".toml"))
	}
	if err := flags.checkFolders(folders); err != nil {
		return err
	}
	if err := a.preflightRun(c.Context(), files, folders, flags.resume); err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, experiments.ReproductionTime(paths, flags.quick, runtime.GOMAXPROCS(0)))
	var verdicts []experiments.Verdict
	failed := false
	for i, f := range files {
		dir := folders[i]
		outcome, err := a.execute(c.Context(), f, dir, flags)
		if errors.Is(err, experiments.ErrInterrupted) {
			fmt.Fprintf(a.stderr, "interrupted in %s; go on with the same command and --resume\n", f.Name)
			return &statusError{status: exitFailure}
		}
		if err != nil {
			return err
		}
		failed = failed || len(outcome.Failures) > 0
		verdicts = append(verdicts, f.Verdicts(outcome.Results, outcome.Tables)...)
	}
	table := experiments.VerdictTable(verdicts)
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		return err
	}
	if err := experiments.WriteFile(filepath.Join(flags.out, "verdicts.csv"), b.Bytes()); err != nil {
		return err
	}
	page, err := experiments.Interruptible(c.Context(), func() ([]byte, error) {
		return report.Make([]string{flags.out}, filepath.Join(flags.out, "report.html"))
	})
	if errors.Is(err, experiments.ErrInterrupted) {
		return err
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "warning: no report.html: %v\n", err) // an older folder beside those of this run
	} else if err := experiments.WriteFile(filepath.Join(flags.out, "report.html"), page); err != nil {
		return err
	}
	if err := printVerdicts(a.stdout, verdicts, widthOf(a.stdout)); err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, countVerdicts(verdicts))
	if failed || experiments.AnyMissed(verdicts) {
		return &statusError{status: exitFailure}
	}
	return nil
}
