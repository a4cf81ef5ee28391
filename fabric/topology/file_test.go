package topology_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/graph/formats/dot"
	"gonum.org/v1/gonum/graph/formats/dot/ast"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/simtest"
)

// The example of FileConfig's documentation.
func TestFileExample(t *testing.T) {
	topo := topologytest.Build(t, "file", func(c *topology.FileConfig) { c.Path = filepath.Join("testdata", "two.json") })
	b := topology.NewBuilder(2, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "wire", Latency: 10, Rate: 40e9})
	b.AddTerminal(0, 0)
	b.AddTerminal(1, 0)
	b.AddLink(0, 1, 1)
	want := b.Freeze()
	want.Names = &topology.Names{Switches: []topology.SwitchName{{Name: "left"}, {}}, Terminals: []topology.AdapterPort{{Name: "host A"}, {}}}
	simtest.ErrorIf(t, !reflect.DeepEqual(topo.Graph(), want), "%+v, want %+v", topo.Graph(), want)
	simtest.Equal(t, topo.Facts(), (topology.Facts{2, 2, 1, -1, -1}), "")
	text := simtest.Must(os.ReadFile("file.go"))(t)
	data := simtest.Must(os.ReadFile(filepath.Join("testdata", "two.json")))(t)
	simtest.ErrorIf(t, !strings.Contains(strings.ReplaceAll(string(text), "\n//\t", "\n"), strings.TrimSpace(string(data))),
		"the example in the documentation of FileConfig is not testdata/two.json")
}

func TestFilePaths(t *testing.T) {
	for _, c := range []struct{ path, want string }{{"x.json", filepath.Join("dir", "x.json")}, {"", ""}, {"/x.json", "/x.json"}} {
		config := topology.FileConfig{c.path}
		config.RelativeTo("dir")
		simtest.ErrorIf(t, config.Path != c.want, "%q from dir is %q, want %q", c.path, config.Path, c.want)
	}
}

// Every problem is reported with its line, and all of them together.
func TestFileProblems(t *testing.T) {
	const (
		head    = "{\n\"format\": \"weft-topology\", \"version\": 1,\n"
		classes = "\"classes\": [{\"name\": \"x\", \"latency\": 1}],\n"
		nodes   = "\"switches\": [{},\n{}],\n\"terminals\": [{\"switch\": 0, \"class\": \"x\"}],\n"
		link    = "\"links\": [{\"a\": {\"switch\": 0}, \"b\": {\"switch\": 1}, \"class\": \"x\"}]}"
	)
	for _, mark := range []string{"", "\ufeff"} {
		_, err := topology.ReadJSON("f", []byte(mark+head+classes+nodes+link))
		simtest.FatalIf(t, err != nil, "the correct file, after %q: %v", mark, err)
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"f:1: not JSON"}},
		{"syntax", "{\n\"format\": 1,\n}", []string{"f:3: not JSON"}},
		{"trailing", head + classes + nodes + link + "\n]", []string{"f:8: not JSON"}},
		{"not an object", "[1]", []string{"f:1: want an object"}},
		{"version", "{\"format\": \"weft-topology\", \"version\": 2}", []string{"version 2"}},
		{"unknown key", head + "\"nodes\": [1, 2]}", []string{`f:3: unknown key "nodes"`}},
		{"key twice", head + classes + classes + nodes + link, []string{`f:4: "classes" twice`}},
		{"not a list", head + "\"links\": {}}", []string{"f:3: want a list"}},
		{"type", head + "\"switches\": [{},\n{\"lid\": \"x\"}]}", []string{`f:4: "lid": string: want an integer of at most 32 bits`}},
		{"range", head + "\"terminals\": [{\"switch\": 1.5}]}", []string{`f:3: "switch": number 1.5: want an integer of at most 64 bits`}},
		{"no object", head + "\"switches\": [[]]}", []string{"f:3: array: want an object"}},
		{"unknown field", head + "\"switches\": [\n\n{\"colour\": 1}]}", []string{`f:5: unknown field "colour"`}},
		{"terminal without switch", head + classes + "\"switches\": [{}, {}],\n\"terminals\": [{\"class\": \"x\"}],\n" + link, []string{`f:5: no "switch": want 0 to 1`}},
		{"link without end", head + classes + nodes + "\"links\": [{\"a\": {\"switch\": 0}, \"class\": \"x\"}]}", []string{`f:7: no "switch": want 0 to 1`}},
		{"no nodes", head + classes + "\"links\": []}", []string{"0 switches and 0 terminals"}},
		{"guid", head + "\"switches\": [{\"guid\": \"0xg\"}]}", []string{`f:3: GUID "0xg"`}},
		{"identities", head + classes + "\"switches\": [{\"lid\": 65536},\n{\"ports\": 65536}],\n\"terminals\": [{\"switch\": 0, \"class\": \"x\", \"lmc\": 8},\n{\"switch\": 1, \"class\": \"x\", \"lmc\": 0},\n{\"switch\": 1, \"class\": \"x\", \"lid\": -1}],\n" + link,
			[]string{"f:4: lid 65536", "f:5: port 65536", "f:6: lmc 8", "f:8: lid -1"}},
		{"numbers", head + classes + nodes + "\"links\": [{\"a\": {\"switch\": 0, \"number\": -1}, \"b\": {\"switch\": 1}, \"class\": \"x\"}]}", []string{"f:7: port -1"}},
		{"latency", head + "\"classes\": [{\"name\": \"x\", \"latency\": 536870912}],\n" + nodes + link, []string{`f:3: class "x": latency = 536870912`}},
		{"classes", head + "\"classes\": [{\"name\": \"x\", \"latency\": 0},\n{\"latency\": 1}, {\"name\": \"y\", \"latency\": 1},\n{\"name\": \"y\", \"latency\": 1},\n{\"name\": \"z\", \"latency\": 1, \"rate\": \"fast\"}],\n" + nodes + link,
			[]string{`f:3: class "x": latency = 0`, "f:4: class \"\": want a name", `f:5: class "y" twice`, `f:6: rate "fast"`}},
		{"together", head + classes + nodes + "\"links\": [{\"a\": {\"switch\": 0}, \"b\": {\"switch\": 2}, \"class\": \"x\"},\n" +
			"{\"a\": {\"switch\": 1}, \"b\": {\"switch\": 1}, \"class\": \"x\"},\n" +
			"{\"a\": {\"switch\": -1}, \"b\": {\"switch\": 1, \"port\": -3}, \"class\": \"w\"},\n" +
			"{\"a\": {\"switch\": 0, \"port\": 0}, \"b\": {\"switch\": 1}, \"class\": \"x\"}]}",
			[]string{"f:7: switch 2: want 0 to 1", "f:8: a link from switch 1 to itself", "f:9: switch -1", "f:9: port -3", `f:9: unknown class "w"`, "f:10: port 0 of switch 0 is taken by line 6"}},
		{"not connected", head + classes + nodes + "\"links\": []}", []string{"f:5: no path from switch 0 to switch 1"}},
		{"nodes", head + classes + "\"switches\": [{}],\n\"terminals\": [{\"switch\": 0, \"class\": \"x\", \"node\": 0},\n{\"switch\": 0, \"class\": \"x\"}]}",
			[]string{`f:5: 1 of 2 terminals have a "node"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			simtest.Refuse(topology.ReadJSON("f", []byte(c.text)))(t, c.want...)
		})
	}
	// A list that no network of so few bytes has is not read on: 2^20 and one more switch, and nothing else.
	long := head + classes + "\"switches\": [{}" + strings.Repeat(",{}", 1<<20) + "]}"
	simtest.Refuse(topology.ReadJSON("f", []byte(long)))(t, fmt.Sprintf("more than %d elements in a list of a file of %d bytes", 1<<20, len(long)))
	var many strings.Builder
	fmt.Fprintf(&many, "%s%s\"switches\": [{}], \"links\": [], \"terminals\": [{\"switch\": 0, \"class\": \"x\"}", head, classes)
	for range 100 {
		many.WriteString(",\n{\"switch\": 7, \"class\": \"x\"}")
	}
	many.WriteString("]}")
	_, err := topology.ReadJSON("f", []byte(many.String()))
	if err == nil || strings.Count(err.Error(), "\n") != input.MostProblems || !strings.HasSuffix(err.Error(), "more problems") {
		t.Errorf("100 problems: %v", err)
	}
}

// Whatever is read is a sound graph that survives export and import.
func FuzzReadJSON(f *testing.F) {
	two := simtest.Must(os.ReadFile(filepath.Join("testdata", "two.json")))(f)
	f.Add(two)
	var b bytes.Buffer
	topology.WriteJSON(&b, namedGraph())
	f.Add(b.Bytes())
	f.Add([]byte(`{"links": [1, null, []], "x": 3, "classes": null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := topology.ReadJSON("f", data)
		if err != nil {
			return
		}
		topologytest.CheckGraph(t, g)
		var b bytes.Buffer
		simtest.Check(t, topology.WriteJSON(&b, g))
		again := simtest.Must(topology.ReadJSON("export", b.Bytes()))(t)
		simtest.ErrorIf(t, !reflect.DeepEqual(g, again), "%+v, read back %+v", g, again)
	})
}

// exported returns the graphs that the exports are tested on: one of each family, one with parallel
// cables and one with every kind of name, hard to quote.
func exported(t *testing.T) map[string]*topology.Graph {
	graphs := map[string]*topology.Graph{
		"parallel": xgft(t, topology.XGFTConfig{M: []int{2, 4}, W: []int{1, 2}, Parallel: []int{1, 3}}).Graph(),
		"named":    namedGraph(),
	}
	for _, name := range topologytest.Families() {
		topo := simtest.Must(topology.Registry.New(name, struct{}{}))(t)
		graphs[name] = topo.Graph()
	}
	return graphs
}

func namedGraph() *topology.Graph {
	b := topology.NewBuilder(2, topology.Class{Name: "host", Latency: 1}, topology.Class{Name: `a "wire" <&> \`, Latency: 7, Rate: 56_250_000_001})
	b.AddTerminal(1, 0)
	b.AddLink(1, 0, 1)
	b.AddLink(0, 1, 1)
	b.AddTerminal(0, 1)
	g := b.Freeze()
	g.Names = &topology.Names{
		Switches:     []topology.SwitchName{{`quote " backslash \ <tag> & ünicode`, 0xffffffffffffffff, 3, 0, 36}, {"two\nlines", 1, 49151, 3, 648}},
		Port:         []int32{36, 1, 7, 5, 4, 3},
		Terminals:    []topology.AdapterPort{{NodeGUID: 0x0002c90300a1b2c3, NodePort: 1, PortGUID: 5, LID: 7, LMC: 1}, {Name: "host HCA-1", NodeGUID: 4, NodePort: 2, PortGUID: 6, LID: 8}},
		TerminalNode: []int32{0, 0},
		Host:         []int32{3, 3},
		Aggregation:  []topology.AdapterPort{{"inside", 1, 37, 9, 1, 10, 11, 2, "4xHDR", false}, {Switch: 0, Port: 2}},
	}
	return g
}

// cable is what an export says about one cable.
type cable struct{ from, to, class, latency, rate string }

// cables lists what exports should say: terminals' cables, then the others by
// the order of their lower ports.
func cables(g *topology.Graph) []cable {
	var list []cable
	add := func(from, to string, p topology.PortID) {
		c := g.Classes[g.PortClass[p]]
		rate := ""
		if c.Rate != 0 {
			rate = fmt.Sprint(int64(c.Rate))
		}
		list = append(list, cable{from, to, c.Name, fmt.Sprint(c.Latency), rate})
	}
	for t, p := range g.TerminalPort {
		add(fmt.Sprintf("t%d", t), fmt.Sprintf("s%d", g.PortSwitch[p]), p)
	}
	for p, peer := range g.Peer {
		if peer > int32(p) {
			add(fmt.Sprintf("s%d", g.PortSwitch[p]), fmt.Sprintf("s%d", g.PortSwitch[peer]), topology.PortID(p))
		}
	}
	return list
}

func nodeNames(g *topology.Graph) map[string]string {
	names := map[string]string{}
	for s := range topology.SwitchID(g.Switches()) {
		names[fmt.Sprintf("s%d", s)] = g.SwitchName(s)
	}
	for t := range topology.TerminalID(g.Terminals()) {
		names[fmt.Sprintf("t%d", t)] = g.TerminalName(t)
	}
	return names
}

// checkExport holds what an export says to its graph.
func checkExport(t *testing.T, g *topology.Graph, got []cable, names map[string]string) {
	t.Helper()
	want := cables(g)
	simtest.ErrorIf(t, !slices.Equal(got, want), "cables\n%v, want\n%v", got, want)
	simtest.ErrorIf(t, !reflect.DeepEqual(names, nodeNames(g)), "nodes\n%q, want\n%q", names, nodeNames(g))
}

// DOT, read back with gonum's parser.
func TestWriteDOT(t *testing.T) {
	unquote := func(s string) string {
		s = strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`)
		return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(s)
	}
	for name, g := range exported(t) {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			simtest.Check(t, topology.WriteDOT(&b, g))
			file := simtest.Must(dot.Parse(&b))(t)
			names := map[string]string{}
			var got []cable
			for _, statement := range file.Graphs[0].Stmts {
				switch x := statement.(type) {
				case *ast.NodeStmt:
					for _, a := range x.Attrs {
						if a.Key == "label" {
							names[x.Node.ID] = unquote(a.Val)
						}
					}
				case *ast.EdgeStmt:
					c := cable{from: x.From.(*ast.Node).ID, to: x.To.Vertex.(*ast.Node).ID}
					for _, a := range x.Attrs {
						switch a.Key {
						case "class":
							c.class = unquote(a.Val)
						case "latency":
							c.latency = a.Val
						case "rate":
							rate := simtest.Must(sim.ParseRate(unquote(a.Val)))(t)
							c.rate = fmt.Sprint(int64(rate))
						}
					}
					got = append(got, c)
				}
			}
			checkExport(t, g, got, names)
		})
	}
}

func TestWriteGraphML(t *testing.T) {
	type data struct {
		Key   string `xml:"key,attr"`
		Value string `xml:",chardata"`
	}
	find := func(list []data, key string) string {
		i := slices.IndexFunc(list, func(d data) bool { return d.Key == key })
		if i < 0 {
			return ""
		}
		return list[i].Value
	}
	for name, g := range exported(t) {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			simtest.Check(t, topology.WriteGraphML(&b, g))
			var file struct {
				XMLName xml.Name `xml:"http://graphml.graphdrawing.org/xmlns graphml"`
				Keys    []struct {
					ID string `xml:"id,attr"`
				} `xml:"key"`
				Nodes []struct {
					ID   string `xml:"id,attr"`
					Data []data `xml:"data"`
				} `xml:"graph>node"`
				Edges []struct {
					Source string `xml:"source,attr"`
					Target string `xml:"target,attr"`
					Data   []data `xml:"data"`
				} `xml:"graph>edge"`
			}
			simtest.Check(t, xml.Unmarshal(b.Bytes(), &file))
			declared := map[string]bool{}
			for _, k := range file.Keys {
				declared[k.ID] = true
			}
			names := map[string]string{}
			for _, n := range file.Nodes {
				names[n.ID] = find(n.Data, "name")
				simtest.Equal(t, find(n.Data, "kind"), map[byte]string{'s': "switch", 't': "terminal"}[n.ID[0]], "node %s is of kind", n.ID)
			}
			var got []cable
			for _, e := range file.Edges {
				got = append(got, cable{e.Source, e.Target, find(e.Data, "class"), find(e.Data, "latency"), find(e.Data, "rate")})
				for _, d := range e.Data {
					simtest.ErrorIf(t, !declared[d.Key], "key %q is not declared", d.Key)
				}
			}
			checkExport(t, g, got, names)
		})
	}
}

// JSON loses nothing.
func TestJSONRoundTrip(t *testing.T) {
	graphs := exported(t)
	// Cables laid at random, in no order of ports.
	random := rand.New(rand.NewPCG(1, 1))
	for n := range 20 {
		b := topology.NewBuilder(5, topology.Class{Name: "x", Latency: 1 + n}, topology.Class{Name: "y", Latency: 2})
		for s := range topology.SwitchID(4) {
			b.AddLink(s, s+1, 0)
		}
		for range random.IntN(10) {
			s := topology.SwitchID(random.IntN(5))
			b.AddLinkAt(s, 10+random.IntN(1000), (s+1)%5, 2000+random.IntN(1000), 1)
		}
		b.AddTerminal(topology.SwitchID(random.IntN(5)), 1)
		graphs[fmt.Sprintf("random %d", n)] = b.Freeze()
	}
	for name, g := range graphs {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			simtest.Check(t, topology.WriteJSON(&b, g))
			got := simtest.Must(topology.ReadJSON("export", b.Bytes()))(t)
			simtest.ErrorIf(t, !reflect.DeepEqual(got, g), "read back\n%+v %+v, want\n%+v %+v", got, got.Names, g, g.Names)
		})
	}
}

// failingWriter fails like a full disk.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, fmt.Errorf("disk full") }

func TestExportReportsWriteErrors(t *testing.T) {
	g := namedGraph()
	if topology.WriteDOT(failingWriter{}, g) == nil || topology.WriteGraphML(failingWriter{}, g) == nil || topology.WriteJSON(failingWriter{}, g) == nil {
		t.Error("a failing writer goes unnoticed")
	}
}
