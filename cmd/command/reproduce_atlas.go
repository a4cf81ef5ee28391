package command

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
	"github.com/weft-sim/weft/experiments/judge"
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
	var numbers []atlas.Target
	if targets {
		numbers = reference.Targets
	}
	before := reference.FaultsOf(numbers, curves)
	if faulty := func(c *atlas.Curve) bool { return len(c.Faults) > 0 }; !targets && len(curves) > 0 && !slices.ContainsFunc(curves, func(c *atlas.Curve) bool { return !faulty(c) }) {
		return before
	}
	a.sayFaults(before)
	failed, unreadable := false, len(before) > 0
	if targets {
		count, err := a.atlasNumbers(ctx, reference, flags.out)
		if err != nil {
			return err
		}
		failed, unreadable = count[judge.Differs] > 0, unreadable || count[judge.Unreadable] > 0
	}
	if len(curves) == 0 {
		return judgement(failed, unreadable)
	}
	var rows []booksim.Row
	var summaries []atlas.Summary
	for _, c := range curves {
		judged, _, err := a.judgeCurve(ctx, a.atlasCurve(reference, c, flags), flags)
		if errors.Is(err, experiments.ErrInterrupted) {
			return a.interruptedIn(c.Name)
		}
		if err != nil {
			return err
		}
		rows = append(rows, judged[0]...)
		summaries = append(summaries, atlas.Summarise(c, judged[0]))
	}
	file := verdictsFile(flags.out, atlasName)
	if err := writeTable(file, booksim.Table(rows)); err != nil {
		return err
	}
	summary := atlas.SummaryTable(summaries)
	if err := writeTable(filepath.Join(flags.out, atlasName, "curves.csv"), summary); err != nil {
		return err
	}
	if err := aligned(a.stdout, summary); err != nil {
		return err
	}
	after := judge.Merged(before, reference.FaultsOf(nil, curves))
	a.sayFaults(after[len(before):])
	enough, agree := atlas.Enough(summaries)
	count := judge.Count{}
	for _, r := range rows {
		count.Add(r.Verdict)
	}
	fmt.Fprintf(a.stderr, "%s: %s curves agree; points: %s; %s\n", atlasName, agree, count, file)
	return judgement(failed || !enough, unreadable || len(after) > 0)
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
func (a *app) atlasNumbers(ctx context.Context, r *atlas.Reference, out string) (judge.Count, error) {
	verdicts, err := experiments.Interruptible(ctx, func() ([]atlas.Verdict, error) { return r.JudgeTargets(), nil })
	if err != nil {
		return nil, err
	}
	table := atlas.TargetTable(verdicts)
	path := filepath.Join(out, atlasName, "targets.csv")
	if err := writeTable(path, table); err != nil {
		return nil, err
	}
	count := judge.Count{}
	for _, v := range verdicts {
		if count.Add(v.Verdict); v.Verdict != judge.Agrees && v.Verdict != judge.NotJudged {
			fmt.Fprintf(a.stdout, "%s: reference %s, weft %s: %s %s\n", v.ID, v.Value, v.Own, v.Verdict, v.Note)
		}
	}
	fmt.Fprintf(a.stderr, "%s: of %d numbers %s; %s\n", atlasName, len(verdicts), count, path)
	return count, nil
}

// atlasCurve is a curve with its experiment, which it writes below the results.
func (a *app) atlasCurve(r *atlas.Reference, c *atlas.Curve, flags *runFlags) *measuredCurve {
	return &measuredCurve{name: c.Name, dir: filepath.Join(flags.out, atlasName, c.Name), curves: []*booksim.Curve{&c.Curve},
		experiment: func(loads []float64, seeds int) (path, text string, canDeadlock bool, err error) {
			text, files, canDeadlock, err := r.Experiment(c, loads, seeds)
			if err != nil {
				return "", "", false, err
			}
			inputs := filepath.Join(flags.out, atlasName, "inputs")
			for name, content := range files {
				if err := writeBelow(filepath.Join(inputs, name), content); err != nil {
					return "", "", false, err
				}
			}
			return filepath.Join(inputs, c.Name+".toml"), text, canDeadlock, nil
		}}
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
