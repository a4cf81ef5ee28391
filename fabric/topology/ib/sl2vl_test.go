package ib

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// readFT2 is OpenSM's fat tree of eight-port switches and its LIDs.
func readFT2(t testing.TB) (*topology.Graph, *LIDs) {
	im := imported(t, ReadSim, "ft2_8.net")
	l := simtest.Must(ReadLFTs(bytes.NewReader(readTestdata(t, "ft2_8.dfsssp.lfts.dump.gz")), "lfts", im.Graph()))(t)
	return im.Graph(), l.LIDs()
}

// OpenSM's default with eight lanes is 0 to 7 twice, at all ports; a changed row is
// found where it was changed, in all three forms.
func TestReadSL2VL(t *testing.T) {
	g, lids := readFT2(t)
	text := string(readTestdata(t, "ft2_8.dfsssp.sl2vl.dump.gz"))
	const ordinary, changed Lanes = 0x7654321076543210, 0x00000000000000f3
	// L0 is the first node; its first row from port 5 to port 2 is the one.
	text = strings.Replace(text, "\n5   2   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7", "\n5   2   : 3  15 0  0  0  0  0  0  0  0  0  0  0  0  0  0", 1)
	for form, text := range map[string]string{"OpenSM": text, "ibdiagnet": asBytes(text), "smpquery": asQuery(text)} {
		t.Run(form, func(t *testing.T) {
			m := simtest.Must(ReadSL2VL(strings.NewReader(text), "x", g, lids))(t)
			n := newSubnet(strings.NewReader(""), "", g, nil)
			for s := range topology.SwitchID(g.Switches()) {
				first, end := g.Ports(s)
				for in := first; in < end; in++ {
					for out := first; out < end; out++ {
						want := ordinary
						if s == 0 && in == n.port(0, 5) && out == n.port(0, 2) {
							want = changed
						}
						if got := m.Switch(in, out); got != want {
							t.Fatalf("from %s to %s: %x, want %x", g.PortName(in), g.PortName(out), got, want)
						}
					}
				}
			}
			if m.Host(3) != ordinary || m.Host(3).Lane(9) != 1 {
				t.Errorf("H3: %x", m.Host(3))
			}
		})
	}
	checkProblems(t, func(text string) error {
		_, err := ReadSL2VL(strings.NewReader(text), "x", g, lids)
		return err
	}, []problem{
		{"cut", text[:strings.Index(text, "\n3   4   :")], "no row of L0 for packets from port 1 to port 5"},
		{"no such lane", strings.Replace(text, "1   1   : 0  1", "1   1   : 16  1", 1), "x:5: lane 16 of service level 0: want 0 to 15"},
		{"lanes missing", strings.Replace(text, "1   1   : 0  1", "1   1   : 1", 1), "x:5: 15 lanes: want 16"},
		{"no such port", strings.Replace(text, "8   1   :", "9   1   :", 1), "x:12: ports 9 and 1 of L0: want 0 to 8"},
		{"row twice", strings.Replace(text, "8   1   :", "7   1   :", 1), "x:12: the row of ports 7 and 1 of L0 is a duplicate"},
		{"unknown switch", strings.Replace(text, "Switch 0x0000000000200000", "Switch 0x0000000000900000", 1), "x:1: GUID 0x0000000000900000 is not in the fabric"},
		{"something else", "hello\n", "x:1: \"hello\" is not a line"},
		{"no node", "1 2 : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7\n", "x:1: row before any node"},
	})
}

var dumpNode = regexp.MustCompile(`^(?:Switch|Channel Adapter) (0x[0-9a-f]+), base LID (\d+)`)

// asBytes puts OpenSM's dump into ibdiagnet's form.
func asBytes(text string) string {
	var b strings.Builder
	guid := ""
	for _, line := range strings.Split(text, "\n") {
		if m := dumpNode.FindStringSubmatch(line); m != nil {
			guid = m[1]
		} else if m := mapRow.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			fmt.Fprintf(&b, "%s %s %s", guid, m[1], m[2])
			lanes := strings.Fields(m[3])
			for i := 0; i < len(lanes); i += 2 {
				var high, low int
				fmt.Sscan(lanes[i], &high)
				fmt.Sscan(lanes[i+1], &low)
				fmt.Fprintf(&b, " 0x%x%x", high, low)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// asQuery puts OpenSM's dump into smpquery's form.
func asQuery(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		if m := dumpNode.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&b, "== smpquery sl2vl %s\n# SL2VL table: Lid %s\n#                 SL: | 0| 1|\n", m[2], m[2])
		} else if m := mapRow.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			fmt.Fprintf(&b, "ports: in %2s, out %2s: |", m[1], m[2])
			for _, lane := range strings.Fields(m[3]) {
				fmt.Fprintf(&b, "%2s|", lane)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func FuzzReadSL2VL(f *testing.F) {
	fuzzTables(f, func(r io.Reader, name string, g *topology.Graph, lids *LIDs) error {
		_, err := ReadSL2VL(r, name, g, lids)
		return err
	}, "Switch 0x0000000000200000, base LID 3, \"S0\"\n1   2   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7\n2 1 : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7\n",
		"0x0000000000200000 1 2 0x01 0x23 0x45 0x67 0x89 0xab 0xcd 0xe7\n",
		"# SL2VL table: Lid 3\nports: in  1, out  2: | 0| 1| 2| 3| 0| 1| 2| 3| 0| 1| 2| 3|15|15|15|15|\n")
}
