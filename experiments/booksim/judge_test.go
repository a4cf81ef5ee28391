package booksim

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/judge"
)

// TestHalfWidth: by hand, with Student's quantiles for 99 % of 1, 2 and 3 degrees of
// freedom, 63.657, 9.9248 and 5.8409. {10, 12} and {11, 13} have variances of 2:
// sqrt(2/2 + 2/2) with (1 + 1)^2 / (1/1 + 1/1) = 2 degrees; a single value is taken
// to have the other's variance: sqrt(2 (1/1 + 1/2)) with 1. {1, 2, 3, 4} has 5/3, and
// sqrt(5/3 (1 + 1/4)) with 3.
func TestHalfWidth(t *testing.T) {
	for _, c := range []struct {
		peer, own sample
		want      float64
	}{
		{sample{10, 12}, sample{11, 13}, math.Sqrt2 * 9.9248},
		{sample{10}, sample{11, 13}, math.Sqrt(3) * 63.657},
		{sample{11, 13}, sample{10}, math.Sqrt(3) * 63.657},
		{sample{2}, sample{1, 2, 3, 4}, math.Sqrt(5./3*1.25) * 5.8409},
		{sample{10}, sample{11}, 0},
		{sample{10, 10}, sample{11, 11}, 0},
	} {
		if got := halfWidth(c.peer, c.own); math.Abs(got-c.want) > 1e-4*c.want {
			t.Errorf("%v and %v: %v, want %v", c.peer, c.own, got, c.want)
		}
	}
}

// tableOf is the content of verdicts.csv.
func tableOf(rows []Row) *experiments.Table {
	var all []judge.Row
	for _, r := range rows {
		all = append(all, r.verdict())
	}
	return judge.TableOf(Columns, all)
}

// TestJudge: a point is judged by its share or its interval, whichever is wider. The
// two runs here at load 0.1 do not vary at all: 3 % of 100 cycles and 1.5 % of 0.1
// are allowed. At 0.2, {100, 102} here and a single 150 there: sqrt(2 (1 + 1/2)) *
// 63.657 = 110.26 cycles are. Beyond saturation the accepted load may differ by 5 %,
// and latency is not judged. The run at load 0.4 failed.
func TestJudge(t *testing.T) {
	results := &experiments.Table{Columns: []string{"seed", "offered_load", "latency_mean_ns", "accepted_load"}, Rows: [][]string{
		{"1", "0.1", "102.9", "0.1014"}, {"2", "0.1", "102.9", "0.1014"},
		{"1", "0.2", "100", "0.2"}, {"2", "0.2", "102", "0.2"},
		{"1", "0.3", "500", "0.26"}, {"2", "0.3", "500", "0.26"},
		{"1", "0.5", "", "0.5"}, {"2", "0.5", "", "0.5"},
	}}
	c := Curve{Name: "a", File: "b.csv", Points: []Point{
		{Load: 0.1, Latency: 100, Accepted: 0.1}, {Load: 0.2, Latency: 150, Accepted: 0.205},
		{Load: 0.3, Seed: "1", Latency: 300, Accepted: 0.25}, {Load: 0.3, Seed: "2", Saturated: true, Latency: 400, Accepted: 0.25},
		{Load: 0.4, Latency: 100, Accepted: 0.4}, {Load: 0.5, Latency: 50, Accepted: 0.5},
	}}
	rows, err := c.Judge(Run{Results: results})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range tableOf(rows).Rows {
		got = append(got, row[2]+" "+row[3]+" "+row[12]+" "+row[13]+" "+row[14])
	}
	want := []string{
		"0.1 latency 2.9 3 agrees", "0.1 accepted 1.4 1.5 agrees",
		"0.2 latency -32.667  not-judged", "0.2 accepted -2.439 1.5 differs",
		"0.3 latency 42.857  not-judged", "0.3 accepted 4 5 agrees",
		"0.4 latency   not-run", "0.4 accepted   not-run",
		"0.5 latency   differs", "0.5 accepted 0 1.5 agrees", // no latency where BookSim2 has one
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if want := "noise: seeds leave 74 % open (1 of BookSim2's, 2 of weft's), more than the 9 % that are judged"; rows[2].Note != want {
		t.Errorf("note %q, want %q", rows[2].Note, want)
	}
	if rows[4].Note != "saturated in 1 of BookSim2's 2 runs" {
		t.Errorf("note %q", rows[4].Note)
	}
	rows, _ = c.Judge(Run{Why: errors.New("no such topology")})
	if len(rows) != 1 || rows[0].Verdict != judge.NotRun || tableOf(rows).Rows[0][15] != "no such topology" {
		t.Errorf("without results: %+v", rows)
	}
	if _, err := c.Judge(Run{Results: &experiments.Table{Columns: []string{"a"}}}); err == nil {
		t.Error("results without the columns are judged")
	}
}

// TestNoiseIsBounded: the means of torus_4x4x4_dor_uniform_4flit_vc2_buf8_speedup2 at load 0.8.
// BookSim2's three seeds are those of curves/longpackets_seeds.csv: 108.01, 119.96 and 98.47
// cycles, a mean of 108.81 and a variance of 115.9. Two seeds beside them of 77 and 79 cycles,
// 28 % less: (2*115.9 + 2) / 3 = 77.9 with 3 degrees of freedom, sqrt(77.9 (1/3 + 1/2)) * 5.8409 =
// 47 cycles, 43 %: no agreement, and not clear enough to differ. Twenty such seeds, of a variance
// of 20/19: (231.8 + 20) / 21 = 11.99, sqrt(11.99 (1/3 + 1/20)) * 2.831 = 6.07 cycles, 5.6 %:
// they differ.
func TestNoiseIsBounded(t *testing.T) {
	peer := sample{108.014, 119.957, 98.4712}
	row := Row{Load: 0.8, Peer: peer, Own: sample{77, 79}}
	row.compare(0.03, 0)
	if row.Verdict != judge.NotJudged || !strings.Contains(row.Note, "43 % open (3 of BookSim2's, 2 of weft's), more than the 9 %") {
		t.Errorf("%s: %s", row.Verdict, row.Note)
	}
	if got := MoreSeeds([]Row{row, row}, 20); !reflect.DeepEqual(got, []float64{0.8}) {
		t.Errorf("more seeds at %v", got)
	}
	if got := MoreSeeds([]Row{row}, 3); got != nil { // (231.8 + 4) / 4 = 59, sqrt(59 (1/3 + 1/3)) * 4.604 = 29 cycles
		t.Errorf("more seeds at %v", got)
	}
	for i := range 18 {
		row.Own = append(row.Own, 77+2*float64(i%2))
	}
	if row.compare(0.03, 0); row.Verdict != judge.Differs || math.Abs(row.Allowed-6.07) > 0.01 {
		t.Errorf("%s, allowed %v", row.Verdict, row.Allowed)
	}
	// What is known of the peer's noise apart from its seeds is bounded too: 2.576 * 4 % is 10 %.
	row = Row{Peer: sample{100}, Own: sample{101, 101}}
	if row.compare(0.03, 0.04); row.Verdict != judge.NotJudged || MoreSeeds([]Row{row}, 20) != nil {
		t.Errorf("%+v", row)
	}
}

// TestSaturatedIsNotSteady: a latency of a saturated run of either program is judged against
// none, whatever weft writes there.
func TestSaturatedIsNotSteady(t *testing.T) {
	for _, latency := range []string{"", "100", "500"} {
		for _, state := range []string{"saturated", "steady"} {
			results := &experiments.Table{Columns: []string{"seed", "offered_load", "latency_mean_ns", "accepted_load", "state"}, Rows: [][]string{
				{"1", "0.7", "100", "0.7", "steady"}, {"2", "0.7", latency, "0.7", state},
			}}
			for _, peer := range []bool{false, true} {
				c := Curve{Points: []Point{{Load: 0.7, Latency: 100, Accepted: 0.7, Saturated: peer}}}
				rows, err := c.Judge(Run{Results: results})
				if err != nil {
					t.Fatal(err)
				}
				saturated := peer || state == "saturated"
				if (rows[0].Verdict == judge.NotJudged && strings.HasPrefix(rows[0].Note, "saturated")) != saturated || rows[1].Verdict != judge.Agrees {
					t.Errorf("latency %q, %s, BookSim2 saturated %v: %+v", latency, state, peer, rows)
				}
			}
		}
	}
}

// TestDeadlocks: a deadlock of BookSim2's agrees with a certificate that refuses or a watchdog
// that stops the run.
func TestDeadlocks(t *testing.T) {
	c := Curve{Points: []Point{{Load: 0.5, Latency: 20, Accepted: 0.5}, {Load: 0.6, Deadlock: true, Latency: math.NaN(), Accepted: math.NaN()}}}
	results := &experiments.Table{Columns: []string{"offered_load", "latency_mean_ns", "accepted_load"}, Rows: [][]string{{"0.5", "20", "0.5"}}}
	for _, x := range []struct {
		run           Run
		verdict, note string
	}{
		{Run{Results: results, Refused: "a cycle of two channels"}, judge.Agrees, "weft refuses the network: a cycle of two channels"},
		{Run{Results: results, Stopped: map[float64]string{0.6: "no flit has moved"}}, judge.Agrees, "watchdog stops the run: no flit"},
		{Run{Results: results, Stopped: map[float64]string{0.5: "no flit has moved"}}, judge.Differs, "goes on to the end"},
		{Run{Results: results}, judge.Differs, "finds no cycle"},
		{Run{Results: results, Why: errors.New("too large")}, judge.NotRun, "too large"},
	} {
		rows, err := c.Judge(x.run)
		if err != nil || len(rows) != 3 || rows[2].Metric != "deadlock" || rows[2].Verdict != x.verdict || !strings.Contains(rows[2].Note, x.note) {
			t.Errorf("%v: %+v\nwant %s: %s", err, rows, x.verdict, x.note)
		}
		if cells := tableOf(rows).Rows[2]; cells[2] != "0.6" || cells[12] != "" || cells[13] != "" {
			t.Errorf("%v", cells)
		}
	}
}
