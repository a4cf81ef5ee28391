package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
)

// pictureWidth is the width of pictures in their own units; the page scales
// them.
const pictureWidth = 640

// matrix draws groups against groups.
func (v *view) matrix(t topology.Grouped) template.HTML {
	n := t.Groups()
	hottest := make([]float64, n*n) // from*n + to
	for _, l := range v.links() {
		i := t.GroupOf(l.from)*n + t.GroupOf(l.to)
		hottest[i] = max(hottest[i], l.load)
	}
	c := v.canvas()
	const margin = 40
	cell := float64(pictureWidth-margin-10) / float64(n)
	gap := 0.0
	if cell > 5 {
		gap = 1
	}
	for from := range n {
		for to := range n {
			c.box(margin+cell*float64(to), margin+cell*float64(from), cell-gap, cell-gap, hottest[from*n+to], fmt.Sprintf("group %d to %d", from, to))
		}
	}
	c.text(margin, 12, "start", "to group")
	c.text(2, margin-6, "start", "from")
	for step, i := max(1, (n+9)/10), 0; i < n; i += step {
		centre := margin + cell*(float64(i)+0.5)
		c.text(centre, margin-6, "middle", fmt.Sprint(i))
		c.text(margin-6, centre+4, "end", fmt.Sprint(i))
	}
	return c.finish(pictureWidth, float64(pictureWidth))
}

// position is the centre of a switch.
type position struct{ x, y float64 }

// segment draws a directed link between two points, moved to the right of its
// direction so that both directions show.
func (v *view) segment(c *canvas, a, b position, thickness float64, l link) {
	length := math.Hypot(b.x-a.x, b.y-a.y)
	shift := thickness * 0.6
	dx, dy := -(b.y-a.y)/length*shift, (b.x-a.x)/length*shift
	c.line(a.x+dx, a.y+dy, b.x+dx, b.y+dy, thickness, l.load, v.graph.SwitchName(l.from)+" to "+v.graph.SwitchName(l.to))
}

// square draws a switch.
func (v *view) square(c *canvas, s topology.SwitchID, at position, side, load float64) {
	fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" fill="#ffffff" />`+"\n",
		num(at.x-side/2-1), num(at.y-side/2-1), num(side+2), num(side+2))
	c.box(at.x-side/2, at.y-side/2, side, side, load, v.graph.SwitchName(s))
}

// grid draws planes of the first two dimensions.
func (v *view) grid(t topology.Grid, links []link) template.HTML {
	dims := t.Dims()
	columns, rows := dims[0], 1
	if len(dims) > 1 {
		rows = dims[1]
	}
	planes := v.graph.Switches() / (columns * rows)
	across := max(1, int(math.Round(math.Sqrt(float64(planes)*float64(rows+1)/float64(columns+1)))))
	down := (planes + across - 1) / across
	pitch := float64(pictureWidth) / float64(across*(columns+1))
	pitch = min(pitch, 80)
	thickness, side := pitch*0.12, pitch*0.4
	plane := func(s topology.SwitchID) int {
		index := 0
		for d := len(dims) - 1; d >= 2; d-- {
			index = index*dims[d] + t.Coordinate(s, d)
		}
		return index
	}
	at := func(s topology.SwitchID) position {
		x, y := t.Coordinate(s, 0), 0
		if len(dims) > 1 {
			y = t.Coordinate(s, 1)
		}
		k := plane(s)
		return position{
			pitch * (float64(k%across*(columns+1)+x) + 1),
			pitch * (float64(k/across*(rows+1)+rows-1-y) + 1), // coordinate 0 at the bottom
		}
	}
	c := v.canvas()
	square := make([]float64, v.graph.Switches())
	for s := range square {
		square[s] = v.atTerminals(topology.SwitchID(s))
	}
	for _, l := range links {
		if plane(l.from) != plane(l.to) {
			square[l.from] = max(square[l.from], l.load)
			continue
		}
		a, b := at(l.from), at(l.to)
		if math.Hypot(a.x-b.x, a.y-b.y) < 1.5*pitch {
			v.segment(c, a, b, thickness, l)
			continue
		}
		// The cable that closes a ring: a stub out of the edge at each end.
		ux, uy := sign(a.x-b.x), sign(a.y-b.y)
		v.segment(c, a, position{a.x + ux*pitch*0.48, a.y + uy*pitch*0.48}, thickness, l)
		v.segment(c, position{b.x - ux*pitch*0.48, b.y - uy*pitch*0.48}, b, thickness, l)
	}
	for s := range square {
		v.square(c, topology.SwitchID(s), at(topology.SwitchID(s)), side, square[s])
	}
	return c.finish(pitch*float64(across*(columns+1)), pitch*float64(down*(rows+1)))
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// tree draws levels above one another.
func (v *view) tree(t topology.Tree, links []link) template.HTML {
	const height = 130 // of a level
	levels := make([][]topology.SwitchID, t.Levels())
	for s := range topology.SwitchID(v.graph.Switches()) {
		level := t.LevelOf(s)
		levels[level] = append(levels[level], s)
	}
	at := make([]position, v.graph.Switches())
	widest := 1
	for level, switches := range levels {
		widest = max(widest, len(switches))
		for i, s := range switches {
			at[s] = position{pictureWidth * (float64(i) + 0.5) / float64(len(switches)), height*float64(len(levels)-1-level) + 20}
		}
	}
	pitch := float64(pictureWidth) / float64(widest)
	return v.net(at, links, min(pitch*0.15, 3), min(pitch*0.6, 14), float64(height*(len(levels)-1)+40))
}

// circle draws switches on a circle.
func (v *view) circle(links []link) template.HTML {
	n := v.graph.Switches()
	at := make([]position, n)
	for s := range at {
		angle := 2*math.Pi*float64(s)/float64(n) - math.Pi/2
		at[s] = position{pictureWidth/2 + 290*math.Cos(angle), pictureWidth/2 + 290*math.Sin(angle)}
	}
	pitch := 2 * math.Pi * 290 / float64(n)
	return v.net(at, links, min(pitch*0.15, 3), min(pitch*0.6, 14), pictureWidth)
}

// net draws switches at given places.
func (v *view) net(at []position, links []link, thickness, side, height float64) template.HTML {
	c := v.canvas()
	for _, l := range links {
		v.segment(c, at[l.from], at[l.to], max(thickness, 0.4), l)
	}
	for s := range at {
		v.square(c, topology.SwitchID(s), at[s], side, v.atTerminals(topology.SwitchID(s)))
	}
	return c.finish(pictureWidth, height)
}
