package booksim

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/weft-sim/weft/experiments"
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
	rows, err := c.Judge(results, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range Table(rows).Rows {
		got = append(got, row[2]+" "+row[3]+" "+row[12]+" "+row[13]+" "+row[14])
	}
	want := []string{
		"0.1 latency 2.9 3 agrees", "0.1 accepted 1.4 1.5 agrees",
		"0.2 latency -32.667 73.504 agrees", "0.2 accepted -2.439 1.5 differs",
		"0.3 latency 42.857  not-judged", "0.3 accepted 4 5 agrees",
		"0.4 latency   not-run", "0.4 accepted   not-run",
		"0.5 latency   differs", "0.5 accepted 0 1.5 agrees", // no latency where BookSim2 has one
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if rows[4].Note != "saturated in 1 of BookSim2's 2 runs" {
		t.Errorf("note %q", rows[4].Note)
	}
	rows, _ = c.Judge(nil, errors.New("no such topology"))
	if len(rows) != 1 || rows[0].Verdict != NotRun || Table(rows).Rows[0][15] != "no such topology" {
		t.Errorf("without results: %+v", rows)
	}
	if _, err := c.Judge(&experiments.Table{Columns: []string{"a"}}, nil); err == nil {
		t.Error("results without the columns are judged")
	}
}
