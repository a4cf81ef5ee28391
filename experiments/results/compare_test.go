package results

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// csvTable reads CSV written on one line each.
func csvTable(t *testing.T, lines ...string) *Table {
	t.Helper()
	return table(t, strings.Join(lines, "\n"))
}

const compared = "point,load,seed,replications,latency_mean_ns,latency_ci95_ns,state"

// sampleRows are rows of compared at one load, with the seeds from first on.
func sampleRows(first int, values ...float64) (rows []string) {
	for i, x := range values {
		rows = append(rows, fmt.Sprintf("%d,0.1,%d,1,%v,,steady", i, first+i, x))
	}
	return rows
}

// extraSleep are the hours of sleep that ten patients gained by two drugs (Student 1908), the
// example of R's t.test.
var extraSleep = [2][]float64{
	{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0},
	{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4},
}

// TestCompare: t, degrees of freedom, p and half-width by hand, or as published.
func TestCompare(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name               string
		a, b               []string
		t, df, p, half     float64
		method, conclusion string
	}{
		// R prints t = -1.8608 (1.86081), df = 17.776 (17.7765), p-value = 0.07939 and the interval
		// -3.3654832 to 0.2054832 of the first against the second.
		{"sleep, other seeds", sampleRows(1, extraSleep[0]...), sampleRows(11, extraSleep[1]...), 1.86081, 17.7765, 0.07939, 1.7854832, Welch, Unclear},
		// Paired: t = -4.0621, df = 9, p-value = 0.002833, -2.4598858 to -0.7001142.
		{"sleep, same seeds", sampleRows(1, extraSleep[0]...), sampleRows(1, extraSleep[1]...), 4.06213, 9, 0.002833, 0.8798858, Paired, Higher},
		// Means 2 and 5, variances 1: standard error sqrt(1/3 + 1/3) = 0.81650, t =
		// 3/0.81650. Fewer than five replications: df 3 - 1, of which p is 1 - t/sqrt(t^2+2)
		// and the quantile 4.30265.
		{"other seeds", sampleRows(1, 1, 2, 3), sampleRows(4, 4, 5, 6), 3.67423, 2, 0.066743, 3.51310, Welch, Unclear},
		// Differences 1, 1.1, 0.9: mean 1, standard error 0.1/sqrt(3), t = sqrt(300), df 2.
		{"same seeds", sampleRows(1, 2, 3.1, 3.9), sampleRows(1, 1, 2, 3), -17.32051, 2, 0.0033167, 0.248414, Paired, Lower},
		// Seeds 2 and 3 of three are common to both, and stand in another order: differences
		// 2 and 4, mean 3, standard error sqrt(2)/sqrt(2), df 1: p = 1 - 2/pi atan(3).
		{
			"some seeds", sampleRows(1, 7, 1, 2), []string{"0,0.1,3,1,6,,steady", "1,0.1,2,1,3,,steady", "2,0.1,4,1,90,,steady"},
			3, 1, 0.2048328, 12.7062047, Paired, Unclear,
		},
		// Of five seeds, one is common: variances 2.5, standard error 1, Welch's df 8. With
		// u = 1 + 1/8: P(|t8| > 1) = 0.34659.
		{"one seed", sampleRows(1, 1, 2, 3, 4, 5), sampleRows(5, 2, 3, 4, 5, 6), 1, 8, 0.346594, 2.306004, Welch, Unclear},
		// The half-width of the difference is sqrt(1^2 + 1^2). By quantile 2.776445 of 4, t is
		// 2*2.776445/sqrt(2); with sin^2 = t^2/(t^2+4) = 0.793998, p = 1 - sin (1 + cos^2/2).
		{"intervals", []string{"0,0.1,1,1,10,1,steady"}, []string{"0,0.1,1,1,12,1,steady"}, 3.926486, 4, 0.017153, math.Sqrt2, Intervals, Higher},
		// Just as wide as the difference is not significant.
		{"intervals that touch", []string{"0,0.1,1,1,10,0.3,steady"}, []string{"0,0.1,1,1,10.5,0.4,steady"}, 2.776445, 4, 0.05, 0.5, Intervals, Unclear},
		// Two replications each: quantile 12.7062 of 1, so standard errors 1 and 1; p = 1 - 2/pi
		// atan(3/sqrt(2)), half-width 12.7062*sqrt(2).
		{"replications", []string{"0,0.1,1,2,10,12.7062047,steady"}, []string{"0,0.1,1,2,13,12.7062047,steady"}, 2.12132, 1, 0.2804438, 17.969287, Intervals, Unclear},
		{"b saturated", []string{"0,0.1,1,1,10,1,steady"}, []string{"0,0.1,1,1,,,saturated"}, nan, nan, nan, nan, "", "b saturated"},
		{"a saturated", []string{"0,0.1,1,1,10,1,saturated"}, []string{"0,0.1,1,1,99,1,steady"}, nan, nan, nan, nan, "", "a saturated"},
		{"both saturated", []string{"0,0.1,1,1,,1,saturated"}, []string{"0,0.1,1,1,,1,saturated"}, nan, nan, nan, nan, "", "both saturated"},
		{"undecided", []string{"0,0.1,1,1,10,1,undecided"}, []string{"0,0.1,1,1,99,1,steady"}, nan, nan, nan, nan, "", "a undecided"},
		{"both", []string{"0,0.1,1,1,10,1,undecided"}, []string{"0,0.1,1,1,,,saturated"}, nan, nan, nan, nan, "", "a undecided, b saturated"},
		{"no interval", []string{"0,0.1,1,1,10,,steady"}, []string{"0,0.1,1,1,99,1,steady"}, nan, nan, nan, nan, "", NoInterval},
		{"one batch", []string{"0,0.1,1,1,10,+Inf,steady"}, []string{"0,0.1,1,1,99,1,steady"}, nan, nan, nan, nan, "", NoInterval},
		{"no spread", []string{"0,0.1,1,1,10,0,steady"}, []string{"0,0.1,1,1,10,0,steady"}, nan, nan, nan, nan, "", Equal},
		{"equal seeds", sampleRows(1, 15, 16), sampleRows(1, 15, 16), nan, nan, nan, nan, "", Equal},
		// Whole numbers are known to within 1: a variance of 1/12 on either side. Half-widths
		// of 0: t = -1/sqrt(1/6), df 4, p = 1 - sin (1 + cos^2/2) with sin^2 = 0.6. Equal replications: t = 4/sqrt(1/6/3), df 2.
		{"no spread, different", []string{"0,0.1,1,1,10,0,steady"}, []string{"0,0.1,1,1,9,0,steady"}, -2.449490, 4, 0.070484, 1.133479, Intervals, Unclear},
		{"equal whole numbers", sampleRows(1, 15, 15, 15), sampleRows(1, 19, 19, 19), 16.970563, 2, 0.003454, 1.014145, Paired, Higher},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := simtest.Must(Compare(csvTable(t, append([]string{compared}, c.a...)...), csvTable(t, append([]string{compared}, c.b...)...), "latency_mean_ns", nil))(t)
			d := r.Differences[0]
			for name, x := range map[string][2]float64{"t": {d.T, c.t}, "df": {d.DF, c.df}, "p": {d.P, c.p}, "half-width": {d.HalfWidth, c.half}} {
				if got, want := x[0], x[1]; !math.IsNaN(got) || !math.IsNaN(want) {
					simtest.Near(t, got, want, 2e-5*math.Abs(want)+5e-6, "%s =", name)
				}
			}
			simtest.Alike(t, "judgement", d.Method, c.method, d.Significance, c.conclusion, len(r.Differences), 1)
		})
	}
}

// TestHolm: p of 0.01, 0.04 and 0.03 become 3*0.01, then 2*0.03, and for 0.04 not less than that.
func TestHolm(t *testing.T) {
	c := Comparison{Differences: []Difference{{P: 0.01, Delta: 1}, {P: 0.04, Delta: 1}, {P: math.NaN(), Significance: NoInterval}, {P: 0.03, Delta: -1}}}
	adjust(c.Differences)
	for i, want := range []float64{0.03, 0.06, 0, 0.06} {
		simtest.Near(t, c.Differences[i].Holm, want, 1e-12, "%d:", i)
	}
	simtest.Alike(t, "Holm's judgement", c.Significant(), 1, c.Tests(), 3, c.Differences[0].Significance, Higher, c.Differences[3].Significance, Unclear)
}

// normals makes normal numbers, of 12 uniform ones each: variance 1.
func normals(role string) func() float64 {
	r := sim.NewStream(1, role, 0)
	return func() float64 {
		x := -6.0
		for range 12 {
			x += r.Float64()
		}
		return x
	}
}

// within tells whether so many of n is no more than three standard deviations of a binomial
// number above 5 %.
func within(hits, n int) bool {
	return float64(hits) <= 0.05*float64(n)+3*math.Sqrt(0.05*0.95*float64(n))
}

// TestFamilyError: among 1000 comparisons of 6 loads with 5 replications each
// and no difference, at most 5 % report one; not none, as a test that never rejects
// anything. With a difference of three standard deviations at one load, t is about
// 3/sqrt(2/5) = 4.7 with 8 degrees of freedom, beyond Holm's first limit (3.5) in most.
func TestFamilyError(t *testing.T) {
	normal := normals("family")
	rejected := func(shift float64) int {
		n := 0
		for range 1000 {
			tables := [2]*Table{}
			for side := range tables {
				x := &Table{Columns: strings.Split(compared, ",")}
				for load := range 6 {
					for seed := range 5 {
						value := normal()
						if side == 1 && load == 0 {
							value += shift
						}
						x.Rows = append(x.Rows, []string{"0", fmt.Sprint(load), fmt.Sprint(5*side + seed), "1", FormatCell(value), "", "false"})
					}
				}
				tables[side] = x
			}
			c := simtest.Must(Compare(tables[0], tables[1], "latency_mean_ns", nil))(t)
			if c.Significant() > 0 {
				n++
			}
		}
		return n
	}
	n := rejected(0)
	simtest.ErrorIf(t, !within(n, 1000) || n < 50-21, "%d of 1000 comparisons report a difference that is not there", n)
	n = rejected(3)
	simtest.ErrorIf(t, n < 700, "only %d of 1000 comparisons find the difference", n)
}

// TestErrorOfSmallSamples: two sides of one mean differ in at most 5 % of 4000 trials, whatever
// the numbers of replications and the ratio of the spreads are, with seeds of their own or in
// common; with values rounded to whole numbers, whose spread is often zero; and of single
// rows, whatever the degrees of freedom of their intervals are. Welch's approximation would
// report 12 % of 2 against 20 replications.
func TestErrorOfSmallSamples(t *testing.T) {
	const trials = 4000
	normal := normals("small")
	several := func(n, first int, spread, step float64) func() *sample {
		return func() *sample {
			s := &sample{halfWidth: math.NaN(), step: step}
			for i := range n {
				x := spread * normal()
				if step > 0 {
					x = step * math.Round(x/step+0.5) // the mean is between two steps
				}
				s.values, s.seeds = append(s.values, x), append(s.seeds, fmt.Sprint(first+i))
			}
			return s
		}
	}
	single := func(freedom int, spread float64) func() *sample {
		quantile := distuv.StudentsT{Sigma: 1, Nu: float64(freedom)}.Quantile(0.975)
		return func() *sample {
			squares := 0.0
			for range freedom {
				x := normal()
				squares += x * x
			}
			return &sample{values: []float64{spread * normal()}, seeds: []string{"1"}, runs: 1, halfWidth: quantile * spread * math.Sqrt(squares/float64(freedom))}
		}
	}
	for _, c := range []struct {
		name string
		a, b func() *sample
	}{
		{"2 against 2", several(2, 0, 1, 0), several(2, 50, 0.1, 0)},
		{"2 against 5", several(2, 0, 1, 0), several(5, 50, 1, 0)},
		{"2 against 20", several(2, 0, 1, 0), several(20, 50, 1, 0)},
		{"3 against 3", several(3, 0, 1, 0), several(3, 50, 1, 0)},
		{"3 against 20", several(3, 0, 1, 0), several(20, 50, 1, 0)},
		{"5 against 20", several(5, 0, 1, 0), several(20, 50, 0.3, 0)},
		{"3 seeds in common", several(3, 0, 1, 0), several(3, 0, 2, 0)},
		{"3 of 5 seeds in common", several(5, 0, 1, 0), several(5, 2, 1, 0)},
		{"whole numbers, 2 seeds in common", several(2, 0, 0.3, 1), several(2, 0, 0.3, 1)},
		{"whole numbers, 3 seeds in common", several(3, 0, 0.3, 1), several(3, 0, 0.3, 1)},
		{"whole numbers, 4 seeds in common", several(4, 0, 0.3, 1), several(4, 0, 0.3, 1)},
		{"whole numbers, wider", several(4, 0, 1, 1), several(4, 0, 1, 1)},
		{"whole numbers, 3 against 3", several(3, 0, 0.3, 1), several(3, 50, 0.3, 1)},
		{"whole numbers, 6 against 6", several(6, 0, 0.3, 1), several(6, 50, 0.3, 1)},
		{"single rows, 8 and 8", single(8, 1), single(8, 1)},
		{"single rows, 8 and 40", single(8, 1), single(40, 3)},
		{"single rows, 20 and 20", single(20, 1), single(20, 1)},
		{"single rows, 40 and 40", single(40, 1), single(40, 1)},
		{"3 replications against a single row", several(3, 0, 1, 0), single(20, 1)},
	} {
		hits := 0
		for range trials {
			d := difference(c.a(), c.b(), false)
			if d.P < 0.05 {
				hits++
			}
		}
		simtest.ErrorIf(t, !within(hits, trials), "%s: %d of %d differ", c.name, hits, trials)
		simtest.ErrorIf(t, strings.HasPrefix(c.name, "single rows") && hits < trials*3/100, "%s: only %d of %d differ: far from 5 %%", c.name, hits, trials)
	}
}

// TestResolution: the step of some numbers is their greatest common divisor; of means, it is
// negligible.
func TestResolution(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{406, 500, math.NaN()}, 2}, {[]float64{16, 48, 32}, 16}, {[]float64{406.5, 513.5}, 0.5}, {[]float64{0.29, 0.31}, 0.01},
		{[]float64{0, 0}, 0}, {[]float64{math.Inf(1), -6, 4}, 2}, {nil, 0},
	} {
		simtest.Near(t, resolution(c.values), c.want, 1e-9, "%v:", c.values)
	}
	simtest.Near(t, resolution([]float64{7.405584986980336, 7.569293458055114, 6.91117120931}), 0, 1e-4, "means:")
}

// TestIntervalColumn: the interval of a metric is found by its name.
func TestIntervalColumn(t *testing.T) {
	x := csvTable(t, "latency_mean_ns,latency_ci95_ns,elapsed_s,elapsed_ci95_s,slowdown_max,slowdown_max_ci95,accepted_load,accepted_ci95,latency_p99_ns,latency_p99_ci95_ns,offered_load,hops_mean", "1,2,3,4,5,6,7,8,9,10,11,12")
	for metric, want := range map[string]float64{"latency_mean_ns": 2, "elapsed_s": 4, "slowdown_max": 6, "accepted_load": 8, "latency_p99_ns": 10, "offered_load": math.NaN(), "hops_mean": math.NaN()} {
		got := simtest.Must(x.HalfWidths(metric))(t)[0]
		simtest.ErrorIf(t, got != want && got == got, "%s: %v, want %v", metric, got, want)
	}
}

// TestMatching: rows match by the keys that both tables sweep, and what has no
// partner is counted; rows that would be mixed up are refused.
func TestMatching(t *testing.T) {
	a := csvTable(t, "point,load,vcs,seed,replications,x_mean_ns,x_ci95_ns", "0,0.1,2,1,1,10,1", "1,0.2,2,1,1,10,1", "2,0.4,2,1,1,10,1")
	b := csvTable(t, "point,load,mode,seed,replications,x_mean_ns,x_ci95_ns", "0,0.20,m,1,1,20,1", "1,0.3,m,1,1,20,1", "2,0.1,m,1,1,10,1")
	c := simtest.Must(Compare(a, b, "x_mean_ns", nil))(t)
	simtest.ErrorIf(t, c.OnlyA != 1 || c.OnlyB != 1 || strings.Join(c.Keys, " ") != "load", "%+v", c)
	rows := c.Table().Rows
	last := len(rows[0]) - 1
	simtest.Alike(t, "rows", len(rows), 2, rows[1][:4], "[0.2 10 20 10]", rows[1][last], Higher, rows[0][last], Unclear)
	c = simtest.Must(Compare(csvTable(t, compared, "0,1,1,1,Inf,1,steady", "1,2,1,1,5,1,steady"), csvTable(t, compared, "0,1,1,1,5,1,steady"), "latency_mean_ns", nil))(t)
	simtest.Equal(t, c.Differences[0].Significance, NoInterval, "5 ns against infinity:")
	values, parts := simtest.Must2(a.Split("load"))(t)
	simtest.Alike(t, "split", values, "[0.1 0.2 0.4]", len(parts[1].Rows), 1, sweptColumns(parts[1]), "[vcs]")
	for _, x := range []struct {
		a, b   *Table
		metric string
		by     []string
		want   string
	}{
		{a, b, "y", nil, `first table: no column "y"`},
		{a, b, "x_mean_ns", []string{"vcs"}, "first table: rows with the same vcs differ in load"},
		{a, b, "x_mean_ns", []string{"load", "vcs"}, `second table: no column "vcs"`},
		{a, csvTable(t, "point,load,replications,x_mean_ns", "0,7,1,1"), "x_mean_ns", nil, "no row of one table matches"},
		{a, csvTable(t, "point,load,vcs,seed,replications,x_mean_ns,channel", "0,0.1,2,1,1,1,a", "0,0.1,2,1,1,1,b"), "x_mean_ns", nil, "second table: rows with the same load, vcs have seed 1 twice"},
		{a, csvTable(t, "load,x_mean_ns"), "x_mean_ns", nil, "second table: has no rows"},
		{csvTable(t, compared, "0,1,1,1,,,saturated"), a, "state", nil, `first table: column "state" has no numbers`}, // unlike latencies
	} {
		simtest.Refuse(Compare(x.a, x.b, x.metric, x.by))(t, x.want)
	}
}
