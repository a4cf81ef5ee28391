package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// Goal is a column by which variants are ranked.
type Goal struct {
	Column string
	Name   string // in words, such as run time
	Most   bool   // the highest value is the best; otherwise the lowest
	Exact  bool   // worked out by formulas: differences are none of chance
}

// Judgements of a place in a ranking.
const (
	Best     = "best"   // every other variant is behind
	Tie      = "tie"    // not significantly different from the first
	Behind   = "behind" // significantly
	Foremost = "first"  // of several without an interval to judge by
)

// Ranking compares the variants of a table under one demand by one goal.
type Ranking struct {
	Goal
	Demand  []string // cells of the columns that say what is asked of the network
	Load    float64  // the offered load at which the variants are compared; NaN: not at one load
	Of      int      // variants that there are; those that are not steady at Load have no place
	Highest float64  // the highest load that all of them were tried at; NaN: there is none
	Cut     bool     // some were tried at higher loads, which do not count
	Places  []Place  // the best first
}

// Place is a variant's place in a ranking.
type Place struct {
	Design          []string // cells of the columns that tell the variants
	Mean, HalfWidth float64
	Knee            *Knee      // where the offered load is swept
	Full            bool       // steady at Highest, and the most is the best
	From            Difference // from the first place to this one
	Judgement       string
}

// Rankings are the rankings of a table's variants.
type Rankings struct {
	Demand, Design []string  // columns
	All            []Ranking // by demand, then by goal
}

// Rank finds the best variants of a table, for each demand and goal by itself. by lists the
// columns that tell the variants apart; without any, they are the swept settings that say how
// the network is made and run, and the others (pattern, sizes, programs, faults) are demands.
//
// Where the offered load is swept, a variant has for the most of something, such as the accepted
// load, the most that each seed has at any load up to the highest that all were tried at, and those
// that are steady there are tied. For the least of something, such as a latency, variants are compared
// at the load at which most of them are steady with all seeds, and of such loads at the highest.
//
// All pairs of the variants are tested as [Compare] does, and adjusted together: if they are
// equal, one is said to be behind in at most 5 % of rankings.
func (t *Table) Rank(goals []Goal, by []string) (*Rankings, error) {
	d, err := t.divide(by)
	if err != nil {
		return nil, err
	}
	offered, err := t.Numbers("offered_load")
	if err != nil || !slices.ContainsFunc(offered, func(x float64) bool { return x == x }) {
		offered = nil // of programs that offer no load
		if d.load {
			d.demand, d.load = append(d.demand, slices.Index(t.Columns, LoadKey)), false
		}
	}
	r := &Rankings{Demand: Pick(t.Columns, d.demand), Design: Pick(t.Columns, d.design)}
	demands := Grouped(Indices(len(t.Rows)), func(i int) string { return strings.Join(Pick(t.Rows[i], d.demand), "\x00") })
	for _, rows := range demands {
		variants := Grouped(rows, func(i int) string { return strings.Join(Pick(t.Rows[i], d.design), "\x00") })
		for _, goal := range goals {
			ranking, err := t.rank(goal, variants, offered, d)
			if err != nil {
				return nil, err
			}
			if ranking != nil {
				ranking.Demand = Pick(t.Rows[rows[0]], d.demand)
				r.All = append(r.All, *ranking)
			}
		}
	}
	return r, nil
}

// division parts the swept columns that vary into what is asked of a network and how it is made and
// run. Columns in lockstep with others are left out.
type division struct {
	demand, design []int
	load           bool // varies: it is neither
}

// divide parts the columns; by lists the columns of the design, if any.
func (t *Table) divide(by []string) (d division, err error) {
	if d.design, err = t.Places(by); err != nil {
		return d, err
	}
	for i, name := range t.Columns {
		switch swept := slices.Contains(t.SweptKeys(), name); {
		case !swept || name == SeedKey || slices.Contains(by, name) || t.Follows(i):
		case name == LoadKey:
			d.load = true
		case len(by) > 0 && t.Follows(i, d.design...):
		case len(by) > 0 || asked(name):
			d.demand = append(d.demand, i)
		default:
			d.design = append(d.design, i)
		}
	}
	d.demand = t.Needed(d.demand)
	if len(by) == 0 {
		d.design = t.Needed(d.design)
	}
	return d, nil
}

// asked tells settings that say what a network is asked to do, and under which conditions.
func asked(key string) bool {
	table, setting := key[:max(strings.IndexByte(key, '.'), 0)], key[strings.LastIndexByte(key, '.')+1:]
	return slices.Contains([]string{"traffic", "program", "workload", "job", "noise", "flows", "exchange", "groups", "messages", "fault"}, table) &&
		!slices.Contains([]string{"algorithm", "placement", "carrier", "machine", "through", "order", "schedule", "addressing"}, setting)
}

// rank ranks variants, by their rows, under one demand; nil: the goal has no numbers there that
// compare.
func (t *Table) rank(goal Goal, variants [][]int, offered []float64, d division) (*Ranking, error) {
	g, err := t.gather(goal.Column)
	if err != nil {
		return nil, err
	}
	r := &Ranking{Goal: goal, Of: len(variants), Load: math.NaN(), Highest: math.NaN()}
	loads := commonLoads(variants, offered)
	if len(loads) > 0 {
		r.Highest = loads[len(loads)-1]
	}
	// steadyAt are the rows of a variant at a load, if all of them are steady.
	steadyAt := func(rows []int, load float64) []int {
		some := slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return !sameNumber(offered[i], load) })
		if slices.ContainsFunc(some, func(i int) bool { return t.State(i) != measure.Steady }) {
			return nil
		}
		return some
	}
	found := offered != nil && !d.load && len(loads) == 0 // by a search, of which a row has no interval
	choose := func(rows []int) []int { return rows }
	switch {
	case goal.Most && d.load:
		choose = func(rows []int) []int {
			within := slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return offered[i] > r.Highest*(1+1e-9) })
			r.Cut = r.Cut || len(within) < len(rows)
			return lists.Map(Grouped(within, func(i int) string { return t.Cell(i, SeedKey) }), func(of []int) int {
				return slices.MaxFunc(of, func(i, j int) int { return cmp.Compare(g.values[i], g.values[j]) }) // NaN is the least
			})
		}
	case goal.Most || offered == nil:
	case found:
		return nil, nil // each at another load
	default:
		most := 0
		for _, load := range loads {
			n := lists.Sum(variants, func(rows []int) int { return min(len(steadyAt(rows, load)), 1) })
			if n >= most {
				most, r.Load = n, load
			}
		}
		choose = func(rows []int) []int { return steadyAt(rows, r.Load) }
	}
	var samples []*sample
	for _, rows := range variants {
		some := slices.DeleteFunc(choose(rows), func(i int) bool { return math.IsNaN(g.values[i]) })
		if len(some) == 0 {
			continue
		}
		s := g.sample(some)
		if found {
			s.halfWidth = math.NaN()
		}
		e := s.estimate()
		p := Place{Design: Pick(t.Rows[some[0]], d.design), Mean: e.mean, HalfWidth: studentQuantile(e.freedom) * math.Sqrt(e.variance)}
		p.Full = goal.Most && len(loads) > 0 && len(steadyAt(rows, r.Highest)) > 0
		if d.load {
			k := t.knee(rows, offered)
			p.Knee = &k
		}
		samples, r.Places = append(samples, s), append(r.Places, p)
	}
	if len(samples) == 0 && math.IsNaN(r.Load) {
		return nil, nil
	}
	r.judge(samples)
	return r, nil
}

// commonLoads are the loads that all variants were tried at, in ascending order.
func commonLoads(variants [][]int, offered []float64) (loads []float64) {
	if offered == nil {
		return nil
	}
	for _, i := range variants[0] {
		tried := func(rows []int) bool {
			return slices.ContainsFunc(rows, func(j int) bool { return sameNumber(offered[j], offered[i]) })
		}
		if !slices.ContainsFunc(loads, func(x float64) bool { return sameNumber(x, offered[i]) }) && !slices.ContainsFunc(variants, func(rows []int) bool { return !tried(rows) }) {
			loads = append(loads, offered[i])
		}
	}
	slices.Sort(loads)
	return loads
}

// judge sorts the places, tests all pairs, and judges each place by its difference from the first.
func (r *Ranking) judge(samples []*sample) {
	order := Indices(len(samples))
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := r.Places[i], r.Places[j]
		switch {
		case a.Full != b.Full && a.Full:
			return -1
		case a.Full != b.Full:
			return 1
		case r.Most:
			return cmp.Compare(b.Mean, a.Mean)
		}
		return cmp.Compare(a.Mean, b.Mean)
	})
	places := make([]Place, len(order))
	var pairs []Difference // differences from the first place come first
	for at, i := range order {
		places[at] = r.Places[i]
		for _, j := range order[at+1:] {
			pair := difference(samples[i], samples[j], IsTime(r.Column))
			if r.Places[i].Full && r.Places[j].Full {
				pair.P, pair.Significance = math.NaN(), Unclear // neither has shown its limit
			}
			pairs = append(pairs, pair)
		}
	}
	r.Places = places
	adjust(pairs)
	worse := Higher
	if r.Most {
		worse = Lower
	}
	for i := range places {
		p := &places[i]
		if i == 0 {
			continue
		}
		p.From = pairs[i-1]
		switch p.From.Significance {
		case worse:
			p.Judgement = Behind
		case NoInterval:
			if p.Judgement = NoInterval; r.Exact {
				p.Judgement = Behind
			}
		default:
			p.Judgement = Tie
		}
	}
	is := func(judgement string) bool {
		return slices.ContainsFunc(places, func(p Place) bool { return p.Judgement == judgement })
	}
	switch {
	case len(places) < 2:
	case is(Tie):
		places[0].Judgement = Tie
	case is(NoInterval):
		places[0].Judgement = Foremost
	default:
		places[0].Judgement = Best
	}
}

// Table is the rankings as CSV.
func (r *Rankings) Table() *Table {
	t := &Table{Columns: append(append(slices.Clone(r.Demand), "metric", "offered_load", "place"), append(slices.Clone(r.Design),
		"value", "value_ci95", "difference", "difference_ci95", "relative", "method", "p", "p_holm", "judgement")...)}
	for _, ranking := range r.All {
		for i, p := range ranking.Places {
			d := p.From
			if i == 0 {
				d = Difference{HalfWidth: math.NaN(), P: math.NaN(), Holm: math.NaN(), Delta: math.NaN()}
			}
			row := append(slices.Clone(ranking.Demand), ranking.Column, FormatCell(ranking.Load), fmt.Sprint(i+1))
			row = append(row, p.Design...)
			t.Rows = append(t.Rows, append(row,
				formatted(p.Mean, p.HalfWidth, d.Delta, d.HalfWidth, stats.Finite(d.Delta/d.A), d.Method, d.P, d.Holm, p.Judgement)...))
		}
	}
	return t
}
