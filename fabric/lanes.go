package fabric

import (
	"fmt"
	"math/bits"

	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/sim/param"
)

// LaneTables are the tables of the settings; nil: no arbitration.
func (c *SwitchConfig) LaneTables() (*arbitration.Tables, error) {
	return laneTables(c.VLArbHigh, c.VLArbLow, c.VLHighLimit)
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

// TerminalTables are the arbitration tables of terminals in the settings: those of
// [terminal], else those of [switch], as OpenSM's options for adapters fall back on
// those for all ports; nil: no arbitration.
func (c *Config) TerminalTables() (tables *arbitration.Tables, own bool, err error) {
	if t := &c.Terminal; t.VLArbHigh != "" || t.VLArbLow != "" {
		tables, err = laneTables(t.VLArbHigh, t.VLArbLow, t.VLHighLimit)
		return tables, true, err
	}
	tables, err = c.Switch.LaneTables()
	return tables, false, err
}

// checkTerminalLanes checks what arbitration needs of terminals that inject on a set of
// lanes.
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
