package core_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// pingPong sends a packet back and forth between terminals 0 and 1 so many
// times: a packet is born when the one before arrives.
type pingPong struct {
	f     *core.Fabric
	left  int
	next  fabric.PacketSpec // of terminal 1 - Dst; Never: none
	times []int64
}

func (p *pingPong) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	if t != 1-p.next.Dst || p.next.Birth > until {
		spec.Birth = p.next.Birth
		if t != 1-p.next.Dst {
			spec.Birth = fabric.Never
		}
		return false
	}
	*spec = p.next
	p.next.Birth = fabric.Never
	return true
}

func (p *pingPong) Deliver(d *fabric.Delivery) {
	p.times = append(p.times, d.Cycle)
	if p.left--; p.left > 0 {
		p.next = fabric.PacketSpec{Birth: d.Cycle, Dst: d.Src, Flits: 3}
		p.f.Wake(d.Dst)
	}
}

// Packets born on arrival: each way of 3 flits over one switch takes injection 1 + terminal channel
// 1 + switch 1 + terminal channel 1 + 2 further flits = 6 cycles, and the run ends after the last.
func TestRunToEnd(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 2 })
	p := &pingPong{f: n.fabric(t, fabric.DefaultConfig()), left: 5, next: fabric.PacketSpec{Dst: 1, Flits: 3}}
	simtest.Check(t, measure.RunToEnd(t.Context(), p.f, fabric.Ends{Source: p, Sink: p}, measure.ToEnd{}))
	for i, c := range p.times {
		if c != int64(6*(i+1)) {
			t.Errorf("arrivals in cycles %v, want every 6", p.times)
			break
		}
	}
	simtest.ErrorIf(t, len(p.times) != 5, "%d arrivals, want 5", len(p.times))
}

// A run ends soon after its context.
func TestRunToEndInterrupted(t *testing.T) {
	n := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4} })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &script{}
	s.send(0, fabric.PacketSpec{Dst: 2, Flits: 1})
	err := measure.RunToEnd(ctx, n.fabric(t, fabric.DefaultConfig()), fabric.Ends{Source: s, Sink: s}, measure.ToEnd{})
	simtest.ErrorIf(t, !errors.Is(err, context.Canceled), "interrupted: %v", err)
}

// The paths by hand: timings of the default switch and of a slower channel.
func TestTimings(t *testing.T) {
	for _, st := range stages {
		c := fabric.SwitchConfig{RouteCycles: st.route, VCAllocCycles: st.vcAlloc, SwitchAllocCycles: st.alloc, CrossbarCycles: st.crossbar, Speedup: st.speedup}
		got := c.Cycles()
		simtest.ErrorIf(t, got != st.cycles, "%s: %d cycles, want %d", st.name, got, st.cycles)
	}
	n := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4} })
	config := fabric.DefaultConfig()
	config.Channels = map[string]fabric.ChannelConfig{"grid": {Latency: 7000, CyclesPerFlit: 2.5}}
	timings, err := config.ChannelTimings(n.topo.Graph())
	if err != nil || len(timings) != 2 || timings[0] != (fabric.ChannelTiming{Latency: 1, CreditLatency: 1, CyclesPerFlit: 1}) || timings[1] != (fabric.ChannelTiming{Latency: 7, CreditLatency: 7, CyclesPerFlit: 2.5}) {
		t.Errorf("%v, %v", timings, err)
	}
	config.Channels["up"] = fabric.ChannelConfig{}
	simtest.Refuse(config.ChannelTimings(n.topo.Graph()))(t, "channel.up")
}
