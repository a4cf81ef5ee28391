package ib

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// What OpenSM set by its options: the lists of custom, padded with 0:0 to the eight
// entries that ibsim's ports have.
func TestReadVLArbitration(t *testing.T) {
	g, lids := readFT2(t)
	n := newSubnet(strings.NewReader(""), "", g, nil)
	pad := func(entries ...arbitration.Entry) []arbitration.Entry {
		return append(entries, make([]arbitration.Entry, 8-len(entries))...)
	}
	defaultTables := arbitration.Tables{
		High: []arbitration.Entry{{Lane: 0, Weight: 4}, {Lane: 1}, {Lane: 2}, {Lane: 3}, {Lane: 4}, {Lane: 5}, {Lane: 6}, {Lane: 7}},
		Low: []arbitration.Entry{{Lane: 0}, {Lane: 1, Weight: 4}, {Lane: 2, Weight: 4}, {Lane: 3, Weight: 4},
			{Lane: 4, Weight: 4}, {Lane: 5, Weight: 4}, {Lane: 6, Weight: 4}, {Lane: 7, Weight: 4}}}
	for _, c := range []struct {
		file string
		want arbitration.Tables
		host arbitration.Tables
	}{
		{"qos.custom.txt", arbitration.Tables{High: pad(arbitration.Entry{Lane: 1, Weight: 64}, arbitration.Entry{Lane: 2, Weight: 128}),
			Low: pad(arbitration.Entry{Lane: 0, Weight: 4}, arbitration.Entry{Lane: 3, Weight: 8}, arbitration.Entry{Lane: 2, Weight: 16})},
			arbitration.Tables{High: pad(arbitration.Entry{Lane: 1, Weight: 10}), Low: pad(arbitration.Entry{Lane: 0, Weight: 20})}},
		{"qos.default.txt", defaultTables, defaultTables},
	} {
		text := strings.Replace(string(readTestdata(t, c.file)), "VLHighLimit:.....................0", "VLHighLimit:.....................9", 1)
		tables := simtest.Must(ReadVLArbitration(strings.NewReader(text), "x", g, lids))(t)
		limited := c.want // portinfo of port 1 comes first
		limited.Limit = 9
		for p, got := range tables.Ports {
			switch topology.PortID(p) { // LID 2 is L0, port 1 leads to a host and 5 to a switch
			case n.port(0, 1):
				if got == nil || !reflect.DeepEqual(*got, limited) {
					t.Errorf("%s: port 1 has %+v, want %+v", c.file, got, limited)
				}
			case n.port(0, 5):
				if got == nil || !reflect.DeepEqual(*got, c.want) {
					t.Errorf("%s: port 5 has %+v, want %+v", c.file, got, c.want)
				}
			default:
				if got != nil {
					t.Errorf("%s: %s has tables", c.file, g.PortName(topology.PortID(p)))
				}
			}
		}
		for host, got := range tables.Terminals { // LID 5 is asked about
			if at, _ := lids.Terminal(5); topology.TerminalID(host) != at {
				if got != nil {
					t.Errorf("%s: %s has tables", c.file, g.TerminalName(topology.TerminalID(host)))
				}
			} else if got == nil || !reflect.DeepEqual(*got, c.host) {
				t.Errorf("%s: %s has %+v, want %+v", c.file, g.TerminalName(at), got, c.host)
			}
		}
	}
	// The same files hold SL2VL tables of one port and one host.
	if _, err := ReadSL2VL(strings.NewReader(string(readTestdata(t, "qos.custom.txt"))), "x", g, lids); err == nil || !strings.Contains(err.Error(), "no row of L0 for packets from port 1 to port 2") {
		t.Error(err)
	}
	text := string(readTestdata(t, "qos.custom.txt"))
	change := func(old, new string) string { return strings.Replace(text, old, new, 1) }
	checkProblems(t, func(text string) error {
		_, err := ReadVLArbitration(strings.NewReader(text), "x", g, lids)
		return err
	}, []problem{
		{"cut", text[:strings.Index(text, "# High")], "the tables before are cut"},
		{"no tables", "# nothing\n", "no arbitration tables"},
		{"LID", change("tables: Lid 2", "tables: Lid 77"), "x:2: LID 77: no port"},
		{"port", change("Lid 2 port 1", "Lid 2 port 11"), "x:2: port 11 of L0: want 0 to 8"},
		{"weight", change("|0x40|", "|0x140|"), "x:8: \"0x140\": want a number of 8 bits"},
		{"lane", change("VL    : |0x1 |", "VL    : |0xf |"), "x:8: a weight for lane 15"},
		{"more weights", change("|0x4 |0x8 |", "|0x4 |0x8 |0x8 |"), "x:5: 9 weights for 8 lanes"},
		{"fewer weights", change("|0x4 |0x8 |", "|0x4 |"), "x:5: 1 lanes without a weight"},
		{"twice", change("Lid 2 port 5", "Lid 2 port 1"), "the tables of L0 port 1 are a duplicate"},
		{"limit", change("VLHighLimit:.....................0", "VLHighLimit:....300"), "VLHighLimit 300: want 0 to 255"},
		{"something else", "hello\n", "x:1: \"hello\" is not a line"},
		{"row first", "VL    : |0x0 |\n", "x:1: row before any port"},
	})
}

func FuzzReadVLArbitration(f *testing.F) {
	fuzzTables(f, func(r io.Reader, name string, g *topology.Graph, lids *LIDs) error {
		_, err := ReadVLArbitration(r, name, g, lids)
		return err
	}, "# VLArbitration tables: Lid 3 port 2 LowCap 8 HighCap 8\n# Low priority VL Arbitration Table:\nVL    : |0x0 |0x1 |\nWEIGHT: |0x4 |0x8 |\n# High priority VL Arbitration Table:\nVL    : |0x0 |\nWEIGHT: |0xff|\n",
		"== smpquery portinfo 3 1\nVLHighLimit:.....3\n")
}
