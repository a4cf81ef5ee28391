package families

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// twoTiers are 4 leaves of 8 terminals with 2 cables up, 2 spines: 4:1.
//
//go:embed testdata/two.topo
var twoTiers string

func TestTiers(t *testing.T) {
	x := simtest.Must(ReadTiers("two.topo", []byte(twoTiers)))(t)
	if f := x.Facts(); f.Terminals != 32 || f.Switches != 6 || f.Links != 8 {
		t.Errorf("%+v: want 32 terminals, 4 leaves and 2 spines, 8 cables", f)
	}
	if x.CableLatency(0).Nanoseconds() != 1000 || x.CableLatency(1).Nanoseconds() != 500 || x.SwitchDelay(0).Nanoseconds() != 300 || x.SwitchDelay(5) != 0 {
		t.Errorf("%v, %v", x.flights, x.delays)
	}
	// Found out by its content; queues are settings of the network.
	name := filepath.Join(t.TempDir(), "x")
	simtest.Check(t, os.WriteFile(name, []byte(strings.Replace(twoTiers, "Radix_Up 2", "Radix_Up 2\r\nQueue_Up 1002\r\nQueue_Down 1001", 1)), 0o666))
	if f := simtest.Must(topology.ReadFile(name))(t).Facts(); f != x.Facts() {
		t.Errorf("%+v, want %+v", f, x.Facts())
	}
	// 16 pods of 8 leaves of 8, each of which has 8 aggregations of 8: the tree of switches of 16 ports.
	three := "Nodes 1024\nTiers 3\nPodsize 64\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nDownlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 8\nDownlink_Latency_ns 1\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 16\nDownlink_Latency_ns 1\n"
	x = simtest.Must(ReadTiers("three.topo", []byte(three)))(t)
	if f := x.Facts(); f.Switches != 128+128+64 || f.Links != 2048 {
		t.Errorf("%+v: want 320 switches, 2,048 cables", f)
	}
	for _, c := range []struct{ old, new, want string }{
		{"Nodes 32", "Nodes 32 33", "two.topo:1:"},
		{"Nodes 32", "Nodes -1", "two.topo:1:"},
		{"Tier 1", "Tier 2", "two.topo:13: tier 2: want tier 1 next"},
		{"Radix_Down 8", "Radix 8", "two.topo:7: \"Radix\": unknown"},
		{"Radix_Down 4", "", "two.topo:13: tier 1 has no radix_down"},
		{"Oversubscribed 4", "Oversubscribed 3", "two.topo: cables above a leaf: 800 / 300"},
		{"Radix_Up 2", "Radix_Up 4", "tier 0: Radix_Up = 4"},
		{"Podsize 32", "Podsize 16", "2 pods on two tiers"},
		{"Tiers 2", "Tiers 4", "4 tiers are announced, and 2 follow"},
	} {
		simtest.Refuse(ReadTiers("two.topo", []byte(strings.Replace(twoTiers, c.old, c.new, 1))))(t, c.want)
	}
}

func FuzzTiers(f *testing.F) {
	f.Add([]byte(twoTiers))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if len(data) < 1000 {
			_, _ = ReadTiers("x", data)
		}
	})
}
