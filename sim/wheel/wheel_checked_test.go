//go:build weftcheck

package wheel

import (
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestWheelPast: the checked build finds what is filed for a cycle that is over, within
// the wheel's reach of it or not.
func TestWheelPast(t *testing.T) {
	for _, late := range []int64{0, 5, 1000} {
		w := New[int](100)
		w.Next(1000)
		w.Place(1001)
		simtest.Panics(t, func() { w.Place(1000 - late) }, " is filed in cycle ")
	}
}
