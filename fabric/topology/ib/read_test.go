package ib

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/fabric/topology/cables"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestConformance holds the topologies that this package registers, which are files,
// to the conformance suite.
func TestConformance(t *testing.T) {
	for _, c := range []struct{ name, file string }{
		{"ibnetdiscover", ""}, // a missing path is a setting to be named
		{"ibsim", ""},
		{"ibnetdiscover", "psmn-x5-2020-qdr-ddr.txt"},
		{"ibnetdiscover", "loginoff-2014-qdr-fdr10.txt"},
		{"ibsim", "ring.net"},
	} {
		t.Run(c.name+"/"+c.file, func(t *testing.T) {
			if c.file == "" {
				topologytest.Conform(t, c.name)
				return
			}
			topologytest.Check(t, c.name, topologytest.Sample{Config: &topology.FileConfig{Path: filepath.Join("testdata", c.file)}})
		})
	}
}

// problem is a text that cannot be read, and what the error says.
type problem struct{ name, text, want string }

// checkProblems wants the errors of texts that are read under a name.
func checkProblems[T any](t *testing.T, name string, read func(io.Reader, string) (T, error), list []problem) {
	t.Helper()
	for _, c := range list {
		x, err := read(strings.NewReader(c.text), name)
		simtest.ErrorIf(t, err == nil || !strings.Contains(err.Error(), c.want), "%s: read as %+v, %v, want %q", c.name, x, err, c.want)
	}
}

// inSubnet is a reader of tables of a fabric with its LIDs.
func inSubnet[T any](read func(io.Reader, string, *topology.Graph, *LIDs) (T, error), g *topology.Graph, lids *LIDs) func(io.Reader, string) (T, error) {
	return func(r io.Reader, name string) (T, error) { return read(r, name, g, lids) }
}

// fuzzTables holds a reader of tables to errors that name the file, on a network of two
// switches with a terminal each: LIDs 1 and 2, and 3 and 4 of the switches.
func fuzzTables[T any](f *testing.F, read func(io.Reader, string, *topology.Graph, *LIDs) (T, error), seeds ...string) {
	b := topology.NewBuilder(2, topology.Class{Name: "x"})
	b.AddTerminal(0, 0)
	b.AddTerminal(1, 0)
	b.AddLink(0, 1, 0)
	g := b.Freeze()
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := read(strings.NewReader(text), "fuzz", g, NewLFTs(g).LIDs())
		simtest.ErrorIf(t, err != nil && !strings.HasPrefix(err.Error(), "fuzz:"), "an error without file: %v", err)
	})
}

// readTestdata reads a file of testdata, compressed or not.
func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	return simtest.Must(input.ReadInput(filepath.Join("testdata", name), input.MaxInput))(t)
}

// imported reads a network of testdata.
func imported(t testing.TB, read func(io.Reader, string) (*Imported, error), name string) *Imported {
	t.Helper()
	return simtest.Must(read(bytes.NewReader(readTestdata(t, name)), name))(t)
}

func classCounts(g *topology.Graph) (terminals, links map[string]int) {
	terminals, links = map[string]int{}, map[string]int{}
	for p := range g.NumPorts() {
		name := g.Classes[g.PortClass[p]].Name
		if q, ok := g.PeerPort(topology.PortID(p)); !ok {
			terminals[name]++
		} else if q > topology.PortID(p) {
			links[name]++
		}
	}
	return terminals, links
}

// counts are of a network; cables join switches.
type counts struct{ switches, terminals, hosts, cables int }

func countsOf(g *topology.Graph) counts {
	return counts{g.Switches(), g.Terminals(), len(g.Hosts()), g.SwitchLinks()}
}

// The counts are those that the collectors of the files state: 89 adapters (23
// at 4xDDR, 66 at 4xQDR), 70 cables between switches and so on.
func TestRealClusters(t *testing.T) {
	for _, c := range []struct {
		file             string
		want             counts
		terminals, links map[string]int
		switchless       int // switches without hosts
		dual             int // hosts with both ports in use
	}{
		{
			file:      "psmn-x5-2020-qdr-ddr.txt",
			want:      counts{switches: 11, terminals: 89, hosts: 89, cables: 70},
			terminals: map[string]int{"4xDDR": 23, "4xQDR": 66}, links: map[string]int{"4xQDR": 70},
			switchless: 5,
		},
		{
			file:      "loginoff-2014-qdr-fdr10.txt",
			want:      counts{switches: 8, terminals: 145, hosts: 144, cables: 47},
			terminals: map[string]int{"4xQDR": 145}, links: map[string]int{"4xFDR10": 47},
			switchless: 1, // one has cables to switches only
			dual:       1,
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			im := imported(t, ReadNetDiscover, c.file)
			g := im.Graph()
			simtest.Equal(t, countsOf(g), c.want, "counts")
			topologytest.CheckGraph(t, g)
			terminals, links := classCounts(g)
			simtest.ErrorIf(t, !reflect.DeepEqual(terminals, c.terminals) || !reflect.DeepEqual(links, c.links),
				"terminals %v links %v, want %v and %v", terminals, links, c.terminals, c.links)
			hosts := make([]int, g.Switches())
			dual := 0
			for m := range g.Terminals() {
				hosts[g.TerminalSwitch(topology.TerminalID(m))]++
				if m > 0 && g.Names.TerminalNode[m] == g.Names.TerminalNode[m-1] {
					dual++
					if a, b := g.Names.Terminals[m], g.Names.Terminals[m-1]; a.NodeGUID != b.NodeGUID || a.PortGUID == b.PortGUID || a.LID == b.LID {
						t.Errorf("the ports of %s: want one node GUID, two port GUIDs, two LIDs", g.TerminalName(topology.TerminalID(m)))
					}
				}
				// In both files a port's GUID is its node's plus its number.
				x := g.Names.Terminals[m]
				simtest.ErrorIf(t, x.PortGUID != x.NodeGUID+topology.GUID(x.NodePort), "terminal %d: %+v", m, x)
			}
			empty := 0
			for _, n := range hosts {
				if n == 0 {
					empty++
				}
			}
			simtest.ErrorIf(t, empty != c.switchless || dual != c.dual,
				"%d switches without hosts, %d hosts with two ports, want %d and %d", empty, dual, c.switchless, c.dual)
			simtest.ErrorIf(t, len(im.Warnings()) != 0, "warnings: %q", im.Warnings())
		})
	}
}

// A small fabric: switches a and b joined by one cable, a host on each; h has
// two ports. Every variant below is this fabric written in another way.
//
//go:embed testdata/small.txt
var smallFabric string

func TestReadFileFindsTheFormat(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		simtest.Check(t, os.WriteFile(path, data, 0o600))
		return path
	}
	var json bytes.Buffer
	simtest.Check(t, topology.WriteJSON(&json, readSmall(t, smallFabric).Graph()))
	for _, c := range []struct {
		path     string
		switches int
	}{
		{put("small.txt", []byte(smallFabric)), 2},
		{put("small.json", json.Bytes()), 2},
		{filepath.Join("testdata", "psmn-x5-2020-qdr-ddr.txt"), 11},
		{filepath.Join("testdata", "ring.net"), 3},
		{put("mark.txt", []byte("\ufeff[root@mgmt ~]# ibnetdiscover\r\n"+smallFabric)), 2},
		{put("mark.csv", []byte("\ufeff"+smallDB)), 1}, // what stands in the first line tells the format
	} {
		simtest.Equal(t, simtest.Must(topology.ReadFile(c.path))(t).Graph().Switches(), c.switches, "%s: switches", c.path)
	}
	for _, c := range []struct{ name, text, want string }{
		{"none.txt", "hello\n", "none.txt:1: neither a network of BookSim2's anynet, Slurm's topology.conf, a topology file of htsim, ibnetdiscover output, ibdiagnet's db_csv, ibnetdiscover's report of ports, iblinkinfo output, an ibsim netlist, a list of cables nor a topology in JSON"},
		{"empty.txt", "", "empty.txt:1: neither"},
		{"cut.txt", smallFabric[:300], "cut.txt:"},
	} {
		topo, err := topology.ReadFile(put(c.name, []byte(c.text)))
		simtest.ErrorIf(t, err == nil || topo != nil || !strings.Contains(err.Error(), c.want), "%s: %v, %v, want %q", c.name, topo, err, c.want)
	}
	_, err := topology.ReadFile(filepath.Join(dir, "absent"))
	simtest.ErrorIf(t, err == nil, "a file that is not there was read")
}

// TestWrongType: a file in another format than its type says is one error, which
// names the type that reads it.
func TestWrongType(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net")
	simtest.Check(t, os.WriteFile(path, []byte("Switch 2 \"L0\"\n[1] \"H0\"[1]\n[2] \"H1\"[1]\n\nHca 1 \"H0\"\n[1] \"L0\"[1]\n\nHca 1 \"H1\"\n[1] \"L0\"[2]\n"), 0o666))
	for name, want := range map[string]string{"ibnetdiscover": `topology.type = "ibsim"`, "ibdiagnet": `topology.type = "ibsim"`, "ibsim": "<nil>"} {
		_, err := topology.Registry.New(name, struct{}{}, param.Set("path", path))
		got := fmt.Sprint(err)
		simtest.ErrorIf(t, strings.Count(got, "\n") > 0 || !strings.Contains(got, want), "%s: %v, want %q", name, err, want)
	}
}

func TestHostsOf(t *testing.T) {
	for _, c := range []struct {
		name  string
		names []string
		nodes []int32
		want  []int32
	}{
		{"a port each", []string{"a mlx5_0", "b mlx5_0", "c HCA-1"}, []int32{0, 1, 2}, nil},
		{"two adapters", []string{"a mlx5_0", "b mlx5_0", "a mlx5_1"}, []int32{0, 1, 2}, []int32{0, 1, 0}},
		{"two ports of one", []string{"a mlx5_0", "a mlx5_0", "b mlx5_0"}, []int32{0, 0, 1}, []int32{0, 0, 1}},
		{"both", []string{"a HCA-1", "a HCA-2", "a HCA-2"}, []int32{0, 1, 1}, []int32{0, 0, 0}},
		{"nobody set a name", []string{"localhost mlx5_0", "localhost mlx5_1", "localhost mlx5_0"}, []int32{0, 1, 2}, nil},
		{"no device", []string{"gateway one", "gateway two", ""}, []int32{0, 1, 2}, nil},
		{"unnamed with two ports", []string{"", ""}, []int32{4, 4}, []int32{0, 0}},
	} {
		names := &topology.Names{TerminalNode: c.nodes}
		for _, name := range c.names {
			names.Terminals = append(names.Terminals, topology.AdapterPort{Name: name})
		}
		simtest.EqualSlices(t, hostsOf(names), c.want, "%s:", c.name)
	}
}

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
		simtest.ErrorIf(t, !slices.Equal(db.Graph().Names.Switches, g.Names.Switches), "%s: switches have other LIDs or names", file)
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
		simtest.Alike(t, file, terminals, map[string]int{"4xHDR": 3, "4xEDR": 1}, links, map[string]int{"4xHDR": 3})
		if s := g.Names.Switches; s[0] != (topology.SwitchName{Name: "MF0;leaf1:MQM8700/U1", GUID: 0xb8599f0300000001, LID: 5, Ports: 5}) || s[2].Name != `it's a "spine"` {
			t.Errorf("%s: %+v", file, s)
		}
		var at, lids []int
		for h := range topology.TerminalID(4) {
			at, lids = append(at, int(g.TerminalSwitch(h))), append(lids, int(g.Names.Terminals[h].LID))
		}
		simtest.ErrorIf(t, !slices.Equal(at, []int{0, 1, 0, 1}) || !slices.Equal(lids, []int{1, 2, 3, 4}), "%s: terminals at %v with LIDs %v", file, at, lids)
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
	classes := g.Classes
	simtest.ErrorIf(t, len(classes) != 2 || classes[0].Name != "4xEDR" || classes[1].Name != "2xNDR", "%+v", classes)
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
