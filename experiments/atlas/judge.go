package atlas

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
)

// What two means may differ by, in shares of the peer's, if the seeds leave no more open:
// see booksim.Row.
const (
	latencyShare = 0.03
	stableShare  = 0.01 // of the accepted load where all is accepted
	beyondShare  = 0.02 // of the accepted load beyond saturation
)

// normal99 is the two-sided quantile of the normal distribution for 99 %, in standard
// deviations.
const normal99 = 2.576

// Judge holds a curve against the results of its experiment, nil of one that was not run,
// for the reason given. Latencies are judged where BookSim2's queues stood still, accepted
// loads everywhere. A curve has one seed of BookSim2's: how exact that is, seeds.csv tells.
func (c *Curve) Judge(results *experiments.Table, why error) ([]booksim.Row, error) {
	if results == nil {
		return []booksim.Row{{Curve: c.Name, File: c.File, Verdict: booksim.NotRun, Note: why.Error()}}, nil
	}
	columns, err := booksim.Measured(results)
	if err != nil {
		return nil, err
	}
	var rows []booksim.Row
	for _, p := range c.Points {
		latency := booksim.Row{Curve: c.Name, File: c.File, Load: p.Load, Metric: "latency", Peer: []float64{p.Latency}}
		accepted := booksim.Row{Curve: c.Name, File: c.File, Load: p.Load, Metric: "accepted", Peer: []float64{p.Accepted}}
		for i, load := range columns[0] {
			if math.Abs(load-p.Load) <= 1e-9 {
				latency.Own, accepted.Own = append(latency.Own, columns[1][i]), append(accepted.Own, columns[2][i])
			}
		}
		latency.Compare(max(latencyShare, normal99*c.noise[p.Load]))
		if p.Saturated || p.Overloaded {
			latency.Verdict, latency.Allowed, latency.Note = booksim.NotJudged, math.NaN(), "BookSim2's queues grew"
			accepted.Compare(beyondShare)
		} else {
			accepted.Compare(stableShare)
		}
		rows = append(rows, latency, accepted)
	}
	return rows, nil
}

// Summary says of every curve how its points are judged.
type Summary struct {
	Curve                  *Curve
	Agree, Differ, Skipped int
	Verdict, Note          string
}

// Summarise is the verdict on a curve: it agrees if all its points do that are judged.
func Summarise(c *Curve, rows []booksim.Row) Summary {
	s := Summary{Curve: c, Verdict: booksim.Agrees}
	for _, r := range rows {
		switch r.Verdict {
		case booksim.Agrees:
			s.Agree++
		case booksim.Differs:
			s.Differ++
		case booksim.NotRun:
			s.Verdict, s.Note = booksim.NotRun, r.Note
		default:
			s.Skipped++
		}
	}
	if s.Differ > 0 {
		s.Verdict = booksim.Differs
	}
	return s
}

// Enough tells whether at least nine of ten curves agree that another program is behind.
// count says how many of how many.
func Enough(all []Summary) (ok bool, count string) {
	agree, peers := 0, 0
	for _, s := range all {
		if s.Curve.SecondReading() {
			continue
		}
		peers++
		if s.Verdict == booksim.Agrees {
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
