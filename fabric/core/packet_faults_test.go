package core_test

import (
	"reflect"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/sim/simtest"
)

// checkFailingUnits compares flits and packets as the unit in the random network of a seed, in which
// things fail, under switches that hold their ports: every packet arrives in the same
// cycle or not at all, and as many flits are discarded in as many transmissions, for one
// thread and for more.
func checkFailingUnits(t testing.TB, seed uint64) (tally fabric.FaultTally) {
	x := drawFaultTrial(t, seed)
	config := holding(x.config)
	whole := 1 + seed%3 // cycles
	config.Switch.Speedup = float64(1 + seed%2)
	config.Channels = map[string]fabric.ChannelConfig{"terminal": {CyclesPerFlit: float64(whole)}}
	if seed%5 == 0 {
		config.Switch.Forwarding = fabric.StoreAndForward
	}
	if seed%7 == 0 {
		config.Switch.CreditsPerCycle = 0
	}
	flits, want := x.run(t, config, 1)
	config.Fabric.Unit = fabric.UnitPacket
	packets, got := x.run(t, config, 1+int(seed%4)%3)
	differ := 0
	for dst := range want.seen {
		for tag, d := range want.seen[dst] {
			if got := got.seen[dst][tag]; got != d {
				if differ++; differ == 1 {
					t.Errorf("seed %d, %s: flits %+v, packets %+v", seed, x.name, d, got)
				}
			}
		}
	}
	if differ > 0 || got.packets() != want.packets() || packets.Counters != flits.Counters || packets.FaultTally() != flits.FaultTally() {
		t.Errorf("seed %d, %s: %d of %d packets differ, of %d\n%+v %+v\n%+v %+v", seed, x.name, differ, want.packets(), got.packets(), flits.Counters, flits.FaultTally(), packets.Counters, packets.FaultTally())
	}
	for i, p := range want.lives {
		if !reflect.DeepEqual(withoutWaits(p), withoutWaits(got.lives[i])) {
			t.Errorf("seed %d, %s: life %+v, as a packet %+v", seed, x.name, p, got.lives[i])
			break
		}
	}
	return packets.FaultTally()
}

// TestFailingUnits: flits and packets as the unit agree where things fail.
func TestFailingUnits(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	var all fabric.FaultTally
	for _, seed := range simtest.Seeds(t, 120, 4) {
		tally := checkFailingUnits(t, seed)
		all.Add(tally)
	}
	if !testing.Short() && (all.Dropped < 250 || all.Retransmitted == 0 || all.Duplicates == 0 || all.Lost == 0 || all.Unreachable == 0 || all.WastedFlits == 0) {
		t.Errorf("not everything has happened: %+v", all)
	}
}

// FuzzFailingUnits is TestFailingUnits for the native fuzzer.
func FuzzFailingUnits(f *testing.F) {
	f.Add(uint64(802)) // a terminal that is given a credit and loses its packet in the same cycle
	f.Fuzz(func(t *testing.T, seed uint64) { checkFailingUnits(t, seed) })
}

// withoutWaits is a life without what its head waited for, which is not the same where it
// was woken because others were discarded.
func withoutWaits(p *core.PacketTrace) *core.PacketTrace {
	for i := range p.Path {
		p.Path[i].Waits = nil
	}
	return p
}
