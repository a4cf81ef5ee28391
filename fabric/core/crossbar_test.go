package core_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// Of two rivals the round robins choose the same, played out for them alone or for any number.
func TestMatchPair(t *testing.T) {
	random := sim.NewStream(1, "pairs", 0)
	for _, vcs := range []int{1, 3} {
		config := fabric.DefaultConfig()
		config.Switch.VCs = vcs
		f := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 5 }).fabric(t, config)
		f.OpenIdle()
		for range 20_000 {
			pair, plain := f.MatchPair(random.IntN)
			simtest.FatalIf(t, pair != plain, "chose queue, input, output %v, want %v", pair, plain)
		}
	}
}

// Packets that share neither input nor output of a switch of more than 64 ports do
// not meet, even if the numbers of their ports are equal modulo 64: three pairs of
// ports, one packet on each, arrive as soon as a packet alone does.
func TestManyPorts(t *testing.T) {
	n := newNetwork(t, "single-switch", "table", func(c *topology.SingleSwitchConfig) { c.Terminals = 200 })
	arrival := func(sources ...topology.TerminalID) (cycles []int64) {
		f, s := n.fabric(t, fabric.DefaultConfig()), &script{}
		for _, src := range sources {
			s.send(src, fabric.PacketSpec{Dst: src + 1, Flits: 1})
		}
		f.Attach(fabric.Ends{Source: s, Sink: s})
		f.Advance(100)
		for _, d := range s.delivered {
			cycles = append(cycles, d.Cycle)
		}
		return cycles
	}
	alone := arrival(0)[0]
	for _, sources := range [][]topology.TerminalID{{0, 64}, {0, 64, 128}, {3, 67, 10, 138}} {
		got := arrival(sources...)
		simtest.FatalIf(t, len(got) != len(sources), "from %v: %d packets arrived", sources, len(got))
		for _, cycle := range got {
			simtest.ErrorIf(t, cycle != alone, "from %v: arrivals in cycles %v, want %d", sources, got, alone)
		}
	}
}
