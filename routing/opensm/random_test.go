package opensm

import "testing"

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
