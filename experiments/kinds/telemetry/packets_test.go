package telemetry

import (
	"testing"
)

func TestVCSet(t *testing.T) {
	for set, want := range map[uint32]string{1: "0", 0b110: "1-2", 0b1011: "0-1,3", 1<<16 - 1: "0-15"} {
		if got := vcSet(set); got != want {
			t.Errorf("%b: %s, want %s", set, got, want)
		}
	}
}
