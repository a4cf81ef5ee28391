package command

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
	"github.com/weft-sim/weft/experiments/judge"
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

// reproducePeer holds weft against curves measured with BookSim2.
func (a *app) reproducePeer(ctx context.Context, names []string, data string, flags *runFlags) error {
	curves, err := a.readPeer(names, data)
	if err != nil {
		return err
	}
	rows, failed := []booksim.Row{}, false
	for _, m := range measured(curves, flags.out) {
		judged, bad, err := a.judgeCurve(ctx, m, flags)
		if errors.Is(err, experiments.ErrInterrupted) {
			return a.interruptedIn(m.name)
		}
		if err != nil {
			return err
		}
		rows, failed = append(rows, slices.Concat(judged...)...), failed || bad
	}
	table, count, file := booksim.Table(rows), judge.Count{}, verdictsFile(flags.out, peerName)
	if err := writeTable(file, table); err != nil {
		return err
	}
	if err := aligned(a.stdout, table); err != nil {
		return err
	}
	for _, r := range rows {
		count.Add(r.Verdict)
	}
	fmt.Fprintf(a.stderr, "%s: %s; %s\n", peerName, count, file)
	return judgement(failed || count[judge.Differs] > 0, count[judge.Unreadable] > 0)
}

// measured puts the files of a curve together: they have one experiment.
func measured(curves []booksim.Curve, out string) (all []*measuredCurve) {
	for i := range curves {
		c := &curves[i]
		if last := len(all) - 1; last >= 0 && all[last].name == c.Name {
			all[last].curves = append(all[last].curves, c)
			continue
		}
		m := &measuredCurve{name: c.Name, dir: filepath.Join(out, peerName, c.Name), curves: []*booksim.Curve{c}}
		m.experiment = func(loads []float64, seeds int) (path, text string, canDeadlock bool, err error) {
			readable := slices.IndexFunc(m.curves, func(c *booksim.Curve) bool { return len(c.Faults) == 0 })
			text, canDeadlock, err = m.curves[readable].Config.Experiment("BookSim2's "+m.name, loads, seeds)
			return m.name + ".toml", text, canDeadlock, err
		}
		all = append(all, m)
	}
	return all
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
		a.sayFaults(booksim.FaultsOf(curves))
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
	if faults := booksim.FaultsOf(some); slices.ContainsFunc(some, func(c booksim.Curve) bool { return len(c.Faults) == 0 }) {
		a.sayFaults(faults)
	} else {
		return nil, faults
	}
	return some, nil
}

// someLoads are the first of some loads, one in the middle and the last.
func someLoads(all []float64) []float64 {
	if len(all) == 0 {
		return nil
	}
	return slices.Compact([]float64{all[0], all[len(all)/2], all[len(all)-1]})
}

// refusedIt stands before the reason for which weft refuses an experiment.
const refusedIt = "weft refuses it: "

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
		return nil, fmt.Errorf(refusedIt+"%s", strings.TrimSpace(problems[0].Key+" "+problems[0].Message))
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
