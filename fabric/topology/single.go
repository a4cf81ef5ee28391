package topology

import (
	"github.com/weft-sim/weft/sim/param"
)

// SingleSwitchConfig configures the topology "single-switch"; see
// [SingleSwitch].
type SingleSwitchConfig struct {
	Terminals int `toml:"terminals" doc:"terminals on the switch" min:"1" max:"65536"`
}

func init() {
	param.Register(Registry, "single-switch", "one switch with all terminals on it",
		SingleSwitchConfig{Terminals: 8},
		func(c SingleSwitchConfig, _ struct{}) (Topology, error) { return newSingleSwitch(c), nil })
}

// SingleSwitch is one switch; port i leads to terminal i. Class "terminal".
//
//	s0
//	││││
//	0123
//
// Closed forms: no links, diameter 0. There is no bisection: a cut through
// switch-switch cables cannot part the terminals.
type SingleSwitch struct{ graph *Graph }

func newSingleSwitch(c SingleSwitchConfig) *SingleSwitch {
	b := NewBuilder(1, Class{Name: "terminal", Latency: 1})
	for range c.Terminals {
		b.AddTerminal(0, 0)
	}
	return &SingleSwitch{b.Freeze()}
}

// Graph implements [Topology].
func (x *SingleSwitch) Graph() *Graph { return x.graph }

// Facts implements [Topology].
func (x *SingleSwitch) Facts() Facts {
	return Facts{Switches: 1, Terminals: x.graph.Terminals(), Bisection: -1}
}
