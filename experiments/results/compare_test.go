package results

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// csvTable reads CSV written on one line each.
func csvTable(t *testing.T, lines ...string) *Table {
	t.Helper()
	return table(t, strings.Join(lines, "\n"))
}

const compared = "point,load,seed,replications,latency_mean_ns,latency_ci95_ns,state"

// TestCompare: t, degrees of freedom, p and half-width by hand.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name       string
		a, b       []string
		t, df, p   float64
		half       float64
		paired     bool
		conclusion string
	}{
		// Means 2 and 5, variances 1: standard error sqrt(1/3 + 1/3) = 0.81650,
		// t = 3/0.81650, df = 4. P(|t4| > 3.6742) = 1 - I, with
		// sin(theta) = t/sqrt(t^2+4) = 0.87831: s(1 + cos^2/2) = 0.97869.
		// t quantile of 4: 2.77645.
		{
			"other seeds", []string{"0,0.1,1,1,1,,steady", "1,0.1,2,1,2,,steady", "2,0.1,3,1,3,,steady"},
			[]string{"0,0.1,4,1,4,,steady", "1,0.10,5,1,5,,steady", "2,0.1,6,1,6,,steady"}, 3.67423, 4, 0.02131, 2.26696, false, Higher,
		},
		// Differences 1, 1.1, 0.9: mean 1, standard error 0.1/sqrt(3), t =
		// sqrt(300), df 2: p = 1 - t/sqrt(t^2 + 2). Quantile 4.30265.
		{
			"same seeds", []string{"0,0.1,1,1,2,,steady", "1,0.1,2,1,3.1,,steady", "2,0.1,3,1,3.9,,steady"},
			[]string{"0,0.1,1,1,1,,steady", "1,0.1,2,1,2,,steady", "2,0.1,3,1,3,,steady"}, -17.32051, 2, 0.0033167, 0.248414, true, Lower,
		},
		// Half-widths 1 by quantile 2.02269 of 39: standard errors 0.494391
		// and 0.699174 together; df 19+19; quantile 2.02439 of 38.
		{"intervals", []string{"0,0.1,1,1,10,1,steady"}, []string{"0,0.1,1,1,12,1,steady"}, 2.860520, 38, 0.0068379, 1.415404, false, Higher},
		// Two replications: quantile 12.7062 of 1, so standard errors 1 and 1;
		// df 2, t = 3/sqrt(2): p = 1 - 3/sqrt(13). Half-width 4.30265*sqrt(2).
		{"replications", []string{"0,0.1,1,2,10,12.7062047,steady"}, []string{"0,0.1,1,2,13,12.7062047,steady"}, 2.12132, 2, 0.1679497, 6.084869, false, Unclear},
		{"saturated", []string{"0,0.1,1,1,10,1,steady"}, []string{"0,0.1,1,1,99,1,saturated"}, math.NaN(), math.NaN(), math.NaN(), math.NaN(), false, NotSteady},
		{"undecided", []string{"0,0.1,1,1,10,1,undecided"}, []string{"0,0.1,1,1,99,1,steady"}, math.NaN(), math.NaN(), math.NaN(), math.NaN(), false, NotDecided},
		{"no interval", []string{"0,0.1,1,1,10,,steady"}, []string{"0,0.1,1,1,99,1,steady"}, math.NaN(), math.NaN(), math.NaN(), math.NaN(), false, NoInterval},
		{"no spread", []string{"0,0.1,1,1,10,0,steady"}, []string{"0,0.1,1,1,10,0,steady"}, math.NaN(), math.NaN(), math.NaN(), math.NaN(), false, Equal},
		{"no spread, different", []string{"0,0.1,1,1,10,0,steady"}, []string{"0,0.1,1,1,9,0,steady"}, math.Inf(-1), math.NaN(), 0, 0, false, Lower},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := simtest.Must(Compare(csvTable(t, append([]string{compared}, c.a...)...), csvTable(t, append([]string{compared}, c.b...)...), "latency_mean_ns", nil))(t)
			d := r.Differences[0]
			for _, x := range []struct {
				name      string
				got, want float64
			}{{"t", d.T, c.t}, {"df", d.DF, c.df}, {"p", d.P, c.p}, {"half-width", d.HalfWidth, c.half}} {
				if same := x.got == x.want || math.IsNaN(x.got) && math.IsNaN(x.want); !same && !(math.Abs(x.got-x.want) <= 1e-4*math.Abs(x.want)+5e-6) {
					t.Errorf("%s = %v, want %v", x.name, x.got, x.want)
				}
			}
			if d.Paired != c.paired || d.Significance != c.conclusion || len(r.Differences) != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestHolm: p of 0.01, 0.04 and 0.03 become 3*0.01, then 2*0.03, and for 0.04
// not less than that.
func TestHolm(t *testing.T) {
	c := Comparison{Differences: []Difference{{P: 0.01, Delta: 1}, {P: 0.04, Delta: 1}, {P: math.NaN(), Significance: NoInterval}, {P: 0.03, Delta: -1}}}
	c.adjust()
	want := []float64{0.03, 0.06, 0, 0.06}
	for i, d := range c.Differences {
		if math.Abs(d.Holm-want[i]) > 1e-12 {
			t.Errorf("%d: %v, want %v", i, d.Holm, want[i])
		}
	}
	if c.Significant() != 1 || c.Tests() != 3 || c.Differences[0].Significance != Higher || c.Differences[3].Significance != Unclear {
		t.Errorf("%+v", c)
	}
}

// TestFamilyError: among 1000 comparisons of 6 loads with 5 replications each
// and no difference, at most 5 % report one. The standard deviation of that
// share is sqrt(0.05*0.95/1000) = 0.7 %; the bounds are three of them, below
// for a test that never rejects anything. With a difference of three standard
// deviations at one load, t is about 3/sqrt(2/5) = 4.7 with 8 degrees of
// freedom, beyond Holm's first limit (3.5) in most.
func TestFamilyError(t *testing.T) {
	r := sim.NewStream(1, "family", 0)
	normal := func() float64 { // of 12 uniform numbers: variance 1
		x := -6.0
		for range 12 {
			x += r.Float64()
		}
		return x
	}
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
	if n := rejected(0); n > 50+21 || n < 50-21 {
		t.Errorf("%d of 1000 comparisons report a difference that is not there", n)
	}
	if n := rejected(3); n < 700 {
		t.Errorf("only %d of 1000 comparisons find the difference", n)
	}
}

// TestMatching: rows match by the keys that both tables sweep, and what has no
// partner is counted; rows that would be mixed up are refused.
func TestMatching(t *testing.T) {
	a := csvTable(t, "point,load,vcs,seed,replications,x_mean_ns,x_ci95_ns", "0,0.1,2,1,1,10,1", "1,0.2,2,1,1,10,1", "2,0.4,2,1,1,10,1")
	b := csvTable(t, "point,load,mode,seed,replications,x_mean_ns,x_ci95_ns", "0,0.20,m,1,1,20,1", "1,0.3,m,1,1,20,1", "2,0.1,m,1,1,10,1")
	c := simtest.Must(Compare(a, b, "x_mean_ns", nil))(t)
	if c.OnlyA != 1 || c.OnlyB != 1 || strings.Join(c.Keys, " ") != "load" {
		t.Errorf("%+v", c)
	}
	rows := c.Table().Rows
	if len(rows) != 2 || strings.Join(rows[1][:4], " ") != "0.2 10 20 10" || rows[1][len(rows[1])-1] != Higher || rows[0][len(rows[0])-1] != Unclear {
		t.Errorf("%v", rows)
	}
	values, parts, err := a.Split("load")
	if err != nil || strings.Join(values, " ") != "0.1 0.2 0.4" || len(parts[1].Rows) != 1 || strings.Join(sweptColumns(parts[1]), " ") != "vcs" {
		t.Errorf("split: %v %v %v", values, parts, err)
	}
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
	} {
		simtest.Refuse(Compare(x.a, x.b, x.metric, x.by))(t, x.want)
	}
}
