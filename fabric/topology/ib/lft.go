package ib

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// LFTs are a subnet's linear forwarding tables: the port by which each switch sends to each
// terminal and each switch. Memory: 4 bytes for each switch and destination, 8 for tables from a
// file.
type LFTs struct {
	graph *topology.Graph
	// next holds the port by switch and destination (terminals, then switches); NoPort without an
	// entry, or for the switch itself.
	next []topology.PortID
	lids *LIDs
	// lines holds the file's line of each entry (len = len(next)), heads the first line of each
	// switch's table; nil: not from a file.
	lines, heads []int32
}

// NewLFTs makes empty tables; LIDs are the fabric's, or else as [topology.NamesOf] numbers them.
func NewLFTs(g *topology.Graph) *LFTs {
	l := &LFTs{graph: g, next: slices.Repeat([]topology.PortID{topology.NoPort}, g.Switches()*(g.Terminals()+g.Switches())), lids: StatedLIDs(g)}
	if l.lids.Highest() == 0 {
		names := *topology.NamesOf(g)
		l.lids = StatedLIDs(&topology.Graph{TerminalPort: g.TerminalPort, PortStart: g.PortStart, Names: &names})
	}
	return l
}

// ToTerminal is the port by which s sends to terminal t, or NoPort.
func (l *LFTs) ToTerminal(s topology.SwitchID, t topology.TerminalID) topology.PortID {
	return l.next[l.cell(s)+int(t)]
}

// SetTerminal enters the port by which s sends to terminal t.
func (l *LFTs) SetTerminal(s topology.SwitchID, t topology.TerminalID, p topology.PortID) {
	l.next[l.cell(s)+int(t)] = p
}

// SetSwitch enters the port by which s sends to switch d.
func (l *LFTs) SetSwitch(s, d topology.SwitchID, p topology.PortID) {
	l.next[l.cell(s)+l.graph.Terminals()+int(d)] = p
}

// LIDs are the LIDs that the tables' rows state, or else the fabric.
func (l *LFTs) LIDs() *LIDs { return l.lids }

// Line is the file's line of the entry for t at s, or the first line of s's table if there is none;
// 0 if not from a file.
func (l *LFTs) Line(s topology.SwitchID, t topology.TerminalID) int {
	if l.lines == nil {
		return 0
	}
	if line := l.lines[l.cell(s)+int(t)]; line != 0 {
		return int(line)
	}
	return int(l.heads[s])
}

func (l *LFTs) cell(s topology.SwitchID) int {
	return int(s) * (l.graph.Terminals() + l.graph.Switches())
}

var (
	lftSwitch  = input.Pattern(`^Unicast lids .*\bguid (0x[0-9A-Fa-f]+)`)
	fdbSwitch  = input.Pattern(`dump_ucast_routes: Switch (0x[0-9A-Fa-f]+)`)
	lftEnd     = input.Pattern(`^(\d+)( valid)? lids dumped`)
	lftReduced = input.Pattern(`^([0-9A-Fa-f]{16}) \d+:((?: (?:\d+|-))+)$`)
	lftHeading = input.Pattern(`^(LID\s*: Port|Lid\s+Out\b|Port\s+Info\b|PLFT_NUM: 0$)`)
)

// ReadLFTs reads the forwarding tables of a subnet; its switches and ports are found in g by GUID.
// Four forms are told apart line by line: OpenSM's opensm-lfts.dump, what ibroute, dump_lfts and
// dump_fts of infiniband-diags print, the .fdbs of OpenSM and ibdiagnet, and weft's own of a line
// for each switch: its GUID and LID, a colon, and the ports to LID 1, 2, ..., "-" for none.
//
// A row's destination is the port with its port GUID, or else with its LID, where the fabric states
// LIDs. Where neither does, LIDs follow from the tables: what a switch sends to a host's port is
// the host's, what it keeps its own. A destination with several LIDs goes by its lowest. Rows of
// LIDs below the fabric's highest that no port has, and those that OpenSM says it does not know,
// are passed over, as switches keep entries of hosts that have gone.
//
// Every switch must have a table and, where a count ends it, the right number of rows.
func ReadLFTs(r io.Reader, name string, g *topology.Graph) (*LFTs, error) {
	p := lftParser{subnet: newSubnet(r, name, g, nil), at: -1, listed: make([]bool, g.Switches()), lfts: NewLFTs(g)}
	p.lfts.lids = noLIDs(g)
	p.best = make([]int32, len(p.lfts.next))
	p.lfts.lines, p.lfts.heads = make([]int32, len(p.lfts.next)), make([]int32, g.Switches())
	if err := readLines(p.Lines, p.parse, p.end); err != nil {
		return nil, err
	}
	if p.lfts.lids.Highest() == 0 {
		p.lfts.lids = p.lids
	}
	return p.lfts, nil
}

type lftParser struct {
	*subnet
	lfts   *LFTs
	listed []bool            // len = switches
	best   []int32           // len = len(lfts.next): LID of the row that made the entry, 0 none
	later  []lftEntry        // rows whose LIDs are not known yet
	at     topology.SwitchID // whose table is being read, -1 none
	open   bool              // the table at hand is not complete without a line that ends it
	rows   int               // in the table at hand
	last   int               // LID of the last row of the table at hand
	top    int               // highest LID of the tables before, of those without a last line

	skipping bool // the table at hand is of no known switch
}

// lftEntry is a row whose destination has still to be found.
type lftEntry struct {
	line   int
	at     topology.SwitchID
	lid    uint16
	number uint8
}

func (p *lftParser) parse(text string) {
	if lid, port, rest, ok := cutRow(text); ok { // most lines
		p.row(lid, port, rest)
		return
	}
	if text == "" || text[0] == '#' || lftHeading().MatchString(text) {
		return
	}
	if m := lftReduced().FindStringSubmatch(text); m != nil {
		p.begin("0x"+m[1], false)
		for i, port := range strings.Fields(m[2]) {
			if port == "-" {
				port = "UNREACHABLE"
			}
			p.row(strconv.FormatInt(int64(i)+1, 16), port, "")
		}
	} else if m := lftSwitch().FindStringSubmatch(text); m != nil {
		p.begin(m[1], true)
	} else if m := fdbSwitch().FindStringSubmatch(text); m != nil {
		p.begin(m[1], false)
	} else if m := lftEnd().FindStringSubmatch(text); m != nil {
		p.count(m[1], m[2] != "")
	} else if (!p.skipping || p.at >= 0) && !chatter().MatchString(text) && !prompt().MatchString(text) {
		p.Problem("%s is not a line of a forwarding table", input.Quote(text))
	}
}

func (p *lftParser) begin(guid string, open bool) {
	if p.at >= 0 && !p.open { // the table before has no last line
		p.top = max(p.top, p.last)
	}
	v, err := strconv.ParseUint(guid, 0, 64)
	s, known := p.Switches[topology.GUID(v)]
	before, cut := p.at, p.open
	p.skipping, p.at = true, -1
	switch {
	case err != nil || !known:
		p.Problem("switch %s is not in the fabric", guid)
	case p.listed[s]:
		p.Problem("switch %s is a duplicate", guid)
	case before >= 0 && cut:
		p.Problem("the table of %s is cut", p.graph.SwitchName(before))
	default:
		p.lfts.heads[s] = int32(p.Number)
		p.listed[s], p.at, p.open, p.rows, p.last, p.skipping = true, s, open, 0, 0, false
	}
}

// count checks the last line of a table. OpenSM prints the highest LID there, with or without rows;
// the other tools count rows.
func (p *lftParser) count(text string, exact bool) {
	n, err := strconv.Atoi(text)
	switch {
	case p.skipping:
	case p.at < 0:
		p.Problem("the end of a table without its beginning")
	case err != nil || n < p.rows || exact && n != p.rows:
		p.Problem("%s rows said, %d read", text, p.rows)
	}
	p.at = -1
}

// cutRow takes "0x0001 005 # ..." and "0x0001 : 005 : 02 : yes" apart.
func cutRow(text string) (lid, port, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "0x")
	if !ok {
		return "", "", "", false
	}
	n := hexDigits(text)
	lid, text = text[:n], strings.TrimLeft(text[n:], " \t:")
	port, rest, _ = strings.Cut(text, " ")
	decimal := port != "" && strings.Trim(port, "0123456789") == ""
	return lid, port, rest, n > 0 && (decimal || port == "UNREACHABLE")
}

// hexDigits is the length of the hexadecimal number that text begins with.
func hexDigits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789abcdefABCDEF"))
}

// row takes "0x0001 005 # Channel Adapter portguid 0x0000000000100001: 'H0'" or "0x0001 : 005 : 02 : yes".
func (p *lftParser) row(lidText, portText, rest string) {
	if p.at < 0 {
		if !p.skipping {
			p.Problem("row before any switch")
		}
		return
	}
	p.rows++
	lid, err := strconv.ParseUint(lidText, 16, 32)
	if err != nil || lid > MaxUnicastLID {
		p.Problem("LID 0x%s: want 0x0001 to 0x%04x", lidText, MaxUnicastLID)
		return
	}
	p.last = int(lid)
	number := uint64(noRoute)
	if portText != "UNREACHABLE" {
		if number, err = strconv.ParseUint(portText, 10, 8); err != nil {
			p.Problem("port %s: want 0 to 255", portText)
			return
		}
	}
	if lid == 0 || number == noRoute {
		return
	}
	e := lftEntry{p.Number, p.at, uint16(lid), uint8(number)}
	if _, text, ok := strings.Cut(rest, "portguid 0x"); ok {
		text = text[:hexDigits(text)]
		v, err := strconv.ParseUint(text, 16, 64)
		guid := topology.GUID(v)
		if to, known := p.byGUID(guid); err == nil && known {
			p.lfts.lids.put(int(lid), to)
			p.enter(e, to)
		} else if p.within[guid] {
			p.lfts.lids.put(int(lid), p.lids.aggregation())
		} else {
			p.Problem("LID 0x%s: port GUID 0x%s is not in the fabric", lidText, text)
		}
		return
	}
	if p.lids.Highest() == 0 {
		p.learn(e)
		p.later = append(p.later, e)
		return
	}
	if to, known := p.lids.of(int(lid)); known {
		p.enter(e, to)
	} else if !strings.Contains(rest, "unknown node") && int(lid) > p.lids.Highest() {
		p.Problem("LID 0x%s: the highest of the fabric is 0x%04x", lidText, p.lids.Highest())
	}
}

// noRoute stands for no entry (InfiniBand Architecture Specification, volume 1, 14.2.5.6).
const noRoute = 255

// learn takes the LID of a row that tells whose it is.
func (p *lftParser) learn(e lftEntry) {
	to := p.graph.Terminals() + int(e.at)
	if e.number != 0 {
		port := p.port(e.at, int(e.number))
		if port == topology.NoPort {
			p.ProblemAt(e.line, "%s has no cable at port %d", p.graph.SwitchName(e.at), e.number)
			return
		}
		t, ok := p.graph.PeerTerminal(port)
		if !ok {
			return
		}
		to = int(t)
	}
	if other, known := p.lfts.lids.of(int(e.lid)); known && other != to {
		p.ProblemAt(e.line, "LID 0x%04x: an earlier table sends it to another end port", e.lid)
	}
	p.lfts.lids.put(int(e.lid), to)
}

// enter makes a row's entry, unless a lower LID has made it or it is for an aggregation node.
func (p *lftParser) enter(e lftEntry, to int) {
	if to == p.lids.aggregation() {
		return
	}
	cell := p.lfts.cell(e.at) + to
	if best := p.best[cell]; best != 0 && best <= int32(e.lid) {
		return
	}
	p.best[cell], p.lfts.lines[cell] = int32(e.lid), int32(e.line)
	self := p.graph.Terminals() + int(e.at)
	port := p.port(e.at, int(e.number))
	switch {
	case e.number == 0 && to == self:
	case e.number == 0:
		p.ProblemAt(e.line, "LID 0x%04x by port 0, which is %s itself", e.lid, p.graph.SwitchName(e.at))
	case port == topology.NoPort:
		p.ProblemAt(e.line, "%s has no cable at port %d", p.graph.SwitchName(e.at), e.number)
	}
	p.lfts.next[cell] = port
}

// end checks the file as a whole and enters what waited for it.
func (p *lftParser) end() {
	if p.at >= 0 && p.open {
		p.Problem("the file ends within the table of %s", p.graph.SwitchName(p.at))
	} else if p.at >= 0 && p.last < p.top {
		p.Problem("the file ends within the table of %s: its last LID is 0x%04x, that of others 0x%04x", p.graph.SwitchName(p.at), p.last, p.top)
	}
	for s, listed := range p.listed {
		if !listed && !p.Full() {
			p.Problem("no table of %s (%016x)", p.graph.SwitchName(topology.SwitchID(s)), p.Names.Switches[s].GUID)
		}
	}
	for _, e := range p.later {
		if to, known := p.lfts.lids.of(int(e.lid)); known && !p.Full() {
			p.enter(e, to)
		}
	}
}
