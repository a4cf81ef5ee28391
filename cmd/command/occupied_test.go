package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// contents reads every file below the present folder.
func contents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name := range strings.FieldsSeq(left(t)) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	return all
}

// TestFinishedFolder: a folder with results is not written to unless --force
// or --resume is given; --force leaves nothing of the earlier run, figures and
// tables included, and nothing else is touched.
func TestFinishedFolder(t *testing.T) {
	other := strings.NewReplacer("latency_mean_ns", "accepted_load", `file = "latency"`, `file = "throughput"`, "window = 400", "window = 500").Replace(small)
	inFolder(t, map[string]string{"small.toml": strings.Replace(small, "window = 400", "window = 400\nlinks = true", 1), "other.toml": other})
	if status, _, stderr := weft(t, "run", "small.toml", "--out", "o", "--quiet"); status != exitSuccess {
		t.Fatal(stderr)
	}
	if err := os.WriteFile("o/notes.txt", []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := contents(t)
	for _, args := range []string{
		"run small.toml --out o",
		"run other.toml --out o --quick",
		"run small.toml --out o --executor slurm",
		"multicast small.toml --out o",
	} {
		status, stdout, stderr := weft(t, strings.Fields(args)...)
		if status != exitUsage || stdout != "" || !strings.Contains(stderr, "result folder o: holds the results of a finished run: replace them with --force, ") {
			t.Errorf("weft %s: status %d: %s", args, status, stderr)
		}
	}
	for name, text := range contents(t) {
		if before[name] != text {
			t.Errorf("%s has changed", name)
		}
	}
	if status, _, stderr := weft(t, "run", "small.toml", "--out", "o", "--resume", "--quiet"); status != exitSuccess || stderr != "" {
		t.Errorf("resumed: status %d: %s", status, stderr)
	}
	if got := contents(t); got["o/results.csv"] != before["o/results.csv"] || got["o/latency.svg"] != before["o/latency.svg"] {
		t.Error("resumed: other results or another figure")
	}
	if status, _, stderr := weft(t, "run", "other.toml", "--out", "o", "--force", "--quiet"); status != exitSuccess || stderr != "" {
		t.Errorf("forced: status %d: %s", status, stderr)
	}
	want := "o/journal o/manifest.json o/notes.txt o/performance.csv o/resolved.toml o/results.csv o/throughput.data.csv o/throughput.png o/throughput.svg other.toml small.toml"
	if got := left(t); got != want {
		t.Errorf("forced: left %s\nwant %s", got, want)
	}
	if contents(t)["o/results.csv"] == before["o/results.csv"] {
		t.Error("forced: the results are still those of the earlier run")
	}
	for _, c := range [][2]string{
		{"run small.toml --out o --force --resume", "--resume keeps what --force replaces"},
		{"run small.toml --out - --force", "--force needs a result folder"},
	} {
		if status, _, stderr := weft(t, strings.Fields(c[0])...); status != exitUsage || !strings.Contains(stderr, c[1]) {
			t.Errorf("weft %s: status %d: %s", c[0], status, stderr)
		}
	}
}

// TestOccupiedFolders: one folder of several that holds results stops the
// command before any is computed; many are not all named.
func TestOccupiedFolders(t *testing.T) {
	inFolder(t, map[string]string{"a.toml": small, "b.toml": small})
	if status, _, stderr := weft(t, "run", "b.toml", "--out", "o/b", "--quiet"); status != exitSuccess {
		t.Fatal(stderr)
	}
	status, _, stderr := weft(t, "run", "a.toml", "b.toml", "--out", "o", "--quiet")
	if _, err := os.Stat("o/a"); status != exitUsage || !strings.Contains(stderr, filepath.Join("o", "b")) || err == nil {
		t.Errorf("status %d: %s (%v)", status, stderr, err)
	}
	for _, name := range []string{"theorem1", "theorem2", "faults", "overhead", "exchange"} {
		if err := os.MkdirAll(filepath.Join("r/dswitch", name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("r/dswitch", name, "manifest.json"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	status, _, stderr = weft(t, "reproduce", "dswitch", "--quick", "--out", "r")
	if status != exitUsage || strings.Count(stderr, "--force") != 3 || !strings.Contains(stderr, "\nand 2 more folders\n") {
		t.Errorf("reproduce: status %d: %s", status, stderr)
	}
}

// TestForceInterrupted: --force begins again where a run was interrupted.
func TestForceInterrupted(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small})
	if err := os.MkdirAll("o/slurm", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"o/journal": "torn", "o/slurm/job.json": "{}"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if status, _, stderr := weft(t, "run", "small.toml", "--out", "o"); status != exitUsage || !strings.Contains(stderr, "begin again with --force") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if status, _, stderr := weft(t, "run", "small.toml", "--out", "o", "--force", "--quiet"); status != exitSuccess {
		t.Errorf("forced: status %d: %s", status, stderr)
	}
	if strings.Contains(left(t), "slurm") {
		t.Errorf("left %s", left(t))
	}
}
