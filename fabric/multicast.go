package fabric

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// MulticastTable is the multicast forwarding table (MFT) of a switch: the ports
// that a packet of an MLID leaves by, except the one that it came in by.
type MulticastTable struct {
	// MLIDs are ascending, counted from 0. Where a switch has a table for each
	// port an MLID may occur more than once, with disjoint ports: the row with
	// the port of arrival holds.
	MLIDs []int32
	Ports [][]topology.PortID // len = MLIDs; ascending
}

// PortsOf are the ports of the row for an MLID and a port of arrival.
func (t *MulticastTable) PortsOf(mlid int32, in topology.PortID) (row []topology.PortID, ok bool) {
	i, found := slices.BinarySearch(t.MLIDs, mlid)
	if !found {
		return nil, false
	}
	for ; i < len(t.MLIDs) && t.MLIDs[i] == mlid; i++ {
		if _, here := slices.BinarySearch(t.Ports[i], in); here {
			return t.Ports[i], true
		}
	}
	return nil, false
}
