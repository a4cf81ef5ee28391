package netmap

import (
	"cmp"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// Map is a network to draw.
type Map struct {
	Topology topology.Topology
	// Loads are flits per cycle of every channel: out of each switch port, then
	// out of each terminal (len = ports + terminals). nil: cables show their class.
	Loads []float64
	Top   float64   // load at the hot end of the scale
	Order []float64 // by which links are drawn, coldest first; nil: Loads
	Plain bool      // without names and scale
	// Most bounds the links that are drawn; 0: all.
	Most int
}

// mostGroups bounds a matrix.
const mostGroups = 256

// Matrix draws groups against groups, each field the hottest channel from the one
// to the other. ok is false where the network has no groups, or too many.
func (m *Map) Matrix() (p *Picture, how string, ok bool) {
	t, grouped := m.Topology.(topology.Grouped)
	if !grouped || t.Groups() > mostGroups || m.Loads == nil {
		return nil, "", false
	}
	return m.matrix(t), "From the group of the row to that of the column, the hottest channel; on the diagonal, channels within the group.", true
}

func (m *Map) graph() *topology.Graph { return m.Topology.Graph() }

func (m *Map) newPicture() *Picture {
	return &Picture{Label: "the network", top: m.Top, plain: m.Plain}
}

// atTerminals is the largest load among the channels between a switch and its
// terminals.
func (m *Map) atTerminals(s topology.SwitchID) float64 {
	g, hottest := m.graph(), 0.0
	first, end := g.Ports(s)
	for p := first; p < end; p++ {
		if t, ok := g.PeerTerminal(p); ok {
			hottest = max(hottest, m.Loads[p], m.Loads[g.NumPorts()+int(t)])
		}
	}
	return hottest
}

// link is what leads from one switch to another.
type link struct {
	from, to topology.SwitchID
	load     float64 // of parallel channels, the hottest
	rank     float64
	cables   int
	class    topology.ClassID // of the first cable
}

// links lists the directed links between switches, coldest first so that hot ones
// are drawn on top.
func (m *Map) links() []link {
	order := m.Order
	if order == nil {
		order = m.Loads
	}
	var all []link
	at := map[[2]topology.SwitchID]int{}
	g := m.graph()
	for p := range topology.PortID(g.NumPorts()) {
		peer, ok := g.PeerPort(p)
		if !ok {
			continue
		}
		ends := [2]topology.SwitchID{g.PortSwitch[p], g.PortSwitch[peer]}
		i, known := at[ends]
		if !known {
			i = len(all)
			at[ends] = i
			all = append(all, link{from: ends[0], to: ends[1], class: g.PortClass[p]})
		}
		all[i].cables++
		if m.Loads != nil {
			all[i].load = max(all[i].load, m.Loads[p])
			all[i].rank = max(all[i].rank, order[p])
		}
	}
	slices.SortStableFunc(all, func(a, b link) int { return cmp.Compare(a.rank, b.rank) })
	return all
}
