package cables

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestConformance holds the topologies to the conformance suite, and a ring of four switches.
func TestConformance(t *testing.T) {
	for _, name := range []string{"anynet", "edges", "slurm"} {
		topologytest.Conform(t, name)
	}
	topologytest.Check(t, "edges", topologytest.Sample{Config: &EdgesConfig{"testdata/ring.edges", 2}})
}

func TestEdges(t *testing.T) {
	for _, c := range []struct {
		text  string
		names []topology.SwitchName
		rows  [][]topology.SwitchID
	}{
		{"# ring\n0 1\n1 2\r\n\n2 0\n", nil, [][]topology.SwitchID{{1, 2}, {0, 2}, {0, 1}}},
		{"2 0 far\n1 2\n1 2\n", nil, [][]topology.SwitchID{{2}, {2}, {0, 1}}},
		{"b a\na c\n", []topology.SwitchName{{Name: "b"}, {Name: "a"}, {Name: "c"}}, [][]topology.SwitchID{{1}, {0, 2}, {1}}},
	} {
		g, _, err := ReadEdges("f", []byte(c.text), 3)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		topologytest.CheckGraph(t, g)
		simtest.ErrorIf(t, g.Terminals() != 3*len(c.rows) || c.names != nil && !reflect.DeepEqual(g.Names.Switches, c.names),
			"%q: %d terminals, names %+v", c.text, g.Terminals(), g.Names)
		for s, row := range c.rows {
			got := g.Neighbors().Of(topology.SwitchID(s))
			simtest.ErrorIf(t, !reflect.DeepEqual(got, row), "%q: switch %d has neighbours %v, want %v", c.text, s, got, row)
		}
	}
}

// Four routers of an Aries chassis and group, in the form that is documented for rtr
// --interconnect; each cable stands there from both ends.
func TestEdgesOfCray(t *testing.T) {
	g, _, err := ReadEdges("rtr", []byte(`c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l10(0:0:1)
c0-0c0s0a0l01(0:0:0) blue -> unused
c0-0c0s0a0l50(0:0:0) ptile -> processor
c0-0c0s1a0l10(0:0:1) green -> c0-0c0s0a0l00(0:0:0)
c0-0c0s1a0l11(0:0:1) black -> c0-0c1s1a0l12(0:1:1)
c0-0c1s1a0l12(0:1:1) black -> c0-0c0s1a0l11(0:0:1)
`), 4)
	simtest.Check(t, err)
	simtest.ErrorIf(t, g.Switches() != 3 || g.SwitchLinks() != 2 || g.SwitchName(2) != "c0-0c1s1a0" || g.Classes[2].Name != "black", "%+v, names %+v", g, g.Names)
	g, _, err = ReadEdges("rtr", []byte("c0-0c0s0g0l02[(0,0,0)] Z+ -> c0-0c0s0g1l21[(0,0,1)] LinkType: mezzanine\nc0-0c0s0g1l21[(0,0,1)] Z- -> c0-0c0s0g0l02[(0,0,0)] LinkType: mezzanine\n"), 2)
	simtest.ErrorIf(t, err != nil || g.Switches() != 2 || g.SwitchLinks() != 1 || g.Classes[1].Name != "z", "%+v, %v", g, err)
}

// TestEdgesAsMeant: what is in files beside cables is told from them. The chordal ring of 8 switches has
// 8 cables around it and 4 across, of whichever directions the file has; a first line that counts the 4
// switches of a ring is no fifth; the others are in the forms of networkx's documentation: adjacency lists
// of K4 and, with both directions, of a ring, and lists of edges with data and with weights.
func TestEdgesAsMeant(t *testing.T) {
	once, both := "", ""
	for _, cable := range strings.Fields("0,1 1,2 2,3 3,4 4,5 5,6 6,7 7,0 0,4 1,5 2,6 3,7") {
		a, b, _ := strings.Cut(cable, ",")
		once += a + " " + b + "\n"
		both += a + " " + b + "\n" + b + " " + a + "\n"
	}
	for _, c := range []struct {
		text, doubt     string
		switches, links int
	}{
		{once, "", 8, 12},
		{both, "f: all 12 cables stand in the list in both directions: taken once each", 8, 12},
		{both + "0 1\n", "f: 12 of 13 cables stand in the list in both directions, and the others do not: taken as two parallel cables each", 8, 25},
		{"0 1\n1 2\n2 0\n0 1\n", "f: 1 cables stand in the list again: taken as parallel cables", 3, 4},
		{"4 3\n0 1\n1 2\n2 3\n3 0\n", `f: line 1, "4 3", counts the switches that follow: it is no cable`, 4, 4},
		{"# ring\n4 4\n0 1\n1 2\n2 3\n3 0\n", `f: line 2, "4 4", counts the switches that follow: it is no cable`, 4, 4},
		{"% from KONECT\n3 3\n1 2\n2 3\n3 1\n", `f: line 2, "3 3", counts the switches that follow: it is no cable`, 3, 3},
		{"Source,Target\r\n0,1\r\n1,2\r\n2,0\r\n", `f: line 1, "Source Target", names no switch of a further line: taken as names of columns`, 3, 3},
		{",source,target\n0,a,b\n1,b,c\n2,c,a\n", `f: line 1, " source target", names no switch of a further line: taken as names of columns`, 3, 3}, // pandas, with its index
		{"Source,Target\nLeaf 1,Spine 1\nLeaf 2,Spine 1\n", `f: line 1, "Source Target", names no switch of a further line: taken as names of columns`, 3, 2},
		{"leaf1 e1, top e1\nleaf1 e2, top e2\n0 -> leaf1;\n", "", 3, 3},
		{"id,src,note,dst\n0,a,,b\n1,b,\"x, y\",c\n", `f: line 1, "id src note dst", names no switch of a further line: taken as names of columns`, 3, 2},
		{"0,1,\"\"\n1,2,\"\"\n", "", 3, 2},
		{"n0; n1; 2.5\nn1; n2; 1\n", "f: 2 cables have numbers or attributes behind them, such as weights: passed over", 3, 2},
		{"leaf spine\nspine top\n", "", 3, 2},
		{"0 1\n", "", 2, 1}, // counts nothing
		{"id,src,dst\n0,1,2\n1,2,3\n2,3,1\n", `f: line 1, "id src dst", names no switch of a further line: taken as names of columns`, 3, 3},
		{"Switch A;Port A;Switch B;Port B\nl1;1;s;1\nl2;1;s;2\ns;1;l1;1\n", `f: line 1, "Switch A Port A Switch B Port B", names no switch of a further line: taken as names of columns`, 3, 2},
		{"Node1 Node2 Length(m)\nsw-a sw-b 3m\nsw-b sw-c 5m\n", "f: line 1, \"Node1 Node2 Length(m)\", names no switch of a further line: taken as names of columns\n" +
			"f: 2 cables have numbers or attributes behind them, such as weights: passed over", 3, 2},
		{"node1 node2\nnode2 node3\nnode3 node1\n", "", 3, 3}, // switches of these names
		{"1 First one\r\n2 b\r\n3 c\r\n#\r\n1 2 x\r\n2 3\r\n", "f: taken as a graph in the Trivial Graph Format", 3, 2},
		{"(0, 0) (1, 0) {}\n(0, 0) ('b', 1) {}\n(1,0) ('b', 1) {}\n", "", 3, 3}, // networkx's grids
		{"1 2\n2 3\n#\n3 1\n", "", 3, 3},                                        // a comment between cables
		{",a,b,c,d\na,0,1,1,1\nb,1,0,1,1\nc,1,1,0,1\nd,1,1,1,0\n", "f: taken as a matrix of cables\nf: all 6 cables stand in the list in both directions: taken once each", 4, 6},
		{"leaf -- spine\nspine => top\n", "", 3, 2},
		{"// by hand\na|b\nb|c\n", "", 3, 2},
		{"leaf1 e1 top e1\ntop e1 leaf1 e1\nleaf1 e2 top e3\nleaf2,e1,top,e2\n", "", 3, 3}, // two cables from leaf1, the first from both ends
		{"a 1 -- b 1\nb 2 -- c 1\n", "", 3, 2},
		{"3\n0 1\n1 2\n2 0\n", `f: line 1, "3", counts the switches that follow: it is no cable`, 3, 3},
		{"%%MatrixMarket matrix coordinate pattern symmetric\n4 4 4\n2 1\n3 2\n4 3\n4 1\n", `f: line 2, "4 4 4", counts the switches that follow: it is no cable`, 4, 4},
		{"\"from\",\"to\"\n\"0\",\"1\"\n\"1\",\"2\"\n", `f: line 1, "from to", names no switch of a further line: taken as names of columns`, 3, 2},
		{"Source;Target;Type;Weight\n0;1;Undirected;1\n1;2;Undirected;1\n", "f: line 1, \"Source Target Type Weight\", names no switch of a further line: taken as names of columns\n" +
			"f: 2 cables have numbers or attributes behind them, such as weights: passed over", 3, 2},
		{"0: 1 2 3\n1: 0 2 3\n2: 0 1 3\n3: 0 1 2\n", "f: all 6 cables stand in the list in both directions: taken once each", 4, 6},
		{"4 0\n0 1\n1 2\n2 3\n", "", 5, 4}, // a line of switches
		{"#a.py\n# GMT Fri Nov 27\n# complete\n0 1 2 3\n1 2 3\n2 3\n3\n", "", 4, 6},
		{"0 1 3\n1 2 0\n2 3 1\n3 0 2\n", "f: all 4 cables stand in the list in both directions: taken once each", 4, 4},
		{"0 1 {}\n1 2 {}\n", "", 3, 2},
		{"0 1 {'weight': 2, 'length': 3}\n1 2 {}\n", "f: 1 cables have numbers or attributes behind them, such as weights: passed over", 3, 2},
		{"Source,Target,Weight\nA,B,1.5\nB,C,2\n", "f: line 1, \"Source Target Weight\", names no switch of a further line: taken as names of columns\n" +
			"f: 2 cables have numbers or attributes behind them, such as weights: passed over", 3, 2},
		{"from,to\nto,A\nA,from\n", "", 3, 3}, // switches of these names
		{"\"sw 1\",\"sw 2\"\n\"sw 2\"; \"sw, 3\"\n", "", 3, 2},
		{"0 1 2.5\n1 2 1\n0 2 1e3 # long\n", "f: 3 cables have numbers or attributes behind them, such as weights: passed over", 3, 3},
	} {
		g, doubts, err := ReadEdges("f", []byte(c.text), 1)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if g.Switches() != c.switches || g.SwitchLinks() != c.links || strings.Join(doubts, "\n") != c.doubt || len(g.Classes) != 2 {
			t.Errorf("%q: %d switches, %d links, %v, %q; want %d, %d, %q", c.text, g.Switches(), g.SwitchLinks(), g.Classes, doubts, c.switches, c.links, c.doubt)
		}
	}
}

// TestForeign: files of other tools are named, with what to do, by all that read networks.
func TestForeign(t *testing.T) {
	for text, want := range map[string]string{
		"# snippet\nBlockName=b1 Nodes=node[1-4]\n":                         "this is Slurm's topology.conf of blocks",
		"- topology: default\n  tree:\n    switches:\n      - switch: s1\n": "this is Slurm's topology.yaml",
		"{ CA Ports:01 SystemGUID:0c42a10300000001 NodeGUID:0c42a10300000001 {node001 mlx5_0} LID:0001 PN:01 } { SW Ports:29 } PHY=4x LOG=ACT SPD=14": "this is ibdiagnet's .lst",
		"\"sw1\", Mellanox, 0x1, LID 3\n#    : IB#  : Sta : PhysSta : MTU :\n":                                                                        "this is ibdiagnet's net_dump",
		"<?xml version='1.0'?>\n<graphml xmlns=\"x\">\n":                                                                                              "this is GraphML",
		"- cluster_default: true\n  topology: tree1\n  tree:\n":                                                                                       "this is Slurm's topology.yaml",
		"Switch\t: 0xb8599f0300000001 ports 41 \"leaf1\" enhanced port 0 lid 4 lmc 0\n":                                                               "this is a list of nodes alone",
		"Nodes 4\nConnections 1\n0->2 start 0 size 4096\n":                                                                                            "this is a matrix of flows of htsim",
		"[(0, 1), (1, 2)]\n":                                             "this is a list of pairs",
		"c ring\np edge 3 3\ne 1 2\ne 2 3\ne 3 1\n":                      "this is a graph in DIMACS's form",
		"graph G {\n 0 -- 1;\n}\n":                                       "this is a graph in DOT or GML",
		"Creator \"x\"\ngraph [\n node [ id 0 ]\n":                       "this is a graph in DOT or GML",
		"num_ranks 2\nrank 0 {\n}\n":                                     "this is a schedule in GOAL",
		"Unicast lids [0x0-0x5] of switch Lid 1 guid 0x1 (x):\n":         "this is a dump of forwarding tables",
		"*Vertices 2\n1 \"a\"\n2 \"b\"\n*Edges\n1 2\n":                   "this is a graph of Pajek",
		"{\"directed\": false, \"nodes\": [{\"id\": 0}], \"links\": []}": "this is networkx's JSON",
		"#x.py\n# GMT\n#\na 2\nb {\"weight\": 1}\nc {}\nb 0\nc 0\n":      "this is networkx's multiline adjacency list",
		"Creator \"x\"\ngraph\n[\n node [ id 0 ]\n":                      "this is a graph in DOT or GML",
		"<gexf version=\"1.3\"/>":                                        "this is GEXF",
		">>graph6<<C~\n":                                                 "this is a graph in graph6",
		"{0: [1, 2], 1: [0, 2], 2: [0, 1]}":                              "table of neighbours",
		"{\"nodes\": [], \"links\": []}":                                 "this is networkx's JSON",
		"4 1 2\n0\n1 0 100Gbps 1us 0\n2 0 100Gbps 0.001ms 0\n":           "this is a topology of ns-3",
		"LPGROUPS\n{\n   MODELNET_GRP\n":                                 "this is a configuration of CODES",
		"<?xml version='1.0'?>\n<platform version=\"4.1\">\n":            "this is a platform of SimGrid",
		"\x01\x00\x00\x00\x02\x00\x00\x00":                               "UTF-16",
		"\x01\x02\x00\x00\x02\x00\x00\x00":                               "a binary file",
	} {
		path := filepath.Join(t.TempDir(), "f")
		simtest.Check(t, os.WriteFile(path, []byte(text), 0o666))
		simtest.Refuse(topology.ReadFile(path))(t, want)
		simtest.Refuse(topology.ReadJSON("f", []byte(text)))(t, want)
		simtest.Refuse2(ReadEdges("f", []byte(text), 1))(t, want)
	}
}

// TestEdgesFromOne: a ring whose switches have the numbers 1 to 3 keeps their order, and these as names.
func TestEdgesFromOne(t *testing.T) {
	g, _, err := ReadEdges("f", []byte("3 1\n1 2\n2 3\n"), 1)
	simtest.ErrorIf(t, err != nil || g.Switches() != 3 || g.SwitchName(0) != "1" || g.SwitchName(2) != "3", "%+v, %v", g, err)
}

func TestEdgesRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f:1: no cables"},
		{"0 1\n1 1\n0\n", `f:2: a cable from "1" to itself` + "\n" + `f:3: 1 words: want two switches`},
		{strings.Repeat("1 1\n", 30), "f:10: a cable from \"1\" to itself\nf: 20 more problems"},
		{"0 1\n1 3\n", "f:1: switches are numbered to 3, and none has number 2"},
		{"1 2\n2 4\n", "f:1: switches are numbered to 4, and none has number 3"},
		{"5 6\n1 2\n2 3\n3 4\n4 5\n5 1\n1 3\n", `f:1: "5 6" may be a cable, or count the 5 switches and 6 cables that follow`},
		{"0 <= 1\n", `f:1: "<=" is no name of a switch`},
		{"0: 1 2\n1: 0 2\n", `f:1: "0:" is no name of a switch`},
		{"a b\nc d\n", `f:1: no path from switch "a" to switch "c"`},
		{"id,src,dst\n1,a,b\n2,b\n", "f:3: 2 words: want 3, as line 1 names columns"},
		{"src,srcport,dst,dstport\na,1,b,1\nc,1,b,1\n", `f:3: "c 1" leads to "b 1"; by line 2 that has the cable of "a 1"`},
		{"0 1\n01 2\n", `f:1: switches "1" and "01" have one number`},
		{"0 1\n2 3\n", "f:1: no path from switch 0 to switch 2"},
		{"0 1 terminal\n", `f:1: class "terminal"`},
		{"c0l1 green -> c1\n", `f:1: "c1": want a tile`},
		{"c0l1 green -> c1l1\nc0l1 green -> c1l2\n", "f:2: \"c0l1\" stands in line 1 already"},
		{"c0l1 green -> c1l1\nc1l1 green -> c0l2\n", `f:2: "c1l1" leads to "c0l2"; by line 1 its cable is that of "c0l1"`},
		{"c0l1 green -> c1l1\nc1l1 green -> c0l1\nc2l1 green -> c1l1\n", `f:3: "c2l1" leads to "c1l1"; by line 2 that has the cable of "c0l1"`},
		{"5 4\n4 3\n3 2\n2 1\n1 0\n", `f:1: "5 4" may be a cable, or count the 5 switches and 4 cables that follow`},
		{strings.Repeat("0 1\n", 4097), "f:1: 4097 cables between two switches: want at most 4096"},
		{"\xff\xfe0\x00", "UTF-16"},
		{"a,b\rb,c\r", "f:1: lines end with carriage returns alone"}, // was one cable
	} {
		simtest.Refuse2(ReadEdges("f", []byte(c.text), 1))(t, c.want)
	}
	topologytest.Refuses(t, "edges", "path", topologytest.But(func(*EdgesConfig) {}))
	topologytest.Refuses(t, "edges", "path", topologytest.But(func(c *EdgesConfig) { c.Path = "nowhere" }))
}

func FuzzReadEdges(f *testing.F) {
	ring := simtest.Must(os.ReadFile(filepath.Join("testdata", "ring.edges")))(f)
	f.Add(ring)
	f.Add([]byte("a b c\nc0-0l1 X+ -> c0-1l2[x]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if g, _, err := ReadEdges("f", data, 1); err == nil {
			topologytest.CheckGraph(t, g)
		}
	})
}

// TestLongPaths: a line of 16,384 switches has 16,383 cables to its last, as many as may be; one more is
// refused, here and in JSON.
func TestLongPaths(t *testing.T) {
	line := func(switches int) string {
		var b strings.Builder
		for s := 1; s < switches; s++ {
			fmt.Fprintf(&b, "%d %d\n", s-1, s)
		}
		return b.String()
	}
	g, _, err := ReadEdges("f", []byte(line(1<<14)), 1)
	simtest.Check(t, err)
	var b strings.Builder
	simtest.Check(t, topology.WriteJSON(&b, g))
	simtest.Must(topology.ReadJSON("f", []byte(b.String())))(t)
	const want = "f:1: switch 16384 is more than 16383 cables from switch 0"
	simtest.Refuse2(ReadEdges("f", []byte(line(1<<14+1)), 1))(t, want)
}

// TestManyCables: a list has at most 4,194,304 cables; it takes a few bytes each, also where it is
// an adjacency list.
func TestManyCables(t *testing.T) {
	// Of n switches each has all later ones in its row: n(n-1)/2 cables.
	adjacency := func(switches int) string {
		var b strings.Builder
		for s := range switches {
			b.WriteString(strconv.Itoa(s))
			for peer := s + 1; peer < switches; peer++ {
				b.WriteString(" " + strconv.Itoa(peer))
			}
			b.WriteByte('\n')
		}
		return b.String()
	}
	text := adjacency(1000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g, _, err := ReadEdges("f", []byte(text), 1)
	simtest.FatalIf(t, err != nil || g.SwitchLinks() != 499_500, "%v, %v", g, err)
	runtime.ReadMemStats(&after)
	bytes := after.TotalAlloc - before.TotalAlloc
	simtest.ErrorIf(t, bytes > 499_500*400, "%d bytes are allocated for 499,500 cables, want at most 400 each", bytes)
	simtest.Refuse2(ReadEdges("f", []byte(adjacency(2897)), 1))(t, "more than 4194304 cables") // 4,194,856
}

// TestReadFileFindsLists: a list of cables is told by its first line, and what was written is read again.
func TestReadFileFindsLists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	read := func(text string) (topology.Topology, error) {
		simtest.Check(t, os.WriteFile(path, []byte(text), 0o666))
		return topology.ReadFile(path)
	}
	for _, text := range []string{"# a ring\n0 1\n1 2\n2 0\n", "a b x\nb c x\nc a x\n", "# by hand\n\n// a ring\nrouter 0 node 0 router 1\nrouter 1 node 1 router 2\nrouter 2 node 2 router 0\n"} {
		n := simtest.Must(read(text))(t)
		simtest.Alike(t, text, n.Graph().Switches(), 3, n.Graph().Terminals(), 3, n.Graph().SwitchLinks(), 3)
		var b strings.Builder
		simtest.Check(t, topology.WriteJSON(&b, n.Graph()))
		again := simtest.Must(read(b.String()))(t)
		simtest.ErrorIf(t, again.Graph().SwitchLinks() != 3, "%q: %d links in JSON", text, again.Graph().SwitchLinks())
	}
	// networkx's adjacency list of the complete graph of 4, whose first row has four words.
	g := simtest.Must(read("0 1 2 3\n1 2 3\n2 3\n3\n"))(t).Graph()
	simtest.ErrorIf(t, g.Switches() != 4 || g.SwitchLinks() != 6, "an adjacency list: %d switches, %d links", g.Switches(), g.SwitchLinks())
	simtest.Refuse(read("0 1 2 3\n1 2 4\n"))(t, "nor a topology in JSON")
	g = simtest.Must(read("Source,Target,Type,Weight\n0,1,x,1\n1,2,x,1\n"))(t).Graph()
	simtest.ErrorIf(t, g.SwitchLinks() != 2, "columns: %d links", g.SwitchLinks())
	simtest.Refuse(read("point,load,seed,mean\n0,1,1,1\n1,2,1,1\n"))(t, "nor a topology in JSON") // a table of results
	simtest.Refuse(read("<html lang=en>\n"))(t, "nor a topology in JSON")
}

// Two rings of five switches, 0 to 4 and 5 to 9, joined by 0-5: 11 cables, diameter 2+1+2.
func TestRows(t *testing.T) {
	rings := [][]int{{1, 4, 5}, {0, 2}, {1, 3}, {2, 4}, {0, 3}, {0, 6, 9}, {5, 7}, {6, 8}, {7, 9}, {5, 8}}
	metis, weighted, matrix := "% two rings\n10 11\n", "10 11 011\n", ""
	for _, peers := range rings {
		row := slices.Repeat([]string{"0"}, len(rings))
		weighted += "7"
		for _, p := range peers {
			metis += fmt.Sprintf(" %d", p+1)
			weighted += fmt.Sprintf(" %d 3.5", p+1)
			row[p] = "2"
		}
		metis, weighted, matrix = metis+"\n", weighted+"\n", matrix+strings.Join(row, " ")+"\n"
	}
	for name, text := range map[string]string{"metis": metis, "weighted": weighted, "matrix": matrix, "counted matrix": "10\n" + matrix, "csv": strings.ReplaceAll(matrix, " ", ",")} {
		g, _, err := ReadEdges(name, []byte(text), 1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		far := slices.Max(g.DistancesFrom(2, nil))
		simtest.Alike(t, name+": switches, ports, distance of the farthest from 2", g.Switches(), 10, g.NumPorts(), 10+2*11, far, 5)
		simtest.ErrorIf(t, !isList([]byte(text)), "%s: not found to be a list", name)
	}
	// What a list of cables says, whose first line happens to count: a ring of 4, from 1 on.
	g, _, err := ReadEdges("ring", []byte("4 4\n1 2\n2 3\n3 4\n4 1\n"), 1)
	simtest.ErrorIf(t, err != nil || g.Switches() != 4 || g.NumPorts() != 4+2*4, "ring with counts: %v", err)
}

// TestSlurm: five switches; hosts 5 (01 to 04, and 7) + 1, 2 x 2 and 1; the first spine joins three leaves (one
// stands twice), the second two: five cables.
func TestSlurm(t *testing.T) {
	n := simtest.Must(topology.ReadFile(filepath.Join("testdata", "slurm.conf")))(t)
	g := n.Graph()
	simtest.Alike(t, "switches, terminals, links", g.Switches(), 5, g.Terminals(), 11, g.SwitchLinks(), 5)
	var names []string
	for h := range topology.TerminalID(11) {
		names = append(names, g.Names.Terminals[h].Name)
	}
	want := strings.Fields("host01 host02 host03 host04 host7 login rack0n1 rack0n2 rack1n1 rack1n2 gpu1")
	simtest.ErrorIf(t, !slices.Equal(names, want), "%q, want %q", names, want)
	simtest.ErrorIf(t, g.Names.Switches[2].Name != "leaf3" || g.TerminalSwitch(10) != 2, "%+v, gpu1 at %d", g.Names.Switches, g.TerminalSwitch(10))
	doubts := n.(topology.Doubtful).Doubts()
	simtest.ErrorIf(t, len(doubts) != 1 || !strings.Contains(doubts[0], "does not tell how many cables"), "%q", doubts)
}

// TestSlurmOfScontrol: what scontrol prints lists below a switch of others all nodes that they have; in the file
// spaces may stand around =, as Slurm's parser has them. Two leaves with two hosts each, below a spine.
func TestSlurmOfScontrol(t *testing.T) {
	for _, text := range []string{
		"SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-1]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[2-3]\nSwitchName=top Level=1 LinkSpeed=1 Nodes=n[0-3] Switches=s[0-1]\n",
		"SwitchName = s0 Nodes= \"n[0-1]\"\nSwitchName =s1\tNodes = n[2-3]\nSwitchName=top Switches = s[0-1]\n",
	} {
		g := simtest.Must(readSlurm("f", []byte(text)))(t).Graph()
		simtest.ErrorIf(t, g.Switches() != 3 || g.Terminals() != 4 || g.SwitchLinks() != 2 || g.TerminalSwitch(3) != 1,
			"%s: %d switches, %d terminals, %d links", text, g.Switches(), g.Terminals(), g.SwitchLinks())
	}
	simtest.Refuse(readSlurm("f", []byte("SwitchName=s0 Nodes=a\nSwitchName=t Nodes=a Switches=s0\n")))(t, `f:2: node "a" is below the switch of line 1`)
}

// TestSlurmRefuses: the faults of a file are told together.
func TestSlurmRefuses(t *testing.T) {
	_, err := readSlurm("f", []byte("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[1-2] Colour=red\nSwitchName=a Nodes=x\nSwitchName=c Nodes=h[1-\n\nSwitchName=d \\\n Switches=a,d,e[0-1]\nNodes=n9\nSwitchName=e\n"))
	simtest.FatalIf(t, err == nil, "read")
	want := `f:2: "Colour=red": want SwitchName=, Nodes=, Switches= or LinkSpeed= and a value
f:2: node "n1" is below the switch of line 1: want one switch
f:3: switch "a" is a duplicate: first described in line 1
f:4: "[1-": a bracket is not closed
f:8: SwitchName="": want the name of a switch, or a list of them, with Nodes or Switches
f:9: SwitchName="e": want the name of a switch, or a list of them, with Nodes or Switches
f:6: switch "d" is below itself
f:6: no switch "e0": want names that a line describes
f:6: no switch "e1": want names that a line describes`
	simtest.ErrorIf(t, err.Error() != want, "%v\nwant\n%s", err, want)
	simtest.Refuse(readSlurm("f", []byte("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n")))(t, `f:2: no path from switch "a" to switch "b"`)
}

// TestSlurmContinues: a list goes on in the next line, behind its comma, as Slurm joins lines.
func TestSlurmContinues(t *testing.T) {
	g := simtest.Must(readSlurm("f", []byte("SwitchName=a Nodes=n[1-2],\\\nn4,\\\n  n5\nSwitchName=b\\ \n Nodes=x\nSwitchName=t Switches=a,b\n")))(t).Graph()
	simtest.ErrorIf(t, g.Switches() != 3 || g.Terminals() != 5 || g.Names.Terminals[3].Name != "n5", "%d switches, %d terminals", g.Switches(), g.Terminals())
}

// FuzzReadSlurm: a text is read as a sound network, or refused by lines.
func FuzzReadSlurm(f *testing.F) {
	f.Add(string(simtest.Must(os.ReadFile(filepath.Join("testdata", "slurm.conf")))(f)))
	f.Add("SwitchName=a Nodes=n[1-2]\\\nSwitchName=b Switches=a")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := readSlurm("f", []byte(text))
		simtest.ErrorIf(t, err != nil && !strings.HasPrefix(err.Error(), "f:"), "an error without a line: %v", err)
		simtest.ErrorIf(t, err == nil && (n.Graph().Switches() == 0 || n.Graph().Terminals() == 0), "a network without switches or terminals: %q", text)
	})
}

// A list of switches has the same children below each: 2 spines over 3 leaves are 6 cables. What is wrong
// with a line is told once, and not again of the switches that name it.
func TestSlurmLists(t *testing.T) {
	const leaves = "SwitchName=l0 Nodes=n0\nSwitchName=l1 Nodes=n1\nSwitchName=l2 Nodes=n2\n"
	built := simtest.Must(readSlurm("t", []byte("SwitchName=s[0-1] Switches=l[0-2]\n"+leaves)))(t)
	g := built.Graph()
	simtest.Alike(t, "switches, terminals, ports", g.Switches(), 5, g.Terminals(), 3, g.NumPorts(), 3+2*6)
	for text, want := range map[string]string{
		"SwitchName=l0 Nodes=\nSwitchName=s Switches=l0\n":     `t:1: "Nodes=": want SwitchName=, Nodes=, Switches= or LinkSpeed= and a value`,
		"Colour=red Nodes=n0\n":                                `t:1: "Colour=red": want SwitchName=, Nodes=, Switches= or LinkSpeed= and a value`,
		"SwitchName=l[0-1] Nodes=n[0-3]\n":                     `t:1: SwitchName="l[0-1]": the same Nodes below several switches: want a line for each switch that has nodes`,
		"SwitchName=l[0- Switches=l0\nSwitchName=l0 Nodes=n\n": `t:1: "[0-": a bracket is not closed`,
		"SwitchName=s[0-1] Switches=l[0-3]\n" + leaves:         "t:1: no switch \"l3\": want names that a line describes",
	} {
		_, err := readSlurm("t", []byte(text))
		simtest.ErrorIf(t, err == nil || err.Error() != want, "%q: %v; want %s", text, err, want)
	}
}

// TestAnynet: three routers in a line, a cable of 15 cycles one way and 20 the other, which is taken as 20, and one of 7 one
// way, of 1 the other; a node is named by its own line, by its router's, or by both.
func TestAnynet(t *testing.T) {
	const text = "router 0 node 0 node 1 5 router 1 15\nrouter 1 node 2 router 2 7\nrouter 1 router 0 20\nnode 3 router 2\n\nnode 2 router 1\n"
	n := simtest.Must(ReadAnynet("f", []byte(text)))(t)
	g := n.Graph()
	simtest.Alike(t, "switches, terminals, links", g.Switches(), 3, g.Terminals(), 4, g.SwitchLinks(), 2)
	var at []int
	for terminal := range topology.TerminalID(4) {
		at = append(at, int(g.TerminalSwitch(terminal)))
	}
	simtest.EqualSlices(t, at, []int{0, 0, 1, 2}, "terminals are at")
	latency := func(p topology.PortID) int { return g.Classes[g.PortClass[p]].Latency }
	first, _ := g.Ports(0)
	middle, _ := g.Ports(1)
	got := []int{latency(first), latency(first + 1), latency(first + 2), latency(middle), latency(middle + 2)}
	simtest.EqualSlices(t, got, []int{1, 5, 20, 1, 7}, "cycles")
	doubts := n.(topology.Doubtful).Doubts()
	simtest.ErrorIf(t, len(doubts) != 1 || !strings.Contains(doubts[0], "2 cables have other cycles"), "%q", doubts)
	for _, before := range []string{"\ufeff", "# by hand\n// a pair\n"} { // as editors write it
		simtest.Equal(t, simtest.Must(ReadAnynet("f", []byte(before+text)))(t).Graph().Switches(), 3, "switches behind %q", before)
	}
	simtest.Refuse(ReadAnynet("f", []byte(strings.ReplaceAll(text, "\n", "\r"))))(t, "f:1: lines end with carriage returns alone")
	for text, want := range map[string]string{
		"router 0 node 0\nrouter 2 router 0\n": "f:1: none of 2 routers has number 1",
		"router 0 node 1\n":                    "f:1: none of 1 nodes has number 0",
		"router 0 node 0\nrouter 1 node 0\n":   "f:2: node 0 is joined to router 1; by line 1 it is to router 0",
		"router 0 node 0 router 0\n":           "f:1: router 0 is joined to itself",
		"node 0 node 1\n":                      "f:1: node 0 is joined to node 1",
		"router 0 node 0 router\n":             `f:1: "router": want router or node and its number`,
		"router x node 0\n":                    `f:1: router "x": want a number`,
		"router 0 node 0 router 1 0\n":         `f:1: "0" cycles of a channel: want 1 to 1048576`,
		"router 0 node 0\nrouter 1 node 1\n":   "f:2: no path from switch 0 to switch 1",
	} {
		simtest.Refuse(ReadAnynet("f", []byte(text)))(t, want)
	}
}

// FuzzAnynet: any text is read or refused.
func FuzzAnynet(f *testing.F) {
	f.Add([]byte("router 0 node 0 node 1 5 router 1 15\nrouter 1 node 2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := ReadAnynet("f", text)
		simtest.ErrorIf(t, err == nil && n.Graph().Terminals() == 0, "no terminals")
	})
}
