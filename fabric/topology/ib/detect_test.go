package ib

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

func TestReadFileFindsTheFormat(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var json bytes.Buffer
	if err := topology.WriteJSON(&json, readSmall(t, smallFabric).Graph()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path     string
		switches int
	}{
		{put("small.txt", []byte(smallFabric)), 2},
		{put("small.json", json.Bytes()), 2},
		{filepath.Join("testdata", "psmn-x5-2020-qdr-ddr.txt"), 11},
		{filepath.Join("testdata", "ring.net"), 3},
		{put("mark.txt", []byte("\ufeff[root@mgmt ~]# ibnetdiscover\r\n"+smallFabric)), 2},
	} {
		topo, err := ReadFile(c.path, "")
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
		} else if n := topo.Graph().Switches(); n != c.switches {
			t.Errorf("%s: %d switches, want %d", c.path, n, c.switches)
		}
	}
	for _, c := range []struct{ name, text, format, want string }{
		{"none.txt", "hello\n", "", "none.txt:1: neither"},
		{"empty.txt", "", "", "empty.txt:1: neither"},
		{"cut.txt", smallFabric[:300], "", "cut.txt:"},
		{"small.net", smallFabric, "dot", "topology format dot"},
	} {
		if topo, err := ReadFile(put(c.name, []byte(c.text)), c.format); err == nil || topo != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, want %q", c.name, topo, err, c.want)
		}
	}
	if _, err := ReadFile(filepath.Join(dir, "absent"), ""); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestWrongType: a file in another format than its type says is one error, which
// names the type that reads it.
func TestWrongType(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(path, []byte("Switch 2 \"L0\"\n[1] \"H0\"[1]\n[2] \"H1\"[1]\n\nHca 1 \"H0\"\n[1] \"L0\"[1]\n\nHca 1 \"H1\"\n[1] \"L0\"[2]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"ibnetdiscover": `topology.type = "ibsim"`, "ibdiagnet": `topology.type = "ibsim"`, "ibsim": "<nil>"} {
		_, err := topology.Registry.New(name, struct{}{}, param.Set("path", path))
		if got := fmt.Sprint(err); strings.Count(got, "\n") > 0 || !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
