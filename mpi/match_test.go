package mpi

import (
	"testing"
	"unsafe"
)

// FuzzMatcher holds the indexed lists against a plain slice: each byte of the
// input is an operation on a source and a tag drawn from a few values, Any
// among them.
func FuzzMatcher(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 250, 251, 252})
	long := make([]byte, 200)
	for i := range long {
		long[i] = byte(i * 37)
	}
	f.Add(long)
	f.Fuzz(func(t *testing.T, script []byte) {
		type item struct{ source, tag, item int32 }
		var m matcher
		var lists [2]matchList
		lists[1].own = m.reserve(1) // the other has no nodes of its own
		var plain [2][]item
		for i, b := range script {
			which := int(b & 1)
			source, tag := int32(b>>1&7)-1, int32(b>>4&3)-1
			// The list is filled for a while, so that indexes are built, and
			// drained by the second half of the script.
			if fill := b>>6 != 0; fill == (i < len(script)/2) {
				m.add(&lists[which], source, tag, int32(i))
				plain[which] = append(plain[which], item{source, tag, int32(i)})
				continue
			}
			want, found := int32(0), false
			for j, p := range plain[which] {
				if fits(p.source, source) && fits(p.tag, tag) {
					want, found = p.item, true
					plain[which] = append(plain[which][:j:j], plain[which][j+1:]...)
					break
				}
			}
			got, ok := m.take(&lists[which], source, tag)
			if ok != found || got != want {
				t.Fatalf("step %d: take(%d, %d) = %d, %v; plain list has %d, %v", i, source, tag, got, ok, want, found)
			}
		}
		for which := range lists {
			var left []int32
			m.items(&lists[which], func(node int32) { left = append(left, m.nodes[node].item) })
			if len(left) != len(plain[which]) {
				t.Fatalf("list %d holds %d items, want %d", which, len(left), len(plain[which]))
			}
			for i, p := range plain[which] {
				if left[i] != p.item {
					t.Fatalf("list %d item %d = %d, want %d", which, i, left[i], p.item)
				}
			}
		}
	})
}

// What events touch lies in as few cache lines of 64 bytes as LookAhead asks for.
func TestStateFillsLines(t *testing.T) {
	for _, c := range []struct {
		name       string
		size, want uintptr
	}{
		{"rank", unsafe.Sizeof(rank{}), 128},
		{"rank up to its queue", unsafe.Offsetof(rank{}.queue), 64},
		{"message", unsafe.Sizeof(message{}), 64},
		{"two nodes of a matcher", ownNodes * unsafe.Sizeof(matchNode{}), 64},
		{"progress of two ranks", 2 * unsafe.Sizeof(rankProgress{}), 64},
	} {
		if c.size != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, c.size, c.want)
		}
	}
}
