package ib

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// CompareGUID compares two GUIDs as OpenSM's maps do: the maps are keyed by the
// GUID in network byte order, compared as a little-endian number, so that the
// last byte of the GUID weighs most. Consecutive GUIDs come out of order from
// the 257th on.
func CompareGUID(a, b uint64) int {
	return cmp.Compare(bits.ReverseBytes64(a), bits.ReverseBytes64(b))
}

// GUIDOrder lists the switches in the order of OpenSM's maps ([CompareGUID]). It
// breaks most of OpenSM's ties.
func GUIDOrder(names *topology.Names) []topology.SwitchID {
	order := make([]topology.SwitchID, len(names.SwitchGUID))
	for s := range order {
		order[s] = topology.SwitchID(s)
	}
	slices.SortFunc(order, func(a, b topology.SwitchID) int {
		return CompareGUID(names.SwitchGUID[a], names.SwitchGUID[b])
	})
	return order
}
