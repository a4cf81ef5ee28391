package ib

import (
	"bufio"
	"fmt"
	"io"

	"github.com/weft-sim/weft/fabric/topology"
)

// Write writes the tables in the form of OpenSM's opensm-lfts.dump, which its
// routing engine "file" loads (option lfts_file). OpenSM goes by the GUIDs in it
// and keeps its own LIDs where they differ. Each port has a row for its lowest
// LID: for an LMC above 0 OpenSM routes the others as it does without a row.
func (l *LFTs) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	n := Names(l.graph)
	highest := l.lids.Highest()
	own := make([]int, l.graph.Switches())
	rows := make([]int, 0, highest) // LIDs that have a row
	seen := make([]bool, l.lids.aggregation()+1)
	seen[l.lids.aggregation()] = true
	for lid := 1; lid <= highest; lid++ {
		d, known := l.lids.of(lid)
		if !known || seen[d] {
			continue
		}
		seen[d] = true
		rows = append(rows, lid)
		if s := d - l.graph.Terminals(); s >= 0 {
			own[s] = lid
		}
	}
	for s := range l.graph.Switches() {
		fmt.Fprintf(out, "Unicast lids [0-%d] of switch Lid %d guid 0x%016x ('%s'):\n", highest, own[s], n.SwitchGUID[s], n.Switch[s])
		for _, lid := range rows {
			d, _ := l.lids.of(lid)
			port := l.next[l.cell(topology.SwitchID(s))+d]
			number := int32(0)
			if port != topology.NoPort {
				number = n.Port[port]
			} else if d != l.graph.Terminals()+s {
				continue
			}
			kind, guid, name := "Channel Adapter", uint64(0), ""
			if end := d - l.graph.Terminals(); end >= 0 {
				kind, guid, name = "Switch", n.SwitchGUID[end], n.Switch[end]
			} else {
				guid, name = n.PortGUID[d], n.Terminal[d]
			}
			fmt.Fprintf(out, "0x%04x %03d # %s portguid 0x%016x: '%s'\n", lid, number, kind, guid, name)
		}
		fmt.Fprintf(out, "%d lids dumped\n", highest)
	}
	return out.Flush()
}
