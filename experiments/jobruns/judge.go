package jobruns

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/results"
)

// tolerance is what medians may differ by, as a share of the folder's.
const tolerance = 0.10

func init() {
	judge.Register(judge.Source{
		Name: "jobs", Example: "weft reproduce jobs/alone/milc --data mfnetsim/ --quick", Needs: "runs of MFNetSim", Open: Open,
		Help: `jobs, or jobs/SITUATION/PLACEMENT/ROUTING, with --data, holds weft against runs of
MFNetSim, applications alone and in mixes on a dragonfly of 1,056 terminals. There,
summary.csv has medians of communication times, ranks.csv the terminal of every rank
and its time in writes, iterations.csv the medians of iterations, which --quick compares.`,
	})
}

// Open is the reference of a folder of runs.
func Open(data string) (*judge.Reference, error) {
	folder, err := read(data)
	if err != nil {
		return nil, err
	}
	found := make([][]compared, len(folder.cells))
	section := &judge.Section{File: "verdicts.csv", SideBySide: true, Columns: []string{"app", "situation", "placement", "routing", "compared", "reference_ns", "weft_ns", "deviation"}}
	for i, c := range folder.cells {
		section.Entries = append(section.Entries, &judge.Entry{Name: c.name(), Unreadable: len(c.faults) > 0,
			Faults: func() document.Problems { return c.faults },
			Judge: func(s *judge.Session) ([]judge.Row, bool, error) {
				some, failed, err := c.judge(s)
				found[i] = some
				var rows []judge.Row
				for k := range some {
					rows = append(rows, some[k].row())
				}
				return rows, failed, err
			}})
	}
	section.Conclude = func(table *results.Table, count judge.Count, failed bool) (judge.Conclusion, error) {
		same, pairs := ordered(slices.Concat(found...))
		return judge.Conclusion{Shown: table, Failed: failed || count[judge.Differs] > 0,
			Text: fmt.Sprintf("%s; of %d pairs of settings of an application %d are in the folder's order", count, pairs, same)}, nil
	}
	return &judge.Reference{Name: "jobs", Place: data, Entry: "run", Sections: []*judge.Section{section}, Faults: folder.faults}, nil
}

// compared is an application of a cell in the folder and with weft.
type compared struct {
	cell      *cell
	app, what string
	peer, own float64 // ns; own is NaN where it was not run
	verdict   string
	note      string
}

func (x *compared) row() judge.Row {
	own, deviation := "", ""
	if !math.IsNaN(x.own) {
		own, deviation = strconv.FormatFloat(x.own, 'g', 7, 64), strconv.FormatFloat(x.own/x.peer-1, 'f', 4, 64)
	}
	return judge.Row{
		Cells:   []string{x.app, x.cell.situation, x.cell.placement, x.cell.routing, x.what, strconv.FormatFloat(x.peer, 'g', 7, 64), own, deviation},
		Verdict: x.verdict, Note: x.note,
	}
}

// judge runs a cell and compares all of its applications. The small variant runs the first
// iterations of each and compares them with the sum of their medians.
func (c *cell) judge(s *judge.Session) ([]compared, bool, error) {
	var all []compared
	for _, j := range c.jobs {
		a := applications[j.app]
		x := compared{cell: c, app: j.app, what: a.metric, peer: j.median, own: math.NaN(), verdict: judge.NotRun}
		if s.Quick {
			x.what, x.peer = fmt.Sprintf("first %d iterations", a.quick), 0
			for i := range a.quick {
				x.peer += j.iterations[i]
			}
		}
		all = append(all, x)
	}
	refuse := func(verdict, note string) ([]compared, bool, error) {
		for i := range all {
			all[i].verdict, all[i].note = verdict, note
		}
		return all, false, nil
	}
	if len(c.faults) > 0 {
		return refuse(judge.Unreadable, judge.Note(c.faults))
	}
	file, err := s.Load(c.name(), c.text(s.Quick), false)
	if err != nil {
		return refuse(judge.NotRun, err.Error())
	}
	outcome, err := s.Run("jobs/"+c.name(), file, filepath.Join(s.Out, "jobs", filepath.FromSlash(c.name())))
	if err != nil {
		return nil, false, err
	}
	if len(outcome.Failures) > 0 {
		all, _, err := refuse(judge.NotRun, "its run failed: see failures.csv")
		return all, true, err
	}
	for i := range all {
		x := &all[i]
		if x.peer <= 0 {
			x.verdict, x.note = judge.NotJudged, "iterations.csv has not all of these"
			continue
		}
		if x.own, err = c.jobs[i].own(outcome.Tables["job_ranks"], s.Quick); err != nil {
			return nil, false, err
		}
		if x.verdict = judge.Agrees; math.Abs(x.own/x.peer-1) > tolerance {
			x.verdict = judge.Differs
		}
	}
	return all, false, nil
}

// own is what weft has for the median of a job: the time of its ranks without computing and
// writes, or in the small variant with them.
func (j *job) own(ranks *results.Table, quick bool) (float64, error) {
	a := applications[j.app]
	of, at, finish := slices.Index(ranks.Columns, "job"), slices.Index(ranks.Columns, "rank"), slices.Index(ranks.Columns, "finish_ns")
	var times []float64
	for _, row := range ranks.Rows {
		if row[of] != j.app {
			continue
		}
		rank, err := strconv.Atoi(row[at])
		if err != nil {
			return 0, err
		}
		t, err := strconv.ParseFloat(row[finish], 64)
		if err != nil {
			return 0, err
		}
		if !quick {
			t -= float64(a.all) * a.computes
			if a.held {
				t -= j.ranks[rank].held
			}
		}
		times = append(times, t)
	}
	slices.Sort(times)
	n := len(times)
	return (times[(n-1)/2] + times[n/2]) / 2, nil
}

// ordered counts pairs of settings of an application (pairs), and pairs in which the same setting is
// the faster one in the folder (same). Settings that the folder has within the tolerance are no pair.
func ordered(all []compared) (same, pairs int) {
	for i := range all {
		for k := range i {
			a, b := &all[i], &all[k]
			if a.app != b.app || math.IsNaN(a.own+b.own) || math.Abs(a.peer/b.peer-1) <= tolerance {
				continue
			}
			if pairs++; (a.peer < b.peer) == (a.own < b.own) {
				same++
			}
		}
	}
	return same, pairs
}
