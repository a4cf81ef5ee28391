package topology

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
)

// FileConfig configures the topology "file": any network, from a list of its
// switches, terminals and cables in JSON. [WriteJSON] writes the same format.
//
//	{
//	"format": "weft-topology",
//	"version": 1,
//	"classes": [
//	  {"name": "terminal", "latency": 1},
//	  {"name": "wire", "latency": 10, "rate": "40Gb/s"}
//	],
//	"switches": [
//	  {"name": "left"},
//	  {}
//	],
//	"terminals": [
//	  {"name": "host A", "switch": 0, "class": "terminal"},
//	  {"switch": 1, "class": "terminal"}
//	],
//	"links": [
//	  {"a": {"switch": 0}, "b": {"switch": 1}, "class": "wire"}
//	]
//	}
//
// Switches and terminals are numbered in the order of the file from 0. A class has a latency in
// cycles and, if the cable has one of its own, a data rate. A terminal and each end of a link may
// state its place among the ports of the switch, from 0, as "port": otherwise it comes after those
// stated before it; numbers left out are closed up. Identities of real fabrics are optional: a
// switch's "guid", "lid", "lmc" and "ports" (physical ones), at terminals and ends of links the
// physical "number" of the switch port, and of terminals "node_guid", "port_guid", "lid", "lmc",
// "node" (equal for the ports of one adapter, stated for all or none), "node_port" and "host"
// (equal for the rails of one host, for all or none). "aggregation_nodes" lists adapters inside
// switches, which are no terminals, by "switch" and any of the names above and "rate". The network
// must be connected.
type FileConfig struct {
	Path string `toml:"path" doc:"file of switches, terminals and links; relative to the experiment file"`
}

// PathConfig is implemented by configurations that read files. The reader of dir/experiment.toml
// calls RelativeTo(dir).
type PathConfig interface {
	// RelativeTo makes relative paths of the configuration start at dir.
	RelativeTo(dir string)
	// Files are the paths of the files.
	Files() []string
}

var _ PathConfig = (*FileConfig)(nil)

func init() {
	RegisterFile("file", "a network from a file of switches, terminals and links (JSON)", FileConfig{}, input.MaxInput,
		func(c FileConfig) string { return c.Path },
		func(c FileConfig, data []byte) (Topology, error) { return fileNetwork(ReadJSON(c.Path, data)) })
}

// RelativeTo implements [PathConfig].
func (c *FileConfig) RelativeTo(dir string) { c.Path = input.In(dir, c.Path) }

// Files implements [PathConfig].
func (c *FileConfig) Files() []string { return []string{c.Path} }

func (c *FileConfig) Validate() error { return CheckPath(c.Path, "a topology file") }

// FileNetwork is a network from a file; see [FileConfig]. Its only closed forms are its counts.
type FileNetwork struct {
	Built
	doubts []string
}

// Doubtful is a topology of a file that was taken in one way, and may have been meant in another.
type Doubtful interface {
	Topology
	// Doubts are sentences about that, each of which begins with the file.
	Doubts() []string
}

// Doubts implements [Doubtful].
func (n *FileNetwork) Doubts() []string { return n.doubts }

// NewFileNetwork is the network of a graph, with what is [Doubtful] in it.
func NewFileNetwork(g *Graph, doubts ...string) *FileNetwork {
	return &FileNetwork{Built{graph: g, facts: Facts{g.Switches(), g.Terminals(), g.SwitchLinks(), -1, -1}}, doubts}
}

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
func IsJSON(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(unmarked(data)), []byte("{"))
}

// unmarked is a file without a byte order mark.
func unmarked(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// fileNetwork is the network of a file that has been read.
func fileNetwork(g *Graph, err error) (Topology, error) {
	if err != nil {
		return nil, err
	}
	return NewFileNetwork(g), nil
}

// ReadJSON reads a network in the format of [FileConfig]. name stands for the file in errors, which
// are joined, each with its line.
func ReadJSON(name string, data []byte) (*Graph, error) {
	if err := CheckForeign(name, data); err != nil {
		return nil, err
	}
	r := &fileReader{Problems: input.Problems{Name: name}, data: unmarked(data)}
	r.parse()
	if !r.Any() {
		if g := r.build(); !r.Any() {
			return g, nil
		}
	}
	return nil, r.Err()
}

// fileReader collects the elements of a file, with their lines, then builds the graph.
type fileReader struct {
	input.Problems
	data      []byte
	classes   []located[fileClass]
	switches  []located[SwitchName]
	terminals []located[fileTerminal]
	links     []located[fileLink]

	aggregation []located[AdapterPort]
	stopped     bool // a list is too long to be of a network
}

type located[E any] struct {
	line  int
	value E
}

// parse checks the whole file's syntax first: the walk over its elements then meets problems of
// contents only.
func (r *fileReader) parse() {
	var whole json.RawMessage
	if err := json.Unmarshal(r.data, &whole); err != nil {
		line := 1 + bytes.Count(r.data, []byte("\n"))
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			line = 1 + bytes.Count(r.data[:min(int(syntax.Offset), len(r.data))], []byte("\n"))
		}
		r.ProblemAt(line, "not JSON: %v", err)
		return
	}
	d := &elementDecoder{Decoder: json.NewDecoder(bytes.NewReader(r.data)), data: r.data, line: 1}
	d.DisallowUnknownFields()
	if token, _ := d.Token(); token != json.Delim('{') {
		r.ProblemAt(d.next(), "want an object")
		return
	}
	var format string
	var version int
	seen := map[string]bool{}
	for !r.stopped && d.More() {
		line := d.next()
		token, _ := d.Token()
		key := token.(string) // the syntax is known to be right
		if seen[key] {
			r.ProblemAt(line, "%q twice", key)
		}
		seen[key] = true
		switch key {
		case "format":
			decodeElement(r, d, &format)
		case "version":
			decodeElement(r, d, &version)
		case "classes":
			r.classes = decodeList[fileClass](r, d)
		case "switches":
			r.switches = decodeList[SwitchName](r, d)
		case "terminals":
			r.terminals = decodeList[fileTerminal](r, d)
		case "links":
			r.links = decodeList[fileLink](r, d)
		case "aggregation_nodes":
			r.aggregation = decodeList[AdapterPort](r, d)
		default:
			r.ProblemAt(line, "unknown key %q: known are format, version, classes, switches, terminals, links, aggregation_nodes", key)
			var skipped json.RawMessage
			d.Decode(&skipped) // cannot fail: the syntax is known to be right
		}
	}
	if !r.Any() && (format != fileFormat || version != fileVersion) {
		r.ProblemAt(1, "format %q, version %d: want %q, version %d", format, version, fileFormat, fileVersion)
	}
}

// elementDecoder knows the line of what it reads next. It counts lines as it goes.
type elementDecoder struct {
	*json.Decoder
	data    []byte
	counted int
	line    int
}

func (d *elementDecoder) next() int {
	offset := int(d.InputOffset())
	for offset < len(d.data) && bytes.IndexByte([]byte(" \t\r\n,:"), d.data[offset]) >= 0 {
		offset++
	}
	d.line += bytes.Count(d.data[d.counted:offset], []byte("\n"))
	d.counted = offset
	return d.line
}

func decodeElement[E any](r *fileReader, d *elementDecoder, e *E) int {
	line := d.next()
	if x, ok := any(e).(interface{ blank() }); ok {
		x.blank()
	}
	if err := d.Decode(e); err != nil {
		r.ProblemAt(line, "%s", jsonProblem(err))
	}
	return line
}

// jsonProblem words an error of the JSON package without the types of this one.
func jsonProblem(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	want := "an object"
	switch wrong.Type.Kind() {
	case reflect.String:
		want = "a string"
	case reflect.Int, reflect.Int32, reflect.Uint8:
		want = "an integer of at most " + strconv.Itoa(wrong.Type.Bits()) + " bits"
	}
	where := ""
	if wrong.Field != "" {
		where = strconv.Quote(wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]) + ": "
	}
	return fmt.Sprintf("%s%s: want %s", where, wrong.Value, want)
}

// leastElement is the fewest bytes that an element takes, in the mean, in lists of more than a
// million: networks are connected, and links take more.
const leastElement = 32

func decodeList[E any](r *fileReader, d *elementDecoder) []located[E] {
	line := d.next()
	if d.data[d.counted] != '[' {
		r.ProblemAt(line, "want a list")
		var skipped json.RawMessage
		d.Decode(&skipped) // cannot fail: the syntax is known to be right
		return nil
	}
	d.Token()
	var list []located[E]
	most := max(1<<20, len(d.data)/leastElement)
	for d.More() {
		if len(list) == most {
			r.ProblemAt(d.next(), "more than %d elements in a list of a file of %d bytes", most, len(d.data))
			r.stopped = true
			return nil
		}
		var e located[E]
		e.line = decodeElement(r, d, &e.value)
		list = append(list, e)
	}
	d.Token()
	return list
}

const (
	fileFormat  = "weft-topology"
	fileVersion = 1
)

// The elements of a topology file. Everything with omitempty is optional.
type (
	fileClass struct {
		Name    string `json:"name"`
		Latency int    `json:"latency"`
		Rate    string `json:"rate,omitempty"`
	}
	filePort struct {
		Switch int   `json:"switch"`
		Port   *int  `json:"port,omitempty"`
		Number int32 `json:"number,omitempty"`
	}
	fileTerminal struct {
		Name string `json:"name,omitempty"`
		filePort
		Class    string `json:"class"`
		NodeGUID GUID   `json:"node_guid,omitempty"`
		PortGUID GUID   `json:"port_guid,omitempty"`
		LID      int32  `json:"lid,omitempty"`
		LMC      uint8  `json:"lmc,omitempty"`
		Node     *int32 `json:"node,omitempty"`
		NodePort int32  `json:"node_port,omitempty"`
		Host     *int32 `json:"host,omitempty"`
	}
	fileLink struct {
		A     filePort `json:"a"`
		B     filePort `json:"b"`
		Class string   `json:"class"`
	}
)

// noSwitch stands where a file does not say which switch.
const noSwitch = math.MinInt

func (a *AdapterPort) blank() { a.Switch = -1 }

func (f *fileTerminal) blank() { f.Switch = noSwitch }

func (f *fileLink) blank() { f.A.Switch, f.B.Switch = noSwitch, noSwitch }

func newFileClass(c Class) fileClass {
	f := fileClass{Name: c.Name, Latency: c.Latency}
	if c.Rate != 0 {
		f.Rate = c.Rate.String()
	}
	return f
}

func (f fileClass) class() (Class, error) {
	c := Class{Name: f.Name, Latency: f.Latency}
	if c.Name == "" || input.HasControl(c.Name) {
		return c, fmt.Errorf("class %s: want a name, without control characters", input.Quote(c.Name))
	}
	if c.Latency < 1 || c.Latency >= 1<<29 {
		return c, fmt.Errorf("class %q: latency = %d: want 1 cycle to less than 2^29", c.Name, c.Latency)
	}
	var err error
	if f.Rate != "" {
		c.Rate, err = sim.ParseRate(f.Rate)
	}
	return c, err
}

func newFilePort(g *Graph, p PortID) filePort {
	local := g.LocalPort(p)
	return filePort{int(g.PortSwitch[p]), &local, at(g.identities().Port, p)}
}

func newFileTerminal(g *Graph, t TerminalID) fileTerminal {
	p := g.TerminalPort[t]
	n := g.identities()
	a := at(n.Terminals, t)
	f := fileTerminal{a.Name, newFilePort(g, p), g.Classes[g.PortClass[p]].Name, a.NodeGUID, a.PortGUID, a.LID, a.LMC, nil, a.NodePort, nil}
	if n.TerminalNode != nil {
		f.Node = &n.TerminalNode[t]
	}
	if n.Host != nil {
		f.Host = &n.Host[t]
	}
	return f
}

// at is list[i], or zero for a list that is nil.
func at[E any, I ~int32](list []E, i I) E {
	var zero E
	if list == nil {
		return zero
	}
	return list[i]
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
