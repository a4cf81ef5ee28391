package ib

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// PathLevels are the service levels of the paths between terminals, as the subnet
// manager answers for them. Memory: a byte for each pair.
type PathLevels struct {
	terminals int
	level     []uint8 // by source, destination
}

// maxPairs bounds the pairs of terminals that tables are held for: 1 GiB.
const maxPairs = 1 << 30

// noLevel marks a pair that a file has not named.
const noLevel = 255

// Of is the service level of packets from src to dst.
func (l *PathLevels) Of(src, dst topology.TerminalID) int {
	return int(l.level[int(src)*l.terminals+int(dst)])
}

var (
	levelColumns = regexp.MustCompile(`^#.*:((?: \d+)+)$`)
	levelDigits  = regexp.MustCompile(`^(\d+) ([0-9A-Fa-f]+)$`)
	levelTriple  = regexp.MustCompile(`^(0x[0-9A-Fa-f]+) (\d+) (\d+)$`)
	levelRow     = regexp.MustCompile(`^0x([0-9A-Fa-f]+)\s*:\s*(\d+)$`)
)

// ReadPathLevels reads the service levels of the paths of a subnet whose end ports
// are the terminals of g. Three forms are told apart line by line: the .psl of
// ibdiagnet (port GUID of the source, LID of the destination, level), OpenSM's
// dump of path SLs (a heading for each source, then destination LID and level), and
// weft's own of a line for each source LID with a hexadecimal digit for each
// destination, whose LIDs a comment before ends with: "# ...: 1 5 8".
//
// lids knows the LIDs; nil: as the fabric states them. Of several LIDs of a port
// the first named counts. name is the file's name for messages; problems are
// returned together with their lines. Every pair of different terminals must have
// a level. Switches, as sources or destinations, are passed over.
func ReadPathLevels(r io.Reader, name string, g *topology.Graph, lids *LIDs) (*PathLevels, error) {
	n := g.Terminals()
	if n > 0 && n > maxPairs/n {
		return nil, fmt.Errorf("%s: service levels of the pairs of %d terminals are too many", name, n)
	}
	p := &levelParser{subnet: newSubnet(r, name, g, lids), at: -1, levels: &PathLevels{n, slices.Repeat([]uint8{noLevel}, n*n)}}
	return p.levels, readLines(p.Lines, p.parse, p.end)
}

type levelParser struct {
	*subnet
	levels   *PathLevels
	columns  []int // destinations of the digits; -1: a switch
	at       int   // source whose rows come; -1: none
	skipping bool  // a source that is no terminal
}

func (p *levelParser) parse(text string) {
	if m := levelColumns.FindStringSubmatch(text); m != nil {
		p.columns = p.columns[:0]
		for _, lid := range strings.Fields(m[1]) {
			p.columns = append(p.columns, p.terminal(lid, 10))
		}
	} else if text == "" || text[0] == '#' {
		return
	} else if m := levelTriple.FindStringSubmatch(text); m != nil {
		if p.source(m[1]); p.at >= 0 {
			p.set(p.at, p.terminal(m[2], 10), m[3], 10)
		}
	} else if m := mapNode.FindStringSubmatch(text); m != nil {
		p.source(m[2])
	} else if m := levelRow.FindStringSubmatch(text); m != nil {
		switch {
		case p.at >= 0:
			p.set(p.at, p.terminal(m[1], 16), m[2], 10)
		case !p.skipping:
			p.Problem("row before any node")
		}
	} else if m := levelDigits.FindStringSubmatch(text); m != nil {
		p.digits(m[1], m[2])
	} else if !chatter.MatchString(text) {
		p.Problem("%s is not a line of a table of service levels", input.Quote(text))
	}
}

// terminal is the one with a LID; -1 for switches and, with a problem, for LIDs that
// nobody has.
func (p *levelParser) terminal(text string, base int) int {
	if to, known := p.lid(text, base); known && to < p.graph.Terminals() {
		return to
	}
	return -1
}

// source turns to the port with a GUID.
func (p *levelParser) source(text string) {
	p.at, p.skipping = -1, true
	if to, known := p.guid(text); known && to < p.graph.Terminals() {
		p.at = to
	}
}

// set enters a level, unless a lower LID of the destination has one.
func (p *levelParser) set(src, dst int, text string, base int) {
	level, err := strconv.ParseUint(text, base, 8)
	if err != nil || level >= ServiceLevels {
		p.Problem("service level %s: want 0 to %d", text, ServiceLevels-1)
		return
	}
	if dst < 0 {
		return
	}
	if cell := &p.levels.level[src*p.levels.terminals+dst]; *cell == noLevel {
		*cell = uint8(level)
	}
}

// digits takes a line of the reduced form.
func (p *levelParser) digits(lid, digits string) {
	if len(p.columns) == 0 {
		p.Problem("levels before the line with the LIDs of the destinations")
		return
	}
	if len(digits) != len(p.columns) {
		p.Problem("%d levels for %d destinations", len(digits), len(p.columns))
		return
	}
	src := p.terminal(lid, 10)
	if src < 0 {
		return
	}
	for i, dst := range p.columns {
		p.set(src, dst, digits[i:i+1], 16)
	}
}

// end checks that every pair has a level.
func (p *levelParser) end() {
	n := p.levels.terminals
	for src := range n {
		for dst := range n {
			cell := &p.levels.level[src*n+dst]
			if *cell != noLevel {
				continue
			}
			*cell = 0
			if src != dst && !p.Full() {
				p.Problem("no service level from %s to %s", p.graph.TerminalName(topology.TerminalID(src)), p.graph.TerminalName(topology.TerminalID(dst)))
				break
			}
		}
	}
}
