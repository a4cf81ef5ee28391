package kinds

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// Messages are cut at the MTU of the fabric, as where the adapters have that one; a larger
// one leaves them what they have.
func TestMTUCutsMessages(t *testing.T) {
	times := func(fabric, adapter string) []float64 {
		f := load(t, `
kind = "mpi"
[job]
ranks = 2
machine = "fabric"
[placement]
per_node = 1
[topology]
terminals = 2
[fabric]
flit_bytes = "64B"
clock = "16ns"
`+fabric+`
[hca]
packet_time = "20ns"
`+adapter+`
[sweep]
"workload.bytes" = ["64B", "10000B", "64KiB"]
`, experiments.Options{})
		return numbers(t, execute(t, f, experiments.Execution{}).Results, "steady_iteration_s")
	}
	own, fabric := times("", `mtu = "256B"`), times(`mtu = "256B"`, "")
	if !slices.Equal(own, fabric) {
		t.Errorf("%v with hca.mtu, %v with fabric.mtu", own, fabric)
	}
	usual, larger := times("", ""), times(`mtu = "4KiB"`, "")
	if !slices.Equal(usual, larger) || slices.Equal(usual, own) {
		t.Errorf("%v without fabric.mtu, %v with 4 KiB, %v with 256 B", usual, larger, own)
	}
}

// Packets that are longer than the MTU are refused.
func TestMTURefusesPackets(t *testing.T) {
	const file = "kind = \"traffic\"\n[topology]\ntype = \"torus\"\n[routing]\ntype = \"dor\"\n[switch]\nbuffer_flits = 64\n[fabric]\nmtu = \"256B\"\n[traffic]\npacket_flits = "
	if _, err := experiments.Load("x.toml", file+"[1, 4]\n", experiments.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := experiments.Load("x.toml", file+"[1, 5]\n", experiments.Options{}); err == nil || !strings.Contains(err.Error(), "fabric.mtu") {
		t.Error(err)
	}
}
