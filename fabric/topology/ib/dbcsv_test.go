package ib

import (
	"bytes"
	"fmt"
	"io"
	"maps"
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
		if a, b := cablesByGUID(g), cablesByGUID(db.Graph()); !maps.Equal(a, b) {
			t.Errorf("%s: other cables", file)
		}
		simtest.ErrorIf(t, !reflect.DeepEqual(db.Graph().Classes, g.Classes),
			"%s: classes %v, want %v", file, db.Graph().Classes, g.Classes)
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

const smallDB = `START_NODES
NodeDesc,NumPorts,NodeType,NodeGUID
"sw, one",36,2,0x10
"host",1,1,0x20
END_NODES
START_PORTS
NodeGuid,PortGuid,PortNum,LID,LinkWidthActv,LinkSpeedActv,LMC
0x10,0x10,0,5,0,0,0
0x10,0x10,36,5,2,1024,0
0x20,0x21,1,7,2,1024,1
END_PORTS
START_LINKS
NodeGuid1,PortNum1,NodeGuid2,PortNum2
0x20,1,0x10,36
END_LINKS
`

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
