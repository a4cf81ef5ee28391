package opensm

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology/ib"
)

// TestLargeFabrics holds tables against hashes of OpenSM's: more than 255 LIDs, whose order
// nue takes with the bytes swapped; lash with layers of 9,999 pairs and more; cables side
// by side and switches without a coordinate in lash's analysis of meshes. The fabrics and
// their source are in testdata. Service levels are those from the first host of each
// switch, 16 hexadecimal digits of SHA-256 as the forwarding tables' hashes have; "" where
// OpenSM was not asked.
func TestLargeFabrics(t *testing.T) {
	for _, c := range []struct{ net, engine, conf, tables, levels string }{
		{"ft3_16.net.gz", "lash", "", "f0985459d01485ba", "79fa9ca3f3a1b388"},
		{"ft3_16.net.gz", "nue", "nue_max_num_vls 1", "5fedacfc424bf0db", "7030da7c4e9ec3ff"},
		{"ft3_16.net.gz", "nue", "nue_max_num_vls 2", "8aa3a1ce0790029d", "2c768295a5c9b1f2"},
		{"ft3_16.net.gz", "nue", "nue_max_num_vls 8", "0fe4a2f23942cf5c", "87200fc2767a92e1"},
		{"torus_5x4_double.net", "lash", "do_mesh_analysis TRUE", "fe25abb413dffdb8", ""},
		{"torus_5x4_double.net", "nue", "nue_max_num_vls 1", "663bc95f4982c7f5", ""},
		{"torus_5x5_tail.net", "lash", "do_mesh_analysis TRUE", "66e3d19f02a289b6", ""},
		{"torus_5x5_tail.net", "nue", "nue_max_num_vls 2", "50d115256e0f9318", ""},
	} {
		name := c.net + ", " + c.engine + " " + c.conf
		network, err := ib.ReadFile("testdata/"+c.net, "")
		if err != nil {
			t.Fatal(err)
		}
		conf, err := ReadConfig(strings.NewReader("qos TRUE\n"+c.conf+"\n"), name, "")
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSubnet(network.Graph(), DefaultManager(network.Graph()), 0)
		if err != nil {
			t.Fatal(err)
		}
		engine, err := EngineOf(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := engine.Route(s, &conf.Options)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var lft, sl strings.Builder
		if err := tables.WriteLFT(&lft); err != nil {
			t.Fatal(err)
		}
		if err := tables.WriteSL(&sl); err != nil {
			t.Fatal(err)
		}
		var first []string
		for n := range s.nodes() {
			if hosts := s.hosts(n); len(hosts) > 0 {
				first = append(first, strconv.Itoa(int(s.TerminalLID[hosts[0].Terminal])))
			}
		}
		var rows bytes.Buffer
		for line := range strings.Lines(sl.String()) {
			if lid, _, _ := strings.Cut(line, " "); slices.Contains(first, lid) {
				rows.WriteString(line)
			}
		}
		if sum := digits([]byte(lft.String())); sum != c.tables {
			t.Errorf("%s: tables %s, OpenSM's are %s", name, sum, c.tables)
		}
		if sum := digits(rows.Bytes()); c.levels != "" && sum != c.levels {
			t.Errorf("%s: service levels %s, OpenSM's are %s", name, sum, c.levels)
		}
	}
}

func digits(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text))[:16] }
