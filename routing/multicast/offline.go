package multicast

import (
	"cmp"
	"errors"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "mr4lms-plus-offline", "mr4lms-plus for groups that are all known beforehand: colours are filled one after the other",
		defaultPlus, func(c PlusConfig, env Env) (Engine, error) {
			e, err := newPlus(c, env)
			return &offline{e}, err
		})
}

// offline is mr4lms-plus with all groups known. It fills one colour after the other by recursive
// largest first (Leighton 1979): next comes the largest group with room in the colour, among equals
// the group whose switches the fewest others with room need; its tree avoids switches that such
// groups need. So few switches only forward, the same for many trees of a colour. Groups that come
// later are routed as by mr4lms-plus.
type offline struct{ *plus }

// JoinAll routes the groups. With limited entries, groups left over when all colours are full are
// squeezed in by ascending number. If one group after the other does no worse, those trees are
// used: knowing the groups never costs colours.
func (e *offline) JoinAll(groups []Group) error {
	f := e.forest
	if f.NumGroups() > 0 {
		panic("multicast: JoinAll of an engine that has groups")
	}
	if err := errors.Join(lists.Make(len(groups), func(i int) error { return f.Admissible(&groups[i]) })...); err != nil {
		return err
	}
	if err := e.fill(groups); err != nil {
		return err
	}
	online, err := newPlus(e.config, f.env)
	if err != nil {
		return err
	}
	if _, err := JoinAll(online, groups, nil); err != nil {
		return err
	}
	a, b := f.Measure(), online.forest.Measure()
	if cmp.Or(cmp.Compare(b.Colours, a.Colours), cmp.Compare(b.MaxEFI, a.MaxEFI)) < 0 {
		e.plus = online
	}
	return nil
}

// fill routes the groups colour by colour.
func (e *offline) fill(groups []Group) error {
	f := e.forest
	d := newDemand(f, groups)
	left := topology.Numbers[int32](len(groups))
	slices.SortStableFunc(left, func(a, b int32) int { return len(d.needs[b]) - len(d.needs[a]) })
	e.grow.demand = d
	for c := Colour(0); len(left) > 0 && (f.env.Entries == Unlimited || int(c) < f.env.Entries); c++ {
		for _, i := range left { // nothing is taken in a new colour
			d.alive[i] = true
			for _, cell := range d.needs[i] {
				d.waiting[cell]++
			}
		}
		placed := make(map[int32]bool)
		open := slices.Clone(left)
		for {
			open = slices.DeleteFunc(open, func(i int32) bool { return !d.alive[i] })
			if len(open) == 0 {
				break
			}
			next := d.choose(open)
			d.drop(next)
			if e.place(&groups[next], c) {
				placed[next] = true
			}
		}
		left = slices.DeleteFunc(left, func(i int32) bool { return placed[i] })
	}
	e.grow.demand = nil
	slices.Sort(left)
	for _, i := range left {
		if err := e.Join(groups[i]); err != nil {
			return err
		}
	}
	return nil
}

// place looks for a tree of least height for g in colour c.
func (e *offline) place(g *Group, c Colour) bool {
	f, d := e.forest, e.grow.demand
	var height int
	height, e.candidates = e.roots.find(g, e.candidates[:0])
	e.members = appendMembers(f.env.Graph, g, e.members[:0])
	slices.SortFunc(e.candidates, func(a, b topology.SwitchID) int {
		return cmp.Or(cmp.Compare(e.grow.cost(a), e.grow.cost(b)), cmp.Compare(f.through[a], f.through[b]), cmp.Compare(a, b))
	})
	if !e.findRoots(c, nil, height, e.config.Roots) {
		return false
	}
	e.cells = f.env.requiredCells(g, e.cells[:0])
	for _, cell := range e.cells {
		d.take(cell)
	}
	for _, cell := range f.Plant(e.smallest(height), c, *g).cells {
		d.take(cell)
	}
	return true
}

// demand counts, for each cell, the groups that the present colour has room for and that need it.
type demand struct {
	needs   [][]int32 // by group: cells that any tree for it occupies
	at      [][]int32 // by cell: groups that need it
	alive   []bool    // by group: the present colour has room for it
	waiting []int32   // by cell: groups alive that need it
}

// newDemand finds the cells that groups need.
func newDemand(f *Forest, groups []Group) *demand {
	d := &demand{
		needs:   make([][]int32, len(groups)),
		at:      make([][]int32, f.cells),
		alive:   make([]bool, len(groups)),
		waiting: make([]int32, f.cells),
	}
	for i := range groups {
		d.needs[i] = f.env.requiredCells(&groups[i], nil)
		for _, cell := range d.needs[i] {
			d.at[cell] = append(d.at[cell], int32(i))
		}
	}
	return d
}

// choose picks the next of the open groups, which are sorted by size.
func (d *demand) choose(open []int32) int32 {
	best, least := open[0], int64(-1)
	for _, i := range open {
		if len(d.needs[i]) < len(d.needs[best]) {
			break
		}
		sum := int64(0)
		for _, cell := range d.needs[i] {
			sum += int64(d.waiting[cell])
		}
		if least < 0 || sum < least {
			best, least = i, sum
		}
	}
	return best
}

func (d *demand) take(cell int32) {
	if d.waiting[cell] > 0 {
		for _, i := range d.at[cell] {
			d.drop(i)
		}
	}
}

func (d *demand) drop(i int32) {
	if d.alive[i] {
		d.alive[i] = false
		for _, cell := range d.needs[i] {
			d.waiting[cell]--
		}
	}
}

// harm weighs a group kept out of a colour against a switch more in a tree.
const harm = 4
