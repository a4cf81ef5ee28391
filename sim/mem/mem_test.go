package mem

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/weft-sim/weft/sim/simtest"
)

// Every record is handed out once and stays where it is, for all owners.
func TestRecords(t *testing.T) {
	var table Records[int64]
	const owners, each = 4, 20_000
	addresses := make([]map[int32]*int64, owners)
	var all sync.WaitGroup
	for owner := range owners {
		addresses[owner] = map[int32]*int64{}
		all.Go(func() {
			for len(addresses[owner]) < each {
				first, end := table.Take(owner * 50) // owner 0: whole pieces
				for i := first; i < end; i++ {
					at := table.At(i)
					*at = int64(i)
					addresses[owner][i] = at
				}
			}
		})
	}
	all.Wait()
	seen := map[int32]bool{}
	for _, own := range addresses {
		for i, at := range own {
			simtest.FatalIf(t, seen[i], "record %d has two owners", i)
			seen[i] = true
			simtest.FatalIf(t, table.At(i) != at || *at != int64(i), "record %d has moved, or holds %d", i, *at)
		}
	}
}

// Pieces of 64, 64, 128, 256 records: where the first and last of each are.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		i      uint32
		piece  int
		offset uint32
	}{{0, 0, 0}, {63, 0, 63}, {64, 1, 0}, {127, 1, 63}, {128, 2, 0}, {255, 2, 127}, {256, 3, 0}, {1<<31 - 1, 25, 1<<30 - 1}} {
		piece, offset := pieceOf(c.i)
		simtest.ErrorIf(t, piece != c.piece || offset != c.offset, "record %d is at %d of piece %d, want %d of %d", c.i, offset, piece, c.offset, c.piece)
	}
}

// Slices made one after the other lie at least two cache lines apart, and cannot grow
// into the space between.
func TestApart(t *testing.T) {
	var ends []uintptr
	var keep [][]uint16 // or their memory could be used again
	for n := range 40 {
		s := Apart[uint16](n + 1)
		simtest.FatalIf(t, len(s) != n+1 || cap(s) != n+1, "len %d, cap %d, want %d", len(s), cap(s), n+1)
		first := uintptr(unsafe.Pointer(&s[0]))
		last := first + uintptr(len(s))*2
		for i := 0; i < len(ends); i += 2 {
			if first < ends[i+1]+lineBytes && ends[i] < last+lineBytes {
				t.Errorf("%d elements at %x to %x lie near others at %x to %x", n+1, first, last, ends[i], ends[i+1])
			}
		}
		ends, keep = append(ends, first, last), append(keep, s)
	}
	runtime.KeepAlive(keep)
}

// What was written beyond the limit is read again, forgotten or not, from memory of a file
// as from the heap; slices are of zeros.
func TestSpill(t *testing.T) {
	const items = 6 << 20 // 48 MiB
	for _, s := range []*Spill{nil, {}, {failed: true}} {
		list := List[int64]{Spill: s}
		for i := range int64(items) {
			list.Add(i * i)
		}
		more := Slice[int32](s, items)
		s.Forget()
		for i, v := range list.All {
			if *v != int64(i)*int64(i) || more[i] != 0 {
				t.Fatal(i, *v, more[i])
			}
			more[i] = i
		}
		s.Forget()
		n := 0
		for piece := range list.Pieces {
			for _, v := range piece {
				if v != int64(n)*int64(n) || more[n] != int32(n) {
					t.Fatal(n, v, more[n])
				}
				n++
			}
		}
		simtest.ErrorIf(t, n != items || list.Len() != items || *list.At(items - 1) != (items-1)*(items-1), "%v %v", n, list.Len())
		want := s != nil && !s.failed && runtime.GOOS == "linux"
		simtest.ErrorIf(t, s.OnFile() != want, "%v", s.OnFile())
		s.Free()
		s.Free()
	}
}

// Without a folder for the file, the heap serves; nothing is left in one that there is.
func TestSpillFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/none")
	s := &Spill{}
	Slice[byte](s, 2*spillAfter)[0] = 1
	simtest.ErrorIf(t, s.OnFile(), "a file in no folder")
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	s = &Spill{}
	Slice[byte](s, 2*spillAfter)[2*spillAfter-1] = 1
	left, err := os.ReadDir(folder)
	simtest.ErrorIf(t, err != nil || len(left) > 0, "%v %v", left, err)
	s.Free()
}
