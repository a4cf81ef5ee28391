package ib

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
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
	simtest.Alike(t, "classes and ports", len(g.Classes), 1, g.NumPorts(), 2, g.Names.Switches[0].Ports, 41)
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
	d, known := lids.of(14)
	simtest.ErrorIf(t, !known || d != lids.aggregation(), "LID 14 is of destination %d, want the aggregation nodes, %d", d, lids.aggregation())
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
		simtest.ErrorIf(t, err != nil || r.data != want, "%s: %v, %v, want %v", text, r.data, err, want)
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
	two := "what\n" + strings.Replace(smallFabric, "lid 2 4xFDR10", "lid x", 1)
	simtest.Refuse(ReadNetDiscover(strings.NewReader(two), "two.txt"))(t, "two.txt:1:", "two.txt:11:")
	// The port lines of a record with a problem are no problems of their own.
	_, err := ReadNetDiscover(strings.NewReader(strings.Replace(smallFabric, "Switch\t36", "Switch\tx", 1)), "node.txt")
	simtest.ErrorIf(t, err == nil || strings.Count(err.Error(), "\n") != 0, "%v, want one problem", err)
	_, err = ReadNetDiscover(strings.NewReader(strings.Repeat("what\n", 10000)), "many.txt")
	if err == nil || strings.Count(err.Error(), "\n") != input.MostProblems {
		t.Errorf("%d lines of problems, want %d and a last word", strings.Count(err.Error(), "\n")+1, input.MostProblems)
	}
}

// What ibsim and ibnetdiscover wrote comes back byte for byte, but for the
// header with the time of day.
func TestWritersRepeatTheTools(t *testing.T) {
	header := regexp.MustCompile(`(?m)^#.*\n`)
	discover := readTestdata(t, "torus_4x4x4_1.ibnetdiscover.txt.gz")
	im := simtest.Must(ReadNetDiscover(bytes.NewReader(discover), "torus.txt"))(t)
	var out bytes.Buffer
	simtest.Check(t, WriteNetDiscover(&out, im.Graph()))
	got, want := header.ReplaceAll(out.Bytes(), nil), header.ReplaceAll(discover, nil)
	simtest.ErrorIf(t, !bytes.Equal(got, want), "ibnetdiscover form differs:\n%s", firstDifference(got, want))
	netlist := readTestdata(t, "torus_4x4x4_1.net.gz")
	sim := simtest.Must(ReadSim(bytes.NewReader(netlist), "torus.net"))(t)
	topologytest.CheckGraph(t, sim.Graph())
	out.Reset()
	simtest.Check(t, WriteSim(&out, sim.Graph()))
	simtest.ErrorIf(t, !bytes.Equal(bytes.TrimSpace(out.Bytes()), bytes.TrimSpace(netlist)), "netlist differs:\n%s", firstDifference(out.Bytes(), netlist))
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i]
		}
	}
	return "one is longer"
}

// ibsim's numbering of the netlist is what ibnetdiscover then found: the same
// switches, hosts and cables by GUID.
func TestSimNumbersLikeIBSim(t *testing.T) {
	found := imported(t, ReadNetDiscover, "torus_4x4x4_1.ibnetdiscover.txt.gz")
	listed := imported(t, ReadSim, "torus_4x4x4_1.net.gz")
	a, b := cablesByGUID(found.Graph()), cablesByGUID(listed.Graph())
	if len(a) != 3*64+64 || !reflect.DeepEqual(a, b) { // 3 links and one host a switch
		t.Errorf("%d cables found, %d listed, or not the same ones", len(a), len(b))
	}
}

type guidPort struct {
	guid topology.GUID
	port int32
	name string
}

// cablesByGUID lists the cables of a fabric without regard to numbering.
func cablesByGUID(g *topology.Graph) map[[2]guidPort]bool {
	n := topology.NamesOf(g)
	end := func(p topology.PortID) guidPort {
		s := g.PortSwitch[p]
		return guidPort{n.Switches[s].GUID, n.Port[p], n.Switches[s].Name}
	}
	set := map[[2]guidPort]bool{}
	for p := range g.NumPorts() {
		a := end(topology.PortID(p))
		var b guidPort
		if q, ok := g.PeerPort(topology.PortID(p)); ok {
			b = end(q)
		} else {
			m, _ := g.PeerTerminal(topology.PortID(p))
			b = guidPort{n.Terminals[m].PortGUID, n.Terminals[m].NodePort, n.Terminals[m].Name}
		}
		if b.guid < a.guid || a.guid == b.guid && b.port < a.port {
			a, b = b, a
		}
		set[[2]guidPort{a, b}] = true
	}
	return set
}

// Everything that a graph holds survives both forms.
func TestRoundTrips(t *testing.T) {
	sources := map[string]*topology.Graph{"small": readSmall(t, smallFabric).Graph()}
	for _, file := range []string{"psmn-x5-2020-qdr-ddr.txt", "loginoff-2014-qdr-fdr10.txt"} {
		im := imported(t, ReadNetDiscover, file)
		sources[file] = im.Graph()
	}
	for name, g := range sources {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			simtest.Check(t, WriteNetDiscover(&text, g))
			again := simtest.Must(ReadNetDiscover(&text, "again.txt"))(t)
			simtest.ErrorIf(t, !reflect.DeepEqual(again.Graph(), g), "the ibnetdiscover form reads as another graph")
			text.Reset()
			simtest.Check(t, WriteSim(&text, g))
			again = simtest.Must(ReadSim(&text, "again.net"))(t)
			// A netlist has no rates and no LIDs.
			a, b := cablesByGUID(again.Graph()), cablesByGUID(g)
			simtest.ErrorIf(t, !reflect.DeepEqual(a, b), "the netlist reads as another fabric")
		})
	}
}

// A generated network is written with the identities of Names.
func TestWritersOfGeneratedNetworks(t *testing.T) {
	b := topology.NewBuilder(2, topology.Class{Name: "terminal"}, topology.Class{Name: "local"})
	b.AddTerminal(1, 0)
	b.AddLink(0, 1, 1)
	b.AddTerminal(0, 0)
	b.AddLink(1, 0, 1)
	g := b.Freeze()
	var text bytes.Buffer
	simtest.Check(t, WriteSim(&text, g))
	want := simtest.Text(t, "testdata/own.net")
	simtest.ErrorIf(t, text.String() != want, "netlist\n%s\nwant\n%s", text.String(), want)
	sim := simtest.Must(ReadSim(&text, "own.net"))(t)
	text.Reset()
	simtest.Check(t, WriteNetDiscover(&text, g))
	found := simtest.Must(ReadNetDiscover(&text, "own.txt"))(t)
	own := cablesByGUID(g)
	simtest.ErrorIf(t, !reflect.DeepEqual(own, cablesByGUID(sim.Graph())) || !reflect.DeepEqual(own, cablesByGUID(found.Graph())),
		"the written forms read as another fabric")
	n := topology.NamesOf(g)
	simtest.ErrorIf(t, n.Switches[1].GUID != 0x200001 || n.Terminals[1].PortGUID != 0x100003 || n.Terminals[1].NodeGUID != 0x100002, "%+v", n)
}

func TestSimDialect(t *testing.T) {
	text := simtest.Text(t, "testdata/dialect.net")
	_, err := ReadSim(strings.NewReader("# a comment\n"+strings.Replace(text, "[3] \"sw b\"[2]", "", 1)), "x.net")
	want := `x.net:10: one-sided link: "sw b" port 2 leads to "sw a" port 3`
	simtest.ErrorIf(t, err == nil || !strings.Contains(err.Error(), want), "%v, want %q", err, want)
	im := simtest.Must(ReadSim(strings.NewReader(text), "x.net"))(t)
	// LIDs are not stated, so numbered: three terminals, then three switches. h1 takes its own
	// GUID and two for its ports.
	n := topology.NamesOf(im.Graph())
	switches := []topology.SwitchName{{Name: "described", GUID: 0x200000, LID: 4, Ports: 4}, {Name: "sw b", GUID: 0x200010, LID: 5, Ports: 2}, {Name: "sw c", GUID: 0x200011, LID: 6, Ports: 2}}
	terminals := []topology.AdapterPort{
		{Name: "h1", NodeGUID: 0x500000, NodePort: 1, PortGUID: 0x500001, LID: 1},
		{Name: "h1", NodeGUID: 0x500000, NodePort: 2, PortGUID: 0x500002, LID: 2},
		{Name: "h2", NodeGUID: 0x500003, NodePort: 1, PortGUID: 0x500004, LID: 3},
	}
	simtest.ErrorIf(t, !reflect.DeepEqual(n.Switches, switches) || !reflect.DeepEqual(n.Terminals, terminals), "%+v", n)
	simtest.Refuse(ReadSim(strings.NewReader("include \"other.net\"\n"), "x.net"))(t, "x.net:1: ibsim's include")
}

// Whatever is read without error is a sound graph that survives being written.
func fuzzReader(f *testing.F, read func(io.Reader, string) (*Imported, error), write func(io.Writer, *topology.Graph) error, seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		im, err := read(strings.NewReader(text), "fuzz")
		if err != nil {
			simtest.ErrorIf(t, !strings.HasPrefix(err.Error(), "fuzz:"), "an error without file: %v", err)
			return
		}
		g := im.Graph()
		if !slices.Contains(g.DistancesFrom(0, nil), topology.Unreachable) {
			topologytest.CheckGraph(t, g)
		}
		var written bytes.Buffer
		simtest.Check(t, write(&written, g))
		again, err := read(bytes.NewReader(written.Bytes()), "fuzz")
		simtest.FatalIf(t, err != nil, "%v\nin\n%s", err, written.String())
		simtest.ErrorIf(t, !reflect.DeepEqual(cablesByGUID(again.Graph()), cablesByGUID(g)), "another fabric after\n%s", written.String())
	})
}

func FuzzReadNetDiscover(f *testing.F) {
	fuzzReader(f, ReadNetDiscover, WriteNetDiscover, smallFabric,
		"Switch 2 \"S-1\"\n[1](1) \"H-2\"[1](3)\nCa 1 \"H-2\"\n[1] \"S-1\"[1] # lid 0 lmc 7 \"\" lid 0 4x???\n")
}

func FuzzReadSim(f *testing.F) {
	fuzzReader(f, ReadSim, WriteSim, smallFabric,
		"switchguid+0x10\nSwitch 4 \"a\"\n[1] \"h\"[2] w=4\n[2] \"b\"\nSwitch 1 \"b\" # \"x#y\"\n[1] \"a\"[2]\nHca 2 \"h\"\n[2] \"a\"[1]\n")
}

// Names of several lines, which JSON can give, do not break the lines of the other forms.
func TestWritersOfNamesWithLineBreaks(t *testing.T) {
	g, err := topology.ReadJSON("f", []byte(`{"format": "weft-topology", "version": 1, "classes": [{"name": "c", "latency": 1}],
"switches": [{"name": "a\"b\nc"}, {}], "terminals": [{"switch": 0, "class": "c", "name": "t\r\t1"}, {"switch": 1, "class": "c"}],
"links": [{"a": {"switch": 0}, "b": {"switch": 1}, "class": "c"}]}`))
	simtest.Check(t, err)
	for name, form := range map[string]struct {
		write func(io.Writer, *topology.Graph) error
		read  func(io.Reader, string) (*Imported, error)
	}{"ibnetdiscover": {WriteNetDiscover, ReadNetDiscover}, "ibsim": {WriteSim, ReadSim}} {
		var text bytes.Buffer
		simtest.Check(t, form.write(&text, g))
		back, err := form.read(&text, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if n := back.Graph().Names; name == "ibnetdiscover" && (n.Switches[0].Name != `a"b c` || n.Terminals[0].Name != "t  1") {
			t.Errorf("names %+v", n)
		}
	}
	simtest.ErrorIf(t, g.Names.Switches[0].Name != "a\"b\nc", "the network's own name has become %q", g.Names.Switches[0].Name)
}
