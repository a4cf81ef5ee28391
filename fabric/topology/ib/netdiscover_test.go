package ib

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/simtest"
)

func readSmall(t *testing.T, text string) *Imported {
	t.Helper()
	return simtest.Must(ReadNetDiscover(strings.NewReader(text), "small.txt"))(t)
}

func TestNetDiscoverFields(t *testing.T) {
	im := readSmall(t, smallFabric)
	g, n := im.Graph(), im.Graph().Names
	topologytest.CheckGraph(t, g)
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"switches", n.Switches, []topology.SwitchName{{Name: "leaf # a", GUID: 0xa, LID: 1, Ports: 36}, {Name: "leaf b", GUID: 0xb, LID: 2, Ports: 36}}},
		{"port numbers", n.Port, []int32{1, 30, 2, 3, 4}},
		{"hosts", n.Terminals, []topology.AdapterPort{
			{Name: `host "c" HCA-1`, NodeGUID: 0xc0, NodePort: 1, PortGUID: 0xc1, LID: 3, LMC: 1},
			{Name: `host "c" HCA-1`, NodeGUID: 0xc0, NodePort: 2, PortGUID: 0xc2, LID: 4, LMC: 1},
			{Name: "d", NodeGUID: 0xd0, NodePort: 1, PortGUID: 0xd1, LID: 5}}},
		{"adapters", n.TerminalNode, []int32{0, 0, 1}},
		// Slowest first: 4 x 8, 4 x 10, 1 x 200, 4 x 100 Gb/s.
		{"classes", g.Classes, []topology.Class{
			{Name: "4xQDR", Latency: 1, Rate: 32e9}, {Name: "4xFDR10", Latency: 1, Rate: 40e9},
			{Name: "1xXDR", Latency: 1, Rate: 200e9}, {Name: "4xNDR", Latency: 1, Rate: 400e9},
		}},
	} {
		simtest.ErrorIf(t, !reflect.DeepEqual(c.got, c.want), "%s: %v, want %v", c.what, c.got, c.want)
	}
	f := im.Facts()
	simtest.ErrorIf(t, f.Switches != 2 || f.Terminals != 3 || f.Links != 1, "facts %+v", f)
	simtest.ErrorIf(t, len(im.Warnings()) > 0, "warnings %q", im.Warnings())
}

// Each peculiarity leaves the graph as it was, and some are worth a warning.
func TestNetDiscoverPeculiarities(t *testing.T) {
	want := readSmall(t, smallFabric).Graph()
	replace := func(old, new string) string {
		t.Helper()
		simtest.FatalIf(t, !strings.Contains(smallFabric, old), "%q is not in the sample", old)
		return strings.ReplaceAll(smallFabric, old, new)
	}
	for _, c := range []struct{ name, text, warning string }{
		{"byte order mark", "\ufeff" + smallFabric, ""},
		{"CRLF", replace("\n", "\r\n"), ""},
		{"no final newline", strings.TrimSuffix(smallFabric, "\n"), ""},
		{"shell prompts", "[root@mgmt ~]# ibnetdiscover\n" + smallFabric + "\nroot@mgmt:~# exit\nnode01:~ # \n$\n", "skipped"},
		{"tool messages", "ibwarn: [6931] sim_connect: attached\n" + smallFabric, "skipped"},
		{"spaces for tabs", replace("\t", "     "), ""},
		{"indented", replace("\n", "\n   "), ""},
		{"chassis GUID", replace("switchguid=0xb(b)", "switchguid=0xbb(bb)"), "chassis"},
		{"chassis headings", replace("switchguid=0xb(b)", "Chassis 1 (guid 0x8f1)\nNon-Chassis Nodes\nswitchguid=0xb(b)\t# ISR9024 (Spine 1)"), "skipped"},
		{"external port labels", replace("[30]\t\"S", "[30][ext 12]\t\"S"), ""},
		{"full information", replace("4xNDR", "4xNDR s=4 w=2 v=3 e=8"), ""},
		{"ibdiagnet", regexp.MustCompile(`(?m)^\[(\d+)\](\t)`).ReplaceAllString(smallFabric, "[$1]($1)$2"), ""},
		{"self cable", replace("[30]\t\"S", "[35]\t\"S-000000000000000a\"[36]\t\t# \"leaf # a\" lid 1 4xQDR\n[36]\t\"S-000000000000000a\"[35]\t\t# \"leaf # a\" lid 1 4xQDR\n[30]\t\"S"), "itself"},
		{"cable from a port to itself", replace("[30]\t\"S", "[35]\t\"S-000000000000000a\"[35]\t\t# \"leaf # a\" lid 1 4xQDR\n[30]\t\"S"), "itself"},
		{"adapters back to back", smallFabric + "Ca 1 \"H-e0\" # \"e\"\n[1](e1) \"H-f0\"[1](f1) # lid 7 lmc 0 \"f\" lid 8 4xHDR\nCa 1 \"H-f0\" # \"f\"\n[1](f1) \"H-e0\"[1](e1) # lid 8 lmc 0 \"e\" lid 7 4xHDR\n", "neither of them a switch"},
		{"adapter without cable", smallFabric + "Ca 2 \"H-e0\" # \"e\"\n", "no cable"},
		{"ends disagree on the rate", strings.Replace(smallFabric, "4xFDR10", "4xEDR", 1), "taken as 4xFDR10"},
		{"rate at one end only", strings.Replace(smallFabric, " 4xFDR10", "", 1), ""},
		{"port GUID at the switch only", replace("[1](c1) ", "[1] "), ""},
		{"LID at the other end only", replace("# lid 5 lmc 0 ", "# "), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			im := readSmall(t, c.text)
			simtest.ErrorIf(t, !reflect.DeepEqual(im.Graph(), want), "another graph: %+v, want %+v", im.Graph().Names, want.Names)
			all := strings.Join(im.Warnings(), "\n")
			simtest.ErrorIf(t, c.warning == "" && all != "" || !strings.Contains(all, c.warning), "warnings %q, want %q", all, c.warning)
		})
	}
}

func TestNetDiscoverOtherNodes(t *testing.T) {
	im := readSmall(t, simtest.Text(t, "testdata/other-nodes.txt"))
	g := im.Graph()
	simtest.Equal(t, countsOf(g), (counts{switches: 1, terminals: 2, hosts: 2}), "counts")
	// In file order; a port GUID may equal the node's. The aggregation node and the router
	// are no terminals.
	x := g.Names.Terminals
	simtest.ErrorIf(t, len(x) != 2 || x[0].PortGUID != 0xd || x[1].PortGUID != 0xe, "ports %+v", x)
	c := g.Classes[g.PortClass[0]]
	simtest.ErrorIf(t, c.Name != "2xHDR", "the first host's cable has class %+v", c)
	if want := []topology.AdapterPort{{Name: "Mellanox Technologies Aggregation Node", Switch: 0, Port: 41, NodeGUID: 0xb, NodePort: 1, PortGUID: 0xb, LID: 14, Rate: "4xHDR"},
		{Name: "router", Switch: 0, Port: 1, NodeGUID: 0xc, NodePort: 1, PortGUID: 0xc1, Router: true}}; !reflect.DeepEqual(g.Names.Aggregation, want) {
		t.Errorf("aggregation nodes %+v, want %+v", g.Names.Aggregation, want)
	}
	if len(g.Classes) != 1 || g.NumPorts() != 2 || g.Names.Switches[0].Ports != 41 {
		t.Errorf("%d ports of %d, classes %v", g.NumPorts(), g.Names.Switches[0].Ports, g.Classes)
	}
	// It is written like the others: routes to it are part of a subnet's tables.
	var text bytes.Buffer
	simtest.Check(t, WriteNetDiscover(&text, g))
	again, err := ReadNetDiscover(&text, "again")
	simtest.ErrorIf(t, err != nil || !reflect.DeepEqual(again.Graph().Names.Aggregation, g.Names.Aggregation), "read back %+v, %v", again, err)
	text.Reset()
	simtest.Check(t, WriteSim(&text, g))
	if again, err = ReadSim(&text, "again"); err != nil || len(again.Graph().Names.Aggregation) != 2 || again.Graph().Terminals() != 2 {
		t.Errorf("read back %+v, %v", again, err)
	}
	text.Reset()
	simtest.Check(t, topology.WriteJSON(&text, g))
	back, err := topology.ReadJSON("again", text.Bytes())
	simtest.ErrorIf(t, err != nil || !reflect.DeepEqual(back.Names.Aggregation, g.Names.Aggregation), "read back %+v, %v", back, err)
	lids := StatedLIDs(g)
	if d, known := lids.of(14); !known || d != lids.aggregation() {
		t.Errorf("LID 14 is of destination %d, want the aggregation nodes, %d", d, lids.aggregation())
	}
	// Rows for it are passed over.
	tables := "dump_ucast_routes: Switch 0xa\n0x0009 : 002\n0x000E : 041 : 01 : yes\n"
	simtest.Must(ReadLFTs(strings.NewReader(tables), "x", g))(t)
	all := strings.Join(im.Warnings(), "\n")
	simtest.ErrorIf(t, !strings.Contains(all, "LID of another") || !strings.Contains(all, "no LID"), "warnings %q", all)
}

func TestRates(t *testing.T) {
	for text, want := range map[string]sim.Rate{
		"1xSDR": 2e9, "4xSDR": 8e9, "4xDDR": 16e9, "12xQDR": 96e9, "4xFDR10": 40e9,
		"4xFDR": 54_545_454_545, // 4 x 14.0625e9 x 64/66
		"4xEDR": 100e9, "2xHDR": 100e9, "8xEDR": 200e9, "4xHDR": 200e9, "4xNDR": 400e9, "1xXDR": 200e9, "4xXDR": 800e9,
		"4x25": 100e9, "4x2.5": 8e9,
	} {
		r, err := parseRate(text)
		if err != nil || r.data != want {
			t.Errorf("%s: %v, %v, want %v", text, r.data, err, want)
		}
	}
	for _, bad := range []string{"4x", "4xQD", "3xQDR", "xQDR", "4xFDR1", "4xqdr"} {
		r, err := parseRate(bad)
		simtest.ErrorIf(t, err == nil, "%s: read as %+v", bad, r)
	}
}

func TestNetDiscoverProblems(t *testing.T) {
	edit := func(old, new string) string {
		t.Helper()
		simtest.FatalIf(t, strings.Count(smallFabric, old) == 0, "%q is not in the sample", old)
		return strings.Replace(smallFabric, old, new, 1)
	}
	checkProblems(t, "small.txt", ReadNetDiscover, []problem{
		{"empty", "", "small.txt: no switches with cables"},
		{"another kind of file", "hello\n", `small.txt:1: "hello" is not a line`},
		{"one-sided, peer unknown", edit("Ca	1 \"H-00000000000000d0\"		# \"d\"\n[1](d1) 	\"S-000000000000000b\"[4]		# lid 5 lmc 0 \"leaf b\" lid 2 4xNDR\n", ""), "small.txt:16: one-sided link"},
		{"one-sided, port not listed", edit("[2]	\"S-000000000000000a\"[30]		# \"leaf # a\" lid 1 4xFDR10\n", ""), "small.txt:10: one-sided link"},
		{"one-sided, another port", edit("[2]	\"S-000000000000000a\"[30]", "[2]	\"S-000000000000000a\"[29]"), "small.txt:14: one-sided link"},
		{"duplicate switch", smallFabric + "Switch 36 \"S-000000000000000a\" # \"x\"\n", "small.txt:26: switch \"S-000000000000000a\" is a duplicate: first described in line 8"},
		{"duplicate GUID", smallFabric + "Ca 1 \"H-a\" # \"x\"\n", "small.txt:26: duplicate GUID 000000000000000a"},
		{"duplicate port GUID", strings.ReplaceAll(smallFabric, "(d1)", "(c1)"), "small.txt:25: duplicate port GUID 00000000000000c1"},
		{"duplicate port", edit("[30]", "[1]"), "small.txt:10: port 1 of"},
		{"port out of range", edit("[30]", "[37]"), "small.txt:10: port 37"},
		{"port number too large", edit("[30]", "[999]"), "small.txt:10: port line: port number"},
		{"no port count", edit("Switch	36", "Switch	"), "small.txt:8: switch record"},
		{"zero ports", edit("Switch	36", "Switch	0"), "small.txt:8: switch"},
		{"id of another kind", edit("Switch	36 \"S-", "Switch	36 \"H-"), "small.txt:8: switch"},
		{"id not hexadecimal", edit("Switch	36 \"S-000000000000000a", "Switch	36 \"S-00000000000000zz"), "small.txt:8: switch"},
		{"port line first", "[1]\t\"S-a\"[1]\n" + smallFabric, "small.txt:1: port line without a node"},
		{"unknown rate", edit("4xFDR10", "4xFOO"), "small.txt:10: port line: rate \"4xFOO\""},
		{"LID not a number", edit("lid 2 4xFDR10", "lid two 4xFDR10"), "small.txt:10: port line: lid"},
		{"LMC too large", edit("lmc 1", "lmc 8"), "small.txt:20: port line: lmc 8"},
		{"GUID too long", edit("(c1)", "(10000000000000001)"), "small.txt:9: port line"},
		{"unknown key", edit("devid", "devicd"), "small.txt:5: unknown key"},
		{"key without value", edit("sysimgguid=0xa0", "sysimgguid="), "small.txt:6: sysimgguid"},
		{"description not closed", edit("\"leaf b\" lid 2 4xFDR10", "\"leaf b lid 2 4xFDR10"), "small.txt:10: port line: the description"},
	})
}

// A file that ends early is never taken for a smaller fabric, wherever it ends:
// up to the last rate every byte matters.
func TestNetDiscoverTruncated(t *testing.T) {
	whole := len(strings.TrimSpace(smallFabric))
	for n := range whole {
		im, err := ReadNetDiscover(strings.NewReader(smallFabric[:n]), "cut.txt")
		if err == nil {
			t.Errorf("the first %d of %d bytes (...%q) were read as %v", n, whole, smallFabric[max(0, n-30):n], countsOf(im.Graph()))
		} else if !strings.HasPrefix(err.Error(), "cut.txt:") {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
}

// Escape sequences in descriptions, as of a node whose owner means ill, become blanks.
func TestNamesThatSteer(t *testing.T) {
	im := simtest.Must(ReadNetDiscover(strings.NewReader("Switch\t4 \"S-00aa\"\t\t# \"sw\x1b[2J\x1b]0;p\a A\" enhanced port 0 lid 1 lmc 0\n[1]\t\"H-00b1\"[1](b1)\t\t# \"h\x1b[31mRED\" lid 2 4xQDR\n"+
		"Ca\t1 \"H-00b1\"\t\t# \"h\x1b[31mRED\"\n[1](b1)\t\"S-00aa\"[1]\t\t# lid 2 lmc 0 \"sw\" lid 1 4xQDR\n"), "x"))(t)
	g := im.Graph()
	simtest.ErrorIf(t, g.SwitchName(0) != "sw [2J ]0;p  A" || g.TerminalName(0) != "h [31mRED", "%q, %q", g.SwitchName(0), g.TerminalName(0))
}

// Cables of a rate that the tool could not name, or that states none, are counted once each where others
// have one: of the four cables of testdata/unknown-rate.txt three. Where none has a rate, all are alike.
func TestUnknownRates(t *testing.T) {
	text := string(simtest.Must(os.ReadFile("testdata/unknown-rate.txt"))(t))
	for rate, setting := range map[string]string{"??HDR": "channel.unknown.rate", "4x???": "channel.unknown.rate", "": "channel.cable.rate"} {
		im := simtest.Must(ReadNetDiscover(strings.NewReader(strings.ReplaceAll(text, "??HDR", rate)), "x"))(t)
		want := "x:3: this cable has no known rate, as 3 of 4: they take a flit a cycle of fabric.clock, which the fastest cable sets, unless " + setting + " says otherwise"
		simtest.ErrorIf(t, len(im.Doubts()) != 1 || im.Doubts()[0] != want, "%q: %q", rate, im.Doubts())
	}
	im := simtest.Must(ReadNetDiscover(strings.NewReader(strings.ReplaceAll(text, "4xNDR", "??HDR")), "x"))(t)
	simtest.ErrorIf(t, len(im.Doubts()) > 0, "%q", im.Doubts())
}

func TestProblemsAreReportedTogether(t *testing.T) {
	_, err := ReadNetDiscover(strings.NewReader("what\n"+strings.Replace(smallFabric, "lid 2 4xFDR10", "lid x", 1)), "two.txt")
	simtest.ErrorIf(t, err == nil || !strings.Contains(err.Error(), "two.txt:1:") || !strings.Contains(err.Error(), "two.txt:11:"),
		"%v, want problems of lines 1 and 11", err)
	// The port lines of a record with a problem are no problems of their own.
	_, err = ReadNetDiscover(strings.NewReader(strings.Replace(smallFabric, "Switch\t36", "Switch\tx", 1)), "node.txt")
	simtest.ErrorIf(t, err == nil || strings.Count(err.Error(), "\n") != 0, "%v, want one problem", err)
	_, err = ReadNetDiscover(strings.NewReader(strings.Repeat("what\n", 10000)), "many.txt")
	if err == nil || strings.Count(err.Error(), "\n") != input.MostProblems {
		t.Errorf("%d lines of problems, want %d and a last word", strings.Count(err.Error(), "\n")+1, input.MostProblems)
	}
}
