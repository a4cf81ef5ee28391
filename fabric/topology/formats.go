package topology

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// Format is a form of files that hold a network, beside weft's JSON.
type Format struct {
	Name   string
	Called string                 // in messages: an ibsim netlist
	Doc    string                 // of the topology with the name and [FileConfig]; "": there is none, or another
	Is     func(data []byte) bool // tells the content from other formats
	Read   func(path string, data []byte) (Topology, error)
	Write  func(io.Writer, *Graph) error // nil: networks are not written in it
	Loose  bool                          // Is tells little: it is asked after all others
}

var formats []Format

// RegisterFormat makes a format known to [ReadFile], and a topology of its name. The format's
// package calls it when initialized.
func RegisterFormat(f Format) {
	formats = append(formats, f)
	slices.SortStableFunc(formats, func(a, b Format) int {
		switch {
		case a.Loose == b.Loose:
			return 0
		case b.Loose:
			return -1
		}
		return 1
	})
	if f.Doc == "" {
		return
	}
	RegisterFile(f.Name, f.Doc, FileConfig{}, input.MaxInput, func(c FileConfig) string { return c.Path },
		func(c FileConfig, data []byte) (Topology, error) {
			t, err := f.Read(c.Path, data)
			if err != nil {
				return nil, OtherFormat(err, c.Path, f.Name, data)
			}
			return t, nil
		})
}

// Formats lists the registered formats.
func Formats() []Format { return slices.Clone(formats) }

// ReadFile reads a network from a file in weft's JSON, which begins with a brace (see [FileConfig]), in
// a registered format, found out from the content, or as [WriteGraphML] and [WriteDOT] write it.
func ReadFile(path string) (Topology, error) {
	data, err := input.ReadInput(path, input.MaxInput)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	data = unmarked(data)
	if g, is, err := readDrawing(path, data); is {
		return fileNetwork(g, err)
	}
	if err := CheckForeign(path, data); err != nil {
		return nil, err
	}
	if IsJSON(data) {
		return fileNetwork(ReadJSON(path, data))
	}
	var known []string
	for _, f := range formats {
		if f.Is(data) {
			return f.Read(path, data)
		}
		known = append(known, f.Called)
	}
	if len(known) > 0 {
		return nil, fmt.Errorf("%s:1: neither %s nor a topology in JSON", path, strings.Join(known, ", "))
	}
	return nil, fmt.Errorf("%s:1: not a topology in JSON", path)
}

// OtherFormat is the error for a file that is in another format than the one tried; else err.
func OtherFormat(err error, path, format string, data []byte) error {
	data = unmarked(data)
	for _, f := range append(Formats(), Format{Name: "file", Is: IsJSON}) {
		if f.Loose {
			continue
		}
		if f.Is(data) && f.Name != format {
			return fmt.Errorf("%s:1: this looks like topology.type = %q, not %q", path, f.Name, format)
		} else if f.Is(data) {
			return err
		}
	}
	return err
}

// IsJSON tells whether a file of a network is weft's JSON: it begins with a brace.
func IsJSON(data []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(unmarked(data)), []byte("{")) }

// unmarked is a file without a byte order mark.
func unmarked(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// fileNetwork is the network of a file that has been read.
func fileNetwork(g *Graph, err error) (Topology, error) {
	if err != nil {
		return nil, err
	}
	return NewFileNetwork(g), nil
}

// foreign are files of networks, or parts of such, that weft does not read, with what to do.
var foreign = []struct {
	name   string
	begins func() *regexp.Regexp // somewhere in the first bytes
	advice string
}{
	{"Slurm's topology.conf of blocks or rings", input.Pattern(`(?m)^\s*(Block|Ring)Name=`), "it names no switches; on InfiniBand, weft reads what ibnetdiscover prints"},
	{"Slurm's topology.yaml", input.Pattern(`(?m)^\s*(-\s*)?topology:\s`), "give the same switches as topology.conf has them, SwitchName= lines"},
	{"ibdiagnet's .lst", input.Pattern(`(?m)^\s*\{\s*(CA|SW|RT|CA-SW)\s+Ports:`), "give the .db_csv of the same run, or what ibnetdiscover prints"},
	{"ibdiagnet's net_dump", input.Pattern(`(?m)^\s*#\s*:\s*IB#\s*:`), "give the .db_csv of the same run, or what ibnetdiscover prints"},
	{"a list of nodes alone, of ibnetdiscover -l or ibswitches", input.Pattern(`(?m)^(Ca|Switch|Rt)\s*:\s*0x[0-9A-Fa-f]+ ports \d`), "give what ibnetdiscover prints without -l"},
	{"a dump of forwarding tables", input.Pattern(`(?m)^(Unicast lids |dump_ucast_routes: |PLFT_NUM: )`), "give what ibnetdiscover prints; the tables are for routing.type = \"lft\""},
	{"a schedule in GOAL", input.Pattern(`(?m)^num_ranks \d`), "it is for workload.type = \"goal\""},
	{"a matrix of flows of htsim", input.Pattern(`(?m)^Nodes \d+\s+Connections \d`), "it is for flows.file"},
	{"a graph in DIMACS's form", input.Pattern(`(?m)^p (edge|col|sp) \d+ \d+`), `write its lines "e 0 1" as "0 1", for topology.type = "edges"`},
	{"a graph in DOT or GML", input.Pattern(`(?m)^\s*(strict\s+)?(di)?graph\b[^\n]*(\n\s*)?[\[{]`), "write a list of cables, a line \"0 1\" for each, for topology.type = \"edges\""},
	{"a graph of Pajek", input.Pattern(`(?im)^\*vertices\s`), "write the lines below *Edges, or *Arcs, alone, for topology.type = \"edges\""},
	{"networkx's multiline adjacency list", input.Pattern(`(?m)^[^\s{}#":]+ \{.*\}$`), "write it with networkx.write_adjlist(GRAPH, OUT), for topology.type = \"edges\""},
	{"a list of pairs, as Python or JSON has it", input.Pattern(`^\s*(\[\s*[(\[]?\s*['"]?\w+['"]?\s*,|\(\s*['"]?\w+['"]?\s*,[^()\n]*\)\s*(,|;|\n|$))`), "write a line \"0 1\" for each, as for pair in PAIRS: print(*pair), for topology.type = \"edges\""},
	{"networkx's JSON", input.Pattern(`^\s*\{\s*"(directed|multigraph|graph|nodes)"\s*:`), "write a list of cables, as networkx.write_edgelist(GRAPH, OUT, data=False) does, for topology.type = \"edges\""},
	{"networkx's, Sage's or Python's table of neighbours", input.Pattern(`^\s*\{\s*['"]?\d+['"]?\s*:\s*[\[{(]`), "write a line \"0 1 2 3\" for each, the switch and its neighbours, for topology.type = \"edges\""},
	{"a graph in graph6 or sparse6", input.Pattern(`^(>>(graph|sparse)6<<|:[?-~]{2,}\s*$)`), "write a list of cables, as networkx.write_edgelist(networkx.read_graph6(FILE), OUT, data=False) does, for topology.type = \"edges\""},
	{"GEXF", input.Pattern(`<gexf[\s>]`), "write a list of cables, as networkx.write_edgelist(networkx.read_gexf(FILE), OUT, data=False) does, for topology.type = \"edges\""},
	{"a topology of ns-3, as HPCC and SimAI have it", input.Pattern(`(?m)^\s*\d+\s+\d+\s+[\d.]+[KMG]bps\s+[\d.e-]+[mun]?s\s`), "of the lines between two switches write \"0 1\" each, for topology.type = \"edges\""},
	{"a configuration of CODES", input.Pattern(`(?m)^\s*LPGROUPS\b`), "weft has generators for its networks (dragonfly, fat tree, torus, slim fly): see weft list topologies"},
	{"GraphML", input.Pattern(`<graphml[\s>]`), "write a list of cables, as networkx.write_edgelist(networkx.read_graphml(FILE), OUT, data=False) does, for topology.type = \"edges\""},
	{"a platform of SimGrid", input.Pattern(`<platform[\s>]`), "weft has generators for its clusters (fat tree, torus, dragonfly): see weft list topologies; or write a list of cables, for topology.type = \"edges\""},
}

// ForeignBytes are the first bytes of a file by which it is told.
const ForeignBytes = 1 << 16

// CheckForeign refuses files of no form that weft reads, and says what they are.
func CheckForeign(name string, data []byte) error {
	if err := input.CheckUTF8(data); err != nil {
		return fmt.Errorf("%s:1: %w", name, err)
	}
	begin := data[:min(len(data), ForeignBytes)]
	if bytes.IndexByte(begin, '\n') < 0 && bytes.IndexByte(bytes.TrimSpace(begin), '\r') >= 0 {
		return fmt.Errorf("%s:1: lines end with carriage returns alone, as those of old Macs: want line feeds", name)
	}
	for _, f := range foreign {
		if f.begins().Match(begin) {
			return fmt.Errorf("%s:1: this is %s, which weft does not read: %s", name, f.name, f.advice)
		}
	}
	if bytes.IndexByte(begin, 0) >= 0 {
		return fmt.Errorf("%s:1: a binary file, which weft does not read as a network: of CODES, whose files of connections (intra, inter) are binary, write a list of cables from its program that made them, for topology.type = \"edges\"", name)
	}
	return nil
}
