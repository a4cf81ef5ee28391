package kinds

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestInfiniBandVictim: seven terminals of a leaf send 0.4 each to one terminal, and the eighth
// sends 0.4 to another one over the same cables up. Without congestion control the hot terminal's
// link is full, and the victim has less than half of its load, as its packets wait behind the
// others'. With marks, notifications and a timer of 31 us it has its load to within 5 %, or more,
// as what waits from before goes, too, and the hot link stays full to more than 0.8. Results do
// not depend on threads.
func TestInfiniBandVictim(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hot.csv")
	if err := os.WriteFile(path, []byte("8\n8\n8\n8\n8\n8\n8\n15\n0\n1\n2\n3\n4\n5\n6\n7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`
[topology]
type = "xgft"
m = [8, 2]
w = [1, 4]
[routing]
type = "nca"
[fabric]
flit_bytes = "64B"
clock = "5120ps"
[program]
type = "infiniband"
cc_ca_cong_setting_ccti_timer = 30
[switch]
buffer_flits = 256
flow_control = "cut-through"
hold = true
[traffic]
pattern = "file"
path = %q
load = 0.4
packet_flits = [32]
[measure]
warmup = 60000
window = 60000
links = true
[sweep]
"switch.marking" = ["none", "infiniband"]
`, path)
	var rates [][]float64
	for threads := 1; threads <= 3; threads += 2 {
		o := execute(t, load(t, text, experiments.Options{}), experiments.Execution{Threads: threads})
		links := o.Tables["links"]
		all := numbers(t, links, "flits_per_cycle")
		to, err := links.Column("to")
		if err != nil {
			t.Fatal(err)
		}
		var of []float64
		for i, row := range links.Rows {
			if row[to] == "terminal 8" || row[to] == "terminal 15" {
				of = append(of, all[i])
			}
		}
		rates = append(rates, of)
	}
	plain, controlled := rates[0][:2], rates[0][2:]
	if len(rates[0]) != 4 || plain[0] < 0.99 || plain[1] > 0.2 || controlled[0] < 0.8 || controlled[1] < 0.38 {
		t.Errorf("hot terminal and victim: %v without congestion control, %v with it", plain, controlled)
	}
	if fmt.Sprint(rates[0]) != fmt.Sprint(rates[1]) {
		t.Errorf("on one thread %v, on three %v", rates[0], rates[1])
	}
}
