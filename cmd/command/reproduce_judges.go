package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
	"github.com/weft-sim/weft/experiments/network"
)

// What the judgements by the data of other programs have in common: booksim, atlas, opensm.

// sayFaults prints what is wrong with entries that are judged beside others.
func (a *app) sayFaults(faults experiments.Problems) {
	if len(faults) > 0 {
		fmt.Fprintln(&messages{a.stderr}, faults)
	}
}

// judgement is the exit status of a judgement: entries that cannot be read come before those
// that differ.
func judgement(failed, faulty bool) error {
	switch {
	case faulty:
		return &statusError{status: exitUsage}
	case failed:
		return &statusError{status: exitFailure}
	}
	return nil
}

// interruptedIn says how to go on after an interruption.
func (a *app) interruptedIn(name string) error {
	fmt.Fprintf(a.stderr, "interrupted in %s; go on with the same command and --resume\n", name)
	return &statusError{status: exitFailure}
}

// Seeds that each load of a curve is run with, and those of a load that is too noisy with so
// many.
const (
	peerSeeds, morePeerSeeds           = 5, 20
	quickPeerSeeds, moreQuickPeerSeeds = 3, 10
)

// measuredCurve is a curve of BookSim2, as some files have it, with its experiment.
type measuredCurve struct {
	name   string
	dir    string // of results
	curves []*booksim.Curve
	// experiment is the text of the file that weft runs at some loads, and its path.
	experiment func(loads []float64, seeds int) (path, text string, canDeadlock bool, err error)
}

// loads are those of all files of the curve.
func (m *measuredCurve) loads(of func(*booksim.Curve) []float64) (all []float64) {
	for _, c := range m.curves {
		if len(c.Faults) == 0 {
			all = append(all, of(c)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// judgeCurve runs the experiment of a curve and judges it, one slice of rows a file. Loads at
// which the seeds leave too much open run again with more of them, if that helps.
func (a *app) judgeCurve(ctx context.Context, m *measuredCurve, flags *runFlags) (rows [][]booksim.Row, failed bool, err error) {
	seeds, moreSeeds := peerSeeds, morePeerSeeds
	if flags.quick {
		seeds, moreSeeds = quickPeerSeeds, moreQuickPeerSeeds
		some := someLoads(m.loads((*booksim.Curve).Loads))
		for _, c := range m.curves {
			c.At(some)
		}
	}
	var run booksim.Run
	if loads := m.loads((*booksim.Curve).LoadsThatMove); len(loads) > 0 {
		run.Results, run.Why, failed, err = a.runCurve(ctx, m, m.dir, loads, seeds, flags)
	}
	if err == nil {
		err = a.runDeadlocks(ctx, m, &run, flags)
	}
	if err != nil {
		return nil, failed, err
	}
	var noisy []float64
	for _, c := range m.curves {
		judged, err := c.Judge(run)
		if err != nil {
			return nil, failed, err
		}
		rows, noisy = append(rows, judged), append(noisy, booksim.MoreSeeds(judged, moreSeeds)...)
	}
	if len(noisy) == 0 {
		return rows, failed, nil
	}
	slices.Sort(noisy)
	noisy = slices.Compact(noisy)
	more, why, failedMore, err := a.runCurve(ctx, m, m.dir+"-more-seeds", noisy, moreSeeds, flags)
	if err != nil || why != nil {
		return rows, failed, errors.Join(err, why)
	}
	for i, c := range m.curves {
		part := *c
		part.At(noisy)
		again, err := part.Judge(booksim.Run{Results: more})
		if err != nil {
			return nil, failed, err
		}
		rows[i] = booksim.Replaced(rows[i], again)
	}
	return rows, failed || failedMore, nil
}

// runCurve runs a curve's experiment at some loads; why says why it was not run.
func (a *app) runCurve(ctx context.Context, m *measuredCurve, dir string, loads []float64, seeds int, flags *runFlags) (results *experiments.Table, why error, failed bool, err error) {
	path, text, canDeadlock, why := m.experiment(loads, seeds)
	if why != nil {
		return nil, why, false, nil
	}
	file, why := peerFile(path, text, canDeadlock, flags)
	if why != nil {
		return nil, why, false, nil
	}
	outcome, err := a.execute(ctx, file, dir, flags)
	if err != nil {
		return nil, nil, false, err
	}
	return outcome.Results, nil, len(outcome.Failures) > 0, nil
}

// runDeadlocks finds what weft makes of the loads at which BookSim2's network stopped for
// good: it refuses the network by its certificate, or else runs it under the eyes of the
// watchdog.
func (a *app) runDeadlocks(ctx context.Context, m *measuredCurve, run *booksim.Run, flags *runFlags) error {
	for _, load := range m.loads((*booksim.Curve).Deadlocks) {
		path, text, _, why := m.experiment([]float64{load}, quickPeerSeeds)
		if why != nil {
			run.Why = why
			return nil
		}
		file, why := peerFile(path, text, false, flags)
		if why != nil {
			if reason, _, refused := strings.Cut(why.Error(), network.AllowHint); refused {
				run.Refused = strings.TrimPrefix(reason, refusedIt)
			} else {
				run.Why = why
			}
			return nil
		}
		outcome, err := a.execute(ctx, file, fmt.Sprintf("%s-deadlock-%v", m.dir, load), flags)
		if err != nil {
			return err
		}
		for _, f := range outcome.Failures {
			if strings.Contains(f.Reason, "deadlock: ") {
				if run.Stopped == nil {
					run.Stopped = map[float64]string{}
				}
				run.Stopped[load], _, _ = strings.Cut(f.Reason, "\n")
			}
		}
	}
	return nil
}

// verdictsFile is where the verdicts of a judgement are.
func verdictsFile(out, name string) string { return filepath.Join(out, name, "verdicts.csv") }
