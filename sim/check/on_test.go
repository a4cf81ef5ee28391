//go:build weftcheck

package check

import (
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestBounds: the checked build finds what is not there.
func TestBounds(t *testing.T) {
	s := []int{1, 2, 3}
	for name, read := range map[string]func(){
		"element of a slice": func() { At(s, 3) },
		"element":            func() { Of(s).At(3) },
		"element further on": func() { Of(s).From(1).At(2) },
		"rest":               func() { Of(s).From(4) },
	} {
		func() {
			defer func() { simtest.ErrorIf(t, recover() == nil, "%s: no panic", name) }()
			read()
		}()
	}
}
