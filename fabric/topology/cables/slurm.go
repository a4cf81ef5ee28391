package cables

import (
	"bytes"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

var isSlurm = input.Pattern(`(?im)^\s*SwitchName\s*=`)

func init() {
	topology.RegisterFormat(topology.Format{Name: "slurm", Called: "Slurm's topology.conf", Doc: "a network from Slurm's topology.conf, with a cable for each pair that it names", Read: readSlurm,
		Is: func(data []byte) bool { return isSlurm().Match(data) }})
}

// slurmReader collects the switches of Slurm's topology.conf (its manual page: "SwitchName ... Switches: child
// switches of the named switch ... Nodes: child nodes of the named leaf switch", both lists of hosts, as
// [input.ExpandHosts] reads them; "LinkSpeed ... not used"):
//
//	SwitchName=leaf1 Nodes=host[1-4,7]
//	SwitchName=spine[1-2] Switches=leaf[1-2]
//
// or as "scontrol show topology" prints them, with a Level, and with all nodes below a switch of others. Keys are
// in either case, spaces may stand around =, # begins a comment, \ continues a line, also within a list. A switch may be the child of several, as
// leaves of spines are. Switches and hosts are numbered in the order of the file.
type slurmReader struct {
	input.Problems
	names    topology.Names
	lines    []int               // of the switches
	at       []topology.SwitchID // of the hosts
	number   map[string]int      // switches
	hosts    map[string]int      // their lines
	children []located[string]   // lists of the switches below each
}

func readSlurm(name string, data []byte) (topology.Topology, error) {
	if err := topology.CheckForeign(name, data); err != nil {
		return nil, err
	}
	r := &slurmReader{Problems: input.Problems{Name: name}, number: map[string]int{}, hosts: map[string]int{}}
	line, begins, whole := 0, 1, []byte(nil)
	for text := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		line++
		text, _, _ = strings.Cut(text, "#")
		text, continues := strings.CutSuffix(strings.TrimRight(text, " \t\r\n"), `\`)
		if bytes.HasSuffix(whole, []byte(",")) {
			text = strings.TrimLeft(text, " \t")
		}
		if whole = append(whole, text...); !continues {
			r.read(begins, slurmWords(whole))
			begins, whole = line+1, whole[:0]
		}
	}
	r.read(begins, slurmWords(whole))
	b := topology.NewBuilder(len(r.lines))
	for _, s := range r.at {
		b.AddTerminal(s, 0)
	}
	r.join(b)
	return finish(&r.Problems, b, network{topology.Classes("link"), &r.names, r.lines, []string{name + ": Slurm's file does not tell how many cables join two switches, nor their rates: taken as one each"}})
}

var spacedEquals = input.Pattern(`\s*=\s*`)

// slurmWords divides a line into keys with their values.
func slurmWords(line []byte) []string {
	return strings.Fields(spacedEquals().ReplaceAllString(string(line), "="))
}

func (r *slurmReader) read(line int, words []string) {
	if r.Full() || len(words) == 0 {
		return
	}
	values, wrong := map[string]string{}, false
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		value = strings.Trim(value, `"`)
		switch key = strings.ToLower(key); {
		case key != "switchname" && key != "nodes" && key != "switches" && key != "linkspeed" && key != "level" || value == "":
			wrong = true
			r.ProblemAt(line, "%s: want SwitchName=, Nodes=, Switches= or LinkSpeed= and a value", input.Quote(word))
		case values[key] != "":
			r.ProblemAt(line, "%s: the key stands in the line already", input.Quote(word))
		}
		values[key] = value
	}
	if values["level"] != "" && values["switches"] != "" {
		values["nodes"] = "" // which are those below its switches
	}
	names := r.expand(line, values["switchname"])
	if wrong = wrong || len(names) == 0 && values["switchname"] != ""; !wrong && (len(names) == 0 || values["nodes"]+values["switches"] == "") {
		r.ProblemAt(line, "SwitchName=%q: want the name of a switch, or a list of them, with Nodes or Switches", values["switchname"])
		return
	}
	if len(names) == 0 {
		return
	}
	for _, name := range names {
		if first, twice := r.number[name]; twice {
			r.ProblemAt(line, "switch %q is a duplicate: first described in line %d", name, r.lines[first])
			return
		}
		r.number[name] = len(r.lines)
		r.lines, r.names.Switches = append(r.lines, line), append(r.names.Switches, topology.SwitchName{Name: name})
		r.children = append(r.children, located[string]{line, values["switches"]})
	}
	if len(names) > 1 && values["nodes"] != "" {
		r.ProblemAt(line, "SwitchName=%q: the same Nodes below several switches: want a line for each switch that has nodes", values["switchname"])
		return
	}
	s := topology.SwitchID(len(r.lines) - 1)
	for _, host := range r.expand(line, values["nodes"]) {
		if first, twice := r.hosts[host]; twice {
			r.ProblemAt(line, "node %q is below the switch of line %d: want one switch", host, first)
			break
		} else if len(r.hosts) == input.MostHosts {
			r.ProblemAt(line, "node %q: want at most %d nodes", host, input.MostHosts)
			break
		}
		r.hosts[host] = line
		r.at, r.names.Terminals = append(r.at, s), append(r.names.Terminals, topology.AdapterPort{Name: host})
	}
}

// expand lists the names of a list; none, with a problem, if it is not one.
func (r *slurmReader) expand(line int, list string) []string {
	names, err := input.ExpandHosts(list)
	if err != nil {
		r.ProblemAt(line, "%v", err)
	}
	return names
}

// join lays the cables, each once.
func (r *slurmReader) join(b *topology.Builder) {
	laid := map[[2]int]bool{}
	for parent, c := range r.children {
		for _, name := range r.expand(c.line, c.value) {
			child, known := r.number[name]
			pair := [2]int{min(parent, child), max(parent, child)}
			switch {
			case r.Full():
				return
			case !known && parent > 0 && r.children[parent-1].line == c.line: // told
			case !known:
				r.ProblemAt(c.line, "no switch %q: want names that a line describes", name)
			case child == parent:
				r.ProblemAt(c.line, "switch %q is below itself", name)
			case len(laid) == mostCables:
				r.ProblemAt(c.line, "more than %d cables", mostCables)
				return
			case !laid[pair]:
				laid[pair] = true
				b.AddLink(topology.SwitchID(child), topology.SwitchID(parent), 1)
			}
		}
	}
}
