package certify

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRow: a row is a set, whatever the order in which near and far members
// come. The plain version is a sorted slice.
func TestRow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var r row
		var want []int
		centre := random.IntN(100_000)
		for range 1 + random.IntN(100) {
			node := max(0, centre+random.IntN(200)-100)
			if random.IntN(3) == 0 {
				node = random.IntN(200_000)
			}
			r.add(node)
			want = append(want, node)
		}
		slices.Sort(want)
		want = slices.Compact(want)
		var got []int
		r.each(func(node int) { got = append(got, node) })
		if !slices.Equal(got, want) {
			t.Fatalf("members %v, want %v", got, want)
		}
		for range 1000 {
			node := random.IntN(200_000)
			if _, in := slices.BinarySearch(want, node); r.has(node) != in {
				t.Fatalf("has(%d) = %v", node, !in)
			}
		}
	}
}
