// Package ib reads and writes InfiniBand fabrics as their tools do: topologies
// (ibnetdiscover, iblinkinfo, ibdiagnet, ibsim), forwarding tables, service levels of paths and
// SL2VL tables (OpenSM, infiniband-diags, ibdiagnet). Readers take the name of their file, and
// return all problems of it together, each as "name:line: ...".
package ib

import (
	"bytes"
	"io"
	"maps"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// Imported is a network read from a description of a real or simulated InfiniBand fabric. Switches
// are in file order, terminals in the order of adapters; an adapter with both ports in use is two
// terminals of one node. Each rate is a channel class ("4xEDR").
type Imported struct {
	topology.Topology
	warnings []string
	doubts   []string
}

// Warnings lists what was strange but could be read, each with its line.
func (im *Imported) Warnings() []string { return im.warnings }

// Doubts implements [topology.Doubtful]: cables whose rate is not known.
func (im *Imported) Doubts() []string { return im.doubts }

// ReadNetDiscover reads ibnetdiscover's output since 2006, and ibdiagnet's variant. Every cable
// must be listed at both ends.
//
// Read: node ids, descriptions (with quotes and # in them), LIDs, LMCs, port GUIDs, rates; byte
// order marks, CRLF, spaces for tabs, shell prompts and tool messages around the dump. Cables from
// a switch to itself and between two adapters are left out with a warning.
func ReadNetDiscover(r io.Reader, name string) (*Imported, error) {
	return read(r, name, dialectDiscover)
}

// ReadSim reads a netlist of the simulator ibsim and numbers GUIDs alike: an adapter's port has the
// adapter's GUID plus its number, whatever is in parentheses. include, module and do are refused.
func ReadSim(r io.Reader, name string) (*Imported, error) { return read(r, name, dialectSim) }

func read(r io.Reader, name string, dialect variant) (*Imported, error) {
	f := newListing(name)
	f.dialect = dialect
	f.base = map[nodeKind]uint64{adapterNode: 0x100000, switchNode: 0x200000, routerNode: ^uint64(0)}
	f.next = maps.Clone(f.base)
	return f.read(r, f.parseLine, func(int) {})
}

// format is a form of files that hold fabrics.
type format struct {
	name, called, doc string
	read              func(io.Reader, string) (*Imported, error)
	write             func(io.Writer, *topology.Graph) error // nil: none
}

func init() {
	for _, f := range []format{
		{"ibnetdiscover", "ibnetdiscover output", "an InfiniBand fabric as ibnetdiscover or ibdiagnet printed it", ReadNetDiscover, WriteNetDiscover},
		{"ibdiagnet", "ibdiagnet's db_csv", "an InfiniBand fabric as ibdiagnet's db_csv file lists it", ReadDBCSV, nil},
		{"ibnetdiscover-ports", "ibnetdiscover's report of ports", "an InfiniBand fabric as ibnetdiscover --ports printed it", ReadPorts, nil},
		{"iblinkinfo", "iblinkinfo output", "an InfiniBand fabric as iblinkinfo printed it", ReadLinkInfo, nil},
		{"ibsim", "an ibsim netlist", "an InfiniBand fabric as a netlist of the simulator ibsim", ReadSim, WriteSim},
	} {
		topology.RegisterFormat(topology.Format{
			Name: f.name, Called: f.called, Doc: f.doc, Is: func(data []byte) bool { return formatOf(data) == f.name }, Write: f.write,
			Read: func(path string, data []byte) (topology.Topology, error) {
				im, err := f.read(bytes.NewReader(data), path)
				if err != nil {
					return nil, err
				}
				return im, nil
			},
		})
	}
}

// discoverNode matches a node record whose id is made of a GUID.
var discoverNode = input.Pattern(`(?m)^\s*(?:Switch|Ca|Rt)\s+\d+\s+"[SHR]-(?:0x)?[0-9A-Fa-f]+"`)

// dbNodes matches the beginning of the nodes of ibdiagnet's db_csv.
var dbNodes = input.Pattern(`(?m)^\s*START_NODES\s*$`)

// anyNode matches a node record.
var anyNode = input.Pattern(`(?m)^\s*(?:Switch|H?[Cc]a|Rt)\s+\d+\s*"`)

// anyPort matches the start of a line of ibnetdiscover --ports, anyLink iblinkinfo's arrow.
var (
	anyPort = input.Pattern(`(?m)^\s*(SW|CA|RT)\s+\d+\s+\d+\s+0x[0-9A-Fa-f]`)
	anyLink = input.Pattern(`(?m)\d\[[ \d]*\]\s+==\(.*\)==>`)
)

// formatOf finds the format of a file out from its content; empty: it has none that is known.
func formatOf(data []byte) string {
	switch {
	case topology.IsJSON(data):
		return "json"
	case dbNodes().Match(data):
		return "ibdiagnet"
	case discoverNode().Match(data):
		return "ibnetdiscover"
	case anyPort().Match(data):
		return "ibnetdiscover-ports"
	case anyLink().Match(data):
		return "iblinkinfo"
	case anyNode().Match(data):
		return "ibsim"
	}
	return ""
}

// device matches the last word of an adapter's description behind its host's name: drivers' names
// ("mlx5_0", "ibp65s0"), or old subnet agents' ("HCA-1").
var device = input.Pattern(`^(HCA-\d+|mlx\d+_\d+|mthca\d+|qib\d+|hfi1_\d+|(ib|ro)\w*\d+\w*)$`)

// hostsOf numbers the hosts of terminals by the names of their adapters: adapters
// described as "HOST DEVICE" with one host and different devices are rails of one
// host. Adapters that share both words, as in clusters where nobody has set
// host names, are hosts of their own. nil: no host has several terminals.
func hostsOf(n *topology.Names) []int32 {
	type adapter struct{ host, device string }
	name := func(t int) (a adapter, ok bool) {
		words := strings.Fields(n.Terminals[t].Name)
		if len(words) < 2 || !device().MatchString(words[len(words)-1]) {
			return a, false
		}
		return adapter{strings.Join(words[:len(words)-1], " "), words[len(words)-1]}, true
	}
	owner := map[adapter]int32{}   // adapter by its name
	ambiguous := map[string]bool{} // hosts by name
	for t, node := range n.TerminalNode {
		if a, ok := name(t); ok {
			if first, known := owner[a]; known && first != node {
				ambiguous[a.host] = true
			}
			owner[a] = node
		}
	}
	byName := map[string]int32{}
	byNode := map[int32]int32{}
	hosts := make([]int32, len(n.Terminals))
	several := false
	next := int32(0)
	for t, node := range n.TerminalNode {
		host, known := byNode[node]
		a, ok := name(t)
		if ok = ok && !ambiguous[a.host]; ok && !known {
			host, known = byName[a.host]
		}
		if !known {
			host = next
			next++
		}
		several = several || known
		byNode[node] = host
		if ok {
			byName[a.host] = host
		}
		hosts[t] = host
	}
	if !several {
		return nil
	}
	return hosts
}
