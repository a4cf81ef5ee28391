package traffic

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestInfiniBandVictim: seven terminals of a leaf send 0.4 each to one terminal, and the eighth
// sends 0.4 to another one over the same cables up. Without congestion control the hot terminal's
// link is full, and the victim has less than half of its load, as its packets wait behind the
// others'. With marks, notifications and a timer of 31 us it has its load to within 5 %, or more,
// as what waits from before goes, too, and the hot link stays full to more than 0.8. Results do
// not depend on threads.
func TestInfiniBandVictim(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hot.csv")
	simtest.Check(t, os.WriteFile(path, []byte("8\n8\n8\n8\n8\n8\n8\n15\n0\n1\n2\n3\n4\n5\n6\n7\n"), 0o600))
	text := fmt.Sprintf(`
topology = { type = "xgft", m = [8, 2], w = [1, 4] }
routing = { type = "nca" }
fabric = { flit_bytes = "64B", clock = "5120ps" }
program = { type = "infiniband", cc_ca_cong_setting_ccti_timer = 30 }
switch = { buffer_flits = 256, flow_control = "cut-through", hold = true }
traffic = { pattern = "file", path = %q, load = 0.4, packet_flits = [32] }
measure = { warmup = 60000, window = 60000, links = true }
[sweep]
"switch.marking" = ["none", "infiniband"]
`, path)
	links := enginetest.SameOnThreads(t, "hot terminal", enginetest.Load(t, text), simtest.Threads(t, 0), false, "links").Tables["links"]
	var rates []float64
	all, to := enginetest.Numbers(t, links, "flits_per_cycle"), enginetest.Column(t, links, "to")
	for i := range to {
		if to[i] == "terminal 8" || to[i] == "terminal 15" {
			rates = append(rates, all[i])
		}
	}
	plain, controlled := rates[:2], rates[2:]
	if len(rates) != 4 || plain[0] < 0.99 || plain[1] > 0.2 || controlled[0] < 0.8 || controlled[1] < 0.38 {
		t.Errorf("hot terminal and victim: %v without congestion control, %v with it", plain, controlled)
	}
}
