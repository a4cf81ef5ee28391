package netmap

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
)

// Room for a picture: it is as large as names need, between these widths.
const (
	leastUnit, mostUnit = 14.0, 64.0 // points between neighbours
	roomy               = 1000.0     // a width that needs no more room
	mostWidth           = 9000.0
	nameSize, leastSize = 9.0, 4.5 // of names, points
)

// marks are the switches of a picture: boxes around their names.
type marks struct {
	names         []string // len = switches; empty: without
	size          float64  // of the names
	width, height float64
	upright       bool // names run upwards
	outside       bool // names stand around the circle
}

// Draw draws the network in the layout of its family. how explains the picture;
// a network with more links than Most gives none.
func (m *Map) Draw() (p *Picture, how string) {
	links := m.links()
	if m.Most > 0 && len(links) > m.Most {
		return nil, fmt.Sprintf("Too large to draw: %d links.", len(links))
	}
	l := topology.LayoutOf(m.Topology)
	low, high := bounds(l)
	unit := max(leastUnit, min(mostUnit, roomy/max(1, high.X-low.X), roomy/max(1, high.Y-low.Y)))
	unit = min(unit, mostWidth/max(1, high.X-low.X, high.Y-low.Y))
	k := m.marks(l, unit)
	p = m.newPicture()
	p.Label = "the network and the load of its links"
	margin := max(0.6*unit, k.width/2+6, k.height/2+6)
	if k.outside {
		for _, name := range k.names {
			margin = max(margin, wide(name, k.size)+14)
		}
	}
	down := unit // between rows
	if k.upright {
		down = max(unit, 1.7*k.height/levelDistance(l))
	}
	point := func(place topology.Place) topology.Place {
		return topology.Place{X: (place.X-low.X)*unit + margin, Y: (place.Y-low.Y)*down + margin}
	}
	d := &drawing{m, p, l, make([]topology.Place, len(l.Places)), unit, k}
	for s, place := range l.Places {
		d.at[s] = point(place)
	}
	names := m.frames(p, l, point, unit)
	if m.Loads != nil {
		d.loaded(links)
		how = " Of two lines the right-hand one in the direction of travel. Switches: the hottest channel to or from a terminal"
		if l.Plane != nil {
			how += ", or to another plane"
		}
		how += "."
	} else {
		d.plain(links)
	}
	p.shapes = append(p.shapes, names...)
	d.names(point(topology.Place{}))
	key := p.scale
	if m.Loads == nil {
		key = func() { m.legend(p, links) }
	}
	return p.finish((high.X-low.X)*unit+2*margin, (high.Y-low.Y)*down+2*margin, key), l.How + how
}

// bounds is the area of a layout.
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

// levelDistance is how far levels are apart.
func levelDistance(l *topology.Layout) float64 {
	low, next := math.Inf(1), math.Inf(1)
	for _, at := range l.Places {
		low = min(low, at.Y)
	}
	for _, at := range l.Places {
		if at.Y > low {
			next = min(next, at.Y)
		}
	}
	return next - low // infinite where there is one level
}

// marks finds how large the names can be.
func (m *Map) marks(l *topology.Layout, unit float64) marks {
	k := marks{size: nameSize, width: 0.42 * unit, height: 0.42 * unit}
	if m.Plain {
		return k
	}
	longest := ""
	names := make([]string, len(l.Places))
	for s := range names {
		names[s] = shortName(m.graph(), topology.SwitchID(s))
		if wide(names[s], nameSize) > wide(longest, nameSize) {
			longest = names[s]
		}
	}
	width := wide(longest, nameSize)
	switch l.Shape {
	case topology.Circle:
		k.outside = true
		k.size = min(nameSize, 0.85*unit)
	case topology.Levels:
		if width+5 <= 0.92*unit {
			k.width, k.height = max(k.width, width+5), max(14, min(0.42*unit, 22))
		} else {
			k.upright = true
			k.size = min(nameSize, 0.75*unit)
			k.width, k.height = min(0.85*unit, k.size+4), wide(longest, k.size)+6
		}
	default:
		room := 0.8 * unit
		if width+3 > room {
			k.size = nameSize * (room - 3) / width
		}
		k.width, k.height = max(k.width, wide(longest, k.size)+3), max(k.height, min(k.size+3, 0.8*unit))
	}
	if k.size >= leastSize {
		k.names = names
	} else {
		k.width, k.height, k.upright, k.outside = 0.5*unit, 0.5*unit, false, false
	}
	return k
}

// frames draws the groups and planes, and returns their names, which come on top.
func (m *Map) frames(p *Picture, l *topology.Layout, at func(topology.Place) topology.Place, unit float64) (names []shape) {
	for _, f := range l.Frames {
		c := at(f.Center)
		if f.Radius > 0 {
			p.add(shape{form: disc, x: c.X, y: c.Y, width: f.Radius * unit, fill: pale})
		} else {
			p.add(shape{form: box, x: c.X - f.Width*unit/2, y: c.Y - f.Height*unit/2, width: f.Width * unit, height: f.Height * unit, fill: pale})
		}
		if m.Plain {
			continue
		}
		switch size := min(nameSize, 0.6*unit); {
		case f.Radius == 0:
			names = append(names, shape{form: words, x: c.X - f.Width*unit/2, y: c.Y - f.Height*unit/2 - 3, size: size, anchor: "start", text: f.Name, fill: faint})
		case f.Radius > 1 && wide(f.Name, size) < 2*(f.Radius-0.5)*unit:
			names = append(names, shape{form: words, x: c.X, y: c.Y + size/3, size: size, anchor: "middle", text: f.Name, fill: ink, halo: true})
		}
	}
	return names
}
