package ib

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// variant tells the text forms of an InfiniBand fabric apart. They share their grammar (ibsim reads
// what ibnetdiscover prints) but not how nodes get GUIDs.
type variant int

const (
	// dialectDiscover: ids are "S-", "H-" or "R-" and the node GUID in hex.
	dialectDiscover variant = iota
	// dialectSim: ids are free; GUIDs count up from 0x100000 (adapters: node, then ports) and
	// 0x200000 (switches) in file order, or from where "switchguid=" or "caguid=" sets the counter.
	dialectSim
)

type nodeKind byte

const (
	switchNode  nodeKind = 'S'
	adapterNode nodeKind = 'H'
	routerNode  nodeKind = 'R'
	// aggregationNode: an adapter inside a switch, or a router: no host.
	aggregationNode nodeKind = 'A'
)

func (k nodeKind) String() string {
	return map[nodeKind]string{switchNode: "switch", adapterNode: "adapter", routerNode: "router"}[k]
}

// nodeRecord is the record of one node as its file gives it.
type nodeRecord struct {
	kind        nodeKind
	id          string // what is in quotes, the key of the node
	line        int
	ports       int
	guid        uint64
	description string
	lid         int32 // switches; adapters have one per port
	lmc         uint8
	ends        []cableEnd // in file order
}

// cableEnd is one port line: one end of a cable.
type cableEnd struct {
	line     int
	port     int
	peer     string
	peerPort int
	guid     uint64 // of this port, adapters only; 0 if not stated
	peerGUID uint64 // of the port at the other end, if an adapter; 0 if not stated
	lid      int32  // of this port, adapters only
	lmc      uint8
	peerLID  int32 // -1 if not stated
	rate     cableRate
	number   topology.PortID // in the graph, of a switch's port
}

// listing is a parsed file before its cables are checked.
type listing struct {
	input.Problems
	dialect  variant
	nodes    []*nodeRecord
	byID     map[string]*nodeRecord
	warnings []string
	chassis  int // switchguid= lines that name another GUID than the switch's id

	current *nodeRecord // whose port lines come
	next    map[nodeKind]uint64
	base    map[nodeKind]uint64
	said    uint64 // last switchguid=, 0 if none since the last node
	rated   bool   // some port line states a rate
	cutLine int    // number of the last line if it has no newline
}

// maxPorts bounds the port count of a node: port numbers have 8 bits.
const maxPorts = 254

func (f *listing) warn(line int, format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf("%s:%d: "+format, append([]any{f.Name, line}, args...)...))
}

// read takes in a file by lines, by parse and at last end, and checks its cables. The error is all
// faults.
func (f *listing) read(r io.Reader, parse func(in *input.Lines), end func(lines int)) (*Imported, error) {
	in := input.LinesInto(&f.Problems, r)
	if err := readLines(in, func(string) { parse(in) }, func() { end(in.Number) }); err != nil {
		return nil, err
	}
	return f.finish()
}

func newListing(name string) *listing {
	return &listing{Problems: input.Problems{Name: name}, byID: map[string]*nodeRecord{}}
}

var (
	// prompt matches a terminal session's traces: a shell prompt, perhaps with a command.
	prompt = input.Pattern(`^(\(\S+\)\s*)?(\[[^\]"=]*\]|[^\s"=]+)(\s[^\s"=]*)?\s?[#$%>](\s[^"]*)?$|^[#$%>](\s[^"]*)?$`)
	// chatter matches headings of grouped output, and tools' error output, which often is in the
	// same file.
	chatter = input.Pattern(`^(Chassis \d|Non-Chassis Nodes|Hostname:|ib(warn|panic|error|debug): |src/|\./|lib\w*: |umad|mad_rpc|W(arning|ARNING|ARN)\b|-[WIE]-|Loading |Discovering )`)
	endKey  = input.Pattern(`^(\w+)\s*([=+])\s*(.*)$`)
)

// nodeWords begin the records of nodes.
var nodeWords = map[string]nodeKind{"Switch": switchNode, "Ca": adapterNode, "Hca": adapterNode, "Rt": routerNode}

func (f *listing) parseLine(in *input.Lines) {
	line, text := in.Number, in.Text
	if in.Cut {
		f.cutLine = line
	}
	for word, kind := range nodeWords {
		if hasWord(text, word) {
			f.parseNode(line, kind, text[len(word):])
			return
		}
	}
	switch {
	case text == "" || text[0] == '#':
	case text[0] == '[' && len(text) > 1 && text[1] >= '0' && text[1] <= '9':
		f.parsePort(line, text)
	case endKey().MatchString(text):
		f.parseKey(line, text)
	case f.dialect == dialectSim && (hasWord(text, "include") || hasWord(text, "module") || hasWord(text, "do") || text[0] == '@'):
		f.ProblemAt(line, "ibsim's include, module, do and aliases are not supported")
	case chatter().MatchString(text) || prompt().MatchString(text):
		f.warn(line, "skipped %s", input.Quote(text))
	default:
		f.ProblemAt(line, "%s is not a line of a fabric description", input.Quote(text))
	}
}

func hasWord(text, word string) bool {
	rest, ok := strings.CutPrefix(text, word)
	return ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t' || rest[0] == '"')
}

// guidKeys set the counters of GUIDs, with an s behind them or without.
var guidKeys = map[string]nodeKind{"switchguid": switchNode, "caguid": adapterNode, "hcaguid": adapterNode, "rtguid": routerNode}

// parseKey reads "vendid=0x2c9", "switchguid=0x8f10500200b50(8f10500200b50)".
func (f *listing) parseKey(line int, text string) {
	m := endKey().FindStringSubmatch(text)
	key, relative := m[1], m[2] == "+"
	value, _, _ := strings.Cut(m[3], "#")
	value, _, _ = strings.Cut(value, "(")
	value = strings.TrimSpace(value)
	kind, counts := guidKeys[strings.TrimSuffix(key, "s")]
	if !counts && !slices.Contains([]string{"vendid", "devid", "sysimgguid", "width", "speed"}, key) {
		f.ProblemAt(line, "unknown key %q", key)
		return
	}
	v, err := parseNumber(value, 64)
	if err != nil {
		f.ProblemAt(line, "%s: %v", key, err)
	}
	if err != nil || !counts {
		return
	}
	f.said = v
	if relative {
		v += f.base[kind]
	} else {
		f.base[kind] = v
	}
	f.next[kind] = v
}

// parseNumber reads a decimal number, or a hexadecimal one with 0x.
func parseNumber(s string, size int) (uint64, error) {
	digits, hex := strings.CutPrefix(s, "0x")
	base := 10
	if hex {
		base = 16
	}
	v, err := strconv.ParseUint(digits, base, size)
	if err != nil {
		return 0, fmt.Errorf("%s is not a number of %d bits", input.Quote(s), size)
	}
	return v, nil
}

// parseNode reads what follows the word Switch, Ca, Hca or Rt.
func (f *listing) parseNode(line int, kind nodeKind, text string) {
	// A record with a problem still takes its port lines: they say nothing new.
	f.current = &nodeRecord{kind: kind, ports: maxPorts}
	said := f.said
	f.said = 0
	c := cursor{text: text}
	n := &nodeRecord{kind: kind, line: line}
	n.ports = c.number(maxPorts)
	n.id = c.quoted()
	rest := c.comment()
	if c.err != nil {
		f.ProblemAt(line, "%s record: %v", kind, c.err)
		return
	}
	if n.ports < 1 {
		f.ProblemAt(line, "%s %q has %d ports: want 1 to %d", kind, n.id, n.ports, maxPorts)
		return
	}
	before, description, after, err := splitDescription(rest)
	n.description = description
	var lid, lmc int64
	if err == nil {
		lid, lmc, err = lidAndLMC(before + " " + after)
	}
	if err != nil {
		f.ProblemAt(line, "%s %q: %v", kind, n.id, err)
		return
	}
	n.lid, n.lmc = int32(max(lid, 0)), uint8(max(lmc, 0))
	if f.dialect == dialectDiscover {
		if n.guid, err = guidOfID(n.id, kind); err != nil {
			f.ProblemAt(line, "%s %q: %v", kind, n.id, err)
			return
		}
		if kind == switchNode && said != 0 && said != n.guid {
			f.chassis++
		}
	} else {
		n.guid = f.next[kind]
		f.next[kind]++
		if kind != switchNode {
			f.next[kind] += uint64(n.ports)
		}
		n.description = cmp.Or(n.description, n.id)
	}
	if f.take(line, n) {
		f.current = n
	}
}

// take takes in a node of which a line has told the id; false if another has it.
func (f *listing) take(line int, n *nodeRecord) bool {
	first, twice := f.byID[n.id]
	if twice {
		f.ProblemAt(line, "%s %q is a duplicate: first described in line %d", n.kind, n.id, first.line)
		return false
	}
	f.byID[n.id] = n
	f.nodes = append(f.nodes, n)
	return true
}

// listed reports a port that is listed twice.
func (f *listing) listed(line int, n *nodeRecord, port int) bool {
	first := n.find(port)
	if first != nil {
		f.ProblemAt(line, "port %d of %q is a duplicate: first listed in line %d", port, n.id, first.line)
	}
	return first != nil
}

// guidOfID reads the GUID in "S-0008f10500200b50".
func guidOfID(id string, kind nodeKind) (uint64, error) {
	want := string(byte(kind)) + "-"
	digits, ok := strings.CutPrefix(id, want)
	if !ok {
		return 0, fmt.Errorf("the id must start with %q", want)
	}
	digits = strings.TrimPrefix(digits, "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a GUID of up to 16 hex digits", digits)
	}
	return v, nil
}

// parsePort reads "[1](guid) "S-..."[4] # comment".
func (f *listing) parsePort(line int, text string) {
	if f.current == nil {
		f.ProblemAt(line, "port line without a node before it")
		return
	}
	n := f.current
	c := cursor{text: text}
	e := cableEnd{line: line, peerLID: -1, peerPort: 1}
	e.port = c.bracketed()
	c.external()
	e.guid = c.parenthesised()
	e.peer = c.quoted()
	if f.dialect == dialectDiscover || c.peek() == '[' {
		e.peerPort = c.bracketed()
	}
	c.external()
	e.peerGUID = c.parenthesised()
	rest := c.comment()
	if c.err == nil {
		c.err = e.parseComment(n.kind, rest)
	}
	if c.err != nil {
		f.ProblemAt(line, "port line: %v", c.err)
		return
	}
	if e.rate.text != "" {
		f.rated = true
	} else if f.rated && line == f.cutLine {
		f.ProblemAt(line, "the file ends in the middle of a line: no rate, unlike the lines before")
		return
	}
	if e.port < 1 || e.port > n.ports {
		f.ProblemAt(line, "port %d of %q: want 1 to %d", e.port, n.id, n.ports)
		return
	}
	if f.dialect == dialectSim { // which numbers ports itself and reads none of this
		e.guid, e.peerGUID = 0, 0
	}
	// ibdiagnet repeats the port number in parentheses.
	if n.kind == switchNode || e.guid == uint64(e.port) {
		e.guid = 0
	}
	if !f.listed(line, n, e.port) {
		n.ends = append(n.ends, e)
	}
}
