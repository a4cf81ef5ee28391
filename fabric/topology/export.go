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

// eachLink visits the cables between switches, each once, by its end with the
// lower port number, in the order of those.
func (g *Graph) eachLink(visit func(p, peer PortID)) {
	for p := range PortID(g.NumPorts()) {
		if peer, ok := g.PeerPort(p); ok && p < peer {
			visit(p, peer)
		}
	}
}

// WriteDOT writes the graph in the DOT language of Graphviz: switches s0, s1,
// ..., terminals t0, t1, ..., with their names as labels; every cable is one
// undirected edge with its class, latency (cycles) and, if stated, rate.
func WriteDOT(w io.Writer, g *Graph) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "graph topology {\n")
	for s := range SwitchID(g.Switches()) {
		fmt.Fprintf(b, "  s%d [shape=box label=%s];\n", s, dotQuote(g.SwitchName(s)))
	}
	for t := range TerminalID(g.Terminals()) {
		fmt.Fprintf(b, "  t%d [shape=ellipse label=%s];\n", t, dotQuote(g.TerminalName(t)))
	}
	edge := func(from, to string, p PortID) {
		c := g.Classes[g.PortClass[p]]
		fmt.Fprintf(b, "  %s -- %s [class=%s latency=%d", from, to, dotQuote(c.Name), c.Latency)
		if c.Rate != 0 {
			fmt.Fprintf(b, " rate=%s", dotQuote(c.Rate.String()))
		}
		fmt.Fprintf(b, "];\n")
	}
	for t, p := range g.TerminalPort {
		edge(fmt.Sprintf("t%d", t), fmt.Sprintf("s%d", g.PortSwitch[p]), p)
	}
	g.eachLink(func(p, peer PortID) {
		edge(fmt.Sprintf("s%d", g.PortSwitch[p]), fmt.Sprintf("s%d", g.PortSwitch[peer]), p)
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

// WriteGraphML writes the graph as GraphML: nodes s0, s1, ... of kind "switch"
// and t0, t1, ... of kind "terminal" with their names; every cable is one
// undirected edge with its class, latency (cycles), rate (bits per second, if
// stated) and the port numbers, from 0, that it takes on switches.
func WriteGraphML(w io.Writer, g *Graph) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, graphMLHeader)
	node := func(id, kind, name string) {
		fmt.Fprintf(b, "    <node id=%q><data key=\"kind\">%s</data><data key=\"name\">%s</data></node>\n", id, kind, xmlEscape(name))
	}
	for s := range SwitchID(g.Switches()) {
		node(fmt.Sprintf("s%d", s), "switch", g.SwitchName(s))
	}
	for t := range TerminalID(g.Terminals()) {
		node(fmt.Sprintf("t%d", t), "terminal", g.TerminalName(t))
	}
	edge := func(source, target, ports string, p PortID) {
		c := g.Classes[g.PortClass[p]]
		fmt.Fprintf(b, "    <edge source=%q target=%q><data key=\"class\">%s</data><data key=\"latency\">%d</data>", source, target, xmlEscape(c.Name), c.Latency)
		if c.Rate != 0 {
			fmt.Fprintf(b, "<data key=\"rate\">%d</data>", int64(c.Rate))
		}
		fmt.Fprintf(b, "%s</edge>\n", ports)
	}
	port := func(key string, p PortID) string {
		return fmt.Sprintf("<data key=%q>%d</data>", key, g.LocalPort(p))
	}
	for t, p := range g.TerminalPort {
		edge(fmt.Sprintf("t%d", t), fmt.Sprintf("s%d", g.PortSwitch[p]), port("target_port", p), p)
	}
	g.eachLink(func(p, peer PortID) {
		edge(fmt.Sprintf("s%d", g.PortSwitch[p]), fmt.Sprintf("s%d", g.PortSwitch[peer]), port("source_port", p)+port("target_port", peer), p)
	})
	fmt.Fprint(b, "  </graph>\n</graphml>\n")
	return b.Flush()
}

func xmlEscape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // a strings.Builder does not fail
	return b.String()
}

// WriteJSON writes the graph in the format that the topology "file" reads,
// without loss; see [FileConfig]. One element a line.
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
			write(newFileClass(c))
		}
	})
	section("switches", func(write func(any)) {
		for s := range SwitchID(g.Switches()) {
			write(newFileSwitch(g, s))
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
				write(fileAggregation{a.Name, int(a.Switch), a.Port, guid(a.NodeGUID), a.NodePort, guid(a.PortGUID), a.LID, a.LMC, a.Rate})
			}
		})
	}
	fmt.Fprint(b, "\n}\n")
	return b.Flush()
}
