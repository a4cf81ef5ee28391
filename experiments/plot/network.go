package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/fabric/topology"
)

// Network is a network to draw.
type Network struct {
	Topology topology.Topology
	// Loads are every channel's flits per cycle: by switch port, then by terminal (len = ports +
	// terminals). nil: cables show their class.
	Loads []float64
	Top   float64   // load at the hot end of the scale
	Order []float64 // by which links are drawn, coldest first; nil: Loads
	Plain bool      // without names, titles and scale
	// Most bounds the links that are drawn; 0: all.
	Most int
}

// NetworkPicture is a drawing of a network, or of loads between its groups.
type NetworkPicture struct {
	Drawing
	// Heats are where loads shown are on the scale, from 0 to 1, in the order of drawing; each is a
	// path, which alone has a title.
	Heats []float64
}

// LoadColours are the colours of loads: from pale to dark, to survive printing in black and white,
// over hues that can be told apart with any form of colour blindness.
var LoadColours = Scale{{0xe4, 0xe8, 0xee, 0xff}, {0xfe, 0xd9, 0x76, 0xff}, {0xfd, 0x8d, 0x3c, 0xff}, {0xd7, 0x30, 0x1f, 0xff}, {0x67, 0x00, 0x0d, 0xff}}

// Colours of what shows no load.
var (
	paper = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	pale  = color.NRGBA{0xf6, 0xf8, 0xfa, 0xff} // groups and planes
	sky   = color.NRGBA{0xdb, 0xe9, 0xf6, 0xff} // switches with terminals
	faint = color.NRGBA{0x57, 0x60, 0x6a, 0xff}
)

// heat adds a load to those that are shown, and gives its colour and its title.
func (m *Network) heat(p *NetworkPicture, name string, load float64) (ink color.Color, title string) {
	fraction := 0.0
	if m.Top > 0 {
		fraction = min(max(load/m.Top, 0), 1)
	}
	p.Heats = append(p.Heats, fraction)
	if !m.Plain {
		title = fmt.Sprintf("%s: %.3f", name, load)
	}
	return LoadColours.At(fraction), title
}

// keyHeight is the room for the scale, or the legend, above a picture.
const keyHeight = 40

// key makes room above the picture for the scale or, without loads, the classes of cables and their
// numbers.
func (m *Network) key(p *NetworkPicture, links []link) {
	if m.Plain {
		return
	}
	p.Size.Y += keyHeight
	top, style, x := p.Size.Y, Words(11, text.XLeft, text.YBottom), vg.Length(10)
	if m.Loads != nil {
		const steps = 24
		length := min(p.Size.X-20, 240)
		for i := range steps {
			left := x + length*vg.Length(i)/steps
			p.Box(rectangle(left, top-26, left+length/steps+0.5, top-16), LoadColours.At((float64(i)+0.5)/steps), draw.LineStyle{}, "")
		}
		p.Text(vg.Point{X: x, Y: top - 12}, style, "0")
		style.XAlign = text.XRight
		p.Text(vg.Point{X: x + length, Y: top - 12}, style, fmt.Sprintf("%.3g flits per cycle", m.Top))
		return
	}
	g := m.graph()
	word := func(words string) {
		p.Text(vg.Point{X: x, Y: top - 24}, style, words)
		x += style.Width(words) + 14
	}
	word(fmt.Sprintf("%d switches, %d terminals, %d cables between switches", g.Switches(), g.Terminals(), g.SwitchLinks()))
	for i, class := range g.Classes {
		if slices.ContainsFunc(links, func(l link) bool { return int(l.class) == i }) {
			p.Line(vg.Point{X: x, Y: top - 20}, vg.Point{X: x + 22, Y: top - 20}, draw.LineStyle{Color: palette[i%len(palette)], Width: 2}, "")
			x += 27
			word(class.Name)
		}
	}
	p.Size.X = max(p.Size.X, x)
}

// Matrix draws groups against groups, each field the hottest channel between two; not ok without
// groups, or with too many.
func (m *Network) Matrix() (p *NetworkPicture, how string, ok bool) {
	const most, width, margin = 256, 640, 40
	t, grouped := m.Topology.(topology.Grouped)
	if !grouped || t.Groups() > most || m.Loads == nil {
		return nil, "", false
	}
	n := t.Groups()
	hottest := make([]float64, n*n) // from*n + to
	for _, l := range m.links() {
		i := t.GroupOf(l.from)*n + t.GroupOf(l.to)
		hottest[i] = max(hottest[i], l.load)
	}
	p = &NetworkPicture{Drawing: Drawing{Size: vg.Point{X: width, Y: width}}}
	cell, gap := vg.Length(width-margin-10)/vg.Length(n), vg.Length(0)
	if cell > 5 {
		gap = 1
	}
	const top = width - margin
	for i, load := range hottest {
		corner := vg.Point{X: margin + cell*vg.Length(i%n), Y: top - cell*vg.Length(i/n)}
		fill, title := m.heat(p, fmt.Sprintf("group %d to %d", i/n, i%n), load)
		p.Box(vg.Rectangle{Min: corner.Sub(vg.Point{Y: cell - gap}), Max: corner.Add(vg.Point{X: cell - gap})}, fill, draw.LineStyle{}, title)
	}
	if !m.Plain {
		p.Text(vg.Point{X: margin, Y: width - 12}, Words(11, text.XLeft, text.YBottom), "to group")
		p.Text(vg.Point{X: 2, Y: top + 6}, Words(11, text.XLeft, text.YBottom), "from")
		for step, i := max(1, (n+9)/10), 0; i < n; i += step {
			center := cell * (vg.Length(i) + 0.5)
			p.Text(vg.Point{X: margin + center, Y: top + 6}, Words(11, text.XCenter, text.YBottom), fmt.Sprint(i))
			p.Text(vg.Point{X: margin - 6, Y: top - center}, Words(11, text.XRight, text.YCenter), fmt.Sprint(i))
		}
	}
	m.key(p, nil)
	return p, "From the group of the row to that of the column, the hottest channel; on the diagonal, channels within the group.", true
}

func (m *Network) graph() *topology.Graph { return m.Topology.Graph() }

// atTerminals is the largest load among the channels between a switch and its terminals.
func (m *Network) atTerminals(s topology.SwitchID) float64 {
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

// links lists the directed links between switches, coldest first so that hot ones are drawn on top.
func (m *Network) links() []link {
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

// between gives the vector from a to b in units of its length, and the length.
func between(a, b vg.Point) (unit vg.Point, length vg.Length) {
	d := b.Sub(a)
	length = vg.Length(math.Hypot(float64(d.X), float64(d.Y)))
	return d.Scale(1 / length), length
}
