package results

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// sweepTable is a table of results: two routings, two seeds.
const sweepTable = `point,routing.type,traffic.load,seed,replications,offered_load,accepted_load,latency_mean_ns,latency_ci95_ns,state
0,min,0.1,1,1,0.1,0.1,10,0.5,steady
1,min,0.1,2,1,0.1,0.1,12,0.5,steady
2,min,0.3,1,1,0.3,0.29,20,1,steady
3,min,0.3,2,1,0.3,0.31,20,1,undecided
4,min,0.2,1,1,0.2,0.18,15,1,steady
5,min,0.2,2,1,0.2,0.22,15,1,steady
6,min,0.4,1,1,0.4,0.35,99,,saturated
7,min,0.4,2,1,0.4,0.4,30,,steady
8,val,0.1,1,1,0.1,0.1,15,0.25,saturated
9,val,0.1,2,1,0.1,0.1,15,0.25,steady
10,ugal,0.1,1,1,0.1,0.1,9,0.25,steady
11,ugal,0.1,2,1,0.1,0.1,11,0.25,steady
`

// TestKnees: the knee is between the highest load at which all seeds are steady and
// the lowest at which one is saturated; an open verdict is neither. Of 0.18 and 0.22
// the interval is t(0.975, 1) * 0.04/sqrt(2)/sqrt(2) = 12.706 * 0.02.
func TestKnees(t *testing.T) {
	table, err := ReadTable("t", strings.NewReader(sweepTable))
	if err != nil {
		t.Fatal(err)
	}
	knees := table.Knees()
	if len(knees) != 3 {
		t.Fatalf("%d knees", len(knees))
	}
	k := knees[0]
	if k.Variant != "routing.type = min" || k.Point != 0 || k.Seeds != 2 || k.Steady != 0.2 || k.Not != 0.4 ||
		math.Abs(k.Accepted-0.2) > 1e-12 || math.Abs(k.AcceptedHalf-12.706*0.02) > 1e-4 || k.Idle != 11 || k.IdleLoad != 0.1 {
		t.Errorf("min: %+v", k)
	}
	if k := knees[1]; !math.IsNaN(k.Steady) || k.Not != 0.1 || !math.IsNaN(k.Accepted) || k.Point != 8 {
		t.Errorf("val: %+v", k)
	}
	if k := knees[2]; k.Steady != 0.1 || !math.IsNaN(k.Not) {
		t.Errorf("ugal: %+v", k)
	}
	one, err := table.Where(map[string]string{"seed": "1", "routing.type": "min"})
	if err != nil {
		t.Fatal(err)
	}
	// One seed: the interval of the run; 0.3 is steady.
	if k := one.Knees()[0]; k.Variant != "" || k.Steady != 0.3 || k.IdleHalf != 0.5 || !math.IsNaN(k.AcceptedHalf) {
		t.Errorf("one seed: %+v", k)
	}
	single, err := table.Where(map[string]string{"traffic.load": "0.1"})
	if err != nil || single.Knees() != nil {
		t.Errorf("one load: %v", single.Knees())
	}
	// Loads that measure.find has found are no sweep.
	if got := without(table, "traffic.load").Knees(); got != nil {
		t.Errorf("found loads: %+v", got)
	}
	if got := (&Table{Columns: []string{"point", "hops"}}).Knees(); got != nil {
		t.Errorf("a table without loads: %v", got)
	}
}

// without is a table without a column.
func without(t *Table, column string) *Table {
	at := slices.Index(t.Columns, column)
	less := &Table{Columns: slices.Delete(slices.Clone(t.Columns), at, at+1)}
	for _, row := range t.Rows {
		less.Rows = append(less.Rows, slices.Delete(slices.Clone(row), at, at+1))
	}
	return less
}
