package topology

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// eachLink visits each cable between switches once, by its end with the lower port, in order.
func (g *Graph) eachLink(visit func(p, peer PortID)) {
	for p := range PortID(g.NumPorts()) {
		if peer, ok := g.PeerPort(p); ok && p < peer {
			visit(p, peer)
		}
	}
}

// element is a node of a drawing language, a switch or terminal, or an edge between two.
type element struct {
	id, kind, name string // of a node; kind: "switch" or "terminal"
	from, to       string // of an edge: nodes
	ends           [2]PortID
	class          Class
}

// elements visits switches s0, s1, ..., terminals t0, t1, ..., then the cables of terminals (their
// second end is the switch port) and between switches.
func (g *Graph) elements(node, edge func(e element)) {
	at := func(p PortID) string { return fmt.Sprintf("s%d", g.PortSwitch[p]) }
	for s := range SwitchID(g.Switches()) {
		node(element{id: fmt.Sprintf("s%d", s), kind: "switch", name: g.SwitchName(s)})
	}
	for t := range TerminalID(g.Terminals()) {
		node(element{id: fmt.Sprintf("t%d", t), kind: "terminal", name: g.TerminalName(t)})
	}
	for t, p := range g.TerminalPort {
		edge(element{from: fmt.Sprintf("t%d", t), to: at(p), ends: [2]PortID{NoPort, p}, class: g.Classes[g.PortClass[p]]})
	}
	g.eachLink(func(p, peer PortID) {
		edge(element{from: at(p), to: at(peer), ends: [2]PortID{p, peer}, class: g.Classes[g.PortClass[p]]})
	})
}

// WriteDOT writes the graph in Graphviz's DOT language: switches s0, s1, ..., terminals t0, t1,
// ..., labelled by name; a cable is an undirected edge with class, latency (cycles) and, if stated,
// rate.
func WriteDOT(w io.Writer, g *Graph) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "graph topology {\n")
	shape := map[string]string{"switch": "box", "terminal": "ellipse"}
	g.elements(func(e element) {
		fmt.Fprintf(b, "  %s [shape=%s label=%s];\n", e.id, shape[e.kind], dotQuote(e.name))
	}, func(e element) {
		fmt.Fprintf(b, "  %s -- %s [class=%s latency=%d", e.from, e.to, dotQuote(e.class.Name), e.class.Latency)
		if e.class.Rate != 0 {
			fmt.Fprintf(b, " rate=%s", dotQuote(e.class.Rate.String()))
		}
		fmt.Fprintf(b, "];\n")
	})
	fmt.Fprintf(b, "}\n")
	return b.Flush()
}

func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(input.Printable(s)) + `"`
}

// graphMLHeader declares the attributes of nodes and edges.
const graphMLHeader = xml.Header + `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="kind" for="node" attr.name="kind" attr.type="string"/>
  <key id="name" for="node" attr.name="name" attr.type="string"/>
  <key id="class" for="edge" attr.name="class" attr.type="string"/>
  <key id="latency" for="edge" attr.name="latency" attr.type="int"/>
  <key id="rate" for="edge" attr.name="rate" attr.type="long"/>
  <key id="source_port" for="edge" attr.name="source_port" attr.type="int"/>
  <key id="target_port" for="edge" attr.name="target_port" attr.type="int"/>
  <graph id="topology" edgedefault="undirected">
`

// WriteGraphML writes the graph as GraphML: nodes s0, s1, ... of kind "switch" and t0, t1, ... of
// kind "terminal" with their names; a cable is an undirected edge with class, latency (cycles),
// rate (bit/s, if stated) and its port numbers on switches, from 0.
func WriteGraphML(w io.Writer, g *Graph) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, graphMLHeader)
	g.elements(func(e element) {
		fmt.Fprintf(b, "    <node id=%q><data key=\"kind\">%s</data><data key=\"name\">%s</data></node>\n", e.id, e.kind, xmlEscape(e.name))
	}, func(e element) {
		fmt.Fprintf(b, "    <edge source=%q target=%q><data key=\"class\">%s</data><data key=\"latency\">%d</data>", e.from, e.to, xmlEscape(e.class.Name), e.class.Latency)
		if e.class.Rate != 0 {
			fmt.Fprintf(b, "<data key=\"rate\">%d</data>", int64(e.class.Rate))
		}
		for i, key := range []string{"source_port", "target_port"} {
			if p := e.ends[i]; p != NoPort {
				fmt.Fprintf(b, "<data key=%q>%d</data>", key, g.LocalPort(p))
			}
		}
		fmt.Fprint(b, "</edge>\n")
	})
	fmt.Fprint(b, "  </graph>\n</graphml>\n")
	return b.Flush()
}

func xmlEscape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // a strings.Builder does not fail
	return b.String()
}

// WriteJSON writes the graph, without loss, for the topology "file" ([FileConfig]), an element a
// line.
func WriteJSON(w io.Writer, g *Graph) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "{\n\"format\": %q,\n\"version\": %d", fileFormat, fileVersion)
	section := func(name string, elements func(write func(any))) {
		fmt.Fprintf(b, ",\n%q: [", name)
		separator := "\n"
		elements(func(e any) {
			text, err := json.Marshal(e)
			if err != nil { // plain strings and numbers
				panic("topology: WriteJSON: " + err.Error())
			}
			fmt.Fprintf(b, "%s  %s", separator, text)
			separator = ",\n"
		})
		fmt.Fprint(b, "\n]")
	}
	section("classes", func(write func(any)) {
		for _, c := range g.Classes {
			f := fileClass{Name: c.Name, Latency: c.Latency}
			if c.Rate != 0 {
				f.Rate = c.Rate.String()
			}
			write(f)
		}
	})
	section("switches", func(write func(any)) {
		for s := range SwitchID(g.Switches()) {
			write(at(g.identities().Switches, s))
		}
	})
	section("terminals", func(write func(any)) {
		for t := range TerminalID(g.Terminals()) {
			write(newFileTerminal(g, t))
		}
	})
	section("links", func(write func(any)) {
		g.eachLink(func(p, peer PortID) {
			write(fileLink{A: newFilePort(g, p), B: newFilePort(g, peer), Class: g.Classes[g.PortClass[p]].Name})
		})
	})
	if g.Names != nil && g.Names.Aggregation != nil {
		section("aggregation_nodes", func(write func(any)) {
			for _, a := range g.Names.Aggregation {
				write(a)
			}
		})
	}
	fmt.Fprint(b, "\n}\n")
	return b.Flush()
}
