package main

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestCompare: exit status 0 without a significant difference, 1 with, 2 where
// there is nothing to compare.
func TestCompare(t *testing.T) {
	const head = "point,mode,load,seed,replications,latency_mean_ns,latency_ci95_ns\n"
	inFolder(t, map[string]string{
		"a.csv": head + "0,x,0.1,1,1,10,0.1\n1,x,0.2,1,1,20,0.1\n",
		"b.csv": head + "0,x,0.1,1,1,10,0.1\n1,x,0.2,1,1,22,0.1\n",
		"c.csv": head + "0,x,0.1,1,1,10,0.1\n1,y,0.1,1,1,12,0.1\n2,z,0.1,1,1,10,0.1\n",
		"s.csv": strings.ReplaceAll(head, "\n", ",state\n") + "0,x,0.1,1,1,10,0.1,steady\n1,x,0.1,2,1,11,0.1,steady\n2,y,0.1,1,1,,,saturated\n3,y,0.1,2,1,,,saturated\n",
	})
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"a.csv a.csv", exitSuccess, "0 of 2 differences are significant"},
		{"a.csv b.csv", exitFailure, "1 of 2 differences are significant (t test on the intervals of single rows"},
		{"a.csv b.csv --format csv", exitFailure, "baseline,variant,mode,load,a,b,difference,difference_ci95,relative,method,t,degrees_of_freedom,p,p_holm,judgement\na.csv,b.csv,x,0.1,10,10,0,"},
		{"a.csv b.csv --where load=0.10", exitSuccess, "0 of 1 differences"},
		{"a.csv b.csv --where load=0.2 --where mode=x", exitFailure, "1 of 1 differences"},
		{"c.csv --between mode", exitFailure, "latency_mean_ns of y (b) against x (a)"},
		{"c.csv --between mode", exitFailure, "latency_mean_ns of z (b) against x (a)"},
		{"c.csv --between mode --baseline y", exitFailure, "latency_mean_ns of z (b) against y (a)"},
		{"c.csv --baseline mode=z --where load=0.1", exitFailure, "latency_mean_ns of x (b) against z (a)"},
		{"c.csv --between mode --baseline mode=z --where load=0.1", exitFailure, "latency_mean_ns of x (b) against z (a)"},
		{"s.csv --between mode", exitSuccess, "b saturated\n\n0 of 0 differences are significant (two-sided"},
		{"s.csv --between mode --baseline y", exitSuccess, "a saturated\n"},
		{"a.csv c.csv", exitSuccess, "1 only in a\n2 only in b\n"},
		{"a.csv b.csv --by load,mode", exitFailure, "load  mode  a"},
		{"c.csv --best --between mode --metric latency_mean_ns", exitSuccess, "Of 3 variants, x and z tie for the lowest latency_mean_ns, 10 ns at x; y has 2.00 ± 0.14 ns (20.0 %) more than that.\n\nmetric           place  mode  value  value_ci95  difference"},
		{"c.csv --best --between mode --metric latency_mean_ns --format csv", exitSuccess, "\nlatency_mean_ns,,3,y,12,0.1,2,"},
	} {
		says(t, c.status, c.want, "", append([]string{"compare"}, strings.Fields(c.args)...)...)
	}
	refusesAll(t, [][2]string{
		{"compare a.csv", "weft: one table: name a second"},
		{"compare a.csv b.csv --between mode", "weft: --between and --baseline compare variants within one table"},
		{"compare a.csv b.csv --baseline mode=x", "weft: --between and --baseline compare variants within one table"},
		{"compare a.csv b.csv --baseline x", "weft: --baseline x: is for one table"},
		{"compare a.csv --between mode", "a.csv: mode has one value"},
		{"compare a.csv --between mdoe", `(did you mean "mode"?)`},
		{"compare c.csv --between mode --baseline w", "c.csv: --baseline: no row has mode = w"},
		{"compare a.csv b.csv --where load=3", "a.csv: --where: no row has load = 3: there are 0.1, 0.2"},
		{"compare a.csv b.csv --where laod=3", `a.csv: --where: no column "laod" (did you mean "load"?)`},
		{"compare a.csv b.csv --where load", "weft: --where load: want KEY=VALUE"},
		{"compare a.csv d.csv", "d.csv: no such file"},
		{"compare a.csv b.csv --metric x", `no column "x"`},
		{"compare a.csv b.csv --format xml", "want text or csv"},
		{"compare a.csv b.csv --best", "weft: --best ranks all variants of one table"},
		{"compare c.csv --best --metric mode", "weft: --best --metric mode: is no time"},
		{"compare c.csv --best --metric x", `c.csv: no column "x"`},
		{"compare c.csv --best --between moed", `c.csv: no column "moed"`},
		{"compare c.csv --best", "c.csv: there is nothing to rank: no column says"},
	})
}

// TestCompareFolders: result folders stand for their tables; what is compared is what their kind is ranked
// by, and what a formula gives differs by no chance.
func TestCompareFolders(t *testing.T) {
	inFolder(t, map[string]string{"modes.toml": "kind = \"connections\"\n[sweep]\n\"connections.mode\" = [\"rc\", \"xrc-s\"]\n"})
	succeeds(t, "run", "modes.toml", "--out", "o", "--quiet")
	says(t, exitSuccess, "memory_per_node_bytes of o (b) against o (a)", "", "compare", "o", "o")
	says(t, exitFailure, "1 of 1 differ: formulas leave nothing to chance", "", "compare", "o", "--between", "connections.mode")
}

// TestCompareBest: the head of a report is what weft compare --best says.
func TestCompareBest(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small})
	succeeds(t, "run", "small.toml", "--set", `sweep.switch.vcs=[2,4]`, "--set", "sweep.traffic.load=[0.1,0.9]", "--out", "o", "--quiet")
	stdout, _ := succeeds(t, "compare", "o/results.csv", "--best")
	succeeds(t, "report", "o", "--quiet")
	page := read(t, "o/report.html")
	answer, _, _ := strings.Cut(stdout, "\n\n")
	sentences := strings.Split(answer, "\n")
	simtest.FatalIf(t, len(sentences) < 1 || !strings.Contains(answer, "throughput") && !strings.Contains(answer, "keep up to a load of"),
		"%v", stdout)
	for _, sentence := range sentences {
		simtest.ErrorIf(t, !strings.Contains(page, `<p class="answer">`+sentence+"</p>"), "the report does not say %q", sentence)
	}
}
