package booksim

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/stats"
)

// Verdicts of a row.
const (
	Agrees    = "agrees"
	Differs   = "differs"
	NotJudged = "not-judged" // latencies beyond saturation, which grow with the run
	NotRun    = "not-run"    // weft has no counterpart, or its run failed
)

// Two means agree if they differ by no more than a share of BookSim2's, or by no
// more than the seeds leave open: the half-width of the 99 % confidence interval of
// their difference (Welch). A single seed is taken to vary as weft's do.
const (
	latencyShare   = 0.03
	acceptedShare  = 0.015 // what one run of the reference is good to
	saturatedShare = 0.05  // beyond saturation: it changes with the length of the run
	confidence     = 0.99
)

var noLatency = math.NaN()

// sample are the values of one quantity at one load, one a seed.
type sample []float64

// moments are the mean, and the variance of a value.
func (s sample) moments() (mean, variance float64) {
	var r stats.Running
	for _, x := range s {
		r.Add(x)
	}
	return r.Mean(), r.Variance()
}

// halfWidth is that of the confidence interval of the difference of two means; 0
// where neither has an estimate of its variance.
func halfWidth(peer, own sample) float64 {
	_, vp := peer.moments()
	_, vo := own.moments()
	np, no := float64(len(peer)), float64(len(own))
	fp, fo := np-1, no-1
	switch {
	case np < 2 && no < 2:
		return 0
	case np < 2: // one estimate of both variances
		return math.Sqrt(vo*(1/np+1/no)) * quantile(fo)
	case no < 2:
		return math.Sqrt(vp*(1/np+1/no)) * quantile(fp)
	}
	a, b := vp/np, vo/no
	if a+b == 0 {
		return 0
	}
	return math.Sqrt(a+b) * quantile((a+b)*(a+b)/(a*a/fp+b*b/fo))
}

func quantile(freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(1 - (1-confidence)/2)
}

// Row is a verdict.
type Row struct {
	Curve, File string
	Load        float64 // 0: of the whole curve
	Metric      string  // latency in cycles, or accepted load
	Peer, Own   sample
	Allowed     float64 // difference of the means
	Verdict     string
	Note        string
}

// Judge holds a curve against the results of its experiment, nil of one that was not
// run, for the reason given.
func (c *Curve) Judge(results *experiments.Table, why error) ([]Row, error) {
	if results == nil {
		return []Row{{Curve: c.Name, File: c.File, Verdict: NotRun, Note: why.Error()}}, nil
	}
	columns, err := Measured(results)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, load := range c.Loads() {
		var latency, accepted Row
		saturated := 0
		for _, p := range c.Points {
			if p.Load == load {
				latency.Peer, accepted.Peer = append(latency.Peer, p.Latency), append(accepted.Peer, p.Accepted)
				if p.Saturated || p.Overloaded {
					saturated++
				}
			}
		}
		for i, x := range columns[0] {
			if math.Abs(x-load) <= 1e-9 {
				latency.Own, accepted.Own = append(latency.Own, columns[1][i]), append(accepted.Own, columns[2][i])
			}
		}
		latency.Metric, accepted.Metric = "latency", "accepted"
		latency.Compare(latencyShare)
		if saturated > 0 {
			latency.Verdict, latency.Allowed = NotJudged, math.NaN()
			latency.Note = fmt.Sprintf("saturated in %d of BookSim2's %d runs", saturated, len(latency.Peer))
			accepted.Compare(saturatedShare)
		} else {
			accepted.Compare(acceptedShare)
		}
		for _, row := range []Row{latency, accepted} {
			row.Curve, row.File, row.Load = c.Name, c.File, load
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Measured are the loads of the rows of an experiment's results, with their latencies in
// cycles and accepted loads.
func Measured(results *experiments.Table) (columns [3][]float64, err error) {
	for i, name := range []string{"offered_load", "latency_mean_ns", "accepted_load"} {
		if columns[i], err = results.Numbers(name); err != nil {
			return columns, err
		}
	}
	return columns, nil
}

// Compare judges a row by its means: they agree if they differ by no more than a share of
// the peer's, or by no more than the seeds leave open.
func (r *Row) Compare(share float64) {
	peer, _ := r.Peer.moments()
	own, _ := r.Own.moments()
	r.Allowed = max(share*peer, halfWidth(r.Peer, r.Own))
	switch {
	case len(r.Own) == 0:
		r.Verdict, r.Note, r.Allowed = NotRun, "weft has no result at this load", math.NaN()
	case math.Abs(own-peer) <= r.Allowed:
		r.Verdict = Agrees
	default: // no number, too
		r.Verdict = Differs
	}
}

// Loads are those of a curve, ascending.
func (c *Curve) Loads() []float64 {
	var loads []float64
	for _, p := range c.Points {
		loads = append(loads, p.Load)
	}
	slices.Sort(loads)
	return slices.Compact(loads)
}

// Table is the content of verdicts.csv: for every load of every curve the means with
// the least and the most of the seeds, the difference of the means and what is
// allowed, in percent of BookSim2's.
func Table(rows []Row) *experiments.Table {
	t := &experiments.Table{Columns: []string{"curve", "source", "offered_load", "metric",
		"booksim2_mean", "booksim2_least", "booksim2_most", "booksim2_seeds", "weft_mean", "weft_least", "weft_most", "weft_seeds",
		"difference_percent", "allowed_percent", "verdict", "note"}}
	for _, r := range rows {
		cells := []string{r.Curve, r.File, "", r.Metric, "", "", "", "", "", "", "", "", "", "", r.Verdict, r.Note}
		if r.Load > 0 {
			cells[2] = strconv.FormatFloat(r.Load, 'g', -1, 64)
		}
		r.Peer.cells(cells[4:8])
		r.Own.cells(cells[8:12])
		if len(r.Peer) > 0 && len(r.Own) > 0 {
			peer, _ := r.Peer.moments()
			own, _ := r.Own.moments()
			cells[12], cells[13] = rounded(100*(own/peer-1)), rounded(100*r.Allowed/peer)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

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
