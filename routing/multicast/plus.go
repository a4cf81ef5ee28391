package multicast

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// PlusConfig configures mr4lms-plus and mr4lms-plus-offline.
type PlusConfig struct {
	Roots int `toml:"roots" min:"1" doc:"roots from which a tree is built; the smallest tree is kept"`
}

var defaultPlus = PlusConfig{Roots: 4}

func init() {
	param.Register(Registry, "mr4lms-plus", "MR4LMS with fewer colours: colour first, small trees, identical spans share when entries run out",
		defaultPlus, func(c PlusConfig, env Env) (Engine, error) { return newPlus(c, env) })
}

// plus improves on MR4LMS (Chen et al. 2021) for groups that come one after the other. It always
// takes the lowest colour whose subgraph has a tree of least height. There it builds small trees in
// place of bundles of shortest paths, see [grower], from several roots, so that colours hold more
// trees. When no colour has room, trees whose switches other trees have too give way to the group,
// see [plus.squeeze]: in place of large unions only groups with like spans share a tree, which adds
// nothing to the EFI of cables.
type plus struct {
	*router
	config   PlusConfig
	grow     *grower
	squeezed int // groups for which no colour had room
}

func newPlus(c PlusConfig, env Env) (*plus, error) {
	r, err := newRouter(env)
	if err != nil {
		return nil, err
	}
	return &plus{router: r, config: c, grow: newGrower(r.subgraph())}, nil
}

func (e *plus) Join(g Group) error {
	f := e.forest
	if err := f.Admissible(&g); err != nil {
		return err
	}
	var height int
	height, e.candidates = e.roots.find(&g, e.candidates[:0])
	if c := e.findColour(&g, height, e.config.Roots); c >= 0 {
		f.Plant(e.smallest(height), c, g)
	} else {
		e.squeeze(g, height)
	}
	return nil
}

// smallest builds a tree from each root found and returns the cheapest, the first among equals.
func (e *plus) smallest(height int) *Tree {
	if len(e.found) == 1 {
		return e.grow.build(e.found[0], e.members, height).keep()
	}
	var best *Tree
	least, from := int64(0), topology.SwitchID(0)
	e.grow.trial = true
	for _, root := range e.found {
		t := e.grow.build(root, e.members, height)
		cost := int64(0)
		for _, s := range t.Switches {
			cost += 1 + int64(e.grow.cost(s))
		}
		if best == nil || cost < least {
			best, least, from = t.keep(), cost, root
		}
	}
	e.grow.trial = false
	if e.grow.demand != nil { // which changes as a tree grows in earnest
		return e.grow.build(from, e.members, height).keep()
	}
	return best
}

// squeeze routes a group for which no colour has room. It takes the way that adds least to the sum
// of the cables' squared EFI, so that no cable is overloaded: the group uses a tree with all
// switches it needs; or it takes the place of the trees in its way in one colour, whose groups go
// to other trees with all switches they need. Where neither is possible, it is united with the
// trees in the way of a shortest-path tree, in the colour where these carry the fewest groups.
func (e *plus) squeeze(g Group, height int) {
	f := e.forest
	e.squeezed++
	span := g.Span(f.env.Graph)
	direct, directCost := e.carrier([]Group{g}, span, nil, -1)
	tried := 0
	for _, move := range e.evictions(&g) {
		if move.cost >= directCost || tried == maxTries {
			break
		}
		if !e.findRoots(move.colour, move.trees, height, 1) {
			continue
		}
		tried++
		t := e.smallest(height)
		if move.cost+e.added(t, 1) >= directCost {
			continue
		}
		if e.evict(move) {
			f.Plant(t, move.colour, g)
			return
		}
		direct, directCost = e.carrier([]Group{g}, span, nil, -1)
	}
	if direct != nil {
		f.Share(direct, g)
		return
	}
	e.crowd(g)
}

// evict moves the groups of the trees to others, chosen anew since every move changes the loads. It
// is false if one cannot move: with a table per port, an earlier move may have taken its room.
func (e *plus) evict(move eviction) bool {
	for _, p := range move.trees {
		to, _ := e.carrier(p.Groups, p.span(e.forest), p, move.colour)
		if to == nil {
			return false
		}
		e.forest.Move(p, to)
	}
	return true
}

// maxTries bounds the colours for which squeeze builds a tree.
const maxTries = 3

// crowd unites g with what is in its way in the colour where that is the fewest groups.
func (e *plus) crowd(g Group) {
	f, cells := e.forest, e.climbed(&g)
	best, fewest := Colour(0), math.MaxInt
	for c := range f.colours {
		groups := 0
		for _, p := range f.touched(Colour(c), cells) {
			groups += len(p.Groups)
		}
		if groups < fewest {
			best, fewest = Colour(c), groups
		}
	}
	if !e.unite(g, best, f.touched(best, cells), false) {
		panic("multicast: a tree whose way was cleared does not fit")
	}
}

// eviction is a way to make room in a colour.
type eviction struct {
	colour Colour
	trees  []*Planted
	cost   int64
}

// evictions lists, cheapest first, the colours in which all trees at g's cells can give their
// groups away.
func (e *plus) evictions(g *Group) []eviction {
	f := e.forest
	e.cells = f.env.requiredCells(g, e.cells[:0])
	cells := f.cellSet(e.cells)
	var all []eviction
	for c := range f.colours {
		move := eviction{colour: Colour(c), trees: f.touched(Colour(c), cells)}
		for _, p := range move.trees {
			cost, ok := e.movingCost(p)
			if !ok {
				move.cost = math.MaxInt64
				break
			}
			move.cost += cost
		}
		if move.cost < math.MaxInt64 {
			all = append(all, move)
		}
	}
	slices.SortStableFunc(all, func(a, b eviction) int { return cmp.Compare(a.cost, b.cost) })
	return all
}

// spare remembers which tree could take the groups of another.
type spare struct {
	to   *Planted // nil: none
	cost int64
	at   int // when it was found, in groups squeezed in
}

// refresh is the number of groups after which a spare is looked for again, as its cost or lack may
// have changed.
const refresh = 256

// movingCost estimates what moving p's groups to another tree adds; not ok if no tree can take
// them.
func (e *plus) movingCost(p *Planted) (cost int64, ok bool) {
	if s := p.spare; s == nil || e.squeezed-s.at >= refresh || s.to != nil && s.to.cells == nil {
		to, cost := e.carrier(p.Groups, p.span(e.forest), p, p.Colour)
		p.spare = &spare{to: to, at: e.squeezed}
		if to != nil {
			p.spare.cost = cost
			for n, up := int64(len(p.Groups)), 1; up < len(p.Up); up++ { // less what taking p away subtracts
				p.spare.cost -= n * (2*int64(e.forest.efi[p.Up[up]]) - n)
			}
		}
	}
	return p.spare.cost, p.spare.to != nil
}

// carrier is the tree that can take the groups, whose members are on the switches of span, at the
// least cost; neither tree except nor one of colour not.
func (e *plus) carrier(groups []Group, span []topology.SwitchID, except *Planted, not Colour) (best *Planted, least int64) {
	f := e.forest
	least = math.MaxInt64
	wanted := newBitset(f.env.Graph.Switches())
	for _, s := range span {
		wanted.set(int(s))
	}
	for c := range f.colours {
		if Colour(c) == not {
			continue
		}
		if !f.env.PerPort && !f.colours[c].taken.has(int(span[0])) {
			continue
		}
		for _, p := range f.colours[c].trees {
			if !p.switchSet(f).has(int(span[0])) {
				continue
			}
			if p == except || !p.switchSet(f).contains(wanted) || !f.roomOn(p, groups) {
				continue
			}
			if cost := e.added(p.Tree, int64(len(groups))); cost < least {
				best, least = p, cost
			}
		}
	}
	return best, least
}

// roomOn tells whether the tables of the ports of the groups' members, if per port, are free for
// p's colour.
func (f *Forest) roomOn(p *Planted, groups []Group) bool {
	if !f.env.PerPort {
		return true
	}
	for i := range groups {
		for _, cell := range f.env.requiredCells(&groups[i], nil) {
			if f.colours[p.Colour].taken.has(int(cell)) && !slices.Contains(p.cells, cell) {
				return false
			}
		}
	}
	return true
}

// added is what n more groups on t add to the sum of squared EFI.
func (e *plus) added(t *Tree, n int64) int64 {
	sum := int64(0)
	for _, up := range t.Up[1:] {
		sum += n * (2*int64(e.forest.efi[up]) + n)
	}
	return sum
}

// span lists the switches that the groups of p need.
func (p *Planted) span(f *Forest) []topology.SwitchID {
	all := p.members()
	return all.Span(f.env.Graph)
}

// contains tells whether every element of c is in b; both have one length.
func (b bitset) contains(c bitset) bool {
	for i, w := range c {
		if w&^b[i] != 0 {
			return false
		}
	}
	return true
}
