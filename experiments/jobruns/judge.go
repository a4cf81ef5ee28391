package jobruns

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
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
	section := &judge.Section{File: "verdicts.csv", SideBySide: true, Columns: []string{"app", "situation", "placement", "routing", "compared", "reference_ns", "weft_ns", "deviation"}}
	for _, c := range folder.cells {
		section.Entries = append(section.Entries, &judge.Entry{Name: c.name(), Faults: &c.faults, Judge: c.judge})
	}
	section.Conclude = func(table *results.Table, count judge.Count, failed bool) (judge.Conclusion, error) {
		same, pairs := ordered(judge.RowsOf(table))
		return judge.Conclusion{Shown: table, Failed: failed || count[judge.Differs] > 0,
			Text: fmt.Sprintf("%s; of %d pairs of settings of an application %d are in the folder's order", count, pairs, same)}, nil
	}
	return &judge.Reference{Name: "jobs", Place: data, Entry: "run", Sections: []*judge.Section{section}, Faults: folder.faults}, nil
}

// judge runs a cell and compares all of its applications. The small variant runs the first
// iterations of each and compares them with the sum of their medians.
func (c *cell) judge(s *judge.Session) (rows []judge.Row, failed bool, err error) {
	peers := make([]float64, len(c.jobs)) // ns
	for i, j := range c.jobs {
		a := applications[j.app]
		what, peer := a.metric, j.median
		if s.Quick {
			what, peer = fmt.Sprintf("first %d iterations", a.quick), 0
			for k := range a.quick {
				peer += j.iterations[k]
			}
		}
		peers[i] = peer
		rows = append(rows, judge.Row{Cells: []string{j.app, c.situation, c.placement, c.routing, what, short(peer), "", ""}, Verdict: judge.NotRun})
	}
	refused := func(verdict, note string) []judge.Row {
		for i := range rows {
			rows[i].Verdict, rows[i].Note = verdict, note
		}
		return rows
	}
	if len(c.faults) > 0 {
		return refused(judge.Unreadable, judge.Note(c.faults)), false, nil
	}
	file, err := s.Load(c.name(), c.text(s.Quick), false)
	if err != nil {
		return refused(judge.NotRun, err.Error()), false, nil
	}
	outcome, err := s.Run("jobs/"+c.name(), file, filepath.Join(s.Out, "jobs", filepath.FromSlash(c.name())))
	if err != nil {
		return nil, false, err
	}
	if len(outcome.Failures) > 0 {
		return refused(judge.NotRun, "its run failed: see failures.csv"), true, nil
	}
	for i, peer := range peers {
		r := &rows[i]
		if peer <= 0 {
			r.Verdict, r.Note = judge.NotJudged, "iterations.csv has not all of these"
			continue
		}
		own, err := c.jobs[i].own(outcome.Tables["job_ranks"], s.Quick)
		if err != nil {
			return nil, false, err
		}
		r.Cells[6], r.Cells[7] = short(own), strconv.FormatFloat(own/peer-1, 'f', 4, 64)
		if r.Verdict = judge.Agrees; math.Abs(own/peer-1) > tolerance {
			r.Verdict = judge.Differs
		}
	}
	return rows, false, nil
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 7, 64) }

// own is what weft has for the median of a job: the time of its ranks without computing and
// writes, or in the small variant with them.
func (j *job) own(ranks *results.Table, quick bool) (float64, error) {
	a := applications[j.app]
	own, err := ranks.Where(map[string]string{"job": j.app})
	if err != nil {
		return 0, err
	}
	numbers, err := own.Numbers("rank")
	times, err2 := own.Numbers("finish_ns")
	if err := errors.Join(err, err2); err != nil {
		return 0, err
	}
	for i, rank := range numbers {
		if !quick {
			times[i] -= float64(a.all) * a.computes
			if a.held {
				times[i] -= j.ranks[int(rank)].held
			}
		}
	}
	return stats.Quantile(times, 0.5), nil
}

// ordered counts pairs of settings of an application (pairs), and pairs in which the same setting is
// the faster one in the folder (same). Settings that the folder has within the tolerance are no pair.
func ordered(rows []judge.Row) (same, pairs int) {
	for i, a := range rows {
		for _, b := range rows[:i] {
			peer, own := results.Number(a.Cells[5])/results.Number(b.Cells[5]), results.Number(a.Cells[6])/results.Number(b.Cells[6])
			if a.Cells[0] != b.Cells[0] || math.IsNaN(own) || math.Abs(peer-1) <= tolerance {
				continue
			}
			if pairs++; (peer < 1) == (own < 1) {
				same++
			}
		}
	}
	return same, pairs
}

// network is MFNetSim's: 33 groups of 8 routers with 4 terminals and 4 global channels each, all
// store and forward. A packet has 64 flits, the last of a message fewer, each of 3.725 ns at 16 GiB/s on
// a terminal's channel; local and global ones have 5.25 and 4.7 GiB/s. Behind its last byte every packet,
// however short, takes as long again as a whole one takes to be sent: 238.4, 726.6 and 811.6 ns, which
// CODES has as a channel's delay where none is set. So 8 B come to a terminal of the same router in
// 577.8 ns, as in the folder, and 4,096 B in 1,053.7. A latency is that delay and a flit; credits take
// 1.4 ns. A packet takes 100 ns in a router. All messages go eagerly: 10 ns of a rank's CPU, 3,500 ns and
// 0.55 ns a byte until the network interface has them, which sends them one after another, 10 ns each
// before its first packet. Summing what arrives takes no time.
//
//go:embed network.toml
var network string

// routings of the folder, and weft's, with what they need of the switches: 4 packets of buffer for each
// virtual channel of the folder, which rises with each global hop. Its routers queue packets by output,
// and one that waits holds up none behind it: so each place is a virtual channel of its own here. An
// output sends packets of the lowest virtual channel first: packets of the source group are in the table
// of high priority, all others share the low one. Adaptive routing compares, as packets arrive, what
// waits for either output and is outstanding behind it, twice for the longer path's output.
//
// Source: dragonfly-dally of CODES, with the virtual channels of an older form of it: with these a model
// of its routers has the folder's hops, loads of channels and share of detours within 2 %; with its newer
// ones, a place of the path each, an iteration of MILC, contiguous and adaptive, is 21 % fast.
var (
	//go:embed minimal.toml
	minimal string
	//go:embed prog-adaptive.toml
	adaptive string
	routings = map[string]string{"minimal": minimal, "prog-adaptive": adaptive}
)

// application is a program of the folder, with what of its time is compared.
type application struct {
	metric   string  // of summary.csv
	program  string  // of weft, but for the number of iterations
	times    string  // the setting that says how much of it is run
	all      int     // iterations
	quick    int     // of these, in the small variant
	computes float64 // ns, in an iteration
	held     bool    // for its ranks' time in writes
	waits    bool    // until its messages have left; Nekbone does so only for what it receives
}

var applications = map[string]application{
	"milc":      {metric: "comm_time_ns", program: "program = \"milc\"\ndims = [3, 4, 5, 5]\n", times: "iterations", all: 100, quick: 5, computes: 50, waits: true},
	"nekbone":   {metric: "comm_time_ns", program: "program = \"nekbone\"\ndims = [5, 6, 10]\n", times: "orders", all: 3, quick: 1},
	"cosmoflow": {metric: "comm_minus_io_ns", program: "program = \"cosmoflow\"\n", times: "iterations", all: 5, quick: 1, computes: 129e6, held: true, waits: true},
}

// orders are the orders of the polynomials, a run of Nekbone's after the other.
var orders = []string{"8", "11", "14"}

func (c *cell) text(quick bool) string {
	var b strings.Builder
	common := network
	if slices.ContainsFunc(c.jobs, func(j *job) bool { return applications[j.app].waits }) {
		common = strings.Replace(common, "[protocol]\n", "[protocol]\nacknowledge = \"0ns\"\neager_acknowledged = true\n", 1)
	}
	b.WriteString(strings.Replace(common, "[hca]\n", routings[c.routing]+"[hca]\n", 1))
	for _, j := range c.jobs {
		a := applications[j.app]
		n := a.all
		if quick {
			n = a.quick
		}
		fmt.Fprintf(&b, "[job.%s]\n%sranks = %d\nplacement = \"listed\"\nnodes = [%s]\n", j.app, a.program, len(j.ranks), j.list(func(r *rank) any { return r.terminal }))
		if a.times == "orders" {
			fmt.Fprintf(&b, "orders = [%s]\n", strings.Join(orders[:n], ", "))
		} else {
			fmt.Fprintf(&b, "%s = %d\n", a.times, n)
		}
		if a.held {
			fmt.Fprintf(&b, "held_ns = [%s]\n", j.list(func(r *rank) any { return r.held / float64(a.all) }))
		}
	}
	return b.String()
}

// list is something of each rank, separated by commas.
func (j *job) list(of func(r *rank) any) string {
	all := lists.Make(len(j.ranks), func(i int) string { return fmt.Sprint(of(&j.ranks[i])) })
	return strings.Join(all, ", ")
}
