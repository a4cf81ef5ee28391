package ib

import (
	"bytes"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestReports: two leaves, of which the first has two cables to the spine and the second one; node1 has a port at
// each leaf, node2 and node3 have one: 4 ports of 3 hosts, 3 cables between switches. The
// two ports that are down, 5 of leaf1 and 4 of leaf2, are skipped. Both reports say the same.
func TestReports(t *testing.T) {
	want := counts{switches: 3, terminals: 4, hosts: 3, cables: 3}
	for file, read := range map[string]func(io.Reader, string) (*Imported, error){"ports.txt": ReadPorts, "iblinkinfo.txt": ReadLinkInfo} {
		im := imported(t, read, file)
		g := im.Graph()
		topologytest.CheckGraph(t, g)
		if got := countsOf(g); got != want || len(im.Warnings()) > 0 {
			t.Errorf("%s: %+v, %q, want %+v", file, got, im.Warnings(), want)
		}
		terminals, links := classCounts(g)
		if !reflect.DeepEqual(terminals, map[string]int{"4xHDR": 3, "4xEDR": 1}) || !reflect.DeepEqual(links, map[string]int{"4xHDR": 3}) {
			t.Errorf("%s: %v, %v", file, terminals, links)
		}
		if s := g.Names.Switches; s[0] != (topology.SwitchName{Name: "MF0;leaf1:MQM8700/U1", GUID: 0xb8599f0300000001, LID: 5, Ports: 5}) || s[2].Name != `it's a "spine"` {
			t.Errorf("%s: %+v", file, s)
		}
		var at, lids []int
		for h := range topology.TerminalID(4) {
			at, lids = append(at, int(g.TerminalSwitch(h))), append(lids, int(g.Names.Terminals[h].LID))
		}
		simtest.ErrorIf(t, !slices.Equal(at, []int{0, 1, 0, 1}) || !slices.Equal(lids, []int{1, 2, 3, 4}),
			"%s: terminals at %v with LIDs %v", file, at, lids)
		told := simtest.Must(topology.ReadFile(filepath.Join("testdata", file)))(t)
		simtest.ErrorIf(t, countsOf(told.Graph()) != want, "%s is told as another format: %+v", file, told)
	}
}

// TestReportProblems: the faults of a report are told together, each with its line.
func TestReportProblems(t *testing.T) {
	change := func(file string, pairs ...string) string {
		text := string(readTestdata(t, file))
		for i := 0; i < len(pairs); i += 2 {
			simtest.FatalIf(t, !strings.Contains(text, pairs[i]), "%s has no %q", file, pairs[i])
			text = strings.Replace(text, pairs[i], pairs[i+1], 1)
		}
		return text
	}
	ports := strings.SplitAfter(string(readTestdata(t, "ports.txt")), "\n")
	checkProblems(t, "x", ReadPorts, []problem{
		{"two faults", change("ports.txt", "4x EDR", "4x QQR", "SW     6  3", "SW     6 255"),
			"x:3: rate \"4xQQR\": want a width of 1x, 2x, 4x, 8x or 12x and a speed of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR\nx:11: port 255 of \"S-b8599f0300000002\", which leads to port 3: want ports 1 to 254"},
		{"LID", change("ports.txt", "SW     6  3", "SW 66666  3"), "x:11: LID 66666: want at most 65535"},
		{"no line", ports[0] + "SW 5 hello\n", `x:2: "SW 5 hello" is not a line of a port`},
		{"cut", strings.Join(ports[:4], "") + ports[4][:20], "x:5: "},
		{"one-sided", strings.Join(ports[:8], ""), `leads to "SW 0xb8599f0300000002", which the file does not describe`},
		{"twice", strings.Join(ports, "") + ports[14], "is a duplicate"},
	})
	checkProblems(t, "x", ReadLinkInfo, []problem{
		{"two faults", change("iblinkinfo.txt", "25.78125", "25.8", "4X      25.78125", "9X      25.78125"),
			"x:5: speed \"25.8 Gbps\": want 2.5, 5.0, 10.0 (also with (FDR10)), 14.0625, 25.78125, 53.125, 106.25 or 212.5 Gbps\nx:10: rate \"9xEDR\": want a width of 1x"},
		{"switches only", string(readTestdata(t, "iblinkinfo.txt"))[strings.Index(string(readTestdata(t, "iblinkinfo.txt")), "Switch: "):], "x:2: leads to a node that is not listed, as all of its kind: print the fabric again without --switches-only or --cas-only"},
		{"no header", "  5 5[  ] ==( Down/ Polling)==> [  ] \"\" ( )\n", "x:1: port line without a node before it"},
		{"no GUID", "CA: a:\n1 1[  ] ==( 4X 2.5 Gbps Active/ LinkUp)==> 2 1[  ] \"b\" ( )\n", "x:2: "},
		{"alike", "Switch 0x1 a:\n1 1[  ] ==( 4X 2.5 Gbps Active /  LinkUp)==> 1 1[  ] \"a\" ( )\nSwitch: 0x2 a:\n1 1[  ] ==( 4X 2.5 Gbps Active/ LinkUp)==> 1 1[  ] \"a\" ( )\n",
			`x:4: "a", LID 1 is "S-0000000000000002", and "S-0000000000000001" of line 1: want nodes that differ`},
	})
}

// TestLinkInfoByLine: with --line kinds of nodes are not told. Ports 15 and 20 of one node have LID 496: that is a
// switch, with LIDs of adapters around it; an adapter's second port that is down has LID 0.
func TestLinkInfoByLine(t *testing.T) {
	im := simtest.Must(ReadLinkInfo(strings.NewReader(`0x10 "   thing4 HCA-1"  612    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>  0x30    496   20[  ] "Switch \"IB\"" ( )
0x10 "   thing4 HCA-1"    0    2[  ] ==(                Down/ Polling)==>             [  ] "" ( )
0x20 "  quorum HCA-2"  558    1[  ] ==( 2X      106.25 Gbps Active/  LinkUp)==>  0x30    496   15[  ] "Switch \"IB\"" ( )
0x30 "Switch \"IB\""  496    9[  ] ==(                Down/ Polling)==>             [  ] "" ( )
0x30 "Switch \"IB\""  496   15[  ] ==( 2X      106.25 Gbps Active/  LinkUp)==>  0x20    558    1[  ] "quorum HCA-2" ( )
0x30 "Switch \"IB\""  496   20[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>  0x10    612    1[  ] "thing4 HCA-1" ( Could be 53.125 Gbps)
`), "x"))(t)
	g := im.Graph()
	n := topology.NamesOf(g)
	if g.Switches() != 1 || g.Terminals() != 2 || n.Switches[0].LID != 496 || n.Switches[0].GUID != 0x30 || n.Terminals[1].LID != 558 || n.Terminals[0].Name != "thing4 HCA-1" {
		t.Errorf("%d switches, %d terminals, %+v, %+v", g.Switches(), g.Terminals(), n.Switches, n.Terminals)
	}
	if classes := g.Classes; len(classes) != 2 || classes[0].Name != "4xEDR" || classes[1].Name != "2xNDR" {
		t.Errorf("%+v", classes)
	}
}

// fuzzReport reads what is written of a report as ibnetdiscover's other output.
func fuzzReport(f *testing.F, format string, read func(io.Reader, string) (*Imported, error), file string) {
	fuzzReader(f, func(r io.Reader, name string) (*Imported, error) {
		text, err := io.ReadAll(r)
		if err == nil && formatOf(text) != format {
			return ReadNetDiscover(bytes.NewReader(text), name)
		}
		return read(bytes.NewReader(text), name)
	}, WriteNetDiscover, string(readTestdata(f, file)))
}

func FuzzReadPorts(f *testing.F) { fuzzReport(f, "ibnetdiscover-ports", ReadPorts, "ports.txt") }

func FuzzReadLinkInfo(f *testing.F) { fuzzReport(f, "iblinkinfo", ReadLinkInfo, "iblinkinfo.txt") }
