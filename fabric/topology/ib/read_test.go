package ib

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
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
	} {
		topo, err := topology.ReadFile(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
		} else if n := topo.Graph().Switches(); n != c.switches {
			t.Errorf("%s: %d switches, want %d", c.path, n, c.switches)
		}
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
