package fabric

import (
	"fmt"
	"math/bits"

	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// LaneArbitration is implemented by routings that know how ports choose between
// their virtual channels, as those of imported subnets may.
type LaneArbitration interface {
	// ArbitratesLanes tells whether any port has tables.
	ArbitratesLanes() bool
	// ArbitrationTables are those of the channel out of port p; nil: none of its own,
	// so that of the settings counts. They must not change.
	ArbitrationTables(p topology.PortID) *arbitration.Tables
}

// lanePort is an output port whose packets InfiniBand's arbitration puts in order:
// virtual channel l is lane l. From its first flit on until its last has crossed, the
// port is the packet's alone, as packets are not mixed on a link. Which of several
// inputs sends on the chosen lane is left to the switch allocator.
//
// Packets start only with credits for all of their flits (cut-through), so that none
// holds the port to wait for a buffer downstream: lanes depend on each other no more than
// without arbitration.
type lanePort struct {
	arbiter    arbitration.Arbiter
	arbitrated bool
	open       bool               // choice is of the step at hand
	ok         bool               // choice is one
	choice     arbitration.Choice // among ready
	ready      uint32             // lanes that have asked in the step at hand
	holder     int32              // queue, in its switch, whose packet is crossing; -1: none
}

// LaneTables are the tables of the settings; nil: no arbitration.
func (c *SwitchConfig) LaneTables() (*arbitration.Tables, error) {
	return laneTables(c.VLArbHigh, c.VLArbLow, c.VLHighLimit)
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

// checkLanes checks what arbitration needs of a switch with so many virtual channels;
// own tells that the routing brings tables.
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
	if c.OutputBufferFlits == 0 {
		problems = append(problems, &param.ParamError{Key: "output_buffer_flits", Value: 0, Want: "at least 1 with arbitration between lanes: what waits behind the crossbar has been chosen already"})
	}
	return problems
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

// newLanes makes the arbiters of all ports; nil without arbitration.
func newLanes(n *network) []lanePort {
	all, err := n.config.Switch.LaneTables()
	if err != nil {
		panic("fabric: " + err.Error()) // checked before
	}
	own, _ := n.routing.(LaneArbitration)
	if own != nil && !own.ArbitratesLanes() {
		own = nil
	}
	if all == nil && own == nil {
		return nil
	}
	lanes := make([]lanePort, n.graph.NumPorts())
	for p := range lanes {
		tables := all
		if own != nil {
			if t := own.ArbitrationTables(topology.PortID(p)); t != nil {
				tables = t
			}
		}
		lanes[p].holder = -1
		if tables != nil {
			lanes[p].arbiter, lanes[p].arbitrated = arbitration.New(tables), true
		}
	}
	return lanes
}

// arbitrateLanes keeps the requests of packets that the arbitration of their output
// port lets go first, and of those that are crossing.
func (d *domain) arbitrateLanes(sw *switchState, requests []request) []request {
	vcs := uint32(d.vcs)
	ports := d.lanes[sw.port0:][:sw.ports]
	for _, r := range requests {
		p := &ports[r.output()]
		p.open = false
		p.ready |= 1 << (uint32(sw.queue(r.local()).out) - r.output()*vcs)
	}
	kept := requests[:0]
	for _, r := range requests {
		p := &ports[r.output()]
		if !p.open {
			p.open = true
			if p.holder < 0 && p.arbitrated {
				p.choice, p.ok = p.arbiter.Choose(p.ready)
			}
			p.ready = 0
		}
		switch {
		case p.holder >= 0:
			if uint32(p.holder) == r.local() {
				kept = append(kept, r)
			}
		case !p.arbitrated || p.ok && uint32(p.choice.Lane) == uint32(sw.queue(r.local()).out)-r.output()*vcs:
			kept = append(kept, r)
		}
	}
	return kept
}

// rivals are the ports, modulo 64, that several requests come from and want.
func rivals(requests []request) (rivalInputs, rivalOutputs uint64) {
	var inputs, outputs uint64
	for _, r := range requests {
		in, out := uint64(1)<<(r.port()&63), uint64(1)<<(r.output()&63)
		rivalInputs |= inputs & in
		inputs |= in
		rivalOutputs |= outputs & out
		outputs |= out
	}
	return rivalInputs, rivalOutputs
}

// crossedLanes notes the packets that begin and end with flits that cross in this
// step.
func (d *domain) crossedLanes(sw *switchState, matches []request) {
	for _, r := range matches {
		p := &d.lanes[uint32(sw.port0)+r.output()]
		v := sw.queue(r.local())
		if p.holder < 0 && p.arbitrated {
			flits := d.packet(v.packet >> packetBits).flits
			p.arbiter.Send(p.choice, int64(flits)*int64(d.config.Fabric.FlitBytes))
			p.holder = int32(r.local())
		}
		if v.packet&tailFlit != 0 {
			p.holder = -1
		}
	}
}
