package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

// TestClosedOutput: a table that nobody would get is refused before anything is
// computed; what is not asked for on standard output is not missed, and a shell's
// > /dev/null is meant.
func TestClosedOutput(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": small, "a.csv": "point,traffic.load,seed,replications,offered_load,latency_mean_ns\n0,0.1,1,1,0.1,5\n"})
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, c := range []struct {
		args   string
		stdout *os.File
		status int
		want   string
	}{
		{"run x.toml --out - --quiet", nil, exitUsage, "standard output is closed"},
		{"run x.toml --out - --quiet", null, exitSuccess, ""},
		{"run x.toml --out r --quiet", nil, exitSuccess, ""},
		{"topology x.toml", nil, exitUsage, "standard output is closed"},
		{"topology x.toml -o x.dot", nil, exitSuccess, ""},
		{"check x.toml", nil, exitUsage, "standard output is closed"},
		{"list", nil, exitUsage, "standard output is closed"},
		{"list", null, exitSuccess, ""},
		{"explain load", nil, exitUsage, "standard output is closed"},
		{"init traffic", nil, exitUsage, "standard output is closed"},
		{"init traffic -o new.toml", nil, exitSuccess, ""},
		{"schema", nil, exitUsage, "standard output is closed"},
		{"man run", nil, exitUsage, "standard output is closed"},
		{"version", nil, exitUsage, "standard output is closed"},
		{"--version", nil, exitUsage, "standard output is closed"},
		{"--help", nil, exitUsage, "standard output is closed"},
		{"help run", nil, exitUsage, "standard output is closed"},
		{"completion bash", nil, exitUsage, "standard output is closed"},
		{"compare a.csv a.csv", nil, exitUsage, "standard output is closed"},
		{"bench", nil, exitUsage, "standard output is closed"},
	} {
		status, stderr := inProcess(t, c.stdout, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("weft %s: status %d, want %d\n%s", c.args, status, c.status, stderr)
		}
	}
}

// inProcess runs the command in a process of its own; a stdout of nil is closed there.
func inProcess(t *testing.T, stdout *os.File, args ...string) (status int, stderr string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	p, err := os.StartProcess(self, append([]string{"weft"}, args...), &os.ProcAttr{
		Env: append(os.Environ(), asCommand+"=1"), Files: []*os.File{nil, stdout, write},
	})
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	state, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return state.ExitCode(), string(text)
}
