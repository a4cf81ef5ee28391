package command

import (
	"strings"
	"testing"
)

// TestCompare: exit status 0 without a significant difference, 1 with, 2 where
// there is nothing to compare.
func TestCompare(t *testing.T) {
	const head = "point,mode,load,seed,replications,latency_mean_ns,latency_ci95_ns\n"
	inFolder(t, map[string]string{
		"a.csv": head + "0,x,0.1,1,1,10,0.1\n1,x,0.2,1,1,20,0.1\n",
		"b.csv": head + "0,x,0.1,1,1,10,0.1\n1,x,0.2,1,1,22,0.1\n",
		"c.csv": head + "0,x,0.1,1,1,10,0.1\n1,y,0.1,1,1,12,0.1\n2,z,0.1,1,1,10,0.1\n",
	})
	for _, c := range []struct {
		args   string
		status int
		want   string // in both outputs together
	}{
		{"a.csv a.csv", exitSuccess, "0 of 2 differences are significant"},
		{"a.csv b.csv", exitFailure, "1 of 2 differences are significant (Welch's t test"},
		{"a.csv b.csv --format csv", exitFailure, "baseline,variant,mode,load,a,b,difference,difference_ci95,relative,method,t,degrees_of_freedom,p,p_holm,judgement\na.csv,b.csv,x,0.1,10,10,0,"},
		{"c.csv --between mode", exitFailure, "latency_mean_ns of y (b) against x (a)"},
		{"c.csv --between mode", exitFailure, "latency_mean_ns of z (b) against x (a)"},
		{"a.csv c.csv", exitSuccess, "1 only in a\n2 only in b\n"},
		{"a.csv b.csv --by load,mode", exitFailure, "load  mode  a"},
		{"a.csv", exitUsage, "weft: one table: name a second"},
		{"a.csv b.csv --between mode", exitUsage, "--between compares variants within one table"},
		{"a.csv --between mode", exitUsage, "a.csv: mode has one value"},
		{"a.csv --between mdoe", exitUsage, `(did you mean "mode"?)`},
		{"a.csv d.csv", exitUsage, "d.csv: no such file"},
		{"a.csv b.csv --metric x", exitUsage, `no column "x"`},
		{"a.csv b.csv --format xml", exitUsage, "want text or csv"},
	} {
		status, stdout, stderr := weft(t, append([]string{"compare"}, strings.Fields(c.args)...)...)
		if status != c.status || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("weft compare %s: status %d, want %d\n%s%s", c.args, status, c.status, stdout, stderr)
		}
	}
}
