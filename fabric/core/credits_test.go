package core_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// arrivals are the cycles, up to a last one, in which credits of the virtual
// channels of an input come back, one entry a credit.
func arrivals(f *core.Fabric, in topology.PortID, vcs int, last int64) [][]int64 {
	cycles, before := make([][]int64, vcs), make([]int64, vcs)
	for vc := range before {
		before[vc] = f.CreditsBack(in, vc)
	}
	for f.Cycle() <= last {
		f.Advance(1)
		for vc := range before {
			for now := f.CreditsBack(in, vc); before[vc] < now; before[vc]++ {
				cycles[vc] = append(cycles[vc], f.Cycle()-1)
			}
		}
	}
	return cycles
}

// TestOneCreditACycle: two packets of one flit leave two virtual channels of one input in the same cycle, and the
// second one's credit comes a cycle after the first one's.
//
// A single switch, speedup 2, all stages 1 step, terminal channels of 1 cycle, credit_cycles 3. Terminals 0, 1 and 2
// each send a packet to terminal 3 at birth 10: the heads enter the channels in cycle 11 and bid in cycle 12, the
// output serves input 0 in step 24, input 1 in step 25 and input 2 in step 26, that is, in cycle 13. Terminal 2's
// second packet, to terminal 4 on the other virtual channel, arrives in cycle 13 and crosses in step 27. Both credits
// could leave at the end of switch allocation, steps 27 and 28, in cycle 14; a terminal may use them 1 + 1 cycles later, in
// cycle 16, and the second one in cycle 17 where a cycle carries one. Terminal 2 sends on virtual channel 0 first.
func TestOneCreditACycle(t *testing.T) {
	for _, c := range []struct {
		perCycle int
		want     [][]int64
	}{
		{1, [][]int64{{16}, {17}}},
		{2, [][]int64{{16}, {16}}},
		{0, [][]int64{{16}, {16}}},
	} {
		n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 5 })
		config := fabric.DefaultConfig()
		config.Switch.VCs, config.Switch.CreditCycles, config.Switch.CreditsPerCycle = 2, 3, c.perCycle
		f, s := n.fabric(t, config), &script{}
		for src := range topology.TerminalID(3) {
			s.Send(src, fabric.PacketSpec{Birth: 10, Dst: 3, Flits: 1})
		}
		s.Send(2, fabric.PacketSpec{Birth: 11, Dst: 4, Flits: 1})
		f.Attach(fabric.Ends{Source: s, Sink: s})
		got := arrivals(f, n.topo.Graph().TerminalPort[2], 2, 40)
		simtest.ErrorIf(t, !slices.EqualFunc(got, c.want, slices.Equal),
			"credits_per_cycle %d: credits of the two virtual channels in cycles %v, want %v", c.perCycle, got, c.want)
		simtest.Check(t, f.Audit())
	}
}

// TestTerminalCredits: of two packets of one flit to a terminal with room for one, the second arrives a round trip after the first:
// the crossing (2 steps at speedup 2), the channel, the terminal, the channel back, a cycle each, and credit_cycles, 3: 7 cycles.
func TestTerminalCredits(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 2 })
	config := fabric.DefaultConfig()
	config.Switch.VCs, config.Switch.CreditCycles, config.Terminal.BufferFlits = 1, 3, 1
	f, s := n.fabric(t, config), &script{}
	s.Send(0, fabric.PacketSpec{Birth: 10, Dst: 1, Flits: 1})
	s.Send(0, fabric.PacketSpec{Birth: 10, Dst: 1, Flits: 1})
	f.Attach(fabric.Ends{Source: s, Sink: s})
	f.Advance(40)
	simtest.FatalIf(t, len(s.Delivered) != 2, "%d packets, want 2", len(s.Delivered))
	simtest.Equal(t, s.Delivered[1].Cycle-s.Delivered[0].Cycle, 7, "cycles between them")
}

// TestCreditsOfABurst: a packet of 8 flits has waited for another one and then leaves its buffer at 4 flits a cycle.
// The other one, 12 flits, arrives one flit a cycle and so leaves one a cycle. Both heads enter their channels in cycle
// 1 and bid in cycle 2; terminal 0 wins the only virtual channel, its tail comes in cycle 13 and crosses in the first
// of its four steps. The packet of terminal 1 crosses in the other three, 4 flits in cycle 14, 1 in cycle 15. Credits
// leave the cycle after, and take 1 + 1 cycles.
func TestCreditsOfABurst(t *testing.T) {
	for perCycle, want := range map[int][]int64{
		0: {16, 16, 16, 17, 17, 17, 17, 18},
		1: {16, 17, 18, 19, 20, 21, 22, 23},
		2: {16, 16, 17, 17, 18, 18, 19, 19},
		3: {16, 16, 16, 17, 17, 17, 18, 18},
		4: {16, 16, 16, 17, 17, 17, 17, 18},
	} {
		n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 3 })
		config := fabric.DefaultConfig()
		config.Switch.VCs, config.Switch.Speedup, config.Switch.CreditsPerCycle = 1, 4, perCycle
		f, s := n.fabric(t, config), &script{}
		s.Send(0, fabric.PacketSpec{Dst: 2, Flits: 12})
		s.Send(1, fabric.PacketSpec{Dst: 2, Flits: 8})
		f.Attach(fabric.Ends{Source: s, Sink: s})
		simtest.EqualSlices(t, arrivals(f, n.topo.Graph().TerminalPort[1], 1, 60)[0], want, "credits_per_cycle %d: credits in cycles", perCycle)
	}
}

// TestHeldCredits: a credit that is held back joins the queue when its time comes, behind those of before and with no
// gap for it among them. Credits take 1 cycle and 1 of processing. Two may leave in cycle 5 but are held for 10 cycles,
// in one case for 100,000, beyond the reach of the wheels; they leave in cycles 15 and 16. Others, for cycles 6, 15 and
// 15, which come to the queue before, leave in 6, 15 and 16: the held ones then in 17 and 18.
func TestHeldCredits(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 2 })
	config := fabric.DefaultConfig()
	config.Switch.VCs, config.Switch.CreditSensing = 3, "on"
	in := n.topo.Graph().TerminalPort[1]
	for _, c := range []struct {
		late  int64
		other []int64
		want  [][]int64
	}{
		{10, nil, [][]int64{{17}, {18}, nil}},
		{100_000, nil, [][]int64{{100_007}, {100_008}, nil}},
		{10, []int64{6}, [][]int64{{17}, {18}, {8}}},
		{10, []int64{6, 15, 15}, [][]int64{{19}, {20}, {8, 17, 18}}},
	} {
		f := n.fabric(t, config)
		f.OpenIdle()
		f.Advance(2)
		f.HoldCredit(in, 0, 5, c.late)
		f.HoldCredit(in, 1, 5, c.late)
		for _, ready := range c.other {
			f.SendCredit(in, 2, ready)
		}
		got := arrivals(f, in, 3, c.late+50)
		simtest.ErrorIf(t, !slices.EqualFunc(got, c.want, slices.Equal),
			"held for %d cycles beside %v: credits in cycles %v, want %v", c.late, c.other, got, c.want)
	}
}

// TestCreditsAreBounded: whatever the switch, no cycle brings a channel more credits than it carries, and where that is
// fewer than the core can free, some cycle would. In the end all of them are home.
func TestCreditsAreBounded(t *testing.T) {
	for name, set := range map[string]func(*fabric.Config){
		"wormhole":           func(c *fabric.Config) {},
		"cut-through":        func(c *fabric.Config) { c.Switch.FlowControl = "cut-through" },
		"fractional speedup": func(c *fabric.Config) { c.Switch.Speedup = 2.5 },
		"slow channels": func(c *fabric.Config) {
			c.Channels = map[string]fabric.ChannelConfig{"local": {CyclesPerFlit: 1.5}}
		},
		"late credits": func(c *fabric.Config) { c.Switch.CreditSensing = "on" },
	} {
		for _, perCycle := range []int{1, 2, 0} {
			t.Run(fmt.Sprint(name, " ", perCycle), func(t *testing.T) {
				n, config := dragonflyNetwork(t, "min", 2, 4, 2), fabric.DefaultConfig()
				config.Switch.Speedup, config.Switch.BufferFlits, config.Switch.Iterations, config.Switch.CreditsPerCycle = 4, 8, 2, perCycle
				set(&config)
				f, source := n.fabric(t, config), n.traffic(0.9, 4)
				f.Attach(fabric.Ends{Source: source, Sink: &digest{}})
				before, most := make([]int64, n.topo.Graph().NumPorts()), int64(0)
				for range 600 {
					f.Advance(1)
					for in := range before {
						now := int64(0)
						for vc := range f.VCs() {
							now += f.CreditsBack(topology.PortID(in), vc)
						}
						most, before[in] = max(most, now-before[in]), now
					}
					if f.Cycle() == 1 {
						most = 0 // the constant
					}
				}
				simtest.ErrorIf(t, perCycle > 0 && most != int64(perCycle) || perCycle == 0 && most < 3, "at most %d credits a channel and cycle", most)
				source.Stop(0)
				f.Advance(5000)
				simtest.Check(t, f.Audit())
			})
		}
	}
}

// TestCreditsAtSpeedupOne: a core of one step a cycle frees at most one slot of an input in it, so
// that one credit a cycle is what there is: results are those with any number of credits, to the
// flit. (Credits that sensing holds back may fall into one cycle all the same.)
func TestCreditsAtSpeedupOne(t *testing.T) {
	cases := goldenCases()
	for _, i := range simtest.Seeds(t, len(cases), 3) {
		c := cases[i]
		t.Run(c.name, func(t *testing.T) {
			n := c.network(t)
			digest := func(perCycle int) uint64 {
				got, _ := c.digest(t, n, func(s *fabric.SwitchConfig) {
					s.Speedup, s.CreditsPerCycle, s.CreditSensing = 1, perCycle, "off"
				})
				return got
			}
			one, unlimited := digest(1), digest(0)
			simtest.ErrorIf(t, one != unlimited, "digest %#x with one credit a cycle, %#x with any number", one, unlimited)
		})
	}
}

// TestCreditRoundTripMeasured: on a line of three switches with channels of 20 cycles, the middle port of the first
// switch sees at zero load: grant in cycle t (second step), arrival at t+2+20, grant there in the same cycle, credit
// away at t+23, back at t+43, usable credit_cycles = 1 later: 44.
func TestCreditRoundTripMeasured(t *testing.T) {
	n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{3}, 1 })
	port := n.topo.(topology.Grid).Towards(0, 0, true)
	trip, excess, least := 0, 0, math.MaxInt
	n.routing = spy{n.routing, fabric.Needs{}, func(v *fabric.View, _ *fabric.Head, _ *fabric.Hop) {
		if trip, excess = v.CreditRoundTrip(port); trip > 0 {
			least = min(least, trip)
		}
	}}
	config := pipelined()
	config.Switch.CreditSensing = "on"
	config.Channels = map[string]fabric.ChannelConfig{"grid": {Latency: 20 * sim.Nanosecond}}
	s := &script{}
	for i := range int64(10) {
		s.Send(0, fabric.PacketSpec{Birth: i * 200, Dst: 2, Flits: 1})
	}
	n.play(t, config, s, 2000)
	simtest.ErrorIf(t, trip != 44 || excess != 0 || least != 44, "round trip %d (least %d), excess %d, want 44, 0", trip, least, excess)
}

// TestCreditSensingStiffensBackpressure: traffic of two sources meets at one terminal at the end of a line, so that the
// channel from switch 1 to 2 gets twice what it takes. With sensing, switch 1 returns the credits of channel 0-1 late,
// so that less of the first source's traffic stands in switch 1's buffers.
func TestCreditSensingStiffensBackpressure(t *testing.T) {
	held := map[string]int{}
	for _, mode := range []string{"off", "on"} {
		n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{4}, 1 })
		config := fabric.DefaultConfig()
		config.Switch.BufferFlits = 64
		config.Switch.CreditSensing = mode
		s := &script{}
		for i := range int64(4000) {
			s.Send(0, fabric.PacketSpec{Birth: i, Dst: 3, Flits: 1})
			s.Send(1, fabric.PacketSpec{Birth: i, Dst: 3, Flits: 1})
			s.Send(2, fabric.PacketSpec{Birth: i, Dst: 3, Flits: 1})
		}
		f := n.play(t, config, s, 3000)
		held[mode] = f.InFlight()
		f.Advance(40_000)
		simtest.FatalIf(t, len(s.Delivered) != 12_000, "sensing %s: %d of 12000 packets arrived", mode, len(s.Delivered))
		simtest.Check(t, f.Audit())
	}
	simtest.ErrorIf(t, held["on"] >= held["off"], "packets in the network: %d with sensing, %d without", held["on"], held["off"])
}

// plainSensing is credit sensing by its definition: what is ready in the fabric
// is worked out from all round trips whenever it is asked for.
type plainSensing struct {
	g    *topology.Graph
	vcs  int
	out  [][]int64 // by output virtual channel: cycles in which the flits were granted whose credits are out
	next []int     // how many of those are before the one that is timed; -1: none
	trip []int64   // the last that was timed; 0: none
	idle []int64   // by port: the shortest; 0: none
}

func (s *plainSensing) granted(in topology.PortID, ov int, c int64) (late int64) {
	s.out[ov] = append(s.out[ov], c)
	if s.next[ov] < 0 {
		s.next[ov] = len(s.out[ov]) - 1
	}
	if s.g.Classes[s.g.PortClass[in]].Name == "global" {
		return 0
	}
	least := int64(math.MaxInt64)
	first, end := s.g.Ports(s.g.PortSwitch[in])
	for p := first; p < end; p++ {
		if s.g.Peer[p] < 0 {
			continue
		}
		ofPort := int64(math.MaxInt64)
		for vc := range s.vcs {
			if own := int(p)*s.vcs + vc; s.trip[own] > 0 {
				ofPort = min(ofPort, s.trip[own]-s.idle[p])
			}
		}
		if ofPort == math.MaxInt64 {
			ofPort = 0
		}
		least = min(least, ofPort)
	}
	excess := int64(0)
	if s.trip[ov] > 0 {
		excess = s.trip[ov] - s.idle[ov/s.vcs]
	}
	return max(0, excess-least)
}

func (s *plainSensing) back(ov int, c int64) {
	if s.next[ov] == 0 {
		s.trip[ov] = c - s.out[ov][0]
		if port := ov / s.vcs; s.idle[port] == 0 || s.trip[ov] < s.idle[port] {
			s.idle[port] = s.trip[ov]
		}
	}
	s.out[ov] = s.out[ov][1:]
	s.next[ov] = max(-1, s.next[ov]-1)
}

// TestSensingIsAsDefined drives the sensing of a switch with flits and credits at random: two outputs to switches in
// the group and one out of it, 2 virtual channels each. Round trips are few cycles long, so that every port, and with
// all of them the switch, is often without congestion and often not.
func TestSensingIsAsDefined(t *testing.T) {
	n := dragonflyNetwork(t, "min", 1, 3, 1)
	g, config := n.topo.Graph(), fabric.DefaultConfig()
	config.Switch.VCs, config.Switch.CreditSensing = 2, "on"
	f, ovs := n.fabric(t, config), g.NumPorts()*2
	plain := &plainSensing{g: g, vcs: 2, out: make([][]int64, ovs), next: make([]int, ovs), trip: make([]int64, ovs), idle: make([]int64, g.NumPorts())}
	for i := range plain.next {
		plain.next[i] = -1
	}
	random := sim.NewStream(1, "test", 0)
	first, end := g.Ports(0)
	lateOnes, allLate := 0, 0
	for c := int64(1); c < 20_000; c++ {
		for range 3 {
			ov := int(first)*2 + random.IntN(int(end-first)*2)
			if g.Peer[ov/2] < 0 {
				continue
			}
			if len(plain.out[ov]) > 0 && (len(plain.out[ov]) == 4 || random.IntN(2) == 0) && plain.out[ov][0]+3 <= c {
				plain.back(ov, c)
				f.CreditBack(int32(ov), c)
				continue
			}
			if len(plain.out[ov]) == 4 {
				continue
			}
			in := first + topology.PortID(random.IntN(int(end-first)))
			want := plain.granted(in, ov, c)
			got := f.Granted(in, int32(ov), int32(len(plain.out[ov])), c)
			simtest.FatalIf(t, got != want, "cycle %d: credit over port %d of a flit to %d is %d cycles late, want %d", c, in, ov, got, want)
			if want > 0 {
				lateOnes++
			} else if plain.trip[ov] > plain.idle[ov/2] && g.Classes[g.PortClass[in]].Name != "global" {
				allLate++
			}
		}
	}
	simtest.ErrorIf(t, lateOnes < 1000 || allLate < 100,
		"%d credits were late, %d not because all ports are congested: the test shows little", lateOnes, allLate)
}
