package kinds

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestWarmupWarning: on a mesh whose channels take 1,000 cycles a packet from the next
// switch arrives after 3,000 cycles of channels; a warm-up of 2,999 is warned of, of
// 3,000 and by itself not, and neither is any on one switch.
func TestWarmupWarning(t *testing.T) {
	for _, c := range []struct {
		topology, warmup string
		want             bool
	}{
		{"mesh", "2999", true},
		{"mesh", "3000", false},
		{"mesh", "0", false},
		{"single-switch", "1", false},
	} {
		f := load(t, `
kind = "traffic"
[topology]
type = "`+c.topology+`"
[fabric]
clock = "1ns"
[routing]
type = "`+map[bool]string{true: "dor", false: "table"}[c.topology == "mesh"]+`"
[channel.terminal]
latency = "1us"
`+map[bool]string{true: "[channel.grid]\nlatency = \"1us\"\n"}[c.topology == "mesh"]+`
[switch]
buffer_flits = 4000
[measure]
warmup = `+c.warmup+`
window = 1000
`, experiments.Options{})
		var got []string
		for _, w := range f.Warnings {
			got = append(got, w.Key+" "+w.Message)
		}
		if all := strings.Join(got, "\n"); strings.Contains(all, "after 3000 cycles on channels alone") != c.want {
			t.Errorf("%s, warm-up %s: warnings %q", c.topology, c.warmup, all)
		}
	}
}
