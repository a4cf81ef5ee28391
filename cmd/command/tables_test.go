package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

const meshOfTwo = `kind = "traffic"
[topology]
type = "mesh"
dims = [3, 3]
[routing]
type = "dor"
`

// A network and its tables, written as a cluster's tools would, are simulated as what
// they are; damaged tables are named by file and line, with status 2.
func TestForwardingTables(t *testing.T) {
	inFolder(t, map[string]string{"mesh.toml": meshOfTwo, "cluster.toml": "kind = \"traffic\"\n[topology]\ntype = \"ibnetdiscover\"\npath = \"cluster.ibnetdiscover\"\n[routing]\ntype = \"lft\"\ntables = \"cluster.lfts\"\n"})
	if status, stdout, stderr := weft(t, "topology", "mesh.toml", "-o", "cluster.ibnetdiscover", "--lfts", "cluster.lfts"); status != exitSuccess || stdout+stderr != "" {
		t.Fatal(status, stdout, stderr)
	}
	// Dimension order on a mesh: 24 channels between switches, and no cycle.
	if status, stdout, stderr := weft(t, "check", "cluster.toml"); status != exitSuccess || !strings.Contains(stdout, "free from deadlock: 24 channels") {
		t.Error(status, stdout, stderr)
	}
	// The tables of the tables are the tables.
	if status, _, stderr := weft(t, "topology", "cluster.toml", "--lfts", "again.lfts"); status != exitSuccess {
		t.Error(status, stderr)
	}
	text, err := os.ReadFile("cluster.lfts")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile("again.lfts"); err != nil || string(again) != string(text) {
		t.Errorf("%v\n%s\nwant\n%s", err, again, text)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for _, c := range []struct {
		name, text string
		want       string
	}{
		{"cut", strings.Join(lines[:5], ""), "cluster.lfts:5: the file ends within the table of S0\n"},
		{"LID", strings.Replace(string(text), "0x0002 ", "0xd002 ", 1), "cluster.lfts:3: LID 0xd002: want 0x0001 to 0xbfff\n"},
		{"port", strings.Replace(string(text), "0x0002 002", "0x0002 007", 1), "cluster.lfts:3: S0 has no cable at port 7\n"},
		{"circle", strings.Replace(string(text), "0x0001 003", "0x0001 002", 1), "cluster.lfts:22: packets for H0 go round in a circle: S1 port 2, S2 port 2\n"},
	} {
		if err := os.WriteFile("cluster.lfts", []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if status, _, stderr := weft(t, "run", "cluster.toml"); status != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d, %s\nwant %q", c.name, status, stderr, c.want)
		}
	}
	// Random choices are no tables.
	if status, _, stderr := weft(t, "topology", "mesh.toml", "--set", "routing.type=table", "--set", "routing.ties=random", "--lfts", "x"); status != exitUsage || !strings.Contains(stderr, "tables by destination cannot say this") {
		t.Error(status, stderr)
	}
	if status, _, stderr := weft(t, "topology", "cluster.ibnetdiscover", "--lfts", "x"); status != exitUsage || !strings.Contains(stderr, "need an experiment file") {
		t.Error(status, stderr)
	}
	if status, _, stderr := weft(t, "topology", "mesh.toml", "--set", "topology.type=torus", "--set", "topology.dims=[5]", "--lfts", "ring.lfts"); status != exitSuccess || !strings.Contains(stderr, "warning: on one virtual lane these tables can deadlock (a cycle of 5 channels (exact))") {
		t.Error(status, stderr)
	}
}

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

// Every workload is a file that loads; the smallest one runs in a process of
// its own, and its table compares with itself.
func TestBench(t *testing.T) {
	out, status := weftProcess(t, "bench", "--format", "csv", "multicast-10496")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != exitSuccess || len(lines) != 2 || lines[0] != strings.Join(experiments.BenchColumns, ",") || !strings.HasPrefix(lines[1], "multicast-10496,event,") {
		t.Fatalf("status %d: %s", status, out)
	}
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
	out, status = weftProcess(t, "bench", "--compare", path+","+path)
	if status != exitSuccess || !strings.Contains(out, " 1.000\n") {
		t.Errorf("status %d: %s", status, out)
	}
	for _, args := range [][]string{{"bench", "no-such"}, {"bench", "--format", "x"}, {"bench", "--compare", path}, {"bench", "--compare", path + ",none.csv"}} {
		if out, status := weftProcess(t, args...); status != exitUsage {
			t.Errorf("%v: status %d: %s", args, status, out)
		}
	}
	for _, w := range experiments.Workloads {
		if err := w.Check(); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
	}
}

// TestNullOutput: a program that starts weft and wants nothing of what it prints gives it
// /dev/null, which many (Python's subprocess.DEVNULL, service managers) open for reading and
// writing. That is meant: no error, nothing on standard error.
func TestNullOutput(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": small})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []int{os.O_WRONLY, os.O_RDWR} {
		null, err := os.OpenFile(os.DevNull, mode, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		for _, args := range []string{"list kinds", "version", "--help", "check x.toml", "topology x.toml", "run x.toml --out - --quiet"} {
			c := exec.Command(self, strings.Fields(args)...)
			c.Env = append(os.Environ(), asCommand+"=1")
			var stderr strings.Builder
			c.Stdin, c.Stdout, c.Stderr = null, null, &stderr
			if err := c.Run(); err != nil || stderr.Len() > 0 {
				t.Errorf("weft %s: %v\n%s", args, err, &stderr)
			}
		}
	}
}
