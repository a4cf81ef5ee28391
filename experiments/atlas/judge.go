package atlas

import (
	"fmt"
	"path/filepath"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
	"github.com/weft-sim/weft/experiments/judge"
)

// shares are what two means may differ by, if the seeds leave no more open. A curve has one
// seed of BookSim2's: how exact that is, seeds.csv tells.
var shares = booksim.Shares{Latency: 0.03, Accepted: 0.01, Beyond: 0.02}

// Open is the reference of a folder, or of the one that comes with weft: its numbers together
// are the entry targets, and each curve is one.
func Open(data string) (*judge.Reference, error) {
	r, err := Read(judge.Folder(data, Own(), "the atlas of weft"))
	if err != nil {
		return nil, err
	}
	all := &judge.Reference{Name: "atlas", Place: r.name, Entry: "curve", Faults: r.seedFaults}
	if len(r.Targets) > 0 {
		all.Sections = append(all.Sections, r.numberSection())
	}
	if len(r.Curves) > 0 {
		all.Sections = append(all.Sections, r.curveSection())
	}
	return all, nil
}

// numberSection is targets.csv; those rows are shown that someone has to look at.
func (r *Reference) numberSection() *judge.Section {
	e := &judge.Entry{Name: "targets", Unreadable: true}
	var faults experiments.Problems
	for _, t := range r.Targets {
		e.Unreadable = e.Unreadable && len(t.Faults) > 0
		faults = append(faults, t.Faults...)
	}
	e.Faults = func() experiments.Problems { return faults }
	e.Judge = func(s *judge.Session) ([]judge.Row, bool, error) {
		rows, err := experiments.Interruptible(s.Context, func() ([]judge.Row, error) { return r.JudgeTargets(), nil })
		return rows, false, err
	}
	section := &judge.Section{File: "targets.csv", Columns: []string{"id", "topology", "instance", "metric", "kind", "reference", "weft"}, Entries: []*judge.Entry{e}}
	section.Conclude = func(table *experiments.Table, count judge.Count, _ bool) (judge.Conclusion, error) {
		c := judge.Conclusion{Text: fmt.Sprintf("of %d numbers %s", len(table.Rows), count), Failed: count[judge.Differs] > 0}
		for _, row := range table.Rows {
			if v := row[len(section.Columns)]; v != judge.Agrees && v != judge.NotJudged {
				if c.Shown == nil {
					c.Shown = &experiments.Table{Columns: table.Columns}
				}
				c.Shown.Rows = append(c.Shown.Rows, row)
			}
		}
		return c, nil
	}
	return section
}

// curveSection is the curves; a summary of each is shown.
func (r *Reference) curveSection() *judge.Section {
	var all []summary
	section := &judge.Section{File: "verdicts.csv", Columns: booksim.Columns}
	for i := range r.Curves {
		c := &r.Curves[i]
		section.Entries = append(section.Entries, &judge.Entry{Name: c.Name, Unreadable: len(c.Faults) > 0,
			Faults: func() experiments.Problems { return c.Faults },
			Judge: func(s *judge.Session) ([]judge.Row, bool, error) {
				x := booksim.Experiment{Name: c.Name, Curves: []*booksim.Curve{&c.Curve}, Text: r.texts(c)}
				rows, failed, err := x.Judge(s, filepath.Join(s.Out, "atlas"))
				all = append(all, summarise(c, rows))
				return rows, failed, err
			}})
	}
	section.Conclude = func(_ *experiments.Table, count judge.Count, _ bool) (judge.Conclusion, error) {
		ok, agree := enough(all)
		return judge.Conclusion{Shown: summaryTable(all), File: "curves.csv", Text: fmt.Sprintf("%s curves agree; points: %s", agree, count), Failed: !ok}, nil
	}
	return section
}

// texts gives the experiment files of a curve, and writes what they read beside the results.
func (r *Reference) texts(c *Curve) func(string, []float64, int) (string, string, bool, error) {
	return func(results string, loads []float64, seeds int) (path, text string, canDeadlock bool, err error) {
		text, files, canDeadlock, err := r.Experiment(c, loads, seeds)
		inputs := filepath.Join(results, "inputs")
		for name, content := range files {
			if err == nil {
				err = experiments.WriteBelow(filepath.Join(inputs, name), content)
			}
		}
		return filepath.Join(inputs, c.Name+".toml"), text, canDeadlock, err
	}
}

// summary says how the points of a curve are judged.
type summary struct {
	curve         *Curve
	count         judge.Count
	verdict, note string
}

// summarise is the verdict on a curve: it agrees if all its points do that are judged.
func summarise(c *Curve, rows []judge.Row) summary {
	s := summary{curve: c, count: judge.Count{}, verdict: judge.Agrees}
	for _, r := range rows {
		s.count.Add(r.Verdict)
		if r.Verdict == judge.NotRun || r.Verdict == judge.Unreadable {
			s.note = r.Note
		}
	}
	for _, verdict := range []string{judge.Differs, judge.Unreadable, judge.NotRun} {
		if s.count[verdict] > 0 {
			s.verdict = verdict
			return s
		}
	}
	if s.count[judge.Agrees] == 0 {
		s.verdict, s.note = judge.NotJudged, "no point can be judged"
	}
	return s
}

// enough tells whether at least nine of ten curves agree, of those that another program is
// behind and that can be judged. count says how many of how many.
func enough(all []summary) (ok bool, count string) {
	agree, peers := 0, 0
	for _, s := range all {
		if s.curve.SecondReading() || s.verdict == judge.NotJudged || s.verdict == judge.Unreadable {
			continue
		}
		peers++
		if s.verdict == judge.Agrees {
			agree++
		}
	}
	return 10*agree >= 9*peers, fmt.Sprintf("%d of %d", agree, peers)
}

func summaryTable(all []summary) *experiments.Table {
	var rows []judge.Row
	for _, s := range all {
		c := s.curve
		rows = append(rows, judge.Row{Cells: []string{c.Name, c.Graph, c.Routing, c.Traffic, fmt.Sprint(c.SecondReading()),
			fmt.Sprint(s.count[judge.Agrees]), fmt.Sprint(s.count[judge.Differs]), fmt.Sprint(s.count[judge.NotJudged])}, Verdict: s.verdict, Note: s.note})
	}
	return judge.TableOf([]string{"curve", "graph", "routing", "traffic", "second_reading", "agree", "differ", "not_judged"}, rows)
}
