package check

import (
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestArray: an array has the elements of its slice, in the place where they are.
func TestArray(t *testing.T) {
	s := []int32{5, 6, 7}
	a := Of(s)
	simtest.ErrorIf(t, a.At(0) != &s[0] || a.At(2) != &s[2] || a.From(1).At(1) != &s[2] || At(s, 1) != &s[1], "elements are elsewhere")
}
