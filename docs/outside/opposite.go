package main

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Opposite holds the settings of pattern "opposite".
type Opposite struct {
	Meet int `toml:"meet" doc:"neighbours that send to one and the same terminal" min:"1"`
}

func init() {
	param.Register(traffic.Patterns, "opposite", "every terminal to the one half of them further, or some neighbours to one there", Opposite{1}, func(c Opposite, env traffic.Env) (traffic.Pattern, error) {
		return opposite{env.Topology.Graph().Terminals(), c.Meet}, nil
	})
}

type opposite struct{ terminals, meet int }

func (o opposite) Destination(src topology.TerminalID, _ *sim.Stream) topology.TerminalID {
	first := int(src) - int(src)%o.meet
	return topology.TerminalID((first + o.terminals/2) % o.terminals)
}

// Weights implements [traffic.Matrix], from which the bound on throughput is computed.
func (o opposite) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	yield(o.Destination(src, nil), 1)
}
