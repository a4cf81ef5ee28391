package topology

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
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
	RegisterFile("file", "a network from a file of switches, terminals and links (JSON, or as weft topology writes it)", FileConfig{}, input.MaxInput,
		func(c FileConfig) string { return c.Path },
		func(c FileConfig, data []byte) (Topology, error) {
			if g, is, err := readDrawing(c.Path, unmarked(data)); is {
				return fileNetwork(g, err)
			}
			return fileNetwork(ReadJSON(c.Path, data))
		})
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
