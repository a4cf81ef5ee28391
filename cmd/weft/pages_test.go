package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/cmd/command"
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestTutorialNumbers: the tables of docs/tutorial.md are what its experiment gives, to
// the digits that they show.
func TestTutorialNumbers(t *testing.T) {
	page := read(t, root, "docs", "tutorial.md")
	inFolder(t, documentedFiles(page))
	for _, c := range []struct {
		args   string
		header string // of the table
		keys   int    // columns that select a row
		rows   int
	}{
		{"--set sweep.traffic.load=[0.1,0.3]", "| `routing.type` | `traffic.load` | `accepted_load` | `latency_mean_ns` | `state` |", 2, 6},
		{"--set routing.type=ugal-l --set sweep.traffic.load=[0.3] --set sweep.switch.buffer_flits=[8,16,32,64]", "| `switch.buffer_flits` | `latency_mean_ns` | `latency_p99_ns` |", 1, 4},
	} {
		stdout, _ := succeeds(t, append([]string{"run", "neighbours.toml", "--out", "-", "--quiet"}, strings.Fields(c.args)...)...)
		results := simtest.Must(results.ReadTable("results", strings.NewReader(stdout)))(t)
		_, body, found := strings.Cut(page, c.header+"\n|---")
		simtest.FatalIf(t, !found, "no table %s", c.header)
		columns := strings.Split(strings.ReplaceAll(strings.Trim(c.header, "| "), "`", ""), " | ")
		shown := 0
		for _, line := range strings.Split(body, "\n")[1:] {
			if !strings.HasPrefix(line, "| ") {
				break
			}
			shown++
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			selection := map[string]string{}
			for i := range c.keys {
				selection[columns[i]] = cells[i]
			}
			row, err := results.Where(selection)
			simtest.FatalIf(t, err != nil || len(row.Rows) != 1, "%s: %d rows (%v)", line, len(row.Rows), err)
			for i := c.keys; i < len(cells); i++ {
				at := simtest.Must(row.Column(columns[i]))(t)
				got := row.Rows[0][at]
				simtest.ErrorIf(t, !sameDigits(got, cells[i]), "%s: %s is %s", line, columns[i], got)
			}
		}
		simtest.ErrorIf(t, shown != c.rows, "%d rows of %s", shown, c.header)
	}
}

// sameDigits tells whether a cell, rounded to the digits that a page shows, is what the
// page shows.
func sameDigits(cell, shown string) bool {
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		return cell == shown
	}
	_, fraction, _ := strings.Cut(shown, ".")
	scale := math.Pow10(len(fraction))
	return fmt.Sprintf("%.*f", len(fraction), math.Floor(x*scale+0.5)/scale) == shown
}

// TestJobsNumbers: the slowdowns and latencies in docs/jobs.md are what its commands give, and what is put
// down to the checkpoint, to the digits that they show.
func TestJobsNumbers(t *testing.T) {
	if !simtest.Some(t, 0, true, false, false)[0] {
		t.Skip("runs once in three commits, and in make soak")
	}
	page := read(t, root, "docs", "jobs.md")
	docs := simtest.Must(filepath.Abs(filepath.Join(root, "docs")))(t)
	inFolder(t, withCluster(t, documentedFiles(page)))
	column := func(file string, key map[string]string, name string) (sum float64) {
		table := simtest.Must(results.ReadTableFile(file))(t)
		table = simtest.Must(table.Where(key))(t)
		for _, x := range simtest.Must(table.Numbers(name))(t) {
			sum += x
		}
		return sum
	}
	shown := func(want string) { simtest.Says(t, page, want) }
	number := func(dir, job, name string) float64 {
		return column(dir+"/jobs.csv", map[string]string{"job": job}, name)
	}
	for _, command := range shellCommands(page) {
		succeeds(t, command...)
		if command[0] != "run" {
			continue
		}
		dir := command[3]
		beside, alone := number(dir, "solver", "message_p99_s"), number(dir, "solver", "message_p99_alone_s")
		shown(fmt.Sprintf("| `%s` | %.3f | %.1f | %.1f |", dir, number(dir, "solver", "slowdown"), beside*1e6, alone*1e6))
		isolated := math.Abs(beside/alone-1) <= 0.05
		simtest.ErrorIf(t, isolated != (dir != "scattered"), "%s: 99 %% of the solver's messages take up to %v s, alone %v: "+
			"want them within 5 %% by a lane and by placement", dir, beside, alone)
	}
	blamed := func(job string) float64 {
		return column("scattered/job_blame.csv", map[string]string{"job": job, "slowed_by": "checkpoint"}, "slowdown")
	}
	shown(fmt.Sprintf("slows the solver by %.2f and the transpose by %.2f", blamed("solver"), blamed("transpose")))
	golden(t, filepath.Join(docs, "jobs.svg"), []byte(read(t, "scattered/who.svg")))
	cable := map[string]string{"job": "solver", "slowed_by": "checkpoint", "from": "MF0;ib2:SX6036/U1 port 35", "to": "MF0;ib7:SX6036/U1 port 7"}
	shown(fmt.Sprintf("%.0f %% lie at\none cable, `%s` to `%s`", 100*column("scattered/job_blame.csv", cable, "share"), cable["from"], cable["to"]))
}

// asCommand makes this test binary the weft command.
const asCommand = "WEFT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(withoutCache(m))
}

// withoutCache runs the tests with a cache folder of their own.
func withoutCache(m *testing.M) int {
	dir, err := os.MkdirTemp("", "weft-cache")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv(command.CacheVariable, dir)
	return m.Run()
}

// commandInPath puts this test binary into the path as weft.
func commandInPath(t *testing.T) {
	t.Helper()
	self := simtest.Must(os.Executable())(t)
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "weft")); err != nil {
		t.Skipf("cannot make a link: %v", err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(asCommand, "1")
}

// TestScripting runs the blocks of docs/scripting.md, in order and in one
// folder, as they stand: shell, Python and a makefile.
func TestScripting(t *testing.T) {
	text := read(t, root, "docs", "scripting.md")
	commandInPath(t)
	t.Chdir(t.TempDir())
	said := map[string]string{}
	for _, part := range strings.Split(text, "\n```")[1:] {
		language, code, _ := strings.Cut(part, "\n")
		var command []string
		switch language {
		case "":
			continue // the end of a block
		case "sh":
			command = []string{"sh", "-euc", code}
		case "python":
			command = []string{"python3", "-c", code}
		case "makefile":
			simtest.Check(t, os.WriteFile("Makefile", []byte(code+"\n"), 0o644))
			command = []string{"make"}
		default:
			t.Fatalf("block in %q", language)
		}
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Logf("not run: %v", err)
			continue
		}
		out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
		simtest.ErrorIf(t, err != nil, "%v in\n%s\n%s", err, code, out)
		said[language] += string(out)
	}
	for _, want := range []string{
		"traffic.pattern,traffic.load,accepted_load\nuniform,0.2,0.", `"traffic.load":0.6,`, "slower\n",
		"traffic.pattern,offered_load\nuniform,0.", "report.html\n",
	} {
		simtest.ErrorIf(t, !strings.Contains(said["sh"], want), "no %q in\n%s", want, said["sh"])
	}
	for _, name := range []string{"report.html", "changes.csv", "results/torus/manifest.json", "torus/results.csv"} {
		_, err := os.Stat(name)
		simtest.ErrorIf(t, err != nil && !(strings.HasPrefix(name, "results/") && said["makefile"] == ""), "%v", err)
	}
}

// TestNotebook: the cells of docs/results.ipynb are Python, and run one after the other
// where pandas is at hand; its columns are there in any case.
func TestNotebook(t *testing.T) {
	text := read(t, root, "docs", "results.ipynb")
	var notebook struct {
		Cells []struct {
			Type    string            `json:"cell_type"`
			Source  []string          `json:"source"`
			Outputs []json.RawMessage `json:"outputs"`
		} `json:"cells"`
	}
	simtest.Check(t, json.Unmarshal([]byte(text), &notebook))
	var code strings.Builder
	cells := 0
	for _, c := range notebook.Cells {
		simtest.ErrorIf(t, len(c.Outputs) > 0, "a cell is stored with its output: clear them")
		if c.Type == "code" {
			code.WriteString(strings.Join(c.Source, "") + "\n")
			cells++
		}
	}
	simtest.ErrorIf(t, cells < 5, "%d cells of code", cells)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	commandInPath(t)
	inFolder(t, map[string]string{"cells.py": code.String()})
	interpreter := "python3"
	python := func(args ...string) error {
		out, err := exec.CommandContext(t.Context(), interpreter, args...).CombinedOutput()
		if err != nil {
			t.Logf("%s", out)
		}
		return err
	}
	simtest.Check(t, python("-m", "py_compile", "cells.py"))
	libraries := func(path string) bool {
		return exec.CommandContext(t.Context(), path, "-c", "import pandas, matplotlib").Run() == nil
	}
	// The system's own Python has Debian's packages, whatever comes first in the path.
	if system := "/usr/bin/python3"; !libraries(interpreter) && libraries(system) {
		interpreter = system
	}
	if !libraries(interpreter) {
		simtest.ErrorIf(t, os.Getenv("WEFT_TEST_REPORT") != "", "needs pandas and matplotlib (Debian packages python3-pandas and python3-matplotlib)")
		succeeds(t, "run", "examples/torus", "--quick", "--quiet", "--format", "csv,jsonl", "--set", "measure.links=true", "--out", "torus")
		for name, columns := range map[string][]string{"results": {"traffic.pattern", "traffic.load", "accepted_load", "latency_p99_ns", "state"}, "links": {"from", "to", "flits_per_cycle"}} {
			header, _, _ := strings.Cut(read(t, "torus", name+".csv"), "\n")
			for _, c := range columns {
				simtest.ErrorIf(t, !strings.Contains(","+header+",", ","+c+","), "%s.csv has no column %s", name, c)
			}
		}
		t.Skip("python3 has no pandas: compiled, not run")
	}
	t.Setenv("MPLBACKEND", "Agg")
	simtest.Check(t, python("cells.py"))
}

const meshOfTwo = `kind = "traffic"
topology = { type = "mesh", dims = [3, 3] }
routing = { type = "dor" }
`

// A network and its tables, written as a cluster's tools would, are simulated as what
// they are; damaged tables are named by file and line, with status 2.
func TestForwardingTables(t *testing.T) {
	inFolder(t, map[string]string{"mesh.toml": meshOfTwo, "cluster.toml": "kind = \"traffic\"\n[topology]\ntype = \"ibnetdiscover\"\npath = \"cluster.ibnetdiscover\"\n[routing]\ntype = \"lft\"\ntables = \"cluster.lfts\"\n"})
	status, stdout, stderr := weft(t, "topology", "mesh.toml", "-o", "cluster.ibnetdiscover", "--lfts", "cluster.lfts")
	simtest.FatalIf(t, status != exitSuccess || stdout+stderr != "", "%v %v %v", status, stdout, stderr)
	// Dimension order on a mesh: 24 channels between switches, and no cycle.
	says(t, exitSuccess, "free from deadlock: 24 channels", "", "check", "cluster.toml")
	// The tables of the tables are the tables.
	succeeds(t, "topology", "cluster.toml", "--lfts", "again.lfts")
	text := read(t, "cluster.lfts")
	simtest.Equal(t, read(t, "again.lfts"), text, "")
	lines := strings.SplitAfter(text, "\n")
	for _, c := range []struct {
		name, text, want string
	}{
		{"cut", strings.Join(lines[:5], ""), "cluster.lfts:5: the file ends within the table of S0\n"},
		{"LID", strings.Replace(text, "0x0002 ", "0xd002 ", 1), "cluster.lfts:3: LID 0xd002: want 0x0001 to 0xbfff\n"},
		{"port", strings.Replace(text, "0x0002 002", "0x0002 007", 1), "cluster.lfts:3: S0 has no cable at port 7\n"},
		{"circle", strings.Replace(text, "0x0001 003", "0x0001 002", 1), "cluster.lfts:22: packets for H0 go round in a circle: S1 port 2, S2 port 2\n"},
	} {
		simtest.Check(t, os.WriteFile("cluster.lfts", []byte(c.text), 0o644))
		refuses(t, c.want, "run", "cluster.toml")
	}
	// Random choices are no tables.
	refuses(t, "routing.type = \"table\": tables by destination cannot say this", "topology", "mesh.toml", "--set", "routing.type=table", "--set", "routing.ties=random", "--lfts", "x")
	refuses(t, "need an experiment file", "topology", "cluster.ibnetdiscover", "--lfts", "x")
	says(t, exitSuccess, "", "warning: on one virtual lane these tables can deadlock (a cycle of 5 channels (exact))",
		"topology", "mesh.toml", "--set", "topology.type=torus", "--set", "topology.dims=[5]", "--lfts", "ring.lfts")
}

// Every workload is a file that loads; the smallest one runs in a process of
// its own, and its table compares with itself.
func TestBench(t *testing.T) {
	out := ends(t, exitSuccess, "", "bench", "--format", "csv", "multicast-10496")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	simtest.FatalIf(t, len(lines) != 2 || lines[0] != strings.Join(experiments.BenchColumns, ",") || !strings.HasPrefix(lines[1], "multicast-10496,event,"), "%s", out)
	path := filepath.Join(t.TempDir(), "a.csv")
	simtest.Check(t, os.WriteFile(path, []byte(out), 0o644))
	ends(t, exitSuccess, " 1.000\n", "bench", "--compare", path+","+path)
	for _, args := range [][]string{{"bench", "no-such"}, {"bench", "--format", "x"}, {"bench", "--compare", path}, {"bench", "--compare", path + ",none.csv"}} {
		ends(t, exitUsage, "", args...)
	}
}

// TestProfile: a process writes its CPU profile, which pprof compresses by gzip, where make profile says.
func TestProfile(t *testing.T) {
	inFolder(t, nil)
	for path, status := range map[string]int{"cpu": exitSuccess, "none/cpu": exitUsage} {
		c := exec.Command(simtest.Must(os.Executable())(t), "version")
		c.Env = append(os.Environ(), asCommand+"=1", "WEFT_CPU_PROFILE="+path)
		c.Run()
		simtest.Equal(t, c.ProcessState.ExitCode(), status, "%s: status", path)
	}
	simtest.ErrorIf(t, !strings.HasPrefix(read(t, "cpu"), "\x1f\x8b"), "no profile")
}

// TestNullOutput: a program that starts weft and wants nothing of what it prints gives it
// /dev/null, which many (Python's subprocess.DEVNULL, service managers) open for reading and
// writing. That is meant: no error, nothing on standard error.
func TestNullOutput(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": small})
	self := simtest.Must(os.Executable())(t)
	for _, mode := range []int{os.O_WRONLY, os.O_RDWR} {
		null := simtest.Must(os.OpenFile(os.DevNull, mode, 0))(t)
		defer null.Close()
		for _, args := range []string{"list kinds", "version", "--help", "check x.toml", "topology x.toml", "run x.toml --out - --quiet"} {
			c := exec.Command(self, strings.Fields(args)...)
			c.Env = append(os.Environ(), asCommand+"=1")
			var stderr strings.Builder
			c.Stdin, c.Stdout, c.Stderr = null, null, &stderr
			err := c.Run()
			simtest.ErrorIf(t, err != nil || stderr.Len() > 0, "weft %s: %v\n%s", args, err, &stderr)
		}
	}
}
