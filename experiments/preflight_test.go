package experiments

import (
	"strings"
	"testing"
)

// reported is a dragonfly of 72 terminals under fixed measurement.
const reported = `
[topology]
type = "dragonfly"
p = 2
a = 4
h = 2
[measure]
warmup = 1000
window = 4000
`

// TestReport: findings are said once each, with the settings that they are
// about; a sweep wholly above the bound is warned of; what a run does not need
// is left out of its own preflight.
func TestReport(t *testing.T) {
	f := load(t, reported+`
[sweep]
"routing.type" = ["min", "val"]
"traffic.pattern" = ["uniform", "worst-case"]
"traffic.load" = [0.3, 0.4]
`, Options{})
	report, err := f.Preflight(true)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range report.Notes {
		text, _, _ := strings.Cut(n.Text, ":")
		got = append(got, n.Topic+"|"+n.Where+"|"+text)
	}
	for _, want := range []string{
		"deadlock|routing.type = min|free from deadlock",
		"deadlock|routing.type = val|free from deadlock",
		"throughput|routing.type = min, traffic.pattern = worst-case|at most 0.125 flits per terminal and cycle",
		"latency|routing.type = min, traffic.pattern = uniform|",
		"cost||roughly ",
	} {
		count := 0
		for _, g := range got {
			if strings.HasPrefix(g, want) {
				count++
			}
		}
		if count != 1 {
			t.Errorf("%d of %q in\n%s", count, want, strings.Join(got, "\n"))
		}
	}
	if len(report.Warnings) != 1 || report.Warnings[0].Key != "traffic.load" || !strings.Contains(report.Warnings[0].Message, "from 0.3 on, with a bound of 0.125") {
		t.Errorf("warnings: %+v", report.Warnings)
	}
	proofs := 0 // one for each routing, not for each point
	f.shared.entries.Range(func(key, _ any) bool {
		if strings.HasPrefix(key.(string), "certificate ") {
			proofs++
		}
		return true
	})
	if proofs != 2 {
		t.Errorf("%d certificates for 8 points of 2 networks", proofs)
	}
	if short, err := f.Preflight(false); err != nil || len(short.Notes) != 2 || len(short.Warnings) != 0 {
		t.Errorf("before a run: %+v, %v", short, err)
	}
}

// TestPreflightOfResumedRun: points that are finished are not examined again,
// others are. What there is to warn of is a deadlock that is allowed.
func TestPreflightOfResumedRun(t *testing.T) {
	text := "kind = \"traffic\"\n[topology]\ntype = \"torus\"\ndims = [4, 4]\n[routing]\ntype = \"dor\"\nvc_rule = \"none\"\n[switch]\nvcs = 1\n" +
		"[measure]\nwarmup = 10\nwindow = 20\n[sweep]\n\"traffic.load\" = LOADS\n"
	file := func(loads string) *File {
		return load(t, strings.Replace(text, "LOADS", loads, 1), Options{AllowDeadlock: true})
	}
	dir := t.TempDir()
	for i, c := range []struct {
		loads    string
		warnings int
		run      bool
	}{
		{"[1.0]", 1, true},
		{"[1.0]", 0, false},
		{"[0.9, 1.0]", 1, false},
		{"[0.9]", 1, false},
	} {
		f := file(c.loads)
		report, err := f.PreflightRest(dir)
		if err != nil || len(report.Warnings) != c.warnings {
			t.Errorf("%d: %+v, %v; want %d warnings", i, report, err, c.warnings)
		}
		if c.run {
			execute(t, f, Execution{Dir: dir})
		}
	}
}
