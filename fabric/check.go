package fabric

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// MaxVCs is the largest number of virtual channels of a channel.
const MaxVCs = 16

// prefixed lists joined errors and puts prefix before their keys.
func prefixed(prefix string, err error) []error {
	all := param.Errors(err)
	for _, e := range all {
		if p, ok := e.(*param.ParamError); ok {
			p.Key = prefix + p.Key
		}
	}
	return all
}

// What a network takes at least, in bytes, for a switch port, a virtual channel's two ends, a
// terminal.
const (
	portBytes     = 48
	channelBytes  = 48
	terminalBytes = 64
)

// SensesCredits tells whether credit round trips are measured.
func (c *SwitchConfig) SensesCredits(routing Routing) bool {
	if c.CreditSensing != "auto" {
		return c.CreditSensing == "on"
	}
	return NeedsOf(routing).SensesCredits
}

// Check finds what is wrong with the settings for a graph and a routing, as [core.New] does,
// without building the network. Errors are *param.ParamError with dotted keys, joined. Cost: linear
// in channel classes.
func (c *Config) Check(g *topology.Graph, routing Routing) error {
	_, err := c.ChannelTimings(g)
	if err := errors.Join(c.CheckSettings(routing), err); err != nil {
		return err
	}
	return c.checkMemory(g, routing)
}

// CheckSettings checks the settings by themselves and for a routing; errors as of [Config.Check].
func (c *Config) CheckSettings(routing Routing) error {
	var problems []error
	for _, part := range []struct {
		prefix string
		config any
	}{{"fabric.", &c.Fabric}, {"switch.", &c.Switch}, {"terminal.", &c.Terminal}} {
		problems = append(problems, prefixed(part.prefix, param.Validate(part.config))...)
	}
	problems = append(append(problems, c.checkUnit(routing)...), c.checkProbes(routing)...)
	if _, escapes := routing.(EscapeRouting); escapes && c.Switch.Marks() {
		problems = append(problems, &param.ParamError{Key: "switch.marking", Value: c.Switch.Marking.Name(),
			Want: `"none" with this routing, whose packets wait for several ports at once: nobody counts what waits for one`})
	}
	vcs, need := c.Switch.VCs, routing.VCs()
	if vcs != 0 && vcs < need && !c.Fabric.AllowDeadlock {
		problems = append(problems, &param.ParamError{Key: "switch.vcs", Value: vcs,
			Want: fmt.Sprintf("at least %d: what this routing needs to be free of deadlock (0 sets it so)", need)})
	}
	if need > MaxVCs {
		problems = append(problems, &param.ParamError{Key: "switch.vcs", Value: vcs,
			Want: fmt.Sprintf("%d virtual channels for this routing on this topology, and weft's switch has at most %d", need, MaxVCs)})
	}
	vcs = cmp.Or(vcs, need)
	own, ok := routing.(LaneArbitration)
	problems = append(problems, prefixed("switch.", errors.Join(c.Switch.checkLanes(min(vcs, MaxVCs), ok && own.ArbitratesLanes())...))...)
	problems = append(problems, prefixed("terminal.", errors.Join(c.checkTerminalLanes(routing.InjectionVCs(min(vcs, MaxVCs)))...))...)
	return errors.Join(problems...)
}

// checkMemory refuses a network that does not fit into the machine's memory.
func (c *Config) checkMemory(g *topology.Graph, routing Routing) error {
	vcs := cmp.Or(c.Switch.VCs, routing.VCs())
	bytes := float64(g.NumPorts())*float64(portBytes+channelBytes*vcs) + float64(g.Terminals())*terminalBytes
	return input.CheckMemory("switch.vcs", vcs, fmt.Sprintf("%d switch ports of so many virtual channels", g.NumPorts()), bytes)
}

// BufferWarning is what is wrong with the buffers that a setting gives.
type BufferWarning struct{ Key, Message string }

// BufferWarnings names the channel classes whose buffers are too shallow for their credit round
// trip: no virtual channel can fill them. It is empty for settings that New refuses.
func (c *Config) BufferWarnings(g *topology.Graph) (warnings []BufferWarning) {
	timings, err := c.ChannelTimings(g)
	if err != nil {
		return nil
	}
	between, ends := make([]bool, len(g.Classes)), make([]bool, len(g.Classes)) // switches; at terminals
	for p, class := range g.PortClass {
		between[class] = between[class] || g.Peer[p] >= 0
		ends[class] = ends[class] || g.Peer[p] < 0
	}
	// Flits behind a head are neither routed nor given a virtual channel: their credits come back sooner.
	judge := func(class int, key string, buffer int, head, behind int64) {
		per := timings[class].CyclesPerFlit
		need := int64(math.Ceil(float64(head) / per))
		if int64(buffer) >= need {
			return
		}
		carry := fmt.Sprintf("carry at most %.3f flits a cycle", float64(buffer)/float64(head))
		if behind < head {
			carry += fmt.Sprintf(" in packets of one flit, less than %.3f in longer ones", min(float64(buffer)/float64(behind), 1/per))
		}
		warnings = append(warnings, BufferWarning{key, fmt.Sprintf(
			"is too small: channel %q can never be full on one virtual channel: %d flits of buffer for a credit round trip of %d cycles %s; %s = %d would fill it",
			g.Classes[class].Name, buffer, head, carry, key, need)})
	}
	unrouted := c.Switch
	unrouted.RouteCycles, unrouted.VCAllocCycles = 0, 0
	for i, t := range timings {
		if between[i] || ends[i] {
			judge(i, "switch.buffer_flits", c.Switch.BufferFlits, c.Switch.RoundTrip(t, !between[i]), unrouted.RoundTrip(t, !between[i]))
		}
		if n := c.Terminal.BufferFlits; n > 0 && ends[i] {
			trip := c.Switch.RoundTripToTerminal(t)
			judge(i, "terminal.buffer_flits", n, trip, trip)
		}
	}
	return warnings
}

// checkUnit finds what does not go with packets that hold their ports, or as the unit.
func (c *Config) checkUnit(routing Routing) (problems []error) {
	s := &c.Switch
	const blocks = `a packet that holds a switch while it waits for credits blocks those whom it waits for`
	if s.Hold && s.FlowControl != CutThrough {
		problems = append(problems, &param.ParamError{Key: "switch.hold", Value: s.Hold,
			Want: `false, or switch.flow_control = "cut-through": ` + blocks})
	}
	if s.Forwarding == StoreAndForward && s.FlowControl != CutThrough {
		problems = append(problems, &param.ParamError{Key: "switch.forwarding", Value: s.Forwarding,
			Want: `"cut-through", or switch.flow_control = "cut-through": whole packets must fit into the buffers that they are stored in`})
	}
	if n := c.Terminal.BufferFlits; n > 0 && n < s.BufferFlits && s.FlowControl == CutThrough {
		problems = append(problems, &param.ParamError{Key: "terminal.buffer_flits", Value: n,
			Want: fmt.Sprintf("0 or at least switch.buffer_flits, %d, under cut-through: whole packets must fit", s.BufferFlits)})
	}
	if s.VCAllocator == InputFirst && s.VCAllocCycles == 0 {
		problems = append(problems, &param.ParamError{Key: "switch.vc_allocator", Value: s.VCAllocator,
			Want: fmt.Sprintf("%q, or switch.vc_alloc_cycles of at least 1: heads take a virtual channel by winning the switch", OutputFirst)})
	}
	if s.InputSpeedup > 1 && c.Holds() {
		problems = append(problems, &param.ParamError{Key: "switch.input_speedup", Value: s.InputSpeedup,
			Want: "1 where packets hold their input (switch.hold, or packets as the unit)"})
	}
	if c.Fabric.Unit != UnitPacket {
		return problems
	}
	refuse := func(unless string) {
		problems = append(problems, &param.ParamError{Key: "fabric.unit", Value: c.Fabric.Unit, Want: `"flit"` + unless})
	}
	if s.FlowControl != CutThrough && !s.Hold {
		refuse(`, or switch.flow_control = "cut-through": ` + blocks)
	}
	if s.OutputsHoldUp() {
		refuse(`, or a larger switch.output_buffer_flits: so small a one holds up the flits of a packet one by one`)
	}
	if allocator.TraitsOf(s.Allocator.Name()).Queues {
		refuse(fmt.Sprintf(`, or another switch.allocator: %q counts the flits in queues`, s.Allocator.Name()))
	}
	if s.VCReuse == CreditsBack {
		refuse(`, or switch.vc_reuse = "tail-sent": the credits of packets come back one by one`)
	}
	if c.Terminal.BufferFlits > 0 {
		refuse(`, or terminal.buffer_flits = 0: the credits of terminals are those of single flits`)
	}
	if s.SensesCredits(routing) {
		refuse(`, or switch.credit_sensing = "off": sensing, which this routing turns on by default, delays each flit's credit for itself`)
	}
	return problems
}

// CheckMulticast finds what does not go with multicast packets, beside a routing, which may be nil.
// Errors are *param.ParamError with dotted keys, joined.
func (c *Config) CheckMulticast(routing Routing) error {
	s, t := &c.Switch, &c.Terminal
	var problems []error
	refuse := func(wrong bool, key string, value any, want string) {
		if wrong {
			problems = append(problems, &param.ParamError{Key: key, Value: value, Want: want})
		}
	}
	refuse(s.FlowControl != CutThrough, "switch.flow_control", s.FlowControl, `"cut-through": multicast packets are held until their last branch has left`)
	const plain = "it left out with multicast packets, whose copies are not arbitrated by lane"
	refuse(s.VLArbHigh != "", "switch.vlarb_high", s.VLArbHigh, plain)
	refuse(s.VLArbLow != "", "switch.vlarb_low", s.VLArbLow, plain)
	refuse(t.VLArbHigh != "", "terminal.vlarb_high", t.VLArbHigh, plain)
	refuse(t.VLArbLow != "", "terminal.vlarb_low", t.VLArbLow, plain)
	own, ok := routing.(LaneArbitration)
	refuse(ok && own.ArbitratesLanes(), "routing.vlarb", "tables of lanes", plain)
	refuse(t.BufferFlits > 0, "terminal.buffer_flits", t.BufferFlits, "0 with multicast packets: their copies do not wait for credits of terminals")
	refuse(s.Marks(), "switch.marking", s.Marking.Name(), `"none" with multicast packets, whose copies share one mark`)
	refuse(s.VCReuse == CreditsBack, "switch.vc_reuse", s.VCReuse, `"tail-sent" with multicast packets, which take a virtual channel that has room`)
	refuse(s.InputSpeedup > 1, "switch.input_speedup", s.InputSpeedup, "1 with multicast packets, whose branches leave an input together")
	refuse(len(c.Probes) > 0, "probe", len(c.Probes), "none with multicast packets: nobody counts how many of their copies wait")
	refuse(!c.Holds() && s.Forwarding == StoreAndForward, "switch.forwarding", s.Forwarding, `"cut-through" with multicast packets, or switch.hold = true`)
	refuse(c.Holds() && s.OutputBufferFlits > 0 && s.OutputBufferFlits < s.BufferFlits, "switch.output_buffer_flits", s.OutputBufferFlits,
		fmt.Sprintf("0 or at least switch.buffer_flits, %d, with multicast packets under switch.hold: copies wait behind the crossbar as a whole", s.BufferFlits))
	return errors.Join(problems...)
}

// LaneTables are the tables of the settings; nil: no arbitration.
func (c *SwitchConfig) LaneTables() (*arbitration.Tables, error) {
	return laneTables(c.VLArbHigh, c.VLArbLow, c.VLHighLimit)
}

// checkLanes checks a switch with vcs virtual channels for arbitration; own: the routing brings
// tables.
func (c *SwitchConfig) checkLanes(vcs int, own bool) (problems []error) {
	t, err := c.LaneTables()
	if err != nil {
		return []error{err}
	}
	if t == nil && c.VLHighLimit != 0 {
		problems = append(problems, limitAlone(c.VLHighLimit))
	}
	if t == nil && !own {
		return problems
	}
	if t != nil {
		problems = append(problems, lacksTurn(t, 1<<vcs-1, c.VLArbLow)...)
	}
	if c.FlowControl != "cut-through" {
		problems = append(problems, &param.ParamError{Key: "flow_control", Value: c.FlowControl, Want: "cut-through with arbitration between lanes: a packet has its link to itself, and must not stop half way"})
	}
	if c.VCReuse == CreditsBack {
		problems = append(problems, &param.ParamError{Key: "vc_reuse", Value: c.VCReuse, Want: `"tail-sent" with arbitration between lanes, which asks for room only`})
	}
	if c.OutputBufferFlits == 0 {
		problems = append(problems, &param.ParamError{Key: "output_buffer_flits", Value: 0, Want: "at least 1 with arbitration between lanes: what waits behind the crossbar has been chosen already"})
	}
	return problems
}

// TerminalTables are the settings' arbitration tables of terminals: [terminal]'s, else [switch]'s,
// as OpenSM's options for adapters fall back on those for all ports; nil: no arbitration.
func (c *Config) TerminalTables() (tables *arbitration.Tables, own bool, err error) {
	if t := &c.Terminal; t.VLArbHigh != "" || t.VLArbLow != "" {
		tables, err = laneTables(t.VLArbHigh, t.VLArbLow, t.VLHighLimit)
		return tables, true, err
	}
	tables, err = c.Switch.LaneTables()
	return tables, false, err
}

// checkTerminalLanes checks what arbitration needs of terminals that inject on a set of lanes.
func (c *Config) checkTerminalLanes(injection uint32) (problems []error) {
	t := &c.Terminal
	tables, own, err := c.TerminalTables()
	switch {
	case !own && t.VLHighLimit != 0:
		return []error{limitAlone(t.VLHighLimit)}
	case !own:
		return nil // the switch's
	case err != nil:
		return []error{err}
	}
	problems = lacksTurn(tables, injection, t.VLArbLow)
	if c.Switch.FlowControl != CutThrough {
		problems = append(problems, &param.ParamError{Key: "vlarb_low", Value: t.VLArbLow, Want: `it and vlarb_high left out, or switch.flow_control = "cut-through": a packet has its link to itself, and must not stop half way`})
	}
	return problems
}

// laneTables reads two tables; nil if both are empty.
func laneTables(high, low string, limit int) (*arbitration.Tables, error) {
	if high == "" && low == "" {
		return nil, nil
	}
	t := &arbitration.Tables{Limit: uint8(limit)}
	for _, table := range []struct {
		key, text string
		entries   *[]arbitration.Entry
	}{{"vlarb_high", high, &t.High}, {"vlarb_low", low, &t.Low}} {
		entries, err := arbitration.ParseEntries(table.text)
		if err != nil {
			return nil, &param.ParamError{Key: table.key, Value: table.text, Want: "LANE:WEIGHT,...: " + err.Error()}
		}
		*table.entries = entries
	}
	return t, nil
}

// limitAlone is the problem of a limit without tables.
func limitAlone(limit int) error {
	return &param.ParamError{Key: "vl_high_limit", Value: limit, Want: "it left out, without vlarb_high and vlarb_low"}
}

// lacksTurn names the lanes of a set that tables give no turn.
func lacksTurn(t *arbitration.Tables, set uint32, low string) (problems []error) {
	for left := set &^ t.Lanes(); left != 0; left &= left - 1 {
		problems = append(problems, &param.ParamError{Key: "vlarb_low", Value: low, Want: fmt.Sprintf("a weight for lane %d here or in vlarb_high: without a turn its packets wait for ever", bits.TrailingZeros32(left))})
	}
	return problems
}
