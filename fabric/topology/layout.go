package topology

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/sim/lists"
)

// Place is a point of a layout. Neighbours are a distance of about 1 apart; y grows downwards.
type Place struct{ X, Y float64 }

// Frame is a named part of a layout, such as a group or a plane: the circle around Center, or the
// rectangle, around its switches.
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
	// Plane parts switches into pictures, without cables between them; nil: one. len = switches.
	Plane []int
	// Longest is the length from which cables are drawn as stubs at both ends, such as those that
	// close a torus's rings; 0: all whole.
	Longest float64
	How     string // explains the picture, in a sentence
}

// LaidOut is the capability of topologies that know how they are best drawn.
type LaidOut interface {
	Topology
	// Layout places every switch.
	Layout() *Layout
}

// LayoutOf places the switches of any topology: as the family says if it is [LaidOut]; groups as
// rings on a circle; grids by their coordinates; trees, and networks whose cables lead from level
// to level away from the terminals, in levels; all others on a circle, in an order that keeps
// cables short. Cost: linear in the number of cables, times the number of levels.
func LayoutOf(t Topology) *Layout {
	switch t := t.(type) {
	case LaidOut:
		return t.Layout()
	case Grouped:
		return RingsOf(t.Graph(), t.Groups(), t.GroupOf, "group ", "Groups in a circle, their switches in rings.")
	case Grid:
		return layGrid(t)
	case Tree:
		return layLevels(t.Graph(), lists.Make(t.Graph().Switches(), func(s int) int { return t.LevelOf(SwitchID(s)) }))
	}
	if levels := levelsFromTerminals(t.Graph()); levels != nil {
		return layLevels(t.Graph(), levels)
	}
	// In the order of Cuthill and McKee (ACM National Conference 1969): breadth-first from a switch of
	// least degree, neighbours by degree, which keeps cables short.
	n := t.Graph().Switches()
	order := inverse(cuthillMcKee(t.Graph()), n)
	return Placed(Circle, n, "Switches in a circle, neighbours near each other.", func(s int) Place { return OnCircle(Place{}, CircleRadius(n, 1), order[s], n) })
}

// Placed is a layout of n switches; place says where each stands.
func Placed(shape Shape, n int, how string, place func(s int) Place) *Layout {
	return &Layout{Shape: shape, Places: lists.Make(n, place), How: how}
}

// CircleRadius is the radius of a circle on which n places are a distance apart; 0 for one.
func CircleRadius(n int, distance float64) float64 {
	if n < 2 {
		return 0
	}
	return distance / (2 * math.Sin(math.Pi/float64(n)))
}

// OnCircle is place i of n, the first at the top, clockwise.
func OnCircle(center Place, radius float64, i, n int) Place {
	angle := 2*math.Pi*float64(i)/float64(n) - math.Pi/2
	return Place{center.X + radius*math.Cos(angle), center.Y + radius*math.Sin(angle)}
}

// RingsOf draws each group as a ring; the rings stand on a circle by number, which ends their
// names.
func RingsOf(g *Graph, groups int, of func(s SwitchID) int, name, how string) *Layout {
	l := &Layout{Shape: Rings, Places: make([]Place, g.Switches()), How: how}
	members := make([][]SwitchID, groups)
	largest := 0
	for s := range SwitchID(g.Switches()) {
		group := of(s)
		members[group] = append(members[group], s)
		largest = max(largest, len(members[group]))
	}
	const gap = 1.5 // between groups
	radius := CircleRadius(largest, 1)
	outer := CircleRadius(len(members), 2*radius+gap)
	for group, switches := range members {
		center := OnCircle(Place{}, outer, group, len(members))
		l.Frames = append(l.Frames, Frame{Name: name + strconv.Itoa(group), Center: center, Radius: radius + 0.5})
		for i, s := range switches {
			l.Places[s] = OnCircle(center, CircleRadius(len(switches), 1), i, len(switches))
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
	if n == columns && t.Wraps(0) && n > 2 {
		return Placed(Circle, n, "Switches on their ring.", func(s int) Place { return OnCircle(Place{}, CircleRadius(n, 1), t.Coordinate(SwitchID(s), 0), n) })
	}
	l := &Layout{Shape: Rows, Places: make([]Place, n), Longest: 1.5, How: "Switches at their coordinates; cables that close a ring are cut."}
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
			name += "," + strconv.Itoa(rest%dims[d])
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

// levelsFromTerminals finds the levels of a network that is drawn best in levels:
// the number of cables to the next leaf. Leaves are the switches with terminals,
// or, where hosts hang from the upper levels too, those most of whose ports lead to
// terminals. nil: there is one level, or too many cables do not lead to the next one.
func levelsFromTerminals(g *Graph) []int {
	down := g.TerminalCounts()
	for _, isLeaf := range []func(s int) bool{
		func(s int) bool { return down[s] > 0 },
		func(s int) bool { return 2*down[s] >= g.Degree(SwitchID(s)) },
	} {
		leaves := lists.Filter(Numbers[SwitchID](len(down)), func(s SwitchID) bool { return isLeaf(int(s)) })
		if levels := levelsAbove(g, leaves); levels != nil {
			return levels
		}
	}
	return nil
}

// levelsAbove are the distances from the leaves; nil if they do not make levels.
func levelsAbove(g *Graph, leaves []SwitchID) []int {
	levels := make([]int, g.Switches())
	distance := g.Neighbors().DistancesFromAny(leaves)
	if slices.Contains(distance, Unreachable) {
		return nil
	}
	for s, d := range distance {
		levels[s] = int(d)
	}
	if slices.Max(levels) == 0 {
		return nil
	}
	const most = 20 // one cable in so many may stay on its level
	within, all := 0, 0
	g.eachLink(func(p, peer PortID) {
		all++
		if levels[g.PortSwitch[p]] == levels[g.PortSwitch[peer]] {
			within++
		}
	})
	if most*within > all {
		return nil
	}
	return levels
}

// layLevels draws levels above one another, leaves at the bottom: each part that hangs together
// below a level stands below its switches of that level.
func layLevels(g *Graph, levels []int) *Layout {
	l := &Layout{Shape: Levels, Places: make([]Place, g.Switches()), How: "Leaf switches at the bottom, roots at the top."}
	p := &levelPlacer{g.Neighbors(), levels, l.Places, make([]int16, g.Switches())}
	top := slices.Max(levels)
	width := p.place(Numbers[SwitchID](g.Switches()), top)
	height := max(2.5, 0.2*width)
	for s := range l.Places {
		l.Places[s].Y = height * float64(top-levels[s])
	}
	return l
}

// levelPlacer gives switches their places along the levels.
type levelPlacer struct {
	neighbors *Neighbors
	levels    []int
	places    []Place
	part      []int16 // of each switch: unreachable while the part that it is in has to be found
}

// place gives the switches of a part, none above a level, x from 0 on, and returns its width.
func (p *levelPlacer) place(part []SwitchID, level int) (width float64) {
	var top, below []SwitchID
	for _, s := range part {
		if p.levels[s] == level {
			top = append(top, s)
		} else {
			below = append(below, s)
		}
	}
	if len(below) > 0 {
		parts := p.divide(below)
		gap := 0.0
		if len(parts[0]) > 1 {
			gap = 0.7
		}
		for i, child := range parts {
			if i > 0 {
				width += gap
			}
			wide := p.place(child, level-1)
			p.move(child, width)
			width += wide
		}
	}
	if need := float64(len(top)); need > width {
		p.move(below, (need-width)/2)
		width = need
	}
	for i, s := range top {
		p.places[s].X = width*(float64(i)+0.5)/float64(len(top)) - 0.5
	}
	return width
}

func (p *levelPlacer) move(part []SwitchID, by float64) {
	for _, s := range part {
		p.places[s].X += by
	}
}

func (p *levelPlacer) divide(switches []SwitchID) [][]SwitchID {
	for _, s := range switches {
		p.part[s] = Unreachable // not found yet
	}
	var parts [][]SwitchID
	for _, s := range switches {
		if p.part[s] == Unreachable {
			members := p.neighbors.search(p.part, []SwitchID{s})
			slices.Sort(members)
			parts = append(parts, members)
		}
	}
	return parts
}

// cuthillMcKee orders switches breadth-first from one of least degree in each part, neighbours by
// degree.
func cuthillMcKee(g *Graph) []SwitchID {
	n := g.Neighbors()
	byDegree := func(a, b SwitchID) int {
		return cmp.Or(cmp.Compare(len(n.Of(a)), len(n.Of(b))), cmp.Compare(a, b))
	}
	starts := Numbers[SwitchID](g.Switches())
	slices.SortFunc(starts, byDegree)
	seen := make([]bool, g.Switches())
	order := make([]SwitchID, 0, g.Switches())
	for _, start := range starts {
		if seen[start] {
			continue
		}
		seen[start] = true
		order = append(order, start)
		for i := len(order) - 1; i < len(order); i++ {
			var next []SwitchID
			for _, t := range n.Of(order[i]) {
				if !seen[t] {
					seen[t] = true
					next = append(next, t)
				}
			}
			slices.SortFunc(next, byDegree)
			order = append(order, next...)
		}
	}
	return order
}
