//go:build weftcheck

package check

import (
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestBounds: the checked build finds what is not there.
func TestBounds(t *testing.T) {
	s := []int{1, 2, 3}
	for _, read := range []func(){func() { At(s, 3) }, func() { Of(s).At(3) }, func() { Of(s).From(1).At(2) }, func() { Of(s).From(4) }} {
		simtest.Panics(t, read, "out of range")
	}
}
