package ib

import (
	"bytes"
	"fmt"
	"io"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Imported is a network read from a description of a real or simulated
// InfiniBand fabric. Switches are numbered in file order, terminals in the
// order of their adapters, an adapter with both ports in use being two
// terminals of one node. Each rate is a channel class ("4xEDR") with its data
// rate.
type Imported struct {
	graph    *topology.Graph
	warnings []string
	// Summary counts what the file holds.
	Summary ImportSummary
}

// ImportSummary counts what a fabric description holds.
type ImportSummary struct {
	Switches         int
	Adapters         int // Ca records, aggregation nodes among them
	AggregationNodes int // adapters inside switches; they are no terminals, and listed in Names
	Routers          int // Rt records; their ports are terminals
	Terminals        int // connected adapter and router ports
	Hosts            int // that these belong to
	SwitchCables     int // cables between different switches
	SelfCables       int // cables from a node to itself, left out
	PortLines        int // lines that list one end of a cable
}

// String is one line for people.
func (s ImportSummary) String() string {
	text := fmt.Sprintf("%d switches, %d adapters with %d ports in use, %d cables between switches", s.Switches, s.Adapters, s.Terminals, s.SwitchCables)
	if s.Hosts < s.Terminals {
		text += fmt.Sprintf(", of %d hosts", s.Hosts)
	}
	if s.AggregationNodes > 0 {
		text += fmt.Sprintf(", %d of the adapters aggregation nodes of switches", s.AggregationNodes)
	}
	if s.Routers > 0 {
		text += fmt.Sprintf(", %d routers", s.Routers)
	}
	if s.SelfCables > 0 {
		text += fmt.Sprintf(", %d cables from a switch to itself left out", s.SelfCables)
	}
	return text
}

// Graph is the network.
func (im *Imported) Graph() *topology.Graph { return im.graph }

// Facts are the counts of the file; what has no closed form is negative.
func (im *Imported) Facts() topology.Facts {
	return topology.Facts{
		Switches:  im.graph.Switches(),
		Terminals: im.graph.Terminals(),
		Links:     im.graph.SwitchLinks(),
		Diameter:  -1,
		Bisection: -1,
	}
}

// Warnings lists what was strange but could be read, each with its line.
func (im *Imported) Warnings() []string { return im.warnings }

// ReadNetDiscover reads what ibnetdiscover prints, in its variants since
// 2006 and that of ibdiagnet. name is the file's name for messages. Every cable
// must be listed at both ends; problems are returned all together, each as
// "name:line: ...".
//
// Read: node ids, descriptions (with quotes and # in them), LIDs, LMCs, port
// GUIDs, rates; byte order marks, CRLF, spaces for tabs, shell prompts and tool
// messages around the dump. Cables from a switch to itself and between two
// adapters are left out with a warning.
func ReadNetDiscover(r io.Reader, name string) (*Imported, error) {
	return read(r, name, dialectDiscover)
}

// ReadSim reads a netlist of the fabric simulator ibsim and numbers GUIDs as
// it does: a port of an adapter has the adapter's GUID plus its number, whatever
// stands in parentheses. ibsim's include, module and do are not supported.
func ReadSim(r io.Reader, name string) (*Imported, error) {
	return read(r, name, dialectSim)
}

func read(r io.Reader, name string, dialect variant) (*Imported, error) {
	f, err := parse(r, name, dialect)
	if err != nil {
		return nil, err
	}
	return f.finish()
}

func init() {
	register := func(name, doc string, read func(io.Reader, string) (*Imported, error)) {
		param.Register(topology.Registry, name, doc, topology.FileConfig{}, func(c topology.FileConfig, _ struct{}) (topology.Topology, error) {
			data, err := input.ReadInput(c.Path, input.MaxInput)
			if err != nil {
				return nil, c.Unreadable(err)
			}
			im, err := read(bytes.NewReader(data), c.Path)
			if err != nil {
				return nil, otherFormat(err, c.Path, name, data)
			}
			return im, nil
		})
	}
	register("ibnetdiscover", "an InfiniBand fabric as ibnetdiscover or ibdiagnet printed it", ReadNetDiscover)
	register("ibdiagnet", "an InfiniBand fabric as ibdiagnet's db_csv file lists it", ReadDBCSV)
	register("ibsim", "an InfiniBand fabric as a netlist of the simulator ibsim", ReadSim)
}
