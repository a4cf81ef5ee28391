package goal

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/input"
)

// TestBounds: a line without end and more operations than there is memory for
// are problems, found on the way. An operation takes 40 bytes: in
// 4000 bytes there is room for fewer than 100, beside 9 for the rank.
func TestBounds(t *testing.T) {
	_, err := Parse("f", strings.NewReader("num_ranks 1\nrank 0 {\n"+strings.Repeat(" ", 1<<20+1)))
	if err == nil || !strings.Contains(err.Error(), "f:3: a line of more than 1048576 bytes") {
		t.Errorf("a long line: %v", err)
	}
	many := strings.NewReader("num_ranks 1\nrank 0 {\n" + strings.Repeat("calc 1\n", 100) + "}\n")
	before := debug.SetMemoryLimit(4000)
	_, err = Parse("f", many)
	debug.SetMemoryLimit(before)
	if err == nil || !strings.HasPrefix(err.Error(), "f:102: 100 operations so far take 4009 bytes") || input.Memory() <= 4000 {
		t.Errorf("many operations: %v", err)
	}
}
