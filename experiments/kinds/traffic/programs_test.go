package traffic

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	simtest.ErrorIf(t, len(rates) != 4 || plain[0] < 0.99 || plain[1] > 0.2 || controlled[0] < 0.8 || controlled[1] < 0.38,
		"hot terminal and victim: %v without congestion control, %v with it", plain, controlled)
}

// TestInfiniBandIncast: sixty hosts send to one over four cables into the core switch above it,
// and one beside them elsewhere, over one of the four. Without control every buffer on the way
// is full, and the one has as much of its leaf's cable as the three beside it, which have a
// sixtieth each: 0.4 becomes 0.017. With control as the example has it, a sender that is at its
// share of the hot link sends a packet in 60 * 32 cycles of 2.56 ns = 4.9 us; at a marking rate of
// 1 that raises its index by 1 in 9.8 us at most, and a timer of 20.5 us lowers it by 1: there are
// marks to hold the sixty at their share, with a queue or without. The one has nine tenths of its
// 0.4 at least, and the hot link carries 0.85 or more. A pair of any source has all.
func TestInfiniBandIncast(t *testing.T) {
	text := `
topology = { type = "ibnetdiscover", path = "weft:examples/fat-tree-128.ibnetdiscover" }
routing = { type = "opensm-minhop" }
program = { type = "infiniband", cc_ca_cong_setting_ccti_timer = 20 }
switch = { buffer_flits = 128, flow_control = "cut-through", marking = "infiniband", cc_sw_cong_setting_threshold = 1, cc_sw_cong_setting_marking_rate = 1 }
traffic = { pattern = "file", path = "weft:examples/infiniband-incast.txt", load = 0.4, packet_flits = [32] }
measure = { warmup = 600000, window = 100000, pairs = ["n000, n111", "*,n127", "0,n127"] }
[sweep]
"switch.cc_sw_cong_setting_threshold" = [0, 1]
`
	pairs := enginetest.OutcomeOf(t, text).Tables["pairs"]
	rates := enginetest.Numbers(t, pairs, "flits_per_cycle")
	if len(rates) != 6 || rates[0] > 0.02 || rates[1] < 0.999 || rates[3] < 0.36 || rates[4] < 0.85 || rates[2]+rates[5] > 0 {
		t.Errorf("victim, hot link, and a pair that sends nothing: %v without congestion control, %v with it", rates[:3], rates[3:])
	}
}

// TestPairsRefused: what measure.pairs names must be there, in the form SOURCE,DESTINATION.
func TestPairsRefused(t *testing.T) {
	enginetest.Refusals(t, `topology = { type = "single-switch", terminals = 8 }
`, map[string]string{
		`measure.pairs = ["0"]`:     `measure.pairs[0] = "0": want "SOURCE,DESTINATION"`,
		`measure.pairs = ["0,8"]`:   `measure.pairs[0] = "0,8": "8", want a terminal, 0 to 7, or a name such as "terminal 0"`,
		`measure.pairs = ["x, *"]`:  `measure.pairs[0] = "x, *": "x", want a terminal`,
		`measure.pairs = ["0,1,2"]`: `"1,2", want a terminal`,

		"measure.pairs = []\n[[plot]]\ntable = \"pairs\"\nx = \"source\"\ny = \"flits_per_cycle\"\n": "nothing in the file asks for this table: set measure.pairs",
	})
}

// TestSilentTerminals: of eight terminals two send a load of 0.3 each, both to terminal 0. Loads are of
// those two: 0.3 is accepted, within four standard deviations of the births in 8,000 cycles
// (4 * sqrt(0.3 * 0.7 / 16,000) = 0.0145), though the mean over all terminals is a quarter of that. What is
// sent is even to the same degree; received is all by one of eight, 1/8 by Jain's index.
func TestSilentTerminals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs")
	simtest.Check(t, os.WriteFile(path, []byte("3,0\nterminal 5,0\n"), 0o600))
	o := enginetest.OutcomeOf(t, fmt.Sprintf(`
topology = { type = "single-switch", terminals = 8 }
traffic = { pattern = "file", path = %q, load = 0.3 }
measure = { warmup = 500, window = 8000, fairness = true, pairs = ["3,0", "0,3"] }
`, path))
	accepted := enginetest.Numbers(t, o.Results, "accepted_load")[0]
	if accepted < 0.3-0.0145 || accepted > 0.3+0.0145 || o.Results.Rows[0][slices.Index(o.Results.Columns, "state")] != "steady" {
		t.Errorf("accepts %v of 0.3: %v", accepted, o.Results.Rows)
	}
	fairness := o.Tables["fairness"]
	jain, least := enginetest.Numbers(t, fairness, "jain_index"), enginetest.Column(t, fairness, "min_terminal")
	simtest.ErrorIf(t, jain[0] < 0.99 || jain[1] != 0.125 || least[0] != "terminal 3" && least[0] != "terminal 5",
		"sent and received: Jain's index %v, the least by %v", jain, least)
	rates := enginetest.Numbers(t, o.Tables["pairs"], "flits_per_cycle")
	simtest.ErrorIf(t, rates[0] < 0.27 || rates[1] != 0, "pairs carry %v, want 0.3 and nothing", rates)
}
