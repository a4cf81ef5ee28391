package check

import "testing"

// TestArray: an array has the elements of its slice, in the place where they are.
func TestArray(t *testing.T) {
	s := []int32{5, 6, 7}
	a := Of(s)
	if a.At(0) != &s[0] || a.At(2) != &s[2] || a.From(1).At(1) != &s[2] || At(s, 1) != &s[1] {
		t.Error("elements are elsewhere")
	}
}
