package kinds

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
)

// TestPresetsBringCopies: copies are of the adapter's generation, unless the file gives their rate, and
// qdr's are the defaults.
func TestPresetsBringCopies(t *testing.T) {
	for _, name := range hca.Registry.Names() {
		if mpi.CopyRates[name] == 0 {
			t.Errorf("preset %s has no rate of copies", name)
		}
	}
	if mpi.CopyRates["qdr"] != mpi.DefaultProtocols.CopyRate {
		t.Error("qdr is not the default")
	}
	for text, want := range map[string][2]sim.Rate{
		"":                          {40e9, 40e9},
		"[hca]\npreset = \"hdr\"\n": {120e9, 120e9},
		"[hca]\npreset = \"hdr\"\n[protocol]\ncopy_rate = \"50Gb/s\"\n": {50e9, 120e9},
		"[hca]\npreset = \"ndr\"\n[workload]\ncopy_rate = \"70Gb/s\"\n": {160e9, 70e9},
	} {
		c := load(t, "kind = \"mpi\"\n"+text, experiments.Options{}).Points[0].Config().(*mpiConfig)
		if got := [2]sim.Rate{c.Protocol.CopyRate, c.Workload.CopyRate}; got != want {
			t.Errorf("%q: copies at %v, want %v", text, got, want)
		}
	}
}

// TestPresetSetsClock: a flit of 64 B takes 16 ns on 32 Gb/s, 2.56 ns on 200 Gb/s.
func TestPresetSetsClock(t *testing.T) {
	for text, want := range map[string]sim.Time{
		"":                          16 * sim.Nanosecond,
		"[hca]\npreset = \"hdr\"\n": 2560,
		"[hca]\npreset = \"hdr\"\n[fabric]\nclock = \"1ns\"\n": sim.Nanosecond,
	} {
		if got := load(t, "kind = \"mpi\"\n"+text, experiments.Options{}).Points[0].Config().(*mpiConfig).Fabric.Clock; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestCopyWarning: a rank a node copies 60 Gb/s in each direction beside an adapter of 200; four
// copy 240. Without copies, and with the adapter of their generation, nothing is said: 20 of 24.34 are
// within a quarter.
func TestCopyWarning(t *testing.T) {
	for _, c := range []struct {
		preset  string
		perNode int
		copies  bool
		want    bool
	}{{"hdr", 1, true, true}, {"hdr", 4, true, false}, {"hdr", 1, false, false}, {"qdr", 1, true, false}} {
		f := load(t, fmt.Sprintf("kind = \"mpi\"\n[hca]\npreset = %q\n[placement]\nper_node = %d\n[protocol]\neager_copies = %v\n", c.preset, c.perNode, c.copies), experiments.Options{})
		if got := strings.Contains(fmt.Sprint(f.Warnings), "limits eager messages"); got != c.want {
			t.Errorf("%+v: warnings %v", c, f.Warnings)
		}
	}
}
