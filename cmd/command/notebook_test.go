package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotebook: the cells of docs/results.ipynb are Python, and run one after the other
// where pandas is at hand; its columns are there in any case.
func TestNotebook(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "results.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	var notebook struct {
		Cells []struct {
			Type    string            `json:"cell_type"`
			Source  []string          `json:"source"`
			Outputs []json.RawMessage `json:"outputs"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(text, &notebook); err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	cells := 0
	for _, c := range notebook.Cells {
		if len(c.Outputs) > 0 {
			t.Error("a cell is stored with its output: clear them")
		}
		if c.Type == "code" {
			code.WriteString(strings.Join(c.Source, "") + "\n")
			cells++
		}
	}
	if cells < 5 {
		t.Errorf("%d cells of code", cells)
	}
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
	if err := python("-m", "py_compile", "cells.py"); err != nil {
		t.Fatal(err)
	}
	libraries := func(path string) bool {
		return exec.CommandContext(t.Context(), path, "-c", "import pandas, matplotlib").Run() == nil
	}
	// The system's own Python has Debian's packages, whatever comes first in the path.
	if system := "/usr/bin/python3"; !libraries(interpreter) && libraries(system) {
		interpreter = system
	}
	if !libraries(interpreter) {
		if os.Getenv("WEFT_TEST_REPORT") != "" {
			t.Error("needs pandas and matplotlib (Debian packages python3-pandas and python3-matplotlib)")
		}
		status, _, stderr := weft(t, "run", "examples/torus", "--quick", "--quiet", "--format", "csv,jsonl", "--set", "measure.links=true", "--out", "torus")
		if status != exitSuccess {
			t.Fatal(stderr)
		}
		for name, columns := range map[string][]string{"results": {"traffic.pattern", "traffic.load", "accepted_load", "latency_p99_ns", "state"}, "links": {"from", "to", "flits_per_cycle"}} {
			table, err := os.ReadFile("torus/" + name + ".csv")
			if err != nil {
				t.Fatal(err)
			}
			header, _, _ := strings.Cut(string(table), "\n")
			for _, c := range columns {
				if !strings.Contains(","+header+",", ","+c+",") {
					t.Errorf("%s.csv has no column %s", name, c)
				}
			}
		}
		t.Skip("python3 has no pandas: compiled, not run")
	}
	t.Setenv("MPLBACKEND", "Agg")
	if err := python("cells.py"); err != nil {
		t.Error(err)
	}
}
