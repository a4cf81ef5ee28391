package mcast

import (
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
)

// Whose rows come in a dump that lists rows switch by switch, where it is no
// switch of the fabric.
const (
	noSwitch      topology.SwitchID = -1 // before the first
	unknownSwitch topology.SwitchID = -2 // after one that the fabric does not have: its rows say nothing new
)

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
