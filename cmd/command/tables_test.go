package command

import (
	"os"
	"strings"
	"testing"
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
