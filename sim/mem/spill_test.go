package mem

import (
	"os"
	"runtime"
	"testing"
)

// What was written beyond the limit is read again, forgotten or not, from memory of a file
// as from that of the heap; slices are of zeros.
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
		if n != items || list.Len() != items || *list.At(items - 1) != (items-1)*(items-1) {
			t.Error(n, list.Len())
		}
		if want := s != nil && !s.failed && runtime.GOOS == "linux"; s.OnFile() != want {
			t.Error(s.OnFile())
		}
		s.Free()
		s.Free()
	}
}

// Without a folder for the file, the heap serves; nothing is left in one that there is.
func TestSpillFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/none")
	s := &Spill{}
	Slice[byte](s, 2*spillAfter)[0] = 1
	if s.OnFile() {
		t.Error("a file in no folder")
	}
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	s = &Spill{}
	Slice[byte](s, 2*spillAfter)[2*spillAfter-1] = 1
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	s.Free()
}
