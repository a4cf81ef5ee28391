package ib

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

// asDB writes a graph in ibdiagnet's form, the ports of hosts and switches that have
// no cable left out.
func asDB(g *topology.Graph) string {
	n := topology.NamesOf(g)
	var nodes, ports, links strings.Builder
	speed := map[string]string{"4xSDR": "2,1", "4xDDR": "2,2", "4xQDR": "2,4", "4xFDR10": "2,65536", "4xNDR": "2,2048"}
	for _, s := range n.Switches {
		fmt.Fprintf(&nodes, "\"%s\",%d,2,1,1,0x%016x,0x%016x\n", s.Name, s.Ports, s.GUID, s.GUID)
		fmt.Fprintf(&ports, "0x%016x,0x%016x,0,%d,0,0,0\n", s.GUID, s.GUID, s.LID)
	}
	list, _ := adapters(g, n)
	for _, adapter := range list {
		fmt.Fprintf(&nodes, "\"%s\",2,1,1,1,0x%016x,0x%016x\n", adapter[0].Name, adapter[0].NodeGUID, adapter[0].NodeGUID)
		for _, a := range adapter {
			fmt.Fprintf(&ports, "0x%016x,0x%016x,%d,%d,%s,%d\n", a.NodeGUID, a.PortGUID, a.NodePort, a.LID, speed[a.Rate], a.LMC)
		}
	}
	for p := range topology.PortID(g.NumPorts()) {
		s := n.Switches[g.PortSwitch[p]]
		fmt.Fprintf(&ports, "0x%016x,0x%016x,%d,%d,%s,0\n", s.GUID, s.GUID, n.Port[p], s.LID, speed[g.Classes[g.PortClass[p]].Name])
		if q, ok := g.PeerPort(p); ok && p < q {
			fmt.Fprintf(&links, "0x%016x,%d,0x%016x,%d\n", s.GUID, n.Port[p], n.Switches[g.PortSwitch[q]].GUID, n.Port[q])
		} else if t, ok := g.PeerTerminal(p); ok {
			fmt.Fprintf(&links, "0x%016x,%d,0x%016x,%d\n", n.Terminals[t].NodeGUID, n.Terminals[t].NodePort, s.GUID, n.Port[p])
		}
	}
	return "# a comment\nSTART_NODES\nNodeDesc,NumPorts,NodeType,ClassVersion,BaseVersion,SystemImageGUID,NodeGUID\n" + nodes.String() + "END_NODES\n\n" +
		"START_PORTS\nNodeGuid,PortGuid,PortNum,LID,LinkWidthActv,LinkSpeedActv,LMC\n" + ports.String() + "END_PORTS\n\n" +
		"START_SOMETHING\nwhatever\nEND_SOMETHING\n\nSTART_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n" + links.String() + "END_LINKS\n"
}

// A real cluster reads as the same from either tool's file.
func TestReadDBCSV(t *testing.T) {
	for _, file := range []string{"psmn-x5-2020-qdr-ddr.txt", "loginoff-2014-qdr-fdr10.txt"} {
		im := imported(t, ReadNetDiscover, file)
		g := im.Graph()
		text := asDB(g)
		db := simtest.Must(ReadDBCSV(strings.NewReader(text), "x.db_csv"))(t)
		topologytest.CheckGraph(t, db.Graph())
		a, b := cablesByGUID(g), cablesByGUID(db.Graph())
		simtest.ErrorIf(t, !maps.Equal(a, b), "%s: other cables", file)
		simtest.ErrorIf(t, !reflect.DeepEqual(db.Graph().Classes, g.Classes), "%s: classes %v, want %v", file, db.Graph().Classes, g.Classes)
		if a, b := db.Graph().Names, g.Names; !slices.Equal(a.Switches, b.Switches) {
			t.Errorf("%s: switches have other LIDs or names", file)
		}
		lids := func(g *topology.Graph) map[topology.GUID]int32 {
			m := map[topology.GUID]int32{}
			for _, h := range g.Names.Terminals {
				m[h.PortGUID] = h.LID
			}
			return m
		}
		simtest.ErrorIf(t, !maps.Equal(lids(g), lids(db.Graph())), "%s: hosts have other LIDs", file)
	}
}

//go:embed testdata/small.db_csv
var smallDB string

func TestReadDBCSVProblems(t *testing.T) {
	im := simtest.Must(ReadDBCSV(strings.NewReader(smallDB), "x"))(t)
	if g := im.Graph(); g.Names.Switches[0].Name != "sw, one" || g.Names.Terminals[0].LMC != 1 || g.Classes[0].Rate != 200e9 || g.Names.Switches[0].Ports != 36 {
		t.Errorf("%+v %+v", g.Names, g.Classes)
	}
	change := func(old, new string) string { return strings.Replace(smallDB, old, new, 1) }
	checkProblems(t, "x", ReadDBCSV, []problem{
		{"cut", smallDB[:strings.Index(smallDB, "END_LINKS")], "x:14: the file ends within section LINKS"},
		{"cut earlier", smallDB[:strings.Index(smallDB, "START_LINKS")], "x:11: no section LINKS"},
		{"column", change("NodeGuid1", "Guid1"), "x:13: section LINKS has no column NodeGuid1"},
		{"number", change("0x20,1,0x10,36", "0x20,one,0x10,36"), `x:14: section LINKS: PortNum1: "one" is not a number of 8 bits`},
		{"port", change("0x20,1,0x10,36", "0x20,2,0x10,36"), "x:14: port 2 of \"H-0000000000000020\": want 1 to 1"},
		{"node", change("0x20,1,0x10,36", "0x30,1,0x10,36"), "x:14: node 0x0000000000000030 is not in section NODES"},
		{"link twice", change("END_LINKS", "0x20,1,0x10,36\nEND_LINKS"), "x:15: port 1 of \"H-0000000000000020\" is a duplicate: first listed in line 14"},
		{"node twice", change("END_NODES", "\"host\",1,1,0x20\nEND_NODES"), "x:5: section NODES: GUID 0x0000000000000020 is a duplicate: first listed in line 4"},
		{"kind", change("36,2,0x10", "36,4,0x10"), "x:3: section NODES: NodeType 4: want 1, 2 or 3"},
		{"no ports", change("36,2,0x10", "0,2,0x10"), "x:3: section NODES: NumPorts 0: want 1 to 254"},
		{"speed", change("2,1024", "2,3"), "x:9: section PORTS: LinkSpeedActv \"3\": want 1, 2,"},
		{"width", change("2,1024", "3,1024"), "x:9: section PORTS: LinkWidthActv \"3\": want 1, 2,"},
		{"LMC", change("1024,1", "1024,9"), "x:10: section PORTS: LMC 9: want 0 to 7"},
		{"port twice", change("END_PORTS", "0x20,0x21,1,7,2,1024,1\nEND_PORTS"), "x:11: section PORTS: port 1 of node 0x0000000000000020 is a duplicate"},
	})
}

func FuzzReadDBCSV(f *testing.F) {
	fuzzReader(f, func(r io.Reader, name string) (*Imported, error) {
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(text, []byte("START_")) {
			return ReadDBCSV(bytes.NewReader(text), name)
		}
		return ReadNetDiscover(bytes.NewReader(text), name) // what was written
	}, WriteNetDiscover, smallDB)
}

// TestReports: two leaves, of which the first has two cables to the spine and the second one; node1 has a port at
// each leaf, node2 and node3 have one: 4 ports of 3 hosts, 3 cables between switches. The
// two ports that are down, 5 of leaf1 and 4 of leaf2, are skipped. Both reports say the same.
func TestReports(t *testing.T) {
	want := counts{switches: 3, terminals: 4, hosts: 3, cables: 3}
	for file, read := range map[string]func(io.Reader, string) (*Imported, error){"ports.txt": ReadPorts, "iblinkinfo.txt": ReadLinkInfo} {
		im := imported(t, read, file)
		g := im.Graph()
		topologytest.CheckGraph(t, g)
		got := countsOf(g)
		simtest.ErrorIf(t, got != want || len(im.Warnings()) > 0, "%s: %+v, %q, want %+v", file, got, im.Warnings(), want)
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
