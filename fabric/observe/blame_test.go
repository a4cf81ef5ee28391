package observe

import (
	"testing"

	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestRootsByHand: of three switches of a mesh in a row, channel a leads from 0 to 1, c from 1 to 2, and down to the terminal
// of 2. Packets wait 100 cycles for credits of a: 40 of them for what is on its wire, 60 for c. For c they wait 60 cycles,
// half of them for credits, all for down; that half holds for the 60 of a, too. So of 165 cycles, with 5 that they wait for
// down itself, a is the root of 40, c of 30 + 30, down of 5 + 30 + 30.
func TestRootsByHand(t *testing.T) {
	g := simtest.Must(topology.Registry.New("mesh", struct{}{}))(t).Graph()
	to := func(from, at topology.SwitchID) topology.PortID {
		for p, end := g.Ports(from); ; p++ {
			simtest.FatalIf(t, p == end, "no port from %d to %d", from, at)
			if peer, ok := g.PeerPort(p); ok && g.PortSwitch[peer] == at {
				return p
			}
		}
	}
	a, c, last := to(0, 1), to(1, 2), topology.TerminalID(0)
	for g.TerminalSwitch(last) != 2 {
		last++
	}
	down := g.TerminalPort[last]
	b := &Blame{graph: g, links: make([]core.Parts, g.NumPorts()+g.Terminals()), pairRow: make([]int32, g.NumPorts())}
	wait := func(in, out topology.PortID, cycles int64) {
		first, end := g.Ports(g.PortSwitch[in])
		b.pairRow[in] = int32(len(b.pairs))
		b.pairs = append(b.pairs, make([]int64, end-first)...)
		b.pairs[int(b.pairRow[in])+int(out-first)] = cycles
	}
	wait(topology.PortID(g.Peer[a]), c, 60)
	wait(topology.PortID(g.Peer[c]), down, 10)
	b.links[a][core.PartCredit], b.links[a][core.PartWire] = 100, 40
	b.links[c][core.PartCredit], b.links[c][core.PartSwitch] = 30, 30
	b.links[down][core.PartEjection] = 5
	for i := range b.links {
		b.Classes[0].Add(&b.links[i])
	}
	roots := b.Roots()
	simtest.EqualSlices(t, []float64{roots[a], roots[c], roots[down]}, []float64{40, 60, 65}, "roots of a, c and down")
}

// TestCrossings: the crossings of a path of 20 switches are 20, and stay where they are.
func TestCrossings(t *testing.T) {
	var c crossings
	for i := range 20 {
		c.at(i).Depart = int64(i + 1)
	}
	for i := range 20 {
		simtest.Equal(t, c.at(i).Depart, int64(i+1), "crossing %d leaves in cycle", i)
	}
}
