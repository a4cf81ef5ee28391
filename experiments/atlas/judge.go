package atlas

import (
	"fmt"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
	"github.com/weft-sim/weft/experiments/judge"
)

// shares are what two means may differ by, if the seeds leave no more open. A curve has one
// seed of BookSim2's: how exact that is, seeds.csv tells.
var shares = booksim.Shares{Latency: 0.03, Accepted: 0.01, Beyond: 0.02}

// Summary says of every curve how its points are judged.
type Summary struct {
	Curve                  *Curve
	Agree, Differ, Skipped int
	Verdict, Note          string
}

// Summarise is the verdict on a curve: it agrees if all its points do that are judged.
func Summarise(c *Curve, rows []booksim.Row) Summary {
	count, note := judge.Count{}, ""
	for _, r := range rows {
		count.Add(r.Verdict)
		if r.Verdict == judge.NotRun || r.Verdict == judge.Unreadable {
			note = r.Note
		}
	}
	s := Summary{Curve: c, Agree: count[judge.Agrees], Differ: count[judge.Differs], Skipped: count[judge.NotJudged], Verdict: judge.Agrees, Note: note}
	for _, verdict := range []string{judge.Differs, judge.Unreadable, judge.NotRun} {
		if count[verdict] > 0 {
			s.Verdict = verdict
			return s
		}
	}
	if s.Agree == 0 {
		s.Verdict, s.Note = judge.NotJudged, "no point can be judged"
	}
	return s
}

// Enough tells whether at least nine of ten curves agree, of those that another program is
// behind and that can be judged. count says how many of how many.
func Enough(all []Summary) (ok bool, count string) {
	agree, peers := 0, 0
	for _, s := range all {
		if s.Curve.SecondReading() || s.Verdict == judge.NotJudged || s.Verdict == judge.Unreadable {
			continue
		}
		peers++
		if s.Verdict == judge.Agrees {
			agree++
		}
	}
	return 10*agree >= 9*peers, fmt.Sprintf("%d of %d", agree, peers)
}

// SummaryTable is the content of curves.csv of a judgement.
func SummaryTable(all []Summary) *experiments.Table {
	t := &experiments.Table{Columns: []string{"curve", "graph", "routing", "traffic", "second_reading", "agree", "differ", "not_judged", "verdict", "note"}}
	for _, s := range all {
		t.Rows = append(t.Rows, []string{s.Curve.Name, s.Curve.Graph, s.Curve.Routing, s.Curve.Traffic, fmt.Sprint(s.Curve.SecondReading()),
			fmt.Sprint(s.Agree), fmt.Sprint(s.Differ), fmt.Sprint(s.Skipped), s.Verdict, s.Note})
	}
	return t
}
