package netmap

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
)

// drawing is a picture under way.
type drawing struct {
	*Map
	picture *Picture
	layout  *topology.Layout
	at      []topology.Place // of the switches, in points
	unit    float64
	marks   marks
}

// classColours tell the classes of cables apart (Okabe and Ito, 2008).
var classColours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// apart tells whether a link leads to another plane, where it is not drawn.
func (d *drawing) apart(l link) bool {
	return d.layout.Plane != nil && d.layout.Plane[l.from] != d.layout.Plane[l.to]
}

// pieces are the lines that a link is drawn as: itself, or a stub at each end.
func (d *drawing) pieces(l link) [][2]topology.Place {
	a, b := d.at[l.from], d.at[l.to]
	length := math.Hypot(b.X-a.X, b.Y-a.Y)
	if d.layout.Longest == 0 || length < d.layout.Longest*d.unit {
		return [][2]topology.Place{{a, b}}
	}
	// Out of the edge, away from the other end.
	ux, uy := (a.X-b.X)/length*0.48*d.unit, (a.Y-b.Y)/length*0.48*d.unit
	return [][2]topology.Place{{a, {X: a.X + ux, Y: a.Y + uy}}, {{X: b.X - ux, Y: b.Y - uy}, b}}
}

// loaded draws both directions of every link, and the switches, by their loads.
func (d *drawing) loaded(links []link) {
	g := d.graph()
	hottest := make([]float64, g.Switches())
	for s := range hottest {
		hottest[s] = d.atTerminals(topology.SwitchID(s))
	}
	thickness := max(0.5, min(0.12*d.unit, 3.5))
	if len(links) > 400 {
		thickness = max(0.4, min(0.06*d.unit, 1.5))
	}
	for _, l := range links {
		if d.apart(l) {
			hottest[l.from] = max(hottest[l.from], l.load)
			continue
		}
		for _, piece := range d.pieces(l) {
			a, b := piece[0], piece[1]
			length := math.Hypot(b.X-a.X, b.Y-a.Y)
			shift := thickness * 0.6
			dx, dy := -(b.Y-a.Y)/length*shift, (b.X-a.X)/length*shift
			d.picture.load(shape{form: line, x: a.X + dx, y: a.Y + dy, x2: b.X + dx, y2: b.Y + dy, thickness: thickness},
				g.SwitchName(l.from)+" to "+g.SwitchName(l.to), l.load)
		}
	}
	for s, at := range d.at {
		w, h := d.marks.width, d.marks.height
		d.picture.add(shape{form: box, x: at.X - w/2 - 1, y: at.Y - h/2 - 1, width: w + 2, height: h + 2, fill: paper})
		d.picture.load(shape{form: box, x: at.X - w/2, y: at.Y - h/2, width: w, height: h}, g.SwitchName(topology.SwitchID(s)), hottest[s])
	}
}

// plain draws cables by their class, and switches.
func (d *drawing) plain(links []link) {
	g := d.graph()
	thin := 1.1
	if len(links) > 800 {
		thin = 0.5
	}
	for _, l := range links {
		if l.from > l.to || d.apart(l) {
			continue
		}
		title := g.SwitchName(l.from) + " to " + g.SwitchName(l.to)
		if l.cables > 1 {
			title += fmt.Sprintf(", %d cables", l.cables)
		}
		for _, piece := range d.pieces(l) {
			a, b := piece[0], piece[1]
			d.picture.add(shape{form: line, x: a.X, y: a.Y, x2: b.X, y2: b.Y, title: title,
				thickness: thin * (1 + 0.5*float64(min(l.cables, 8)-1)), stroke: classColours[int(l.class)%len(classColours)]})
		}
	}
	terminals := make([]int, g.Switches())
	for t := range topology.TerminalID(g.Terminals()) {
		terminals[g.TerminalSwitch(t)]++
	}
	for s, at := range d.at {
		w, h := d.marks.width, d.marks.height
		fill := paper
		if terminals[s] > 0 {
			fill = "#dbe9f6" // has terminals
		}
		d.picture.add(shape{form: box, x: at.X - w/2, y: at.Y - h/2, width: w, height: h, fill: fill, stroke: faint, thickness: 0.7,
			title: fmt.Sprintf("%s: %d terminals", g.SwitchName(topology.SwitchID(s)), terminals[s])})
	}
}

// names writes the switches' names; center is that of the circle.
func (d *drawing) names(center topology.Place) {
	k := d.marks
	for s, name := range k.names {
		at := d.at[s]
		w := shape{form: words, x: at.X, y: at.Y + k.size*0.35, size: k.size, anchor: "middle", text: name, fill: ink, halo: d.Loads != nil}
		switch {
		case k.upright:
			w.x, w.y, w.angle = at.X+k.size*0.35, at.Y, -90
		case k.outside:
			dx, dy := at.X-center.X, at.Y-center.Y
			length := max(1, math.Hypot(dx, dy))
			away := k.width/2*1.42 + 3
			w.angle = math.Atan2(dy, dx) * 180 / math.Pi
			w.x, w.y, w.anchor = at.X+dx/length*away, at.Y+dy/length*away, "start"
			if dx < 0 { // read from the outside
				w.angle, w.anchor = w.angle+180, "end"
			}
			// Half a letter across the direction of reading.
			turn := w.angle * math.Pi / 180
			w.x, w.y = w.x-math.Sin(turn)*k.size*0.35, w.y+math.Cos(turn)*k.size*0.35
		}
		d.picture.add(w)
	}
}

// legend names the classes of cables, and what there is.
func (m *Map) legend(p *Picture, links []link) {
	g := m.graph()
	used := make([]bool, len(g.Classes))
	for _, l := range links {
		used[l.class] = true
	}
	x := 10.0
	word := func(text, colour string) {
		p.key = append(p.key, shape{form: words, x: x, y: 24, size: 11, anchor: "start", text: text, fill: colour})
		x += wide(text, 11) + 14
	}
	word(fmt.Sprintf("%d switches, %d terminals, %d cables between switches", g.Switches(), g.Terminals(), g.SwitchLinks()), ink)
	for i, class := range g.Classes {
		if used[i] {
			p.key = append(p.key, shape{form: line, x: x, y: 20, x2: x + 22, y2: 20, thickness: 2, stroke: classColours[i%len(classColours)]})
			x += 27
			word(class.Name, ink)
		}
	}
	p.Width = max(p.Width, x)
}
