package telemetry

import (
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

func TestVCSet(t *testing.T) {
	for set, want := range map[uint32]string{1: "0", 0b110: "1-2", 0b1011: "0-1,3", 1<<16 - 1: "0-15"} {
		simtest.Equal(t, vcSet(set), want, "%b:", set)
	}
}
