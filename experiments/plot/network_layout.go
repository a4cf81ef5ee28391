package plot

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// Room for a picture of a network: it is as large as names need, between these widths.
const (
	leastUnit, mostUnit = 14.0, 64.0 // points between neighbours
	roomy               = 1000.0     // a width that needs no more room
	mostWidth           = 9000.0
	nameSize, leastSize = 9.0, 4.5 // of names, points
)

// laidOut is a network whose switches have their places.
type laidOut struct {
	*Network
	*NetworkPicture
	layout *topology.Layout
	at     []vg.Point // of the switches
	center vg.Point   // of the circle, if it is one
	unit   vg.Length  // between neighbours
	links  []link

	// Switches are boxes around their names.
	names   []string // len = switches; empty: without
	size    vg.Length
	box     vg.Point
	upright bool // names run upwards
	outside bool // names stand around the circle
}

// Draw draws the network in its family's layout: directions of links with loads, else cables. how
// explains the picture; a network with more links than Most has none.
func (m *Network) Draw() (p *NetworkPicture, how string) {
	links := m.links()
	if m.Most > 0 && len(links) > m.Most {
		return nil, fmt.Sprintf("Too large to draw: %d links.", len(links))
	}
	l := topology.LayoutOf(m.Topology)
	low, high := bounds(l)
	unit := max(leastUnit, min(mostUnit, roomy/max(1, high.X-low.X), roomy/max(1, high.Y-low.Y)))
	unit = min(unit, mostWidth/max(1, high.X-low.X, high.Y-low.Y))
	n := &laidOut{Network: m, NetworkPicture: &NetworkPicture{}, layout: l, unit: vg.Length(unit), links: links}
	n.chooseNames()
	margin := max(0.6*n.unit, n.box.X/2+6, n.box.Y/2+6)
	if n.outside {
		margin = max(margin, n.away()+1.15*n.widest(n.size)) // another font may be wider
	}
	down := n.unit // between rows
	if n.upright {
		down = max(down, 1.7*n.box.Y/levelDistance(l))
	}
	place := func(at topology.Place) vg.Point {
		return vg.Point{X: vg.Length(at.X-low.X)*n.unit + margin, Y: vg.Length(high.Y-at.Y)*down + margin}
	}
	n.Size = place(topology.Place{X: high.X, Y: low.Y}).Add(vg.Point{X: margin, Y: margin})
	n.center = place(topology.Place{})
	n.at = lists.Map(l.Places, place)
	for _, f := range l.Frames { // groups and planes
		if f.Radius > 0 {
			n.Disc(place(f.Center), vg.Length(f.Radius)*n.unit, pale)
		} else {
			n.Box(around(place(f.Center), vg.Point{X: vg.Length(f.Width), Y: vg.Length(f.Height)}.Scale(n.unit)), pale, draw.LineStyle{}, "")
		}
	}
	how = l.How
	if m.Loads != nil {
		n.drawLoads()
		how += " Of two lines the right-hand one in the direction of travel. Switches: the hottest channel to or from a terminal"
		if l.Plane != nil {
			how += ", or to another plane"
		}
		how += "."
	} else {
		n.drawCables()
	}
	n.drawFrameNames(place)
	n.drawNames()
	m.key(n.NetworkPicture, links)
	return n.NetworkPicture, how
}

func bounds(l *topology.Layout) (low, high topology.Place) {
	low, high = topology.Place{X: math.Inf(1), Y: math.Inf(1)}, topology.Place{X: math.Inf(-1), Y: math.Inf(-1)}
	include := func(x, y float64) {
		low.X, low.Y, high.X, high.Y = min(low.X, x), min(low.Y, y), max(high.X, x), max(high.Y, y)
	}
	for _, at := range l.Places {
		include(at.X, at.Y)
	}
	for _, f := range l.Frames {
		dx, dy := max(f.Radius, f.Width/2)-0.5, max(f.Radius, f.Height/2)-0.5
		include(f.Center.X-dx, f.Center.Y-dy)
		include(f.Center.X+dx, f.Center.Y+dy)
	}
	return low, high
}

// levelDistance is how far levels are apart; infinite where there is one level.
func levelDistance(l *topology.Layout) vg.Length {
	low, next := math.Inf(1), math.Inf(1)
	for _, at := range l.Places {
		low = min(low, at.Y)
	}
	for _, at := range l.Places {
		if at.Y > low {
			next = min(next, at.Y)
		}
	}
	return vg.Length(next - low)
}

// chooseNames finds how large the names can be, and the boxes around them.
func (n *laidOut) chooseNames() {
	n.box = vg.Point{X: 0.42 * n.unit, Y: 0.42 * n.unit}
	if n.Plain {
		return
	}
	for s := range n.layout.Places {
		n.names = append(n.names, shortName(n.graph(), topology.SwitchID(s)))
	}
	n.size = nameSize
	wide := n.widest(nameSize)
	switch n.layout.Shape {
	case topology.Circle:
		n.outside = true
		n.size = min(nameSize, 0.85*n.unit)
	case topology.Levels:
		if wide+5 <= 0.92*n.unit {
			n.box = vg.Point{X: max(n.box.X, wide+5), Y: max(14, min(n.box.Y, 22))}
		} else {
			n.upright = true
			n.size = min(nameSize, 0.75*n.unit)
			n.box = vg.Point{X: min(0.85*n.unit, n.size+4), Y: n.widest(n.size) + 6}
		}
	default:
		if room := 0.8 * n.unit; wide+3 > room {
			n.size = nameSize * (room - 3) / wide
		}
		n.box = vg.Point{X: max(n.box.X, n.widest(n.size)+3), Y: max(n.box.Y, min(n.size+3, 0.8*n.unit))}
	}
	if n.size < leastSize {
		n.names, n.box, n.upright, n.outside = nil, vg.Point{X: 0.5 * n.unit, Y: 0.5 * n.unit}, false, false
	}
}

// widest is how wide the longest name is.
func (n *laidOut) widest(size vg.Length) (width vg.Length) {
	return lists.Most(0, n.names, func(name string) vg.Length { return Words(size, 0, 0).Width(name) })
}

// away is how far from the middle of a switch a name outside of it begins.
func (n *laidOut) away() vg.Length { return n.box.X/2*math.Sqrt2 + 3 }

// shortName is what stands at a switch: of a generated name the number, of a long one its ends.
func shortName(g *topology.Graph, s topology.SwitchID) string {
	const longest = 28 // letters
	name := strings.TrimPrefix(g.SwitchName(s), "switch ")
	if letters := []rune(name); len(letters) > longest {
		name = string(letters[:longest/2-2]) + ellipsis + string(letters[len(letters)-longest/2:])
	}
	return name
}

func around(center, size vg.Point) vg.Rectangle {
	return vg.Rectangle{Min: center.Sub(size.Scale(0.5)), Max: center.Add(size.Scale(0.5))}
}

// drawFrameNames writes the names of groups and planes, those for which there is room.
func (n *laidOut) drawFrameNames(place func(topology.Place) vg.Point) {
	size := min(nameSize, 0.6*n.unit)
	for _, f := range n.layout.Frames {
		switch at := place(f.Center); {
		case n.Plain:
		case f.Radius == 0:
			style := Words(size, text.XLeft, text.YBottom)
			style.Color = faint
			n.Text(at.Add(vg.Point{X: -vg.Length(f.Width) * n.unit / 2, Y: vg.Length(f.Height)*n.unit/2 + 3}), style, f.Name)
		case f.Radius > 1:
			if style := Words(size, text.XCenter, text.YCenter); style.Width(f.Name) < vg.Length(2*(f.Radius-0.5))*n.unit {
				n.Label(at, style, f.Name)
			}
		}
	}
}

// apart tells whether a link leads to another plane, where it is not drawn.
func (n *laidOut) apart(l link) bool {
	return n.layout.Plane != nil && n.layout.Plane[l.from] != n.layout.Plane[l.to]
}

// pieces are the lines that a link is drawn as: itself, or a stub at each end.
func (n *laidOut) pieces(l link) [][2]vg.Point {
	a, b := n.at[l.from], n.at[l.to]
	direction, length := between(a, b)
	if n.layout.Longest == 0 || length < vg.Length(n.layout.Longest)*n.unit {
		return [][2]vg.Point{{a, b}}
	}
	// Out of the edge, away from the other end.
	stub := direction.Scale(0.48 * n.unit)
	return [][2]vg.Point{{a, a.Sub(stub)}, {b.Add(stub), b}}
}

// drawLoads draws both directions of every link, and the switches, by their loads.
func (n *laidOut) drawLoads() {
	g := n.graph()
	hottest := lists.Make(g.Switches(), func(s int) float64 { return n.atTerminals(topology.SwitchID(s)) })
	width := max(0.5, min(0.12*n.unit, 3.5))
	if len(n.links) > 400 {
		width = max(0.4, min(0.06*n.unit, 1.5))
	}
	for _, l := range n.links {
		if n.apart(l) {
			hottest[l.from] = max(hottest[l.from], l.load)
			continue
		}
		for _, piece := range n.pieces(l) {
			direction, _ := between(piece[0], piece[1])
			right := vg.Point{X: direction.Y, Y: -direction.X}.Scale(0.6 * width)
			ink, title := n.heat(n.NetworkPicture, g.SwitchName(l.from)+" to "+g.SwitchName(l.to), l.load)
			n.Line(piece[0].Add(right), piece[1].Add(right), draw.LineStyle{Color: ink, Width: width}, title)
		}
	}
	for s, at := range n.at {
		n.Box(around(at, n.box.Add(vg.Point{X: 2, Y: 2})), paper, draw.LineStyle{}, "")
		fill, title := n.heat(n.NetworkPicture, g.SwitchName(topology.SwitchID(s)), hottest[s])
		n.Box(around(at, n.box), fill, draw.LineStyle{}, title)
	}
}

// drawCables draws cables by their class, and switches.
func (n *laidOut) drawCables() {
	g := n.graph()
	thin := 1.1
	if len(n.links) > 800 {
		thin = 0.5
	}
	for _, l := range n.links {
		if l.from > l.to || n.apart(l) {
			continue
		}
		title := g.SwitchName(l.from) + " to " + g.SwitchName(l.to)
		if l.cables > 1 {
			title += fmt.Sprintf(", %d cables", l.cables)
		}
		width := thin * (1 + 0.5*float64(min(l.cables, 8)-1))
		for _, piece := range n.pieces(l) {
			n.Line(piece[0], piece[1], draw.LineStyle{Color: palette[int(l.class)%len(palette)], Width: vg.Length(width)}, title)
		}
	}
	terminals := make([]int, g.Switches())
	for t := range topology.TerminalID(g.Terminals()) {
		terminals[g.TerminalSwitch(t)]++
	}
	for s, at := range n.at {
		fill := paper
		if terminals[s] > 0 {
			fill = sky
		}
		n.Box(around(at, n.box), fill, draw.LineStyle{Color: faint, Width: 0.7}, fmt.Sprintf("%s: %d terminals", g.SwitchName(topology.SwitchID(s)), terminals[s]))
	}
}

// drawNames writes the names of the switches.
func (n *laidOut) drawNames() {
	write := n.Text
	if n.Loads != nil {
		write = n.Label
	}
	for s, name := range n.names {
		at, style := n.at[s], Words(n.size, text.XCenter, text.YCenter)
		switch {
		case n.upright:
			style.Rotation = math.Pi / 2
		case n.outside:
			if outwards, distance := between(n.center, at); distance > 0 {
				at = at.Add(outwards.Scale(n.away()))
				style.Rotation = math.Atan2(float64(outwards.Y), float64(outwards.X))
				style.XAlign = text.XLeft
				if outwards.X < 0 { // read from the outside
					style.Rotation, style.XAlign = style.Rotation+math.Pi, text.XRight
				}
			}
		}
		write(at, style, name)
	}
}
