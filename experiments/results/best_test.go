package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

var (
	throughput = Goal{Column: "accepted_load", Name: "throughput", Most: true}
	tail       = Goal{Column: "latency_p99_ns", Name: "tail", Most: false}
	runTime    = Goal{Column: "time_s", Name: "run time"}
)

// loadSweep is a sweep of three routings under two patterns with two seeds. Under u, a is
// steady at every load, b is saturated at 0.6, c from 0.4 on; under v, all keep up.
func loadSweep(t *testing.T) *Table {
	rows := []string{"point,traffic.pattern,routing.type,traffic.load,seed,replications,offered_load,accepted_load,latency_p99_ns,state"}
	for _, x := range []struct {
		pattern, routing string
		load             float64
		accepted, p99    [2]float64
		state            string
	}{
		{"u", "b", 0.2, [2]float64{0.2, 0.2}, [2]float64{22, 24}, "steady"},
		{"u", "b", 0.4, [2]float64{0.4, 0.4}, [2]float64{30, 31}, "steady"},
		{"u", "b", 0.6, [2]float64{0.45, 0.46}, [2]float64{math.NaN(), math.NaN()}, "saturated"},
		{"u", "a", 0.2, [2]float64{0.2, 0.2}, [2]float64{20, 21}, "steady"},
		{"u", "a", 0.4, [2]float64{0.4, 0.4}, [2]float64{32, 34}, "steady"},
		{"u", "a", 0.6, [2]float64{0.599, 0.601}, [2]float64{50, 51}, "steady"},
		{"u", "c", 0.2, [2]float64{0.2, 0.2}, [2]float64{21, 23}, "steady"},
		{"u", "c", 0.4, [2]float64{0.3, 0.31}, [2]float64{math.NaN(), math.NaN()}, "saturated"},
		{"u", "c", 0.6, [2]float64{0.28, 0.29}, [2]float64{math.NaN(), math.NaN()}, "saturated"},
		{"v", "b", 0.2, [2]float64{0.2, 0.2}, [2]float64{22, 24}, "steady"},
		{"v", "a", 0.2, [2]float64{0.2, 0.2}, [2]float64{22, 24}, "steady"},
		{"v", "c", 0.2, [2]float64{0.2, 0.2}, [2]float64{22, 24}, "steady"},
	} {
		for i := range 2 {
			rows = append(rows, fmt.Sprintf("0,%s,%s,%v,%d,1,%v,%v,%s,%s", x.pattern, x.routing, x.load, i+1, x.load, x.accepted[i], FormatCell(x.p99[i]), x.state))
		}
	}
	return csvTable(t, rows...)
}

// places are the variants of a ranking with their judgements.
func places(x *Ranking) string {
	var parts []string
	for _, p := range x.Places {
		parts = append(parts, strings.Join(p.Design, "+")+" "+p.Judgement)
	}
	return strings.Join(parts, ", ")
}

// TestRank: a carries the most. Against b, the seeds differ by 0.599 - 0.45 = 0.149 and 0.141:
// mean 0.145, standard error 0.004, and with one degree of freedom half-width 12.7062*0.004 and p = 1 - 2/pi
// atan(0.145/0.004) = 0.0175574; c at its best load: 0.299 and 0.291, standard error 0.004, p = 0.0086326; b
// against c: both 0.15, known to within 0.001. Tails are compared at 0.2, the highest load at
// which all three are steady.
func TestRank(t *testing.T) {
	r := simtest.Must(loadSweep(t).Rank([]Goal{throughput, tail}, nil))(t)
	simtest.FatalIf(t, len(r.All) != 4 || strings.Join(r.Demand, " ") != "traffic.pattern" || strings.Join(r.Design, " ") != "routing.type", "%+v", r)
	u := &r.All[0]
	simtest.Alike(t, "u", places(u), "a best, b behind, c behind", u.Highest, 0.6, u.Load, math.NaN(), u.Places[0].Full, true, u.Places[1].Full, false)
	d := u.Places[1].From
	for _, x := range [][2]float64{{d.Delta, -0.145}, {d.HalfWidth, 0.0508248}, {d.P, 0.0175574}, {u.Places[2].From.P, 0.0086326}, {d.Holm, 0.0175574}, {u.Places[2].Mean, 0.305}, {u.Places[0].HalfWidth, 0.0127062}} {
		simtest.Near(t, x[0], x[1], 1e-6, "")
	}
	simtest.Alike(t, "tails at", r.All[1].Load, 0.2, places(&r.All[1]), "a tie, c tie, b tie")
	simtest.Alike(t, "v", places(&r.All[2]), "b tie, a tie, c tie", r.All[2].Demand[0], "v")
	rows := r.Table().Rows
	simtest.Alike(t, "rows", len(rows), 12, rows[1][:6], "[u accepted_load  2 b 0.455]", rows[1][len(rows[1])-1], Behind)
}

// TestAnswer: what a ranking comes to in words.
func TestAnswer(t *testing.T) {
	const head = "point,job.ranks,workload.algorithm,workload.type,seed,replications,time_s,time_ci95_s"
	const curves = "point,routing.type,traffic.load,seed,replications,offered_load,accepted_load,accepted_ci95,state"
	sweep := loadSweep(t)
	for _, c := range []struct {
		name  string
		table *Table
		goals []Goal
		by    []string
		want  string
	}{
		{"loads", sweep, []Goal{throughput, tail}, nil, "Under traffic.pattern = u, of 3 variants, a has the highest throughput, 0.6 (it keeps up to a load of 0.6, the highest load tried); " +
			"b is next with at least 0.145 ± 0.051 (24.2 %) less. " +
			"At a load of 0.2, the highest at which all are steady, all 3 variants tie in the tail, 20.5 to 23 ns: no difference from the first is significant.|" +
			"Under traffic.pattern = v, all 3 variants keep up to a load of 0.2, the highest load tried. " +
			"At a load of 0.2, the highest at which all are steady, all 3 variants have the same tail, 23 ns.|A load counts where all 2 seeds are steady."},
		// By pattern, routings are demands: a keeps up with 0.2 under both.
		{"by pattern", simtest.Must(sweep.Where(map[string]string{"routing.type": "a", "traffic.load": "0.2"}))(t), []Goal{throughput, tail}, []string{"traffic.pattern"},
			"Both variants keep up with a load of 0.2. At a load of 0.2, both variants tie in the tail, 20.5 to 23 ns: no difference from the first is significant."},
		{"one network", simtest.Must(sweep.Where(map[string]string{"routing.type": "b", "traffic.pattern": "u"}))(t), []Goal{throughput, tail}, nil,
			"The network keeps up to a load of 0.4 and is saturated at 0.6.|A load counts where all 2 seeds are steady."},
		{"nobody steady", simtest.Must(sweep.Where(map[string]string{"state": "saturated"}))(t), []Goal{tail}, nil, "None of 2 variants is steady at any load."},
		// sqrt(0.1^2 + 0.1^2) = 0.14142; b is 1 slower than a: 50 %. c lies within.
		{"intervals", csvTable(t, head, "0,8,b,x,1,1,3,0.1", "1,8,a,x,1,1,2,0.1", "2,8,c,x,1,1,2.1,0.1"), []Goal{runTime}, nil,
			"Of 3 variants, a and c tie for the lowest run time, 2 s at a; b has 1.00 ± 0.14 s (50.0 %) more than that."},
		{"no intervals", csvTable(t, head, "0,8,b,x,1,1,3,", "1,8,a,x,1,1,2,"), []Goal{runTime}, nil,
			"Of 2 variants, a has the lowest run time, 2 s; b is next with 1 s (50.0 %) more (no interval: chance is not judged)."},
		{"formulas", csvTable(t, head, "0,8,b,x,1,1,30000000,", "1,8,a,x,1,1,123456,"), []Goal{{Column: "time_s", Name: "run time", Exact: true}}, nil,
			"Of 2 variants, a has the lowest run time, 123460 s; b is next with 2.9877e+07 s (24200.2 %) more."},
		{"wide intervals", csvTable(t, head, "0,8,b,x,1,1,3000,240"), []Goal{runTime}, nil, "The run time is 3000 ± 240 s."},
		{"the same", csvTable(t, head, "0,8,b,x,1,1,2,", "1,8,a,x,1,1,2,"), []Goal{runTime}, nil, "Both variants have the same run time, 2 s."},
		{"open", csvTable(t, "point,traffic.load,seed,replications,offered_load,accepted_load,state", "0,0.1,1,1,0.1,0.1,undecided", "1,0.2,1,1,0.2,0.2,undecided"), []Goal{throughput}, nil,
			"The network is neither steady nor saturated at any load."},
		// a was not tried at what b fails at: at 0.2 it carries 0.01 more, with sqrt(0.001^2 + 0.001^2) = 0.0014.
		{"a load missing", csvTable(t, curves, "0,b,0.2,1,1,0.2,0.19,0.001,undecided", "1,b,0.4,1,1,0.4,0.3,0.001,saturated", "2,a,0.2,1,1,0.2,0.2,0.001,steady"), []Goal{throughput}, nil,
			"Up to a load of 0.2, the highest that all were tried at, a has the highest throughput, 0.2 (it keeps up to a load of 0.2, the highest load tried); b is next with at least 0.0100 ± 0.0014 (5.0 %) less."},
		{"a tie beyond", csvTable(t, curves, "0,b,0.4,1,1,0.4,0.3,0.01,saturated", "1,b,0.2,1,1,0.2,0.2,0.01,steady", "2,a,0.2,1,1,0.2,0.2,0.01,steady", "3,a,0.4,1,1,0.4,0.301,0.01,saturated"),
			[]Goal{throughput}, nil, "Both variants tie in the throughput, 0.301 to 0.3: no difference from the first is significant."},
		{"one program", csvTable(t, head, "0,8,b,x,1,1,3,0.5"), []Goal{runTime}, nil, "The run time is 3 ± 0.5 s."},
		{"one program, several sizes", csvTable(t, head, "0,8,b,x,1,1,3,0.5", "0,16,b,x,1,1,9,0.5", "0,4,b,x,1,1,2,"), []Goal{runTime}, nil,
			"The run time is from 2 s under job.ranks = 4 to 9 ± 0.5 s under job.ranks = 16."},
		{"a value missing", csvTable(t, head, "0,8,b,x,1,1,3,0.5", "0,8,a,x,1,1,,"), []Goal{runTime}, nil, "Only b has a run time."},
	} {
		r := simtest.Must(c.table.Rank(c.goals, c.by))(t)
		simtest.Equal(t, strings.Join(r.Answer(), "|"), c.want, "%s:\n", c.name)
	}
	// Differences have the digits of their intervals.
	r := simtest.Must(csvTable(t, head, "0,8,b,x,1,1,3000,12", "1,8,a,x,1,1,2000,5").Rank([]Goal{runTime}, nil))(t)
	simtest.Equal(t, r.All[0].ahead(r.All[0].Places[1]), "1000 ± 13 s (50.0 %)", "") // 13 = sqrt(12^2 + 5^2)
	// Under many demands, how often each is the best.
	many := []string{head}
	for i := range 7 {
		for j, algorithm := range []string{"a", "b"} {
			many = append(many, fmt.Sprintf("0,%d,%s,x,1,1,%d,0.1", i, algorithm, 2*max(j, i/5)))
		}
	}
	r = simtest.Must(csvTable(t, many...).Rank([]Goal{runTime}, nil))(t)
	simtest.Equal(t, strings.Join(r.Answer(), "|"), "The best run time under 7 demands: a under 5, a tie under 2.", "")
}

// TestNamed: names of variants begin no sentence, and stand by themselves only where they are
// words.
func TestNamed(t *testing.T) {
	for _, c := range []struct {
		design, cells []string
		want          string
	}{
		{[]string{"routing.type"}, []string{"min"}, "min"}, {[]string{"switch.vcs"}, []string{"4"}, "switch.vcs = 4"},
		{[]string{"switch.hold"}, []string{"true"}, "switch.hold = true"}, {[]string{"transport.control"}, []string{"none"}, "transport.control = none"}, {[]string{"channel.latency"}, []string{"5ns"}, "channel.latency = 5ns"},
		{[]string{"routing.type", "switch.vcs"}, []string{"min", "4"}, "routing.type = min (switch.vcs = 4)"},
	} {
		r := Rankings{Design: c.design}
		simtest.Equal(t, r.named([]Place{{Design: c.cells}}), c.want, "")
		simtest.Equal(t, r.named(slices.Repeat([]Place{{Design: c.cells}}, 6)), c.want+" and 5 others", "")
	}
}

// TestDivide: what is asked of a network is told from how it is made, and settings in lockstep
// count once.
func TestDivide(t *testing.T) {
	x := csvTable(t, "point,traffic.pattern,topology.type,routing.type,job.a.placement,fault.x.fraction,traffic.load,seed,replications,time_s",
		"0,u,torus,dor,p,0,0.1,1,1,1", "1,v,tree,nca,p,0,0.2,2,1,1", "2,u,torus,dor,q,0.1,0.2,1,1,1", "3,v,tree,nca,q,0.1,0.1,1,1,1")
	names := func(by ...string) string {
		d := simtest.Must(x.divide(by))(t)
		return fmt.Sprint(Pick(x.Columns, d.demand), Pick(x.Columns, d.design), d.load)
	}
	simtest.Equal(t, names(), "[traffic.pattern fault.x.fraction] [topology.type job.a.placement] true", "")
	simtest.Equal(t, names("traffic.pattern"), "[job.a.placement] [traffic.pattern] true", "")
	// Where no load is offered, it is a demand as others are.
	r := simtest.Must(x.Rank([]Goal{runTime}, nil))(t)
	simtest.ErrorIf(t, strings.Join(r.Demand, " ") != "traffic.pattern fault.x.fraction traffic.load", "%v", r.Demand)
	simtest.Refuse(x.Rank(nil, []string{"nothing"}))(t, `no column "nothing"`)
}

// TestFoundLoads: loads that a search has found have no interval of a row, and no common load
// for latencies.
func TestFoundLoads(t *testing.T) {
	x := csvTable(t, "point,routing.type,seed,replications,offered_load,accepted_load,accepted_ci95,latency_p99_ns,state",
		"0,a,1,1,0.4,0.4,0.001,30,steady", "1,b,1,1,0.41,0.41,0.001,90,steady")
	r := simtest.Must(x.Rank([]Goal{throughput, tail}, nil))(t)
	simtest.ErrorIf(t, len(r.All) != 1 || places(&r.All[0]) != "b first, a no interval", "%+v", r)
}

// TestErrorOfRankings: of five equal variants with five seeds of their own, one is said to be
// behind in at most 5 % of 1000 rankings; one that is five standard deviations behind is in
// most, and the others are tied.
func TestErrorOfRankings(t *testing.T) {
	normal := normals("rank")
	behind := func(shift float64) (some, right int) {
		for range 1000 {
			x := &Table{Columns: []string{"point", "switch.vcs", "seed", "replications", "time_s"}}
			for variant := range 5 {
				for seed := range 5 {
					value := 100 + normal()
					if variant == 3 {
						value += shift
					}
					x.Rows = append(x.Rows, []string{"0", fmt.Sprint(variant), fmt.Sprint(5*variant + seed), "1", FormatCell(value)})
				}
			}
			r := simtest.Must(x.Rank([]Goal{runTime}, nil))(t)
			text := places(&r.All[0])
			if strings.Contains(text, Behind) {
				some++
			}
			if strings.Count(text, Tie) == 4 && strings.HasSuffix(text, "3 behind") {
				right++
			}
		}
		return some, right
	}
	some, _ := behind(0)
	simtest.ErrorIf(t, !within(some, 1000) || some < 10, "of equal variants, one is behind in %d of 1000 rankings", some)
	_, right := behind(5)
	simtest.ErrorIf(t, right < 900, "only %d of 1000 rankings find the one behind and the tie", right)
}
