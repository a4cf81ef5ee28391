package main

import (
	"bytes"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// realSlurm, if set, makes the tests use the Slurm of this machine: make test-slurm.
const realSlurm = "WEFT_TEST_SLURM"

const slurmSweep = `
title = "Slurm"
kind = "traffic"
topology = { type = "mesh", dims = [3, 3] }
measure = { warmup = 200, window = 400 }
routing = { type = "dor" }
[sweep]
"traffic.load" = [0.1, 0.2, 0.3, 0.4, 0.5]
`

// fakeSlurm puts an sbatch, squeue and scancel in PATH that run the tasks of an
// array at once, but for those in lose, which vanish the first time.
func fakeSlurm(t *testing.T, lose string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, script := range map[string]string{
		"sbatch": `#!/bin/sh
for a; do
	case $a in --array=*) list=${a#--array=} ;; --partition=none) echo "invalid partition" >&2; exit 1 ;; esac
	script=$a
done
echo "$list" >> "$FAKE/arrays"
for part in $(echo "$list" | tr , ' '); do
	for i in $(seq "${part%-*}" "${part#*-}"); do
		case " $LOSE " in *" $i "*) [ -e "$FAKE/lost$i" ] || { touch "$FAKE/lost$i"; continue; } ;; esac
		SLURM_ARRAY_TASK_ID=$i sh "$script" > "$FAKE/out$i" 2>&1
	done
done
echo 7
`,
		"squeue":  "#!/bin/sh\n",
		"scancel": "#!/bin/sh\necho \"$@\" >> \"$FAKE/cancelled\"\n",
	} {
		simtest.Check(t, os.WriteFile(filepath.Join(folder, name), []byte(script), 0o755))
	}
	t.Setenv("FAKE", folder)
	t.Setenv("LOSE", lose)
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	return folder
}

// ends runs weft in a process of its own, as tasks do, which has to end with a status, and to
// print some words; it returns all that it printed.
func ends(t *testing.T, status int, words string, args ...string) string {
	t.Helper()
	self := simtest.Must(os.Executable())(t)
	t.Setenv(asCommand, "1")
	c := exec.CommandContext(t.Context(), self, args...)
	out, err := c.CombinedOutput()
	simtest.FatalIf(t, err != nil && c.ProcessState == nil || c.ProcessState.ExitCode() != status || !strings.Contains(string(out), words),
		"weft %s: %v, want status %d and %q: %s", strings.Join(args, " "), err, status, words, out)
	return string(out)
}

func sweepFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sweep.toml")
	simtest.Check(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// computedHere writes a file, computes it in one process, and names the result folders of
// that and of a cluster.
func computedHere(t *testing.T, text string) (file, local, cluster string) {
	t.Helper()
	file, dir := sweepFile(t, text), t.TempDir()
	local, cluster = filepath.Join(dir, "local"), filepath.Join(dir, "cluster")
	ends(t, exitSuccess, "", "run", file, "--out", local, "--quiet")
	return file, local, cluster
}

// sameAsHere compares the files of results that patterns name, and lists them.
func sameAsHere(t *testing.T, local, cluster string, patterns ...string) (names []string) {
	t.Helper()
	for _, pattern := range patterns {
		found := simtest.Must(filepath.Glob(filepath.Join(local, pattern)))(t)
		names = append(names, found...)
	}
	for _, name := range names {
		want := simtest.Must(os.ReadFile(name))(t)
		got, err := os.ReadFile(cluster + strings.TrimPrefix(name, local))
		simtest.ErrorIf(t, err != nil || !bytes.Equal(got, want), "%s of the cluster (%v):\n%s\nof one process:\n%s", name, err, got, want)
	}
	return names
}

// The points of a job array make the same results.csv as those of one process,
// also where tasks were lost. Five points, two a task: tasks 0, 1, 2.
func TestSlurmResultsAreTheSame(t *testing.T) {
	lost := ""
	if os.Getenv(realSlurm) == "" {
		folder := fakeSlurm(t, "1")
		lost = "1 tasks were lost and are submitted again"
		defer func() {
			arrays, _ := os.ReadFile(filepath.Join(folder, "arrays"))
			simtest.ErrorIf(t, string(arrays) != "0-2\n1\n", "arrays submitted: %q, want 0-2, then 1", arrays)
		}()
	}
	file, local, cluster := computedHere(t, slurmSweep)
	ends(t, exitSuccess, lost, "run", file, "--out", cluster, "--executor", "slurm", "--chunk", "2", "--poll", "300ms")
	sameAsHere(t, local, cluster, "results.csv")
	simtest.ErrorIf(t, results.Exists(filepath.Join(cluster, "slurm")), "the folder of the tasks is left behind")
}

// A task that is lost again and again is given up; its points are the failures,
// the others are there, and a later run computes the rest.
func TestSlurmGivesUp(t *testing.T) {
	if os.Getenv(realSlurm) != "" {
		t.Skip("needs tasks that get lost")
	}
	folder := fakeSlurm(t, "")
	script := "#!/bin/sh\necho 7\n"
	simtest.Check(t, os.WriteFile(filepath.Join(folder, "sbatch"), []byte(script), 0o755))
	file, dir := sweepFile(t, slurmSweep), filepath.Join(t.TempDir(), "r")
	out := ends(t, exitFailure, "", "run", file, "--out", dir, "--executor", "slurm", "--poll", "20ms")
	simtest.ErrorIf(t, strings.Count(out, "its Slurm task was lost 3 times") != 5, "%v", out)
	ends(t, exitSuccess, "", "run", file, "--out", dir, "--resume", "--quiet")
}

// What Slurm refuses, and what is missing, is said in a line, with status 2 and
// nothing left behind.
func TestSlurmRefusals(t *testing.T) {
	file := sweepFile(t, slurmSweep)
	dir := filepath.Join(t.TempDir(), "r")
	if os.Getenv(realSlurm) == "" {
		fakeSlurm(t, "")
	}
	for args, want := range map[string]string{
		"slurm --sbatch=--partition=none --out " + dir: "sbatch refuses: ",
		"slurm --out -":                 "needs a result folder",
		"slurm --chunk -1 --out " + dir: "--chunk -1: want at least 1",
		"pbs --out " + dir:              "want local or slurm",
		"local --chunk 2 --out " + dir:  "are for --executor slurm",
	} {
		ends(t, exitUsage, want, strings.Fields("run "+file+" --executor "+args)...)
		simtest.ErrorIf(t, results.Exists(dir), "%v: a result folder is left behind", args)
	}
	t.Setenv("PATH", t.TempDir())
	ends(t, exitUsage, "sbatch is not in PATH", "run", file, "--executor", "slurm", "--out", dir)
}

// An interrupted run cancels its array and keeps what was finished.
func TestSlurmInterrupted(t *testing.T) {
	if os.Getenv(realSlurm) != "" {
		t.Skip("the fake one tells what was cancelled")
	}
	folder := fakeSlurm(t, "1 2")
	file, dir := sweepFile(t, slurmSweep), filepath.Join(t.TempDir(), "r")
	// The lost tasks stay in the queue: what is not known is when Slurm will run them. The
	// signal comes with the first look at the queue that finds two points in the journal, and
	// once: a second one would end the process at once.
	script := `#!/bin/sh
if [ "$(wc -l < "$RESULTS/journal")" -eq 2 ] && mkdir "$FAKE/told" 2> /dev/null; then kill -INT $PPID; fi
echo '7 1'; echo '7 2'
`
	simtest.Check(t, os.WriteFile(filepath.Join(folder, "squeue"), []byte(script), 0o755))
	t.Setenv("RESULTS", dir)
	ends(t, exitFailure, "interrupted: 2 of 5 points", "run", file, "--out", dir, "--executor", "slurm", "--chunk", "2", "--poll", "50ms")
	text, _ := os.ReadFile(filepath.Join(folder, "cancelled"))
	simtest.ErrorIf(t, string(text) != "7\n", "cancelled %q, want job 7", text)
}

// Points that refinement adds, and the files of points, are the same from job arrays, one for each
// step, as from one process: a 3x3 mesh keeps up with little of 1.
func TestSlurmRefines(t *testing.T) {
	if os.Getenv(realSlurm) == "" {
		fakeSlurm(t, "")
	}
	text := strings.Replace(slurmSweep, "[0.1, 0.2, 0.3, 0.4, 0.5]", "[0.1, 1.0]\nrefine = { \"traffic.load\" = 0.2 }\n[trace]\npackets = 2", 1)
	text = strings.NewReplacer("window = 400", "window = 10000, series = 4", "[sweep]", "[traffic]\npattern = \"transpose\"\n[sweep]").Replace(text)
	file, local, cluster := computedHere(t, text)
	out := ends(t, exitSuccess, "", "run", file, "--out", cluster, "--executor", "slurm", "--poll", "100ms")
	names := sameAsHere(t, local, cluster, "results.csv", "resolved.toml", "series/*", "traces/*")
	// From 0.1 to 1 there are 5 spacings: 2 or 3 points find the knee to one.
	points := (len(names) - 2) / 3
	simtest.ErrorIf(t, points != 4 && points != 5, "%d points, files %v", points, names)
	simtest.ErrorIf(t, strings.Count(out, "job array") < 3, "one job array a step: %s", out)
}

// longSlurmSweep is a sweep of twelve points, each of which takes some tenths of a second.
var longSlurmSweep = strings.NewReplacer("window = 400", "window = 200_000",
	"[0.1, 0.2, 0.3, 0.4, 0.5]", "{ from = 0.05, to = 0.6, step = 0.05 }").Replace(slurmSweep)

// TestSlurmTasksCancelledAndNodeDaemonKilled: of a sweep on a real Slurm, twelve tasks on four
// slots, a running task and a waiting one are cancelled, and then the node's daemon is killed while
// tasks run and comes back two seconds later. The results are those of one process on this machine.
func TestSlurmTasksCancelledAndNodeDaemonKilled(t *testing.T) {
	if os.Getenv(realSlurm) == "" {
		t.Skip("needs a real Slurm: make test-slurm")
	}
	file, local, cluster := computedHere(t, longSlurmSweep)
	self := simtest.Must(os.Executable())(t)
	run := exec.CommandContext(t.Context(), self, "run", file, "--out", cluster, "--executor", "slurm", "--chunk", "1", "--poll", "300ms")
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	simtest.Check(t, run.Start())
	victims := []string{waitForTasks(t, "RUNNING", 1)[0]}
	array, _, _ := strings.Cut(victims[0], "_")
	victims = append(victims, array+"_11")
	text, err := exec.Command("scancel", victims...).CombinedOutput()
	simtest.FatalIf(t, err != nil, "scancel %v: %v: %s", victims, err, text)
	// Slurm takes a minute to end a task whose node's daemon dies meanwhile.
	waitForTasks(t, "COMPLETING", 0)
	waitForTasks(t, "RUNNING", 1)
	restartNodeDaemon(t, 2*time.Second)
	err = run.Wait()
	simtest.FatalIf(t, err != nil, "%v: %s", err, out.String())
	simtest.ErrorIf(t, !strings.Contains(out.String(), "lost and are submitted again"),
		"nothing is said of the tasks %v that were cancelled: %s", victims, out.String())
	sameAsHere(t, local, cluster, "results.csv")
	rows, err := os.ReadFile(filepath.Join(local, "results.csv"))
	simtest.ErrorIf(t, err != nil || bytes.Count(rows, []byte("\n")) != 13, "results.csv of one process, %v:\n%s", err, rows)
}

// waitForTasks returns the array tasks in a state, once there are so many at
// least; with 0, once there are none.
func waitForTasks(t *testing.T, state string, least int) []string {
	t.Helper()
	for {
		out := simtest.Must(exec.Command("squeue", "--noheader", "--array", "--states="+state, "--format=%i").Output())(t)
		if tasks := strings.Fields(string(out)); len(tasks) >= least && (least > 0 || len(tasks) == 0) {
			return tasks
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// restartNodeDaemon kills slurmd as a crash would and starts it again later.
func restartNodeDaemon(t *testing.T, after time.Duration) {
	t.Helper()
	conf := os.Getenv("SLURM_CONF")
	text := simtest.Must(os.ReadFile(filepath.Join(filepath.Dir(conf), "slurmd.pid")))(t)
	pid := simtest.Must(strconv.Atoi(strings.TrimSpace(string(text))))(t)
	daemon := simtest.Must(os.FindProcess(pid))(t)
	simtest.Check(t, daemon.Kill())
	time.Sleep(after)
	err := exec.Command("slurmd", "-f", conf).Run()
	simtest.FatalIf(t, err != nil, "slurmd does not start again: %v", err)
}

// TestSlurmPercent: sbatch replaces %j in the path of an output, and %% by one %.
func TestSlurmPercent(t *testing.T) {
	if os.Getenv(realSlurm) != "" {
		t.Skip("needs to see what sbatch is given")
	}
	folder := fakeSlurm(t, "")
	script := "#!/bin/sh\nfor a; do case $a in --output=*) echo \"$a\" > \"$FAKE/output\" ;; esac; done\nexit 1\n"
	simtest.Check(t, os.WriteFile(filepath.Join(folder, "sbatch"), []byte(script), 0o755))
	dir := filepath.Join(t.TempDir(), "r%j")
	ends(t, exitUsage, "sbatch refuses", "run", sweepFile(t, slurmSweep), "--out", dir, "--executor", "slurm")
	got := string(simtest.Must(os.ReadFile(filepath.Join(folder, "output")))(t))
	simtest.ErrorIf(t, !strings.Contains(got, "/r%%j/") || !strings.HasSuffix(got, "/task-%a.log\n"), "sbatch is given %s", got)
}
