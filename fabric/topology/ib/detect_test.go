package ib

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
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
