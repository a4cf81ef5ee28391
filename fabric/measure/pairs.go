package measure

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// Pair chooses packets by their ends; [AnyTerminal] chooses all.
type Pair struct{ Src, Dst topology.TerminalID }

// AnyTerminal is an end of a [Pair] that every packet has.
const AnyTerminal topology.TerminalID = -1

func (p *Pair) holds(d *fabric.Delivery) bool {
	return (p.Src == d.Src || p.Src == AnyTerminal) && (p.Dst == d.Dst || p.Dst == AnyTerminal)
}

// tellPairs has the packets of pairs counted by themselves.
func (m *Meter) tellPairs(pairs []Pair) {
	m.pairs, m.pairTallies = pairs, make([]Tally, len(pairs))
}

// Pairs is what was measured of each pair of the plan.
func (m *Meter) Pairs() []Tally { return m.pairTallies }
