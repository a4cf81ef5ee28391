package topology

import "math"

// Place is a point of a layout. Neighbours are a distance of about 1 apart; y grows
// downwards.
type Place struct{ X, Y float64 }

// Frame is a part of a layout that has a name, such as a group or a plane: the
// circle around Center, or the rectangle, that the switches of it lie in.
type Frame struct {
	Name   string
	Center Place
	Radius float64 // of a circle; 0: a rectangle of Width and Height
	Width  float64
	Height float64
}

// Shape says how the switches of a layout stand, and so where their names have room.
type Shape int

// Shapes of layouts.
const (
	Rows   Shape = iota // at the crossings of a grid
	Levels              // in levels above one another
	Rings               // on a ring for each group
	Circle              // all on one circle
)

// Layout is where the switches of a network stand in a picture.
type Layout struct {
	Shape  Shape
	Places []Place // len = switches
	Frames []Frame
	// Plane parts the switches into pictures of their own: cables between
	// planes are not drawn. nil: one plane. len = switches.
	Plane []int
	// Longest is the length from which on a cable is drawn as a stub at each of
	// its ends, as those that close the rings of a torus; 0: all are whole.
	Longest float64
	How     string // explains the picture, in a sentence
}

// LaidOut is the capability of topologies that know how they are best drawn.
type LaidOut interface {
	Topology
	// Layout places every switch.
	Layout() *Layout
}

// LayoutOf places the switches of any topology: as the family says if it is
// [LaidOut]; groups as rings on a circle; grids by their coordinates; trees, and
// networks whose cables lead from level to level away from the terminals, in
// levels; all others on a circle, in an order that keeps cables short. Cost: linear
// in the number of cables, times the number of levels.
func LayoutOf(t Topology) *Layout {
	switch t := t.(type) {
	case LaidOut:
		return t.Layout()
	case Grouped:
		return layGroups(t)
	case Grid:
		return layGrid(t)
	case Tree:
		levels := make([]int, t.Graph().Switches())
		for s := range levels {
			levels[s] = t.LevelOf(SwitchID(s))
		}
		return layLevels(t.Graph(), levels)
	}
	if levels := levelsFromTerminals(t.Graph()); levels != nil {
		return layLevels(t.Graph(), levels)
	}
	return layCircle(t.Graph())
}

// circleRadius is the radius of a circle on which n places are a distance apart; 0 for one.
func circleRadius(n int, distance float64) float64 {
	if n < 2 {
		return 0
	}
	return distance / (2 * math.Sin(math.Pi/float64(n)))
}

// onCircle is place i of n, the first at the top, clockwise.
func onCircle(center Place, radius float64, i, n int) Place {
	angle := 2*math.Pi*float64(i)/float64(n) - math.Pi/2
	return Place{center.X + radius*math.Cos(angle), center.Y + radius*math.Sin(angle)}
}

// layGroups draws each group as a ring; the rings stand on a circle by number.
func layGroups(t Grouped) *Layout {
	g := t.Graph()
	l := &Layout{Shape: Rings, Places: make([]Place, g.Switches()), How: "Groups in a circle, their switches in rings."}
	members := make([][]SwitchID, t.Groups())
	largest := 0
	for s := range SwitchID(g.Switches()) {
		group := t.GroupOf(s)
		members[group] = append(members[group], s)
		largest = max(largest, len(members[group]))
	}
	const gap = 1.5 // between groups
	radius := circleRadius(largest, 1)
	outer := circleRadius(len(members), 2*radius+gap)
	for group, switches := range members {
		center := onCircle(Place{}, outer, group, len(members))
		l.Frames = append(l.Frames, Frame{Name: "group " + itoa(group), Center: center, Radius: radius + 0.5})
		for i, s := range switches {
			l.Places[s] = onCircle(center, circleRadius(len(switches), 1), i, len(switches))
		}
	}
	return l
}

// layGrid draws switches at their coordinates: a single ring as a circle, more than
// two dimensions as planes of the first two.
func layGrid(t Grid) *Layout {
	dims := t.Dims()
	columns, rows := dims[0], 1
	if len(dims) > 1 {
		rows = dims[1]
	}
	n := t.Graph().Switches()
	l := &Layout{Shape: Rows, Places: make([]Place, n), Longest: 1.5, How: "Switches at their coordinates; cables that close a ring are cut."}
	if n == columns && t.Wraps(0) && n > 2 {
		l.Shape, l.Longest, l.How = Circle, 0, "Switches on their ring."
		for s := range l.Places {
			l.Places[s] = onCircle(Place{}, circleRadius(n, 1), t.Coordinate(SwitchID(s), 0), n)
		}
		return l
	}
	planes := n / (columns * rows)
	across := max(1, int(math.Round(math.Sqrt(float64(planes)*float64(rows+1)/float64(columns+1)))))
	if planes > 1 {
		l.Plane = make([]int, n)
		l.How = "The planes of the first two dimensions; cables between planes are not drawn, those that close a ring are cut."
	}
	corner := func(plane int) Place { // of coordinates 0, 0 of a plane: lower left
		return Place{float64(plane % across * (columns + 1)), float64(plane/across*(rows+1) + rows - 1)}
	}
	for s := range l.Places {
		plane := 0
		for d := len(dims) - 1; d >= 2; d-- {
			plane = plane*dims[d] + t.Coordinate(SwitchID(s), d)
		}
		y := 0
		if len(dims) > 1 {
			y = t.Coordinate(SwitchID(s), 1)
		}
		at := corner(plane)
		l.Places[s] = Place{at.X + float64(t.Coordinate(SwitchID(s), 0)), at.Y - float64(y)}
		if l.Plane != nil {
			l.Plane[s] = plane
		}
	}
	for plane := range planes {
		if planes == 1 {
			break
		}
		name, rest := "", plane
		for d := 2; d < len(dims); d++ {
			name += "," + itoa(rest%dims[d])
			rest /= dims[d]
		}
		at := corner(plane)
		l.Frames = append(l.Frames, Frame{
			Name: "plane " + name[1:], Width: float64(columns-1) + 0.96, Height: float64(rows-1) + 0.96,
			Center: Place{at.X + float64(columns-1)/2, at.Y - float64(rows-1)/2},
		})
	}
	return l
}

// layCircle draws all switches on one circle, in the order of Cuthill and McKee
// (ACM National Conference 1969): breadth-first from a switch of least degree,
// neighbours by their degree, which keeps those with a cable near each other.
func layCircle(g *Graph) *Layout {
	n := g.Switches()
	l := &Layout{Shape: Circle, Places: make([]Place, n), How: "Switches in a circle, neighbours near each other."}
	for i, s := range cuthillMcKee(g) {
		l.Places[s] = onCircle(Place{}, circleRadius(n, 1), i, n)
	}
	return l
}
