package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
)

// peerName is what stands in the place of a paper for curves of BookSim2.
const peerName = "booksim"

// namesPeer tells which peer, rather than papers, reproduce is asked for: curves of
// BookSim2, or the atlas; "" if none.
func namesPeer(names []string, data string) (string, error) {
	found, peers := "", 0
	for _, name := range names {
		for _, peer := range []string{peerName, atlasName} {
			if name == peer || strings.HasPrefix(name, peer+"/") {
				peers++
				if found != "" && found != peer {
					return "", usagef("%s and %s have verdicts of their own: name one of them", found, peer)
				}
				found = peer
			}
		}
	}
	switch {
	case data != "" && peers == 0:
		return "", usagef("--data %s: is a folder of curves for weft reproduce %s or %s", data, peerName, atlasName)
	case peers > 0 && peers < len(names):
		return "", usagef("%s has verdicts of its own: name it without papers", found)
	}
	return found, nil
}

// peerCurve is a curve of BookSim2 with its experiment.
type peerCurve struct {
	booksim.Curve
	file *experiments.File // nil: weft has no counterpart
	why  error
}

// Seeds that each load of a curve is run with.
const peerSeeds, quickPeerSeeds = 5, 3

// reproducePeer holds weft against curves measured with BookSim2.
func (a *app) reproducePeer(ctx context.Context, names []string, data string, flags *runFlags) error {
	curves, err := a.readPeer(names, data)
	if err != nil {
		return err
	}
	results := map[string]*experiments.Table{} // by curve
	rows, failed := []booksim.Row{}, false
	for _, c := range plan(curves, flags) {
		if c.file != nil && results[c.Name] == nil {
			outcome, err := a.execute(ctx, c.file, filepath.Join(flags.out, peerName, c.Name), flags)
			if errors.Is(err, experiments.ErrInterrupted) {
				fmt.Fprintf(a.stderr, "interrupted in %s; go on with the same command and --resume\n", c.Name)
				return &statusError{status: exitFailure}
			}
			if err != nil {
				return err
			}
			failed = failed || len(outcome.Failures) > 0
			results[c.Name] = outcome.Results
		}
		judged, err := c.Judge(results[c.Name], c.why)
		if err != nil {
			return err
		}
		rows = append(rows, judged...)
	}
	table := booksim.Table(rows)
	if err := writeTable(filepath.Join(flags.out, peerName, "verdicts.csv"), table); err != nil {
		return err
	}
	if err := aligned(a.stdout, table); err != nil {
		return err
	}
	count := map[string]int{}
	for _, r := range rows {
		count[r.Verdict]++
	}
	fmt.Fprintf(a.stderr, "%s: %d agree, %d differ, %d not judged, %d not run; %s\n", peerName,
		count[booksim.Agrees], count[booksim.Differs], count[booksim.NotJudged], count[booksim.NotRun], filepath.Join(flags.out, peerName, "verdicts.csv"))
	if failed || count[booksim.Differs] > 0 {
		return &statusError{status: exitFailure}
	}
	return nil
}

// readPeer reads the curves that are named, of a folder or of those that come with
// weft.
func (a *app) readPeer(names []string, data string) ([]booksim.Curve, error) {
	var folder fs.FS = booksim.Own()
	place := "the curves of weft"
	if data != "" {
		folder, place = os.DirFS(data), data
	}
	curves, ignored, err := booksim.ReadFolder(folder, place)
	if err != nil {
		return nil, err
	}
	for _, name := range ignored {
		fmt.Fprintf(a.stderr, "%s: warning: no table of curves: left aside\n", name)
	}
	if slices.Contains(names, peerName) {
		return curves, nil
	}
	var some []booksim.Curve
	for _, name := range names {
		name = strings.TrimPrefix(name, peerName+"/")
		found := false
		for _, c := range curves {
			if c.Name == name {
				found = true
				some = append(some, c)
			}
		}
		if !found {
			var known []string
			for _, c := range curves {
				known = append(known, c.Name)
			}
			return nil, usagef("no curve %q in %s: there are %s", name, place, strings.Join(slices.Compact(known), ", "))
		}
	}
	return some, nil
}

// plan makes the experiments of curves. Those that weft has no counterpart of, or
// whose settings it refuses, are not run; none of that is a problem of the folder.
// Quick, a curve is left with its first load, one in the middle and the last.
func plan(curves []booksim.Curve, flags *runFlags) []peerCurve {
	loads := map[string][]float64{} // of a curve, over all files
	for _, c := range curves {
		for _, p := range c.Points {
			loads[c.Name] = append(loads[c.Name], p.Load)
		}
	}
	for name, all := range loads {
		slices.Sort(all)
		if all = slices.Compact(all); flags.quick {
			all = someLoads(all)
		}
		loads[name] = all
	}
	files := map[string]peerCurve{}
	all := make([]peerCurve, len(curves))
	for i, c := range curves {
		made, known := files[c.Name]
		if !known {
			made.file, made.why = experiment(&c, loads[c.Name], flags)
			files[c.Name] = made
		}
		c.Points = slices.DeleteFunc(slices.Clone(c.Points), func(p booksim.Point) bool { return !slices.Contains(loads[c.Name], p.Load) })
		made.Curve = c
		all[i] = made
	}
	return all
}

// someLoads are the first of some loads, one in the middle and the last.
func someLoads(all []float64) []float64 {
	return slices.Compact([]float64{all[0], all[len(all)/2], all[len(all)-1]})
}

// experiment is the experiment of a curve, checked.
func experiment(c *booksim.Curve, loads []float64, flags *runFlags) (*experiments.File, error) {
	seeds := peerSeeds
	if flags.quick {
		seeds = quickPeerSeeds
	}
	text, canDeadlock, err := c.Config.Experiment("BookSim2's "+c.Name, loads, seeds)
	if err != nil {
		return nil, err
	}
	return peerFile(c.Name+".toml", text, canDeadlock, flags)
}

// peerFile is an experiment from its text, checked.
func peerFile(name, text string, canDeadlock bool, flags *runFlags) (*experiments.File, error) {
	options := flags.options()
	options.Quick, options.AllowDeadlock = false, canDeadlock
	file, err := experiments.Load(name, text, options)
	if err == nil {
		_, err = file.Preflight(false)
	}
	var problems experiments.Problems
	if errors.As(err, &problems) {
		return nil, fmt.Errorf("weft refuses it: %s", strings.TrimSpace(problems[0].Key+" "+problems[0].Message))
	}
	return file, err
}

// aligned writes a table for reading.
func aligned(w io.Writer, table *experiments.Table) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{table.Columns}, table.Rows...) {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}
