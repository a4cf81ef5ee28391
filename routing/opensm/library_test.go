package opensm

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim"
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
		if has := h.at[v] != outside; has != in {
			t.Fatalf("vertex %d: in the heap %t, want %t", v, has, in)
		}
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
			if keys[least] != slices.Min(all) {
				t.Fatalf("popped a key of %d, the smallest is %d", keys[least], slices.Min(all))
			}
			delete(keys, least)
		}
		for i, e := range h.entries {
			if i > 0 && h.entries[(i-1)/4].key > e.key || h.at[e.vertex] != int32(i) || keys[e.vertex] != e.key {
				t.Fatalf("entry %d is out of place", i)
			}
		}
		if h.size() != len(keys) {
			t.Fatalf("%d entries, want %d", h.size(), len(keys))
		}
	}
}

// Of equal keys the child with the highest index rises: with four vertices of one key
// under a root, popping the root puts the last to the top and leaves it there.
func TestHeapTies(t *testing.T) {
	h := newHeap(6)
	h.fill([]int32{0, 1, 2, 3, 4, 5}) // all keys are Infinity
	var order []int32
	for h.size() > 0 {
		order = append(order, h.pop())
	}
	// No child is strictly smaller than what takes the root's place, so each pop brings
	// the last element up: 0, then 5, 4, 3, 2, 1.
	if want := []int32{0, 5, 4, 3, 2, 1}; !slices.Equal(order, want) {
		t.Errorf("popped %v, want %v", order, want)
	}
}

// The first numbers of random() without a seed are in every C library's lore:
// 1804289383, 846930886, 1681692777 with glibc.
func TestCRandom(t *testing.T) {
	r := newCRandom(1)
	for i, want := range []int{1804289383, 846930886, 1681692777, 1714636915, 1957747793} {
		if got := r.next(); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
}
