package opensm

import (
	"errors"
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
	neighbors  [][]int32 // of each node, ascending
	placed     map[point]int32
	known      []bool
}

var errNotModelled = errors.New("not modelled")

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
		for i := range peers[min(1, len(peers)):] {
			if peers[i] == peers[i+1] {
				return nil, fmt.Errorf("%w: parallel cables, between %s and %s", errNotModelled, s.Graph.SwitchName(s.Switches[n]), s.Graph.SwitchName(s.Switches[peers[i]]))
			}
		}
		p.neighbors = append(p.neighbors, peers)
	}
	if err := p.seed(); err != nil {
		return nil, err
	}
	// In one dimension OpenSM finds no more than the seed's neighbours.
	for progress := slices.Max(c.Size[:]) < c.Size[0]*c.Size[1]*c.Size[2]; progress; {
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
				return fmt.Errorf("%s 0x%x: links of another switch than 0x%x: several seeds: %w", torusLinks[direction], link[0], p.s.guid(center), errNotModelled)
			}
			if err := p.set(to, p.near(point{}, direction)); err != nil {
				return err
			}
		}
	}
	if center < 0 {
		return fmt.Errorf("the configuration names no link of a seed switch")
	}
	for d, size := range p.c.Size {
		switch plus, minus := len(p.c.Links[2*d]), len(p.c.Links[2*d+1]); {
		case size == 4 && p.c.Wraps[d] && min(plus, minus) == 0:
			return fmt.Errorf("verify_setup: a ring of four needs %s and %s", torusLinks[2*d], torusLinks[2*d+1])
		case size > 1 && plus+minus == 0:
			return fmt.Errorf("verify_setup: size %d along %c needs %s or %s", size, 'x'+d, torusLinks[2*d], torusLinks[2*d+1])
		}
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

// fits tells whether a position is inside the size of the torus.
func (p *placer) fits(at point) bool {
	for d, size := range p.c.Size {
		if x := at[d] + p.seedAt(d); size == 1 && at[d] != 0 || !p.c.Wraps[d] && (x < 0 || x >= size) {
			return false
		}
	}
	return true
}

// seedAt is the seed's coordinate: it is as far from the origin as its dateline says.
func (p *placer) seedAt(d int) int { return modulo(-p.c.Dateline[d], p.c.Size[d]) }

// grid checks that all switches have a place, none beyond the ends of a mesh, and that cables join
// neighbours.
func (p *placer) grid() (*torusGrid, error) {
	g := newTorusGrid(p.c.Size, p.c.Wraps, len(p.at))
	for n, known := range p.known {
		if !known {
			return nil, fmt.Errorf("the place of switch %s is not found; all ways of OpenSM to find one: %w", p.s.Graph.SwitchName(p.s.Switches[n]), errNotModelled)
		}
	}
	for n, at := range p.at {
		for d, size := range g.size {
			if at[d] += p.seedAt(d); g.wraps[d] {
				at[d] = modulo(at[d], size)
			} else if at[d] < 0 || at[d] >= size {
				return nil, fmt.Errorf("switch %s is at %d along %c, where the mesh reaches from 0 to %d: the seed is at %d by %c_dateline", p.s.Graph.SwitchName(p.s.Switches[n]), at[d], 'x'+d, size-1, p.seedAt(d), 'x'+d)
			}
		}
		g.put(n, at)
	}
	if missing := len(g.node) - len(g.at); missing > 0 && slices.Max(g.size[:]) == len(g.node) {
		return nil, fmt.Errorf("%d switches of a torus of one dimension are missing", missing)
	}
	for n, peers := range p.neighbors {
		for _, peer := range peers {
			if !g.adjacent(int32(n), peer) {
				return nil, fmt.Errorf("the cable between %s at %v and %s at %v is none of a torus", p.s.Graph.SwitchName(p.s.Switches[n]), g.at[n], p.s.Graph.SwitchName(p.s.Switches[peer]), g.at[peer])
			}
		}
	}
	g.openPairs()
	return g, nil
}

// openPairs makes rings of two switches lines, as OpenSM does.
func (g *torusGrid) openPairs() {
	for d := range g.wraps {
		g.wraps[d] = g.wraps[d] && g.size[d] != 2
	}
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
	g.openPairs()
	return g
}
