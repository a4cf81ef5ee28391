package core_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// units runs a test with each unit, under switches that hold their ports.
func units(t *testing.T, test func(t *testing.T, config fabric.Config)) {
	for _, unit := range []string{fabric.UnitFlit, fabric.UnitPacket} {
		t.Run(unit, func(t *testing.T) {
			config := holding(fabric.DefaultConfig())
			config.Fabric.Unit = unit
			test(t, config)
		})
	}
}

// holding is c with switches that hold their ports.
func holding(c fabric.Config) fabric.Config {
	c.Switch.Hold, c.Switch.FlowControl = true, fabric.CutThrough
	return c
}

// packets is c with packets as the unit.
func packets(c *fabric.Config) {
	*c = holding(*c)
	c.Fabric.Unit = fabric.UnitPacket
}

// TestUnitsLine sends one packet of n flits over h switches of a line, whose channels between switches take I cycles
// for a flit and those of terminals 1.
//
// Cut-through, the head meets no one and takes, with L and l the latencies of the two classes and s the stages of a
// switch, injection + l + h s + (h-1) L + l. The flits follow a cycle apart if h = 1, and otherwise at the pace of the
// slowest channel on their way, so that the tail comes (n-1) max(1, I) later.
//
// Store-and-forward, each switch begins when the tail has come, n-1 cycles after the head into the first, and (n-1) I
// into the others; the last channel adds another n-1.
func TestUnitsLine(t *testing.T) {
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims = []int{6} })
	units(t, func(t *testing.T, config fabric.Config) {
		for _, forwarding := range []string{fabric.CutThrough, fabric.StoreAndForward} {
			for _, speedup := range []float64{1, 2} {
				for _, flits := range []int64{1, 2, 9} {
					for _, interval := range []int64{1, 3} {
						const injection, L, l = 4, 7, 2
						config.Switch.Forwarding, config.Switch.Speedup, config.Switch.CrossbarCycles = forwarding, speedup, 3
						config.Terminal.InjectionCycles = injection
						config.Channels = map[string]fabric.ChannelConfig{
							"terminal": {Latency: l * sim.Nanosecond}, "grid": {Latency: L * sim.Nanosecond, CyclesPerFlit: float64(interval)},
						}
						stages := int64(4 / speedup) // switch allocation and crossbar
						for switches := int64(1); switches <= 6; switches++ {
							head := injection + l + switches*stages + (switches-1)*L + l
							slowest := interval
							if switches == 1 {
								slowest = 1
							}
							want := head + (flits-1)*slowest
							if forwarding == fabric.StoreAndForward {
								want = head + (flits-1)*(1+(switches-1)*interval+1)
							}
							s := &script{}
							s.Send(0, fabric.PacketSpec{Dst: topology.TerminalID(switches - 1), Flits: int32(flits)})
							n.playToEnd(t, config, s)
							if got := s.Delivered[0].Cycle; got != want {
								t.Errorf("%s, speedup %g, %d flits over %d switches, %d cycles a flit: %d cycles, want %d", forwarding, speedup, flits, switches, interval, got, want)
							}
						}
					}
				}
			}
		}
	})
}

// TestUnitsMeeting has two packets meet at a switch of speedup 1, one stage each for allocation and crossbar, and
// channels of latency 1.
//
// Packets A and B, from terminals 0 and 1 to terminal 2, are born in cycle 0, enter in cycle 1 and arrive in cycle 2.
// The round robins stand at 0: A, of n flits, crosses in cycles 2 to n+1, leaves from cycle 4 to n+3 and has arrived in
// cycle n+4. B's head crosses in cycle n+2, and its tail of m flits arrives in cycle n+m+4.
//
// C, of m flits, follows A from terminal 0, to terminal 1, which is free. Buffers are as long as the longer packet, of
// k flits. The credit of A's last flit, which crosses in n+1, leaves in n+2, takes the channel and another cycle: n+4.
// C enters then if it has not room before. The credit of A's flit i is there in i+5, and C needs m of k places, k-n of
// which are free: it enters in cycle max(n+1, (n+m-k-1)+5), the first of which is when A's tail has left. It finds its
// output free and arrives m+4 cycles after its head enters, less one: head +1, +2, +1, then m-1 more.
func TestUnitsMeeting(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 3 })
	units(t, func(t *testing.T, config fabric.Config) {
		config.Switch.Speedup = 1
		for _, size := range [][2]int64{{1, 1}, {1, 5}, {4, 4}, {8, 3}, {6, 1}} {
			a, b := size[0], size[1]
			buffer := max(a, b)
			config.Switch.BufferFlits = int(buffer)
			s := &script{}
			s.Send(0, fabric.PacketSpec{Dst: 2, Flits: int32(a), Tag: 'A'})
			s.Send(1, fabric.PacketSpec{Dst: 2, Flits: int32(b), Tag: 'B'})
			s.Send(0, fabric.PacketSpec{Dst: 1, Flits: int32(b), Tag: 'C'})
			n.playToEnd(t, config, s)
			enters := max(a+1, a+b-buffer-1+5)
			if a+b <= buffer {
				enters = a + 1
			}
			want := map[uint64]int64{'A': a + 4, 'B': a + b + 4, 'C': enters + b + 3}
			for tag, d := range s.ByTag() {
				simtest.Equal(t, d.Cycle, want[tag], "%d and %d flits: packet %c arrives in cycle", a, b, rune(tag))
			}
		}
	})
}

// TestUnitsFinerThanCycles compares the units where channels take no whole number of cycles for a flit and cores no
// whole number of steps a cycle: what they measure is then a cycle for each channel apart at most.
func TestUnitsFinerThanCycles(t *testing.T) {
	n := dragonflyNetwork(t, "val", 2, 4, 2)
	for _, speedup := range []float64{1, 1.5} {
		var mean, accepted [2]float64
		for i, unit := range []string{fabric.UnitFlit, fabric.UnitPacket} {
			config := holding(fabric.DefaultConfig())
			config.Fabric.Unit, config.Switch.Speedup = unit, speedup
			config.Channels = map[string]fabric.ChannelConfig{"local": {CyclesPerFlit: 1.28}, "global": {CyclesPerFlit: 1.7}, "terminal": {CyclesPerFlit: 1.1}}
			_, r := n.run(t, config, 0.15, 8, measure.Plan{Warmup: 1000, Window: 5000})
			mean[i], accepted[i] = r.MeanLatency(), r.Accepted
		}
		simtest.ErrorIf(t, math.Abs(mean[0]-mean[1]) > 7.0 || accepted[0]/accepted[1] < 0.99 || accepted[0]/accepted[1] > 1.01,
			"speedup %g: latency %v, accepted %v of flits and packets", speedup, mean, accepted)
	}
}

// TestUnitHolds: packets as the unit hold their ports without being told to.
func TestUnitHolds(t *testing.T) {
	told := fabric.DefaultConfig()
	packets(&told)
	untold := told
	untold.Switch.Hold = false
	var results []string
	for _, config := range []fabric.Config{told, untold} {
		c := course{network: dragonflyNetwork(t, "ugal-l", 2, 4, 2), config: config, load: 0.3, flits: 4}
		results = append(results, describe(simtest.Must(c.run(t, measure.Plan{Warmup: 300, Window: 600}))(t)))
	}
	simtest.ErrorIf(t, results[0] != results[1], "%s, with switch.hold %s", results[1], results[0])
}

// TestUnitRuns: whole runs, with their verdicts, windows that they find themselves and threads, measure the same with
// both units, but for what is accepted at the edges of the window, where packets count when their tails arrive.
func TestUnitRuns(t *testing.T) { testUnitRuns(t, "min", "ugal-l", "par") }

// TestUnitRunsPlainNever: the loop for the usual case does what that for every case does.
func TestUnitRunsPlainNever(t *testing.T) {
	core.PlainNever(t.Cleanup)
	testUnitRuns(t, "val")
}

func testUnitRuns(t *testing.T, algorithms ...string) {
	core.DivideAlways(t.Cleanup)
	for i, algorithm := range algorithms {
		n := dragonflyNetwork(t, algorithm, 2, 4, 2)
		for _, load := range simtest.Some(t, i, 0.3, 0.9) {
			var got []string
			for _, c := range []struct {
				unit    string
				threads int
			}{{fabric.UnitFlit, 1}, {fabric.UnitPacket, 1}, {fabric.UnitPacket, 3}} {
				config := holding(fabric.DefaultConfig())
				config.Fabric.Unit = c.unit
				f, r := n.run(t, config, load, 6, measure.Plan{Warmup: 500, Window: 1500, Threads: c.threads})
				simtest.FatalIf(t, f.Threads() != c.threads, "%d threads", f.Threads())
				got = append(got, fmt.Sprint(r.MeanLatency(), r.HalfWidth(), r.Latency().Quantile(0.99), r.Latency().Max(), r.MeanNetworkLatency(), r.MeanHops(), r.MinimalFraction(), r.Packets(), r.State, f.Counters, r.Cycles))
			}
			simtest.ErrorIf(t, got[1] != got[0] || got[2] != got[0], "%s, load %g:\n%s\n%s\n%s", algorithm, load, got[0], got[1], got[2])
		}
	}
}

// TestLongPauses sends packets by the same queues again after pauses of half to all of the
// 2^32 steps that numbers of steps tell apart: they must find the queues empty, as flits do.
// At two steps a cycle these are pauses of 2^30 to 2^31 cycles.
func TestLongPauses(t *testing.T) {
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims = []int{3} })
	var arrivals [2]map[uint64]fabric.Delivery
	births := []int64{0, 5, 1<<30 + 100, 1<<30 + 1<<30/2*3, 4 << 30, 4<<30 + 3}
	for i, unit := range []string{fabric.UnitFlit, fabric.UnitPacket} {
		config := holding(fabric.DefaultConfig())
		config.Fabric.Unit = unit
		s := &script{}
		for tag, birth := range births {
			s.Send(0, fabric.PacketSpec{Birth: birth, Dst: 2, Flits: 7, Tag: uint64(tag)})
		}
		n.play(t, config, s, 5<<30)
		arrivals[i] = s.ByTag()
	}
	for tag := range births {
		flits, packets := arrivals[0][uint64(tag)], arrivals[1][uint64(tag)]
		simtest.ErrorIf(t, flits != packets || flits.Flits != 7, "packet %d: %+v as flits, %+v as a packet", tag, flits, packets)
	}
}

// TestRoutesAhead: in networks that are taken to be large switches route while those ahead
// of them are evaluated, and come to the same state.
func TestRoutesAhead(t *testing.T) {
	networks := []network{
		newNetwork(t, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 8, 3 }),
		dragonflyNetwork(t, "val", 2, 4, 2),
		newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{5, 4} }),
	}
	run := func(t *testing.T, n network, load, speedup float64) []byte {
		config := fabric.DefaultConfig()
		packets(&config)
		config.Switch.Speedup = speedup
		f, source := n.fabric(t, config), n.traffic(load, 9)
		simtest.Check(t, f.Attach(fabric.Ends{Source: source, Sink: &script{}}))
		f.Advance(1500)
		return stateOf(t, f)
	}
	for i, n := range networks {
		for _, load := range []float64{0.2, 1} {
			for _, speedup := range []float64{1, 1.5, 2} {
				inTurn := run(t, n, load, speedup)
				t.Run("", func(t *testing.T) {
					core.PrefetchAlways(t.Cleanup)
					simtest.ErrorIf(t, !bytes.Equal(run(t, n, load, speedup), inTurn), "network %d, load %g, speedup %g: another state", i, load, speedup)
				})
			}
		}
	}
}
