package experiments

import (
	"math"
	"strings"
	"testing"
)

func table(t *testing.T, text string) *Table {
	t.Helper()
	table, err := ReadTable("t.csv", strings.NewReader(strings.TrimSpace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestSaturationThroughput: the highest accepted load among points that accept
// at least 0.95 of the offered one; if none does, that at the lowest offered.
func TestSaturationThroughput(t *testing.T) {
	for _, c := range []struct {
		name, rows string
		want       float64
	}{
		// 0.49/0.5 = 0.98 keeps up, 0.55/0.6 = 0.917 does not
		{"knee", "0.2,0.2\n0.5,0.49\n0.6,0.55", 0.49},
		// exactly 0.95 counts
		{"limit", "0.2,0.2\n0.4,0.38", 0.38},
		{"none keeps up", "0.3,0.03\n0.1,0.04\n0.2,0.05", 0.04},
		{"none at all", "", math.NaN()},
	} {
		got, err := acceptedAt95(table(t, "offered_load,accepted_load\n"+c.rows))
		if err != nil || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v (%v), want %v", c.name, got, err, c.want)
		}
	}
	if _, err := acceptedAt95(table(t, "offered_load\n1")); err == nil {
		t.Error("no error without accepted_load")
	}
}

// TestFormula: values by hand; what is not arithmetic is refused.
func TestFormula(t *testing.T) {
	of := map[string]float64{"a": 6, "b": 3}
	for text, want := range map[string]float64{
		"a / b":                   2,
		"min(a, b) + max(b, 1)/3": 4,
		"1 - b / a":               0.5,
		"a/b - 1":                 1,
		"-(a - b) * 2 + 0.5":      -5.5,
		"a / (b - b)":             math.Inf(1),
		"(a - b) / (a + b)":       1.0 / 3,
		"a*b/1e3":                 0.018,
		"(a+b)/2 - 4.5 + b*0":     0,
	} {
		f, err := parseFormula(text, []string{"a", "b"})
		if err != nil || f.value(of) != want {
			t.Errorf("%s = %v (%v), want %v", text, f, err, want)
		}
	}
	for _, text := range []string{"", "a", "a + c", "a % b", "f(a, b)", "a + \"b\"", "a; b", "a + b.c", "a && b", "!a + b", "a[b]", "func() { a; b }", "min(a)", "min(a, b, 1)", "max(a, b...)", "a.min(a, b)"} {
		if _, err := parseFormula(text, []string{"a", "b"}); err == nil {
			t.Errorf("%q accepted", text)
		}
	}
}

// TestJudge: every kind of target at both sides of its tolerance.
func TestJudge(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		target   Target
		measured float64
		want     string
	}{
		{Target{Kind: "predicted", Value: 0.5, Tolerance: 0.15, ToleranceKind: "rel"}, 0.575, Met},
		{Target{Kind: "predicted", Value: 0.5, Tolerance: 0.15, ToleranceKind: "rel"}, 0.576, Missed},
		{Target{Kind: "predicted", Value: 0.5, Tolerance: 0.15, ToleranceKind: "rel"}, 0.425, Met},
		{Target{Kind: "exact", Value: 3, Tolerance: 0, ToleranceKind: "abs"}, 3, Met},
		{Target{Kind: "exact", Value: 3, Tolerance: 0, ToleranceKind: "abs"}, 4, Missed},
		{Target{Kind: "bound", Value: 0.9, Tolerance: 0, ToleranceKind: "at_most"}, 0.9, Met},
		{Target{Kind: "bound", Value: 0.9, Tolerance: 0, ToleranceKind: "at_most"}, 0.91, Missed},
		{Target{Kind: "bound", Value: 0.9, Tolerance: 0.1, ToleranceKind: "at_most"}, 0.98, Met},
		{Target{Kind: "bound", Value: 0.84, Tolerance: 0, ToleranceKind: "at_least"}, 0.84, Met},
		{Target{Kind: "bound", Value: 0.84, Tolerance: 0, ToleranceKind: "at_least"}, 0.83, Missed},
		{Target{Kind: "exact", Value: 3, Tolerance: 1, ToleranceKind: "abs"}, nan, Missed},
		{Target{Kind: "calibrated", Value: 3, Tolerance: nan}, 3.44, Calibrated}, // 15 % where none is given
		{Target{Kind: "calibrated", Value: 29, Tolerance: nan}, 290, Missed},
		{Target{Kind: "calibrated", Value: 3, Tolerance: 0.3, ToleranceKind: "rel"}, 3.8, Calibrated},
		{Target{Kind: "reported", Value: 3, Tolerance: nan}, 7, Reported},
	} {
		if got := c.target.Judge(c.measured); got != c.want {
			t.Errorf("%+v, measured %v: %s, want %s", c.target, c.measured, got, c.want)
		}
	}
}

// TestLabels: axis labels with units from column names.
func TestLabels(t *testing.T) {
	for column, want := range map[string]string{
		"latency_mean_ns":         "Mean latency (ns)",
		"latency_p99_ns":          "99th percentile of latency (ns)",
		"network_latency_mean_ns": "Mean network latency (ns)",
		"accepted_load":           "Accepted load (flits per terminal and cycle)",
		"switch.buffer_flits":     "Input buffer of each virtual channel (flits)",
		"time_us":                 "Time (µs)",
		"hops_mean":               "Mean hops",
		"minimal_fraction":        "Minimal fraction",
		"memory_per_process_mb":   "Memory per process (MB)",
		"max_efi":                 "Maximum EFI",
	} {
		if got := AxisLabel(column); got != want {
			t.Errorf("%s: %q, want %q", column, got, want)
		}
	}
	if got := commonLabel([]string{"latency_p50_ns", "latency_p99_ns"}); got != "Latency (ns)" {
		t.Errorf("common label %q", got)
	}
}
