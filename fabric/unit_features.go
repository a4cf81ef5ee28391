package fabric

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/sim/param"
)

// Units: what a fabric simulates one by one.
const (
	UnitFlit   = "flit"
	UnitPacket = "packet"
)

// When a packet may leave a switch.
const (
	CutThrough      = "cut-through"
	StoreAndForward = "store-and-forward"
)

// checkUnit finds what does not go together with packets that hold their ports, or with
// packets as the unit.
func (c *Config) checkUnit(routing Routing) (problems []error) {
	s := &c.Switch
	if s.Hold && s.FlowControl != CutThrough {
		problems = append(problems, &param.ParamError{Key: "switch.hold", Value: s.Hold,
			Want: `false, or switch.flow_control = "cut-through": a packet that holds a switch while it waits for credits blocks those whom it waits for`})
	}
	if s.Forwarding == StoreAndForward && s.FlowControl != CutThrough {
		problems = append(problems, &param.ParamError{Key: "switch.forwarding", Value: s.Forwarding,
			Want: `"cut-through", or switch.flow_control = "cut-through": whole packets must fit into the buffers that they are stored in`})
	}
	if n := c.Terminal.BufferFlits; n > 0 && n < s.BufferFlits && s.FlowControl == CutThrough {
		problems = append(problems, &param.ParamError{Key: "terminal.buffer_flits", Value: n,
			Want: fmt.Sprintf("0 or at least switch.buffer_flits, %d, under cut-through: whole packets must fit", s.BufferFlits)})
	}
	if c.Fabric.Unit != UnitPacket {
		return problems
	}
	refuse := func(unless string) { problems = append(problems, c.refusePackets(unless)) }
	if !s.Hold {
		refuse(`, or switch.hold = true: without it switches choose flit by flit`)
	}
	if s.OutputsHoldUp() {
		refuse(`, or a larger switch.output_buffer_flits: so small a one holds up the flits of a packet one by one`)
	}
	if allocator.TraitsOf(s.Allocator).Queues {
		refuse(fmt.Sprintf(`, or another switch.allocator: %q counts the flits in queues`, s.Allocator))
	}
	if c.Terminal.BufferFlits > 0 {
		refuse(`, or terminal.buffer_flits = 0: the credits of terminals are those of single flits`)
	}
	if c.SensesCredits(routing) {
		refuse(`, or switch.credit_sensing = "off": sensing, which this routing turns on by default, delays each flit's credit for itself`)
	}
	return problems
}

func (c *Config) refusePackets(unless string) error {
	return &param.ParamError{Key: "fabric.unit", Value: c.Fabric.Unit, Want: `"flit"` + unless}
}

// CheckMulticast finds what does not go together with multicast packets. The error is a
// *param.ParamError with a dotted key.
func (c *Config) CheckMulticast() error {
	s := &c.Switch
	if n := c.Terminal.BufferFlits; n > 0 {
		return &param.ParamError{Key: "terminal.buffer_flits", Value: n, Want: "0 with multicast packets: their copies do not wait for credits of terminals"}
	}
	if !s.Hold && s.Forwarding == StoreAndForward {
		return &param.ParamError{Key: "switch.forwarding", Value: s.Forwarding, Want: `"cut-through" with multicast packets, or switch.hold = true`}
	}
	if s.Hold && s.OutputBufferFlits > 0 && s.OutputBufferFlits < s.BufferFlits {
		return &param.ParamError{Key: "switch.output_buffer_flits", Value: s.OutputBufferFlits,
			Want: fmt.Sprintf("0 or at least switch.buffer_flits, %d, with multicast packets under switch.hold: copies wait behind the crossbar as a whole", s.BufferFlits)}
	}
	return nil
}
