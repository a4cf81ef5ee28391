package ib

import (
	"bytes"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

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
	simtest.ErrorIf(t, !bytes.Equal(bytes.TrimSpace(out.Bytes()), bytes.TrimSpace(netlist)),
		"netlist differs:\n%s", firstDifference(out.Bytes(), netlist))
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
		if err != nil {
			t.Fatalf("%v\nin\n%s", err, written.String())
		}
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
