package multicast

import (
	"cmp"
	"errors"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

func init() {
	sim.Register(Registry, "mr4lms-plus-offline", "mr4lms-plus with all groups known beforehand",
		PlusConfig{Roots: 4},
		func(c PlusConfig, env Env) (Engine, error) {
			e, err := newPlus(c, env)
			return &offline{e}, err
		})
}

type offline struct{ *plus }

// demand counts, for each cell, the groups still to be placed in the present
// colour that need it.
type demand struct {
	needs   [][]int32 // by group: cells that any tree for it occupies
	at      [][]int32 // by cell: groups that need it
	alive   []bool    // by group: may still be placed in this colour
	waiting []int32   // by cell: groups alive that need it
}

// harm weighs a group kept out of a colour against a switch more in a tree.
const harm = 4

func (d *demand) cost(v topology.SwitchID) int32 { return harm * d.waiting[v] }

// take removes the groups that need a cell from the present colour.
func (d *demand) take(cell int32) {
	if d.waiting[cell] == 0 {
		return
	}
	for _, i := range d.at[cell] {
		d.drop(i)
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

func (e *offline) JoinAll(groups []Group) error {
	f := e.forest
	if f.NumGroups() > 0 {
		panic("multicast: JoinAll of an engine that has groups")
	}
	d := &demand{
		needs:   make([][]int32, len(groups)),
		at:      make([][]int32, f.cells),
		alive:   make([]bool, len(groups)),
		waiting: make([]int32, f.cells),
	}
	var faults []error
	order := make([]int32, len(groups))
	for i := range groups {
		order[i] = int32(i)
		if err := f.Admissible(&groups[i]); err != nil {
			faults = append(faults, err)
			continue
		}
		d.needs[i] = f.requiredCells(&groups[i], nil)
		for _, cell := range d.needs[i] {
			d.at[cell] = append(d.at[cell], int32(i))
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(len(d.needs[b]), len(d.needs[a])) })
	e.grow.demand = d
	for c := Colour(0); len(order) > 0 && (f.env.Entries == Unlimited || int(c) < f.env.Entries); c++ {
		for _, i := range order {
			d.alive[i] = true
			for _, cell := range d.needs[i] {
				d.waiting[cell]++
			}
		}
		placed := make(map[int32]bool)
		candidates := slices.Clone(order)
		for {
			candidates = slices.DeleteFunc(candidates, func(i int32) bool { return !d.alive[i] })
			if len(candidates) == 0 {
				break
			}
			// largest first, then least harm
			best, least := candidates[0], int64(-1)
			for _, i := range candidates {
				if len(d.needs[i]) < len(d.needs[best]) {
					break
				}
				harm := int64(0)
				for _, cell := range d.needs[i] {
					harm += int64(d.waiting[cell])
				}
				if least < 0 || harm < least {
					best, least = i, harm
				}
			}
			d.drop(best)
			if e.place(&groups[best], c) {
				placed[best] = true
			}
		}
		order = slices.DeleteFunc(order, func(i int32) bool { return placed[i] })
	}
	e.grow.demand = nil
	for _, i := range order {
		if err := e.Join(groups[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *offline) place(g *Group, c Colour) bool {
	f, colour, d := e.forest, e.colour, e.grow.demand
	var height int
	height, e.candidates = e.roots.find(g, e.candidates[:0])
	e.members = appendMembers(f.env.Graph, g, e.members[:0])
	slices.SortFunc(e.candidates, func(a, b topology.SwitchID) int {
		return cmp.Or(cmp.Compare(d.waiting[a], d.waiting[b]), cmp.Compare(f.through[a], f.through[b]), cmp.Compare(a, b))
	})
	colour.open(c, nil)
	e.found = colour.rootsWithin(e.members, e.candidates, height, e.config.Roots, e.found[:0])
	if len(e.found) == 0 {
		return false
	}
	for _, cell := range f.requiredCells(g, nil) {
		d.take(cell)
	}
	for _, cell := range f.Plant(e.smallest(height), c, *g).cells {
		d.take(cell)
	}
	return true
}
