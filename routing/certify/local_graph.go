package certify

import (
	"math/bits"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric/topology"
)

// Local is a channel dependency graph in which a channel waits only for channels out of
// the switch that it leads to, as without escape channels all do. Its rows are sets of
// those channels, side by side: bit local*vcs + vc is virtual channel vc of the switch's
// local-th port. Several goroutines may enter dependencies at a time, and what comes of
// it does not depend on their order.
//
// Memory: a bit for each (virtual channel into a switch, virtual channel out of it).
type Local struct {
	graph *topology.Graph
	vcs   int
	start []int // len = ports+1: first word of the rows of a port's channels
	words []uint64
}

// NewLocal makes an empty graph for the channels of g, of vcs virtual channels.
func NewLocal(g *topology.Graph, vcs int) *Local {
	l := &Local{graph: g, vcs: vcs, start: make([]int, g.NumPorts()+1)}
	for p := range topology.PortID(g.NumPorts()) {
		l.start[p+1] = l.start[p]
		if peer, ok := g.PeerPort(p); ok {
			l.start[p+1] += vcs * l.width(g.PortSwitch[peer])
		}
	}
	l.words = make([]uint64, l.start[g.NumPorts()])
	return l
}

// width is the number of words of a set of channels out of s.
func (l *Local) width(s topology.SwitchID) int { return (l.graph.Degree(s)*l.vcs + 63) / 64 }

// AddAll enters that held waits for all channels of a set.
func (l *Local) AddAll(held topology.Channel, wanted []uint64) {
	first := l.start[held.Port] + int(held.VC)*len(wanted)
	for i, set := range wanted {
		if set == 0 {
			continue
		}
		if word := &l.words[first+i]; set&^atomic.LoadUint64(word) != 0 { // mostly all are there
			atomic.OrUint64(word, set)
		}
	}
}

// Certify tells whether there is no cycle; destinations is how many of them the
// dependencies were gathered for. Cost: a few steps a dependency.
func (l *Local) Certify(destinations int) (c Certificate, acyclic bool) {
	waiting := make([]int32, l.graph.NumPorts()*l.vcs) // for each channel: how many wait for it
	holds := make([]bool, len(waiting))
	for node := range waiting {
		l.each(node, func(wanted int) {
			holds[node] = true
			waiting[wanted]++
			c.Dependencies++
		})
	}
	var free []int32 // nobody who is left waits for them
	for node, n := range waiting {
		if n > 0 || holds[node] {
			c.Channels++
			if n == 0 {
				free = append(free, int32(node))
			}
		}
	}
	done := 0
	for ; len(free) > 0; done++ {
		node := free[len(free)-1]
		free = free[:len(free)-1]
		l.each(int(node), func(wanted int) {
			if waiting[wanted]--; waiting[wanted] == 0 {
				free = append(free, int32(wanted))
			}
		})
	}
	c.Destinations, c.Of, c.AtMost = destinations, destinations, true
	return c, done == c.Channels
}

// each visits the channels that a channel, port*vcs + vc, waits for.
func (l *Local) each(node int, visit func(wanted int)) {
	p, vc := node/l.vcs, node%l.vcs
	width := (l.start[p+1] - l.start[p]) / l.vcs
	if width == 0 {
		return
	}
	peer, _ := l.graph.PeerPort(topology.PortID(p))
	base := int(l.graph.PortStart[l.graph.PortSwitch[peer]]) * l.vcs
	for i, set := range l.words[l.start[p]+vc*width:][:width] {
		for ; set != 0; set &= set - 1 {
			visit(base + 64*i + bits.TrailingZeros64(set))
		}
	}
}

// Has tells whether a dependency has been entered.
func (l *Local) Has(d topology.Dependency) bool {
	found := false
	l.each(int(d.Held.Port)*l.vcs+int(d.Held.VC), func(wanted int) {
		found = found || wanted == int(d.Wanted.Port)*l.vcs+int(d.Wanted.VC)
	})
	return found
}
