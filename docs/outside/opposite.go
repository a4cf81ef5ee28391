package main

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(traffic.Patterns, "opposite", "every terminal to the one half of them further", struct{}{}, func(_ struct{}, env traffic.Env) (traffic.Pattern, error) {
		return opposite(env.Topology.Graph().Terminals()), nil
	})
}

type opposite int // terminals

func (n opposite) Destination(src topology.TerminalID, _ *sim.Stream) topology.TerminalID {
	return topology.TerminalID((int(src) + int(n)/2) % int(n))
}

// Weights implements [traffic.Matrix], from which the bound on throughput is computed.
func (n opposite) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	yield(n.Destination(src, nil), 1)
}
