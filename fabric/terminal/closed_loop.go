package terminal

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// ClosedLoop holds the settings of program "closed-loop".
type ClosedLoop struct {
	Window   int `toml:"window" doc:"packets of a terminal that are under way or not acknowledged yet" min:"1" max:"1000000"`
	AckFlits int `toml:"ack_flits" doc:"size of acknowledgements" unit:"flits" min:"1" max:"1000000"`
}

func init() {
	param.Register(Registry, "closed-loop", "every terminal has a fixed number of packets outstanding: each acknowledgement lets it send the next one; no load is offered",
		ClosedLoop{Window: 1, AckFlits: 1}, newClosedLoop)
}

func newClosedLoop(c ClosedLoop, env Env) (fabric.Workload, error) {
	return NewHost(env, true, []string{"packet", "acknowledgement", "round trip"}, func(t topology.TerminalID) Program {
		return &closedLoop{newExchange(&env, t, c.AckFlits), c.Window}
	}), nil
}

// closedLoop keeps window packets outstanding.
type closedLoop struct {
	exchange
	window int
}

func (c *closedLoop) Start(p *Port) {
	for range c.window {
		c.begin(p)
	}
}

func (c *closedLoop) Timer(*Port) {}

func (c *closedLoop) Arrived(p *Port, a *Arrival) {
	if c.arrived(p, a) {
		c.begin(p)
	}
}
