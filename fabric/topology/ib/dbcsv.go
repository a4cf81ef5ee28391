package ib

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// ReadDBCSV reads ibdiagnet's .db_csv: sections NODES, PORTS and LINKS, each "START_..." and
// "END_...", a line that names the columns, and rows. Other sections are passed over. It uses the
// columns below; without speeds or widths, cables have no rate.
func ReadDBCSV(r io.Reader, name string) (*Imported, error) {
	p := &dbParser{listing: newListing(name), columns: map[string]map[string]int{}, nodes: map[uint64]*nodeRecord{}, ports: map[dbPort]dbPortRow{}}
	return p.read(r, p.parse, p.end)
}

// end checks the file as a whole and joins its links.
func (p *dbParser) end(lines int) {
	if p.section != "" {
		p.ProblemAt(lines, "the file ends within section %s", p.section)
	}
	for _, section := range []string{"NODES", "PORTS", "LINKS"} {
		if p.columns[section] == nil {
			p.ProblemAt(lines, "no section %s", section)
		}
	}
	p.connect()
}

// dbColumns are the columns of each section that are used.
var dbColumns = map[string][]string{
	"NODES": {"NodeDesc", "NumPorts", "NodeType", "NodeGUID"},
	"PORTS": {"NodeGuid", "PortGuid", "PortNum", "LID"},
	"LINKS": {"NodeGuid1", "PortNum1", "NodeGuid2", "PortNum2"},
}

type dbParser struct {
	*listing
	section string // at hand, "" between sections
	columns map[string]map[string]int
	nodes   map[uint64]*nodeRecord
	ports   map[dbPort]dbPortRow
	links   []dbLink
}

// dbPort is a port of a node, 0 being a switch itself.
type dbPort struct {
	node uint64
	port int
}

type dbPortRow struct {
	guid uint64
	lid  int32
	lmc  uint8
	rate cableRate
}

type dbLink struct {
	line int
	ends [2]dbPort
}

func (p *dbParser) parse(lines *input.Lines) {
	line, text := lines.Number, lines.Text
	if name, ok := strings.CutPrefix(text, "START_"); ok && p.section == "" {
		p.section = name
		return
	}
	if name, ok := strings.CutPrefix(text, "END_"); ok && name == p.section {
		p.section = ""
		return
	}
	wanted := dbColumns[p.section]
	if wanted == nil || text == "" || text[0] == '#' {
		return
	}
	in := csv.NewReader(strings.NewReader(text))
	in.LazyQuotes, in.FieldsPerRecord = true, -1
	cells, err := in.Read()
	if err != nil {
		p.ProblemAt(line, "%s is not a row of section %s", input.Quote(text), p.section)
		return
	}
	if p.columns[p.section] == nil {
		p.head(line, wanted, cells)
		return
	}
	row := dbRow{columns: p.columns[p.section], cells: cells}
	switch p.section {
	case "NODES":
		p.node(line, &row)
	case "PORTS":
		p.port(&row)
	case "LINKS":
		end := func(n string) dbPort { return dbPort{row.number("NodeGuid"+n, 64), int(row.number("PortNum"+n, 8))} }
		p.links = append(p.links, dbLink{line, [2]dbPort{end("1"), end("2")}})
	}
	if row.err != nil {
		p.ProblemAt(line, "section %s: %v", p.section, row.err)
	}
}

// head takes the names of a section's columns.
func (p *dbParser) head(line int, wanted, names []string) {
	index := map[string]int{}
	for i, name := range names {
		index[strings.TrimSpace(name)] = i
	}
	for _, name := range wanted {
		if _, ok := index[name]; !ok {
			p.ProblemAt(line, "section %s has no column %s", p.section, name)
		}
	}
	p.columns[p.section] = index
}

// dbRow reads the cells of a row by column. The first problem sticks.
type dbRow struct {
	columns map[string]int
	cells   []string
	err     error
}

// text is a cell; "" where the row or the file has none.
func (r *dbRow) text(column string) string {
	if i, ok := r.columns[column]; ok && i < len(r.cells) {
		return strings.TrimSpace(r.cells[i])
	}
	return ""
}

func (r *dbRow) number(column string, bits int) uint64 {
	text := r.text(column)
	if text == "N/A" {
		return 0
	}
	v, err := parseNumber(text, bits)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%s: %w", column, err)
	}
	return v
}

func (p *dbParser) node(line int, r *dbRow) {
	n := &nodeRecord{line: line, description: r.text("NodeDesc"), guid: r.number("NodeGUID", 64), ports: int(r.number("NumPorts", 8))}
	switch kind := r.number("NodeType", 8); {
	case r.err != nil:
		return
	case kind == 1:
		n.kind = adapterNode
	case kind == 2:
		n.kind = switchNode
	case kind == 3:
		n.kind = routerNode
	default:
		r.err = fmt.Errorf("NodeType %d: want 1, 2 or 3", kind)
		return
	}
	if n.ports < 1 || n.ports > maxPorts {
		r.err = fmt.Errorf("NumPorts %d: want 1 to %d", n.ports, maxPorts)
		return
	}
	n.id = fmt.Sprintf("%c-%016x", n.kind, n.guid)
	if first := p.nodes[n.guid]; first != nil {
		r.err = fmt.Errorf("GUID 0x%016x is a duplicate: first listed in line %d", n.guid, first.line)
		return
	}
	p.nodes[n.guid], p.byID[n.id] = n, n
	p.listing.nodes = append(p.listing.nodes, n)
}

func (p *dbParser) port(r *dbRow) {
	at := dbPort{r.number("NodeGuid", 64), int(r.number("PortNum", 8))}
	row := dbPortRow{guid: r.number("PortGuid", 64), lid: int32(r.number("LID", 16))}
	if text := r.text("LMC"); text != "" && text != "N/A" {
		row.lmc = uint8(r.number("LMC", 8))
		if row.lmc > 7 {
			r.err = fmt.Errorf("LMC %d: want 0 to 7", row.lmc)
		}
	}
	if r.err != nil {
		return
	}
	width, speed := r.text("LinkWidthActv"), r.text("LinkSpeedActv")
	if width != "" && width != "0" && speed != "" && speed != "0" {
		row.rate, r.err = codedRate(width, speed)
	}
	if _, twice := p.ports[at]; twice {
		r.err = fmt.Errorf("port %d of node 0x%016x is a duplicate", at.port, at.node)
	}
	p.ports[at] = row
}

// codedRate is a rate of a width and a speed in the numbers of a port's attributes (InfiniBand
// Architecture Specification, volume 1, 14.2.5.6: PortInfo's LinkWidthActive; ibdiagnet puts
// LinkSpeedExtActive into bits 8 to 15 of the speed, and FDR10 into bit 16).
func codedRate(width, speed string) (cableRate, error) {
	lanes, known := map[string]string{"1": "1x", "2": "4x", "4": "8x", "8": "12x", "16": "2x"}[width]
	if !known {
		return cableRate{}, fmt.Errorf("LinkWidthActv %s: want 1, 2, 4, 8 or 16", input.Quote(width))
	}
	v, err := strconv.ParseUint(speed, 0, 32)
	name, known := map[uint64]string{1: "SDR", 2: "DDR", 4: "QDR", 1 << 8: "FDR", 2 << 8: "EDR", 4 << 8: "HDR", 8 << 8: "NDR", 16 << 8: "XDR", 1 << 16: "FDR10"}[v]
	if err != nil || !known {
		return cableRate{}, fmt.Errorf("LinkSpeedActv %s: want 1, 2, 4, 256, 512, 1024, 2048, 4096 or 65536", input.Quote(speed))
	}
	return parseRate(lanes + name)
}

func (p *dbParser) connect() {
	for _, l := range p.links {
		a, b := p.nodeAt(l, 0), p.nodeAt(l, 1)
		if a == nil || b == nil {
			continue
		}
		p.attach(l, 0, a, b)
		p.attach(l, 1, b, a)
	}
	for guid, n := range p.nodes {
		if n.kind == switchNode {
			row := p.ports[dbPort{guid, 0}]
			n.lid, n.lmc = row.lid, row.lmc
		}
	}
}

// nodeAt is the node at an end of a link; nil, with a problem, if it has none.
func (p *dbParser) nodeAt(l dbLink, i int) *nodeRecord {
	n := p.nodes[l.ends[i].node]
	switch {
	case n == nil:
		p.ProblemAt(l.line, "node 0x%016x is not in section NODES", l.ends[i].node)
	case l.ends[i].port < 1 || l.ends[i].port > n.ports:
		p.ProblemAt(l.line, "port %d of %q: want 1 to %d", l.ends[i].port, n.id, n.ports)
		return nil
	}
	return n
}

func (p *dbParser) attach(l dbLink, i int, n, peer *nodeRecord) {
	at := l.ends[i]
	if p.listed(l.line, n, at.port) {
		return
	}
	row := p.ports[at]
	e := cableEnd{line: l.line, port: at.port, peer: peer.id, peerPort: l.ends[1-i].port, peerLID: -1, rate: row.rate}
	if n.kind != switchNode {
		e.guid, e.lid, e.lmc = row.guid, row.lid, row.lmc
	}
	n.ends = append(n.ends, e)
}
