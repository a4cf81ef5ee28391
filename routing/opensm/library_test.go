package opensm

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestHeap inserts, lowers, removes and pops at random: what is popped always has the
// smallest key, and every parent is at most as large as its children.
func TestHeap(t *testing.T) {
	r := sim.NewStream(1, "heap", 0)
	h := newHeap(40)
	h.clear()
	keys := map[int32]uint64{}
	for range 5000 {
		v := int32(r.IntN(40))
		key, in := keys[v]
		has := h.at[v] != outside
		simtest.FatalIf(t, has != in, "vertex %d: in the heap %t, want %t", v, has, in)
		switch {
		case !in:
			keys[v] = uint64(r.IntN(30))
			h.insert(v, keys[v])
		case r.IntN(3) == 0:
			h.remove(v)
			delete(keys, v)
		case r.IntN(2) == 0 && key > 0:
			keys[v] = key - 1
			h.lower(v, key-1)
		default:
			least := h.pop()
			var all []uint64
			for _, k := range keys {
				all = append(all, k)
			}
			simtest.FatalIf(t, keys[least] != slices.Min(all),
				"popped a key of %d, the smallest is %d", keys[least], slices.Min(all))
			delete(keys, least)
		}
		for i, e := range h.entries {
			simtest.FatalIf(t, i > 0 && h.entries[(i-1)/4].key > e.key || h.at[e.vertex] != int32(i) || keys[e.vertex] != e.key,
				"entry %d is out of place", i)
		}
		simtest.FatalIf(t, h.size() != len(keys), "%d entries, want %d", h.size(), len(keys))
	}
}
