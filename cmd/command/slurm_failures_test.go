package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// longSlurmSweep is a sweep of twelve points, each of which takes some tenths of a second.
const longSlurmSweep = `
title = "Slurm"
kind = "traffic"
[topology]
type = "mesh"
dims = [3, 3]
[measure]
warmup = 200
window = 200_000
[routing]
type = "dor"
[sweep]
"traffic.load" = { from = 0.05, to = 0.6, step = 0.05 }
`

// TestSlurmTasksCancelledAndNodeDaemonKilled: of a sweep on a real Slurm, twelve
// tasks on four slots, a running task and a waiting one are cancelled, and then
// the node's daemon is killed while tasks run and comes back two seconds later.
// The results are those of one process on this machine.
func TestSlurmTasksCancelledAndNodeDaemonKilled(t *testing.T) {
	if os.Getenv(realSlurm) == "" {
		t.Skip("needs a real Slurm: make test-slurm")
	}
	file, dir := sweepFile(t, longSlurmSweep), t.TempDir()
	local, cluster := filepath.Join(dir, "local"), filepath.Join(dir, "cluster")
	if out, status := weftProcess(t, "run", file, "--out", local, "--quiet"); status != exitSuccess {
		t.Fatalf("status %d: %s", status, out)
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), self, "run", file, "--out", cluster, "--executor", "slurm", "--chunk", "1", "--poll", "300ms")
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	victims := []string{waitForTasks(t, "RUNNING", 1)[0]}
	array, _, _ := strings.Cut(victims[0], "_")
	victims = append(victims, array+"_11")
	if text, err := exec.Command("scancel", victims...).CombinedOutput(); err != nil {
		t.Fatalf("scancel %v: %v: %s", victims, err, text)
	}
	// Slurm takes a minute to end a task whose node's daemon dies meanwhile.
	waitForTasks(t, "COMPLETING", 0)
	waitForTasks(t, "RUNNING", 1)
	restartNodeDaemon(t, 2*time.Second)

	if err := run.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if !strings.Contains(out.String(), "lost and are submitted again") {
		t.Errorf("nothing is said of the tasks %v that were cancelled: %s", victims, out.String())
	}
	want, err := os.ReadFile(filepath.Join(local, "results.csv"))
	if err != nil || bytes.Count(want, []byte("\n")) != 13 {
		t.Fatalf("results.csv of one process, %v:\n%s", err, want)
	}
	got, err := os.ReadFile(filepath.Join(cluster, "results.csv"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("results.csv of the cluster (%v):\n%s\nof one process:\n%s", err, got, want)
	}
}

// waitForTasks returns the array tasks in a state, once there are so many at
// least; with 0, once there are none.
func waitForTasks(t *testing.T, state string, least int) []string {
	t.Helper()
	for {
		out, err := exec.Command("squeue", "--noheader", "--array", "--states="+state, "--format=%i").Output()
		if err != nil {
			t.Fatal(err)
		}
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
	text, err := os.ReadFile(filepath.Join(filepath.Dir(conf), "slurmd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	if err := exec.Command("slurmd", "-f", conf).Run(); err != nil {
		t.Fatalf("slurmd does not start again: %v", err)
	}
}
