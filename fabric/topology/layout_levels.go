package topology

import (
	"cmp"
	"slices"
	"strconv"
)

func itoa(n int) string { return strconv.Itoa(n) }

// levelsFromTerminals finds the levels of a network that is drawn best in levels:
// the number of cables to the next leaf. Leaves are the switches with terminals,
// or, where hosts hang from the upper levels too, those most of whose ports lead to
// terminals. nil: there is one level, or too many cables do not lead to the next one.
func levelsFromTerminals(g *Graph) []int {
	down := make([]int, g.Switches()) // ports to terminals
	for _, p := range g.TerminalPort {
		down[g.PortSwitch[p]]++
	}
	n := g.Neighbors()
	for _, isLeaf := range []func(s SwitchID) bool{
		func(s SwitchID) bool { return down[s] > 0 },
		func(s SwitchID) bool { return 2*down[s] >= g.Degree(s) },
	} {
		if levels := levelsAbove(g, n, isLeaf); levels != nil {
			return levels
		}
	}
	return nil
}

// levelsAbove are the distances from the leaves; nil if they do not make levels.
func levelsAbove(g *Graph, n *Neighbors, isLeaf func(s SwitchID) bool) []int {
	levels := make([]int, g.Switches())
	var queue []SwitchID
	for s := range SwitchID(g.Switches()) {
		levels[s] = -1
		if isLeaf(s) {
			levels[s] = 0
			queue = append(queue, s)
		}
	}
	for i := 0; i < len(queue); i++ {
		for _, t := range n.Of(queue[i]) {
			if levels[t] < 0 {
				levels[t] = levels[queue[i]] + 1
				queue = append(queue, t)
			}
		}
	}
	if len(queue) < g.Switches() || slices.Max(levels) == 0 {
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

// layLevels draws levels above one another, the leaves at the bottom: each part
// that hangs together below a level stands below the switches of that level which
// it has cables to.
func layLevels(g *Graph, levels []int) *Layout {
	l := &Layout{Shape: Levels, Places: make([]Place, g.Switches()), How: "Leaf switches at the bottom, roots at the top."}
	all := make([]SwitchID, g.Switches())
	for s := range all {
		all[s] = SwitchID(s)
	}
	p := &levelPlacer{g.Neighbors(), levels, l.Places, make([]int, g.Switches())}
	top := slices.Max(levels)
	width := p.place(all, top)
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
	part      []int // of each switch, while a part is divided; 0: in none
}

// place gives the switches of a part, none above a level, their x from 0, and
// returns how wide it is.
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

// divide finds the parts of some switches that hang together, by their lowest
// number.
func (p *levelPlacer) divide(switches []SwitchID) [][]SwitchID {
	for _, s := range switches {
		p.part[s] = -1 // not found yet
	}
	var parts [][]SwitchID
	for _, s := range switches {
		if p.part[s] > 0 {
			continue
		}
		p.part[s] = len(parts) + 1
		members := []SwitchID{s}
		for i := 0; i < len(members); i++ {
			for _, t := range p.neighbors.Of(members[i]) {
				if p.part[t] < 0 {
					p.part[t] = len(parts) + 1
					members = append(members, t)
				}
			}
		}
		slices.Sort(members)
		parts = append(parts, members)
	}
	for _, s := range switches {
		p.part[s] = 0
	}
	return parts
}

// cuthillMcKee orders switches breadth-first, from one of least degree in each
// part that hangs together, neighbours by their degree.
func cuthillMcKee(g *Graph) []SwitchID {
	n := g.Neighbors()
	byDegree := func(a, b SwitchID) int {
		return cmp.Or(cmp.Compare(len(n.Of(a)), len(n.Of(b))), cmp.Compare(a, b))
	}
	starts := make([]SwitchID, g.Switches())
	for s := range starts {
		starts[s] = SwitchID(s)
	}
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
