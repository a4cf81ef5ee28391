package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dump unpacks one of OpenSM's files into a folder.
func dump(t *testing.T, dir, name string) string {
	t.Helper()
	text := unzipped(t, filepath.Join(root, "routing", "opensm", "mcast", "testdata", name+".gz"))
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMulticastFiles: the files of a subnet give a table with a row for every
// engine, and for OpenSM's engines the tables that OpenSM computed.
func TestMulticastFiles(t *testing.T) {
	dir := t.TempDir()
	fabric, groups := dump(t, dir, "ft3_8.ibnetdiscover.txt"), dump(t, dir, "grid_4x4x8.sa")
	for engine, name := range map[string]string{"minhop-mc": "minhop", "opensm-sssp": "sssp"} {
		want, err := os.ReadFile(dump(t, dir, "ft3_8."+name+".grid_4x4x8.mcfdbs"))
		if err != nil {
			t.Fatal(err)
		}
		status, stdout, stderr := weft(t, "multicast", "--topology", fabric, "--groups", groups, "--engine", engine, "-o", filepath.Join(dir, "out"))
		if status != exitSuccess || !strings.Contains(stderr, "80 switches, 128 terminals") {
			t.Fatalf("status %d\n%s", status, stderr)
		}
		for _, e := range []string{"mr4lms", "minhop-mc", "opensm-sssp", "gw-sssp"} {
			if !strings.Contains(stdout, "\n"+e+" ") {
				t.Errorf("no row for %s:\n%s", e, stdout)
			}
		}
		got, err := os.ReadFile(filepath.Join(dir, "out", engine+".mcfdbs"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: other tables than OpenSM's", engine)
		}
	}
}

// TestInstalledTables: tables that OpenSM computed serve all groups, with the largest
// EFI of the engine that stands for it; without a row of theirs a group is named.
func TestInstalledTables(t *testing.T) {
	dir := t.TempDir()
	fabric, groups, tables := dump(t, dir, "ft3_8.ibnetdiscover.txt"), dump(t, dir, "grid_4x4x8.sa"), dump(t, dir, "ft3_8.minhop.grid_4x4x8.mcfdbs")
	status, stdout, stderr := weft(t, "multicast", "--topology", fabric, "--groups", groups, "--tables", tables, "--engine", "minhop-mc")
	if status != exitSuccess {
		t.Fatal(stderr)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(stdout) {
		if words := strings.Fields(line); len(words) > 0 {
			rows[words[0]] = words
		}
	}
	installed, engine := rows["installed"], rows["minhop-mc"]
	if len(installed) != 5 || strings.Join(installed[1:], " ") != strings.Join(engine[1:5], " ") {
		t.Errorf("installed %q, minhop-mc %q:\n%s", installed, engine, stdout)
	}
	text, err := os.ReadFile(tables)
	if err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(string(text), "Out Port(s)\n")
	row, _, _ = strings.Cut(row, "\n")
	cut := filepath.Join(dir, "cut.mcfdbs")
	if err := os.WriteFile(cut, []byte(strings.Replace(string(text), row+"\n", "", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	mlid := strings.ToLower(strings.Fields(row)[0])
	status, stdout, stderr = weft(t, "multicast", "--topology", fabric, "--groups", groups, "--tables", cut)
	if status != exitSuccess || !strings.Contains(stdout, "1 of ") || !strings.Contains(stdout, "MLID "+mlid+": from ") || !strings.Contains(stdout, "which has no row") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	if status, _, stderr := weft(t, "multicast", "--topology", fabric, "--groups", groups, "--tables", groups); status != exitUsage || !strings.Contains(stderr, "grid_4x4x8.sa:") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// TestMulticastProblems: bad input is named, with status 2 and nothing written.
func TestMulticastProblems(t *testing.T) {
	dir := t.TempDir()
	fabric, groups := dump(t, dir, "ft3_8.ibnetdiscover.txt"), dump(t, dir, "grid_4x4x8.sa")
	text, err := os.ReadFile(groups)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.sa")
	if err := os.WriteFile(cut, text[:3000], 0o644); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none.sa")
	if err := os.WriteFile(none, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wide := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		utf16 := []byte{0xff, 0xfe}
		for _, b := range text {
			utf16 = append(utf16, b, 0)
		}
		if err := os.WriteFile(path, utf16, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, err := os.ReadFile(fabric)
	if err != nil {
		t.Fatal(err)
	}
	wideFabric, wideGroups, wideFile := wide("wide.txt", plain), wide("wide.sa", text), wide("wide.toml", []byte("kind = \"traffic\"\n"))
	out := filepath.Join(dir, "out")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--topology", "missing", "--groups", groups}, "missing: cannot be read"},
		{[]string{"--topology", fabric}, "go together"},
		{[]string{"--topology", fabric, "--groups", groups, "--engine", "zip"}, `unknown multicast engine "zip"`},
		{[]string{"--topology", fabric, "--groups", groups, "--entries", "0"}, "--entries = 0: want at least 1"},
		{[]string{"--topology", fabric, "--groups", cut}, "cut.sa:"},
		{[]string{"--topology", fabric, "--groups", none}, "none.sa: none of its 0 groups"},
		{[]string{"--topology", groups, "--groups", groups}, "grid_4x4x8.sa:1"},
		{[]string{"--topology", wideFabric, "--groups", groups}, "wide.txt:1: the file is UTF-16; save it as UTF-8"},
		{[]string{"--topology", fabric, "--groups", wideGroups}, "wide.sa:1: the file is UTF-16; save it as UTF-8"},
		{[]string{wideFile}, "wide.toml: the file is UTF-16; save it as UTF-8"},
		{nil, "name an experiment file"},
		{[]string{"x.toml", "--topology", fabric, "--groups", groups}, "not both"},
	} {
		status, stdout, stderr := weft(t, append([]string{"multicast", "-o", out}, c.args...)...)
		if status != exitUsage || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%q: status %d, want 2 and %q\n%s%s", c.args, status, c.want, stderr, stdout)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a folder was made")
	}
}
