package booksim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/stats"
)

// Shares are what two means may differ by, as shares of the peer's, unless the seeds leave more
// open.
type Shares struct {
	Latency  float64
	Accepted float64 // where queues stand still
	Beyond   float64 // of the accepted load beyond saturation
}

// For these curves: one run of the reference is as good; beyond saturation accepted load changes
// with the run's length.
var shares = Shares{Latency: 0.03, Accepted: 0.015, Beyond: 0.05}

// What the seeds leave open is the half-width of the 99 % confidence interval of the difference of
// two means (Student): if weft is right, both programs' seeds draw from one distribution. It widens
// a tolerance three times at most. Means within a wider interval are not judged: agreement would
// say nothing.
const (
	confidence = 0.99
	mostNoise  = 3 // times the share
)

// sample are the values of one quantity at one load, one a seed.
type sample []float64

func (s sample) moments() (mean, variance float64) {
	var r stats.Running
	for _, x := range s {
		r.Add(x)
	}
	return r.Mean(), r.Variance()
}

// halfWidth is half the confidence interval of the difference of two means; 0 without seeds.
func halfWidth(peer, own sample) float64 { return openBy(peer, own, len(own)) }

// openBy is halfWidth if weft ran so many seeds, that vary as those it has.
func openBy(peer, own sample, seeds int) float64 {
	freedom, squares := 0.0, 0.0
	for _, s := range []struct {
		sample
		n int
	}{{peer, len(peer)}, {own, seeds}} {
		if _, variance := s.moments(); len(s.sample) > 1 {
			freedom, squares = freedom+float64(s.n-1), squares+variance*float64(s.n-1)
		}
	}
	if freedom == 0 || len(peer) == 0 || seeds == 0 {
		return 0
	}
	student := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(1 - (1-confidence)/2)
	return math.Sqrt(squares/freedom*(1/float64(len(peer))+1/float64(seeds))) * student
}

// Row is a verdict.
type Row struct {
	Curve, File string
	Load        float64 // 0: of the whole curve
	Metric      string  // latency in cycles, accepted load, or deadlock
	Peer, Own   sample
	Allowed     float64 // difference of the means
	Verdict     string
	Note        string
	noise       float64 // half-width that made the row not judged; 0: nothing of that kind
	share       float64
}

// Run is what weft made of a curve.
type Run struct {
	Results *results.Table // nil: not run
	Why     error          // then; nil: no load was to be run
	// Of loads at which BookSim2's network stopped for good: what weft's certificate says ("": no
	// cycle), else the loads at which the watchdog stopped it.
	Refused string
	Stopped map[float64]string
}

// deadlockMetric is the metric of rows about networks that stop for good.
const deadlockMetric = "deadlock"

// Judge holds a curve against what weft made of it.
func (c *Curve) Judge(run Run) ([]Row, error) {
	if len(c.Faults) > 0 {
		return []Row{{Curve: c.Name, File: c.File, Verdict: judge.Unreadable, Note: judge.Note(c.Faults)}}, nil
	}
	var rows []Row
	if run.Results == nil {
		if run.Why != nil {
			rows = append(rows, Row{Verdict: judge.NotRun, Note: run.Why.Error()})
		}
	} else {
		for _, load := range c.loadsOf(moves) {
			both, err := c.judgeLoad(load, run.Results)
			if err != nil {
				return nil, err
			}
			rows = append(rows, both...)
		}
	}
	rows = append(rows, c.judgeDeadlocks(run)...)
	for i := range rows {
		rows[i].Curve, rows[i].File = c.Name, c.File
	}
	return rows, nil
}

// judgeLoad judges latency and accepted load. A latency beyond saturation grows with the run, or is
// of the packets that came through.
func (c *Curve) judgeLoad(load float64, results *results.Table) ([]Row, error) {
	s := c.Shares
	if s == (Shares{}) {
		s = shares
	}
	latency, accepted := Row{Load: load, Metric: "latency"}, Row{Load: load, Metric: "accepted"}
	grow, ownGrow := 0, 0 // runs beyond saturation
	for _, p := range c.Points {
		if p.Load == load && !p.Deadlock {
			latency.Peer, accepted.Peer = append(latency.Peer, p.Latency), append(accepted.Peer, p.Accepted)
			if p.Saturated || p.Overloaded {
				grow++
			}
		}
	}
	own, err := results.Where(map[string]string{"offered_load": loadText(load)})
	if err != nil {
		return nil, err
	}
	var err2 error
	latency.Own, err = own.Numbers("latency_mean_ns")
	accepted.Own, err2 = own.Numbers("accepted_load")
	if err := cmp.Or(err, err2); err != nil {
		return nil, err
	}
	for i := range own.Rows {
		if own.State(i) == measure.Saturated {
			ownGrow++
		}
	}
	latency.compare(s.Latency, c.Noise[load])
	switch {
	case len(latency.Own) == 0:
	case grow > 0:
		latency.leave(fmt.Sprintf("saturated in %d of BookSim2's %d runs", grow, len(latency.Peer)))
	case ownGrow > 0:
		latency.leave(fmt.Sprintf("saturated in %d of weft's %d runs, in none of BookSim2's", ownGrow, len(latency.Own)))
	}
	if grow > 0 {
		accepted.compare(s.Beyond, 0)
	} else {
		accepted.compare(s.Accepted, 0)
	}
	return []Row{latency, accepted}, nil
}

// judgeDeadlocks judges the points at which BookSim2's network stopped for good: weft's certificate
// must say that it can, or its watchdog stop a run.
func (c *Curve) judgeDeadlocks(run Run) (rows []Row) {
	for _, load := range c.loadsOf(stops) {
		r := Row{Load: load, Metric: deadlockMetric, Allowed: math.NaN(), Verdict: judge.Differs, Note: "in BookSim2; weft's certificate finds no cycle, and its run goes on to the end"}
		stopped, there := run.Stopped[load]
		switch {
		case run.Refused != "":
			r.Verdict, r.Note = judge.Agrees, "in BookSim2; weft refuses the network: "+run.Refused
		case there:
			r.Verdict, r.Note = judge.Agrees, "in BookSim2; weft's watchdog stops the run: "+stopped
		case run.Why != nil:
			r.Verdict, r.Note = judge.NotRun, run.Why.Error()
		}
		rows = append(rows, r)
	}
	return rows
}

// leave makes a row one that is not judged.
func (r *Row) leave(why string) {
	r.Verdict, r.Note, r.Allowed, r.noise = judge.NotJudged, why, math.NaN(), 0
}

// compare judges a row by its means. noise is the peer's, apart from the row's seeds: one seed's
// standard deviation over mean.
func (r *Row) compare(share, noise float64) {
	peer, _ := r.Peer.moments()
	own, _ := r.Own.moments()
	open := max(halfWidth(r.Peer, r.Own), distuv.UnitNormal.Quantile(1-(1-confidence)/2)*noise*peer)
	r.Allowed, r.share = max(share*peer, open), share
	switch {
	case len(r.Own) == 0:
		r.Verdict, r.Note, r.Allowed = judge.NotRun, "weft has no result at this load", math.NaN()
	case !(math.Abs(own-peer) <= r.Allowed): // no number, too
		r.Verdict = judge.Differs
	case open > mostNoise*share*peer:
		r.leave(fmt.Sprintf("noise: seeds leave %.2g %% open (%d of BookSim2's, %d of weft's), more than the %.2g %% that are judged",
			100*open/peer, len(r.Peer), len(r.Own), 100*mostNoise*share))
		r.noise = open
	default:
		r.Verdict = judge.Agrees
	}
}

// MoreSeeds are the loads with a row too noisy to be judged, but not if weft ran so many seeds.
func MoreSeeds(rows []Row, seeds int) (loads []float64) {
	for _, r := range rows {
		peer, _ := r.Peer.moments()
		most := mostNoise * r.share * peer
		if r.noise > most && halfWidth(r.Peer, r.Own) >= r.noise && openBy(r.Peer, r.Own, seeds) <= most && !slices.Contains(loads, r.Load) {
			loads = append(loads, r.Load)
		}
	}
	return loads
}

// replaced are the rows with those that were judged again in their places.
func replaced(rows, again []Row) []Row {
	all := slices.Clone(rows)
	for i, r := range all {
		for _, n := range again {
			if n.Load == r.Load && n.Metric == r.Metric && n.Metric != deadlockMetric {
				all[i] = n
			}
		}
	}
	return all
}

// Kinds of points: all, those at which BookSim2's network did not stop for good, and the others.
func anyPoint(*Point) bool { return true }
func moves(p *Point) bool  { return !p.Deadlock }
func stops(p *Point) bool  { return p.Deadlock }

// Loads are the loads of a curve, ascending.
func (c *Curve) Loads() []float64 { return c.loadsOf(anyPoint) }

func (c *Curve) loadsOf(take func(*Point) bool) []float64 {
	var loads []float64
	for i := range c.Points {
		if take(&c.Points[i]) {
			loads = append(loads, c.Points[i].Load)
		}
	}
	slices.Sort(loads)
	return slices.Compact(loads)
}

// At leaves the points of some loads.
func (c *Curve) At(loads []float64) {
	c.Points = slices.DeleteFunc(slices.Clone(c.Points), func(p Point) bool { return !slices.Contains(loads, p.Load) })
}

// Columns of verdicts.csv: for every load of every curve the means, the seeds' least and most, the
// means' difference and what is allowed, in percent of BookSim2's.
var Columns = []string{"curve", "source", "offered_load", "metric",
	"booksim2_mean", "booksim2_least", "booksim2_most", "booksim2_seeds", "weft_mean", "weft_least", "weft_most", "weft_seeds",
	"difference_percent", "allowed_percent"}

func (r *Row) verdict() judge.Row {
	cells := []string{r.Curve, r.File, "", r.Metric, "", "", "", "", "", "", "", "", "", ""}
	if r.Load > 0 {
		cells[2] = loadText(r.Load)
	}
	r.Peer.cells(cells[4:8])
	r.Own.cells(cells[8:12])
	if len(r.Peer) > 0 && len(r.Own) > 0 {
		peer, _ := r.Peer.moments()
		own, _ := r.Own.moments()
		cells[12], cells[13] = rounded(100*(own/peer-1)), rounded(100*r.Allowed/peer)
	}
	return judge.Row{Cells: cells, Verdict: r.Verdict, Note: r.Note}
}

func loadText(load float64) string { return strconv.FormatFloat(load, 'g', -1, 64) }

// cells are the mean, least, most and number of a sample.
func (s sample) cells(into []string) {
	if len(s) == 0 {
		return
	}
	mean, _ := s.moments()
	into[0], into[1], into[2], into[3] = rounded(mean), rounded(slices.Min(s)), rounded(slices.Max(s)), strconv.Itoa(len(s))
}

// rounded has five digits; what is no number is an empty cell.
func rounded(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 5, 64)
}
