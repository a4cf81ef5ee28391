package topology

import (
	"bytes"
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// Lines of elements as [WriteGraphML] and [WriteDOT] write them. A node has its kind, number and name; an edge the
// kind and number of its first end, the switch at the second, class, latency, rate and, in GraphML, the ports.
var (
	graphMLNode = input.Pattern(`^ *<node id="([st])(\d{1,9})"><data key="kind">\w+</data><data key="name">(.*)</data></node>$`)
	graphMLEdge = input.Pattern(`^ *<edge source="([st])(\d{1,9})" target="s(\d{1,9})"><data key="class">(.*?)</data><data key="latency">(\d{1,9})</data>` +
		`(?:<data key="rate">(\d{1,18})</data>)?(?:<data key="source_port">(\d{1,9})</data>)?<data key="target_port">(\d{1,9})</data></edge>$`)
	dotNode = input.Pattern(`^ *([st])(\d{1,9}) \[shape=\w+ label="(.*)"\];$`)
	dotEdge = input.Pattern(`^ *([st])(\d{1,9}) -- s(\d{1,9}) \[class="(.*)" latency=(\d{1,9})(?: rate="(.*)")?\];$`)
)

// readDrawing reads back what WriteGraphML and WriteDOT have written: all but identities beside names, and of DOT
// the numbers of ports, which count up at each switch. is is false of other files.
func readDrawing(name string, data []byte) (g *Graph, is bool, err error) {
	node, edge, unescape := graphMLNode(), graphMLEdge(), html.UnescapeString
	if start, _, _ := bytes.Cut(data, []byte("\n")); bytes.HasSuffix(start, []byte("\r")) { // Windows' line ends
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	switch {
	case bytes.HasPrefix(data, []byte(graphMLHeader)):
	case bytes.HasPrefix(data, []byte("graph topology {\n  s0 [shape=")):
		node, edge, unescape = dotNode(), dotEdge(), strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace
	default:
		return nil, false, nil
	}
	r := &fileReader{Problems: input.Problems{Name: name}}
	number := func(digits string) int {
		n, _ := strconv.Atoi(digits) // which the expressions bound
		return n
	}
	port := func(s, digits string) filePort {
		p := filePort{Switch: number(s)}
		if n := number(digits); digits != "" {
			p.Port = &n
		}
		return p
	}
	known := map[string]bool{}
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		text = strings.TrimSuffix(text, "\n")
		if m := node.FindStringSubmatch(text); m != nil {
			kind, count := "switch", len(r.switches)
			if m[1] == "t" {
				kind, count = "terminal", len(r.terminals)
			}
			name := unescape(m[3])
			if name == fmt.Sprintf("%s %s", kind, m[2]) {
				name = ""
			}
			if number(m[2]) != count {
				r.ProblemAt(line, "%s%s: want %s%d next", m[1], m[2], m[1], count)
			}
			if m[1] == "s" {
				r.switches = append(r.switches, located[SwitchName]{line, SwitchName{Name: name}})
			} else {
				r.terminals = append(r.terminals, located[fileTerminal]{line, fileTerminal{Name: name, filePort: filePort{Switch: noSwitch}}})
			}
			continue
		}
		m := edge.FindStringSubmatch(text)
		if m == nil {
			if strings.Contains(text, "<edge ") || strings.Contains(text, " -- ") || strings.Contains(text, "<node ") {
				r.ProblemAt(line, "%s is no element as weft writes it", input.Quote(strings.TrimSpace(text)))
			}
			continue
		}
		class := unescape(m[4])
		if !known[class] {
			known[class] = true
			rate := m[6]
			if rate != "" && strings.Trim(rate, "0123456789") == "" {
				rate += "b/s"
			}
			r.classes = append(r.classes, located[fileClass]{line, fileClass{class, number(m[5]), rate}})
		}
		m = append(m, "", "") // of DOT
		switch at := number(m[2]); {
		case m[1] == "s":
			r.links = append(r.links, located[fileLink]{line, fileLink{port(m[2], m[7]), port(m[3], m[8]), class}})
		case at >= len(r.terminals) || r.terminals[at].value.Switch != noSwitch:
			r.ProblemAt(line, "t%d: want one edge for every terminal", at)
		default:
			r.terminals[at].value.filePort, r.terminals[at].value.Class = port(m[3], m[8]), class
		}
	}
	if g = r.build(); r.Any() {
		return nil, true, r.Err()
	}
	return g, true, nil
}
