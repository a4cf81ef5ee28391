package mem

import (
	"sync"
	"testing"
)

// Every record is handed out once and stays where it is, whoever takes it.
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
			if seen[i] {
				t.Fatalf("record %d has two owners", i)
			}
			seen[i] = true
			if table.At(i) != at || *at != int64(i) {
				t.Fatalf("record %d has moved, or holds %d", i, *at)
			}
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
		if piece, offset := pieceOf(c.i); piece != c.piece || offset != c.offset {
			t.Errorf("record %d is at %d of piece %d, want %d of %d", c.i, offset, piece, c.offset, c.piece)
		}
	}
}
