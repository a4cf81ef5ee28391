package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/atlas"
	"github.com/weft-sim/weft/experiments/booksim"
)

// atlasName is what stands in the place of a paper for the atlas; atlas/targets is its
// numbers, atlas/CURVE a curve.
const atlasName, atlasTargets = "atlas", "targets"

// reproduceAtlas holds weft against the reference of the atlas.
func (a *app) reproduceAtlas(ctx context.Context, names []string, data string, flags *runFlags) error {
	var folder fs.FS = atlas.Own()
	place := "the atlas of weft"
	if data != "" {
		folder, place = os.DirFS(data), data
	}
	reference, err := atlas.Read(folder, place)
	if err != nil {
		return err
	}
	curves, targets, err := chosen(reference, names, place)
	if err != nil {
		return err
	}
	failed := false
	if targets {
		if failed, err = a.atlasNumbers(ctx, reference, flags.out); err != nil {
			return err
		}
	}
	if len(curves) == 0 {
		return failedStatus(failed)
	}
	var rows []booksim.Row
	var summaries []atlas.Summary
	for _, c := range curves {
		results, why := a.atlasCurve(ctx, reference, c, flags)
		if errors.Is(why, experiments.ErrInterrupted) {
			fmt.Fprintf(a.stderr, "interrupted in %s; go on with the same command and --resume\n", c.Name)
			return &statusError{status: exitFailure}
		}
		judged, err := c.Judge(results, why)
		if err != nil {
			return err
		}
		rows = append(rows, judged...)
		summaries = append(summaries, atlas.Summarise(c, judged))
	}
	if err := writeTable(filepath.Join(flags.out, atlasName, "verdicts.csv"), booksim.Table(rows)); err != nil {
		return err
	}
	summary := atlas.SummaryTable(summaries)
	if err := writeTable(filepath.Join(flags.out, atlasName, "curves.csv"), summary); err != nil {
		return err
	}
	if err := aligned(a.stdout, summary); err != nil {
		return err
	}
	enough, count := atlas.Enough(summaries)
	fmt.Fprintf(a.stderr, "%s: %s curves agree; %s\n", atlasName, count, filepath.Join(flags.out, atlasName, "verdicts.csv"))
	return failedStatus(failed || !enough)
}

func failedStatus(failed bool) error {
	if failed {
		return &statusError{status: exitFailure}
	}
	return nil
}

// chosen are the curves that are named, and whether the numbers are.
func chosen(r *atlas.Reference, names []string, place string) (curves []*atlas.Curve, targets bool, err error) {
	all := slices.Contains(names, atlasName)
	targets = all && len(r.Targets) > 0
	named := func(name string) bool { return all || slices.Contains(names, atlasName+"/"+name) }
	known := map[string]bool{atlasTargets: true}
	if named(atlasTargets) {
		targets = len(r.Targets) > 0
	}
	for i := range r.Curves {
		known[r.Curves[i].Name] = true
		if named(r.Curves[i].Name) {
			curves = append(curves, &r.Curves[i])
		}
	}
	for _, name := range names {
		if short, ok := strings.CutPrefix(name, atlasName+"/"); ok && !known[short] {
			var list []string
			for _, c := range r.Curves {
				list = append(list, c.Name)
			}
			return nil, false, usagef("no curve %q in %s: there are %s, and %s", short, place, atlasTargets, strings.Join(list, ", "))
		}
	}
	return curves, targets, nil
}

// atlasNumbers judges the numbers.
func (a *app) atlasNumbers(ctx context.Context, r *atlas.Reference, out string) (failed bool, err error) {
	verdicts, err := experiments.Interruptible(ctx, func() ([]atlas.Verdict, error) { return r.JudgeTargets(), nil })
	if err != nil {
		return false, err
	}
	table := atlas.TargetTable(verdicts)
	path := filepath.Join(out, atlasName, "targets.csv")
	if err := writeTable(path, table); err != nil {
		return false, err
	}
	count := map[string]int{}
	for _, v := range verdicts {
		count[v.Verdict]++
		if v.Verdict == booksim.Differs || v.Verdict == booksim.NotRun {
			fmt.Fprintf(a.stdout, "%s: reference %s, weft %s: %s %s\n", v.ID, v.Value, v.Own, v.Verdict, v.Note)
		}
	}
	fmt.Fprintf(a.stderr, "%s: of %d numbers %d agree, %d differ, %d not judged, %d not run; %s\n", atlasName, len(verdicts),
		count[booksim.Agrees], count[booksim.Differs], count[booksim.NotJudged], count[booksim.NotRun], path)
	return count[booksim.Differs] > 0, nil
}

// atlasCurve runs the experiment of a curve; the error says why it was not run.
func (a *app) atlasCurve(ctx context.Context, r *atlas.Reference, c *atlas.Curve, flags *runFlags) (*experiments.Table, error) {
	loads, seeds := c.Loads(), peerSeeds
	if flags.quick {
		loads, seeds = someLoads(loads), quickPeerSeeds
		c.Points = slices.DeleteFunc(slices.Clone(c.Points), func(p booksim.Point) bool { return !slices.Contains(loads, p.Load) })
	}
	text, files, canDeadlock, err := r.Experiment(c, loads, seeds)
	if err != nil {
		return nil, err
	}
	inputs := filepath.Join(flags.out, atlasName, "inputs")
	for name, content := range files {
		if err := writeBelow(filepath.Join(inputs, name), content); err != nil {
			return nil, err
		}
	}
	file, err := peerFile(filepath.Join(inputs, c.Name+".toml"), text, canDeadlock, flags)
	if err != nil {
		return nil, err
	}
	outcome, err := a.execute(ctx, file, filepath.Join(flags.out, atlasName, c.Name), flags)
	if err != nil {
		return nil, err
	}
	return outcome.Results, nil
}

// writeTable writes a table as CSV.
func writeTable(path string, table *experiments.Table) error {
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		return err
	}
	return writeBelow(path, b.Bytes())
}

// writeBelow writes a file, and makes its folder.
func writeBelow(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return experiments.WriteFile(path, content)
}
