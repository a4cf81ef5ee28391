package report

import (
	"html/template"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/netmap"
	"github.com/weft-sim/weft/fabric/topology"
)

// mostDrawn bounds the links of a picture, mostRings the switches of one that shows
// them in groups: of larger networks the page has a matrix of groups.
const (
	mostDrawn = 6000
	mostRings = 120
)

// view is a network with the load of its channels, for drawing.
type view struct {
	network topology.Topology
	loads   []experiments.ChannelLoad
	top     float64 // value at the hot end of the scale
}

// draw lays the network out by its family so that one sees the hot spot; how
// explains the picture. The elements of pictures with the same order are the same.
func (v *view) draw(order []experiments.ChannelLoad, plain bool) (picture *netmap.Picture, how string) {
	g := v.network.Graph()
	if n := g.NumPorts() + g.Terminals(); len(v.loads) != n {
		return nil, "The channels that were recorded are not those of the network: not drawn."
	}
	m := &netmap.Map{Topology: v.network, Loads: numbers(v.loads), Order: numbers(order), Top: v.top, Plain: plain, Most: mostDrawn}
	if g.Switches() > mostRings {
		if picture, how, ok := m.Matrix(); ok {
			return picture, how
		}
	}
	return m.Draw()
}

func numbers(loads []experiments.ChannelLoad) []float64 {
	if loads == nil {
		return nil
	}
	all := make([]float64, len(loads))
	for i, c := range loads {
		all[i] = c.Load
	}
	return all
}

// svg is a picture as an element of the page.
func svg(p *netmap.Picture) template.HTML {
	if p == nil {
		return ""
	}
	return template.HTML(p.SVG())
}
