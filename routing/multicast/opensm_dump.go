package multicast

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/sim/input"
)

// Whose rows come in a dump that lists rows switch by switch, where it is no
// switch of the fabric.
const (
	noSwitch     topology.SwitchID = -1 // before the first
	faultySwitch topology.SwitchID = -2 // after one that is a fault: its rows say nothing new
)

// dumpReader reads a text dump line by line and collects faults.
type dumpReader struct {
	in     *bufio.Scanner
	name   string
	line   int
	text   string
	faults []error
}

func newDumpReader(r io.Reader, name string) *dumpReader {
	d := &dumpReader{in: bufio.NewScanner(input.Text(r)), name: name}
	d.in.Buffer(nil, 1<<20)
	return d
}

// next moves to the next line; text is without surrounding space. It ends early when there are too many faults.
func (d *dumpReader) next() bool {
	if len(d.faults) >= maxFaults || !d.in.Scan() {
		return false
	}
	d.line++
	d.text = strings.TrimSpace(d.in.Text())
	return true
}

func (d *dumpReader) fault(format string, args ...any) {
	d.faults = append(d.faults, fmt.Errorf("%s:%d: "+format, append([]any{d.name, d.line}, args...)...))
}

// finish returns the faults and errors of reading.
func (d *dumpReader) finish() error {
	if err := d.in.Err(); err != nil {
		d.faults = append(d.faults, fmt.Errorf("%s:%d: %w", d.name, d.line+1, err))
	} else if len(d.faults) >= maxFaults {
		d.fault("too many faults, the rest of the file was not read")
	}
	return errors.Join(d.faults...)
}

// cutHex reads the hexadecimal number after prefix, with or without 0x, up to a
// space, colon or the end.
func cutHex(text, prefix string) (uint64, bool) {
	_, rest, ok := strings.Cut(text, prefix)
	if !ok {
		return 0, false
	}
	rest = strings.TrimPrefix(rest, "0x")
	if end := strings.IndexAny(rest, " \t:"); end >= 0 {
		rest = rest[:end]
	}
	v, err := strconv.ParseUint(rest, 16, 64)
	return v, err == nil
}

func quoteShort(s string) string {
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	return strconv.Quote(s)
}

// identities finds switches and terminals by GUID.
type identities struct {
	names     *topology.Names
	switches  map[uint64]topology.SwitchID
	terminals map[uint64]topology.TerminalID // by port GUID
}

func newIdentities(graph *topology.Graph) *identities {
	ids := &identities{
		names:     ib.Names(graph),
		switches:  make(map[uint64]topology.SwitchID, graph.Switches()),
		terminals: make(map[uint64]topology.TerminalID, graph.Terminals()),
	}
	for s, guid := range ids.names.SwitchGUID {
		ids.switches[guid] = topology.SwitchID(s)
	}
	for t, guid := range ids.names.PortGUID {
		ids.terminals[guid] = topology.TerminalID(t)
	}
	return ids
}
