package core_test

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestCreditRoundTripMeasured: on a line of three switches with channels of 20
// cycles, the middle port of the first switch sees at zero load: grant in
// cycle t (second step), arrival at t+2+20, grant there in the same cycle,
// credit away at t+23, back at t+43, usable credit_cycles = 1 later: 44.
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
		s.send(0, fabric.PacketSpec{Birth: i * 200, Dst: 2, Flits: 1})
	}
	n.play(t, config, s, 2000)
	simtest.ErrorIf(t, trip != 44 || excess != 0 || least != 44,
		"round trip %d (least %d), excess %d, want 44, 0", trip, least, excess)
}

// TestCreditSensingStiffensBackpressure: traffic of two sources meets at one terminal at the end of
// a line, so that the channel from switch 1 to 2 gets twice what it takes. With sensing, switch 1
// returns the credits of channel 0-1 late, so that less of the first source's traffic stands in
// switch 1's buffers.
func TestCreditSensingStiffensBackpressure(t *testing.T) {
	held := map[string]int{}
	for _, mode := range []string{"off", "on"} {
		n := newNetwork(t, "mesh", "dor", func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{4}, 1 })
		config := fabric.DefaultConfig()
		config.Switch.BufferFlits = 64
		config.Switch.CreditSensing = mode
		s := &script{}
		for i := range int64(4000) {
			s.send(0, fabric.PacketSpec{Birth: i, Dst: 3, Flits: 1})
			s.send(1, fabric.PacketSpec{Birth: i, Dst: 3, Flits: 1})
			s.send(2, fabric.PacketSpec{Birth: i, Dst: 3, Flits: 1})
		}
		f := n.play(t, config, s, 3000)
		held[mode] = f.InFlight()
		f.Advance(40_000)
		simtest.FatalIf(t, len(s.delivered) != 12_000, "sensing %s: %d of 12000 packets arrived", mode, len(s.delivered))
		simtest.Check(t, f.Audit())
	}
	simtest.ErrorIf(t, held["on"] >= held["off"], "packets in the network: %d with sensing, %d without", held["on"], held["off"])
}
