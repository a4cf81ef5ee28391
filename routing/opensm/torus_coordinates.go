package opensm

import (
	"fmt"
	"iter"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/sim/lists"
)

type point [3]int

// torusGrid is where a torus's switches are; positions may lack one, and neighbours a cable.
type torusGrid struct {
	size  [3]int
	wraps [3]bool
	at    []point // len = nodes
	node  []int32 // by index; -1 where no switch is
}

func newTorusGrid(size [3]int, wraps [3]bool, nodes int) *torusGrid {
	return &torusGrid{size, wraps, make([]point, nodes), slices.Repeat([]int32{-1}, size[0]*size[1]*size[2])}
}

func (g *torusGrid) put(n int, at point) { g.at[n], g.node[g.index(at)] = at, int32(n) }

func (g *torusGrid) index(p point) int { return (p[0]*g.size[1]+p[1])*g.size[2] + p[2] }

func (g *torusGrid) wrap(p point) point {
	for d := range p {
		if g.wraps[d] {
			p[d] = modulo(p[d], g.size[d])
		}
	}
	return p
}

// near is the position next to p in a direction (2*dimension, +1 for down), even beyond a mesh's
// edge.
func (g *torusGrid) near(p point, direction int) point {
	p[direction/2] += 1 - 2*(direction%2)
	return g.wrap(p)
}

// around are the positions next to p, by direction.
func (g *torusGrid) around(p point) iter.Seq2[int, point] {
	return func(yield func(int, point) bool) {
		for direction := range 6 {
			if !yield(direction, g.near(p, direction)) {
				return
			}
		}
	}
}

// modulo is the remainder that is not negative.
func modulo(a, n int) int { return (a%n + n) % n }

// placer finds the coordinates of the switches from the cables around one of them.
type placer struct {
	*torusGrid // at: relative to the seed
	s          *Subnet
	c          *TorusConfig
	neighbors  [][]int32 // of each node, ascending, each once
	placed     map[point]int32
	known      []bool
}

// place gives every switch its coordinates. It starts from the seed and the neighbours that the
// configuration names and goes on by two rules until nothing is left: of a square of which three
// corners are known, the fourth is the only other switch that both its neighbours are cabled to;
// and where all neighbours of a switch but one are known, that one lies in the only direction that
// is free. Positions are relative to the seed, modulo the size where a dimension is a ring.
func (s *Subnet) place(c *TorusConfig) (*torusGrid, error) {
	p := placer{torusGrid: newTorusGrid(c.Size, c.Wraps, len(s.Switches)), s: s, c: c, placed: map[point]int32{}, known: make([]bool, len(s.Switches))}
	for n := range s.nodes() {
		peers := lists.Map(s.links(n), func(l Link) int32 { return l.Peer })
		slices.Sort(peers)
		p.neighbors = append(p.neighbors, slices.Compact(peers))
	}
	if err := p.seed(); err != nil {
		return nil, err
	}
	for progress := true; progress; {
		progress = p.squares()
		progress = p.lines() || progress
	}
	return p.grid()
}

func (p *placer) set(n int32, at point) error {
	at = p.wrap(at)
	switch other, taken := p.placed[at]; {
	case p.known[n] && p.at[n] != at:
		return fmt.Errorf("switch %s would be at %v and at %v of the torus", p.s.Graph.SwitchName(p.s.Switches[n]), p.at[n], at)
	case taken && other != n:
		return fmt.Errorf("switches %s and %s would both be at %v of the torus", p.s.Graph.SwitchName(p.s.Switches[n]), p.s.Graph.SwitchName(p.s.Switches[other]), at)
	}
	p.known[n], p.at[n], p.placed[at] = true, at, n
	return nil
}

// seed places the switches of the configuration's links.
func (p *placer) seed() error {
	byGUID := ib.NewIdentities(p.s.Names).Switches
	center := int32(-1)
	for direction, links := range p.c.Links {
		for _, link := range links {
			a, known := byGUID[topology.GUID(link[0])]
			b, alsoKnown := byGUID[topology.GUID(link[1])]
			if !known || !alsoKnown {
				return fmt.Errorf("%s 0x%x 0x%x: no such switch", torusLinks[direction], link[0], link[1])
			}
			from, to := p.s.Node[a], p.s.Node[b]
			if !slices.Contains(p.neighbors[from], to) {
				return fmt.Errorf("%s 0x%x 0x%x: no cable joins them", torusLinks[direction], link[0], link[1])
			}
			if center < 0 {
				center = from
				if err := p.set(from, point{}); err != nil {
					return err
				}
			}
			if from != center {
				return fmt.Errorf("%s 0x%x: links of another switch than 0x%x: several seeds are not modelled", torusLinks[direction], link[0], p.s.guid(center))
			}
			if err := p.set(to, p.near(point{}, direction)); err != nil {
				return err
			}
		}
	}
	if center < 0 {
		return fmt.Errorf("the configuration names no link of a seed switch")
	}
	return nil
}

// squares places fourth corners.
func (p *placer) squares() (progress bool) {
	for n := range p.s.nodes() {
		if !p.known[n] {
			continue
		}
		for d := range 3 {
			for e := d + 1; e < 3; e++ {
				for sign := range 4 {
					one, other := 2*d+sign&1, 2*e+sign>>1
					a, okA := p.placed[p.near(p.at[n], one)]
					b, okB := p.placed[p.near(p.at[n], other)]
					if !okA || !okB || a == b {
						continue
					}
					at := p.near(p.near(p.at[n], one), other)
					if _, done := p.placed[at]; done {
						continue
					}
					if corner := p.onlyCommon(a, b, n); corner >= 0 && p.set(corner, at) == nil {
						progress = true
					}
				}
			}
		}
	}
	return progress
}

// onlyCommon is the only switch not yet placed with cables to a and b; -1 if none or several.
func (p *placer) onlyCommon(a, b, except int32) int32 {
	found := int32(-1)
	for _, x := range p.neighbors[a] {
		if x == except || p.known[x] {
			continue
		}
		if _, both := slices.BinarySearch(p.neighbors[b], x); both {
			if found >= 0 {
				return -1
			}
			found = x
		}
	}
	return found
}

// lines places neighbours in the only direction that is free.
func (p *placer) lines() (progress bool) {
	for n := range p.s.nodes() {
		if !p.known[n] {
			continue
		}
		missing := int32(-1)
		several := false
		for _, x := range p.neighbors[n] {
			if !p.known[x] {
				several = several || missing >= 0
				missing = x
			}
		}
		if missing < 0 || several {
			continue
		}
		var free []point
		for _, at := range p.around(p.at[n]) {
			if _, taken := p.placed[at]; !taken && p.fits(at) && !slices.Contains(free, at) {
				free = append(free, at)
			}
		}
		progress = len(free) == 1 && p.set(missing, free[0]) == nil || progress
	}
	return progress
}

// fits tells whether a position is inside the size of the torus, given the switches placed already.
func (p *placer) fits(at point) bool {
	for d := range at {
		if p.c.Size[d] == 1 && at[d] != 0 {
			return false
		}
		if p.c.Wraps[d] {
			continue
		}
		low, high := at[d], at[d]
		for other := range p.placed {
			low, high = min(low, other[d]), max(high, other[d])
		}
		// At the edge that the seed is at, nothing lies beyond.
		if high-low >= p.c.Size[d] || at[d] < 0 && len(p.c.Links[2*d+1]) == 0 || at[d] > 0 && len(p.c.Links[2*d]) == 0 {
			return false
		}
	}
	return true
}

// grid checks that all switches have a place and cables join neighbours; the dateline becomes the
// origin.
func (p *placer) grid() (*torusGrid, error) {
	g := newTorusGrid(p.c.Size, p.c.Wraps, len(p.at))
	var low point
	for n, known := range p.known {
		if !known {
			return nil, fmt.Errorf("the place of switch %s in the torus is not found", p.s.Graph.SwitchName(p.s.Switches[n]))
		}
		for d := range low {
			low[d] = min(low[d], p.at[n][d])
		}
	}
	for n, at := range p.at {
		for d := range 3 {
			if g.wraps[d] {
				at[d] = modulo(at[d]-p.c.Dateline[d], g.size[d])
			} else if at[d] -= low[d]; at[d] >= g.size[d] {
				return nil, fmt.Errorf("the fabric is wider than %d along %c", g.size[d], 'x'+d)
			}
		}
		g.put(n, at)
	}
	for n, peers := range p.neighbors {
		for _, peer := range peers {
			if !g.adjacent(int32(n), peer) {
				return nil, fmt.Errorf("the cable between %s at %v and %s at %v is none of a torus", p.s.Graph.SwitchName(p.s.Switches[n]), g.at[n], p.s.Graph.SwitchName(p.s.Switches[peer]), g.at[peer])
			}
		}
	}
	return g, nil
}

func (g *torusGrid) adjacent(a, b int32) bool {
	for _, at := range g.around(g.at[a]) {
		if at == g.at[b] {
			return true
		}
	}
	return false
}

// gridOf takes the coordinates of a network that has them; nil beyond three dimensions.
func gridOf(s *Subnet, t topology.Grid) *torusGrid {
	dims := t.Dims()
	if len(dims) > 3 {
		return nil
	}
	size, wraps := [3]int{1, 1, 1}, [3]bool{}
	for d, n := range dims {
		size[d], wraps[d] = n, t.Wraps(d)
	}
	g := newTorusGrid(size, wraps, len(s.Switches))
	for n, id := range s.Switches {
		var at point
		for d := range dims {
			at[d] = t.Coordinate(id, d)
		}
		g.put(n, at)
	}
	return g
}
