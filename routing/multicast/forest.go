package multicast

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Colour is the number of an MFT entry, from 0: the MLID less the lowest
// multicast LID.
type Colour int32

// Planted is a tree with its colour and the groups that it carries.
type Planted struct {
	*Tree
	Colour Colour
	// Groups are those that use the tree, in the order in which they came.
	Groups []Group

	index int32   // in Forest.trees
	cells []int32 // what the tree occupies, see Forest.cellsOf
}

// Forest is the state of a network's multicast tables: the trees, their
// colours, who uses them, and what crosses each link.
type Forest struct {
	env    Env
	trees  []*Planted // by index; nil where removed
	vacant []int32    // removed indices
	groups map[GroupID]*Planted

	// A cell is what two trees of one colour must not share: a switch, or with
	// a table per port a switch port (the lower number of the two that a cable
	// joins) or, beyond the ports, the management port of a switch.
	cells int
	busy  []colourSet // len = cells: colours in use there
	owner [][]int32   // len = cells, then by colour: tree index + 1, or 0

	through      []int32 // len = switches: trees through the switch
	efi          []int32 // len = ports: groups over the cable; both ends agree
	colourTrees  []int32 // by colour
	colourGroups []int32 // by colour
}

// NewForest makes an empty forest. Entries must be positive or Unlimited.
func NewForest(env Env) (*Forest, error) {
	if env.Entries != Unlimited && env.Entries < 1 {
		return nil, &sim.ParamError{Key: "entries", Value: env.Entries, Want: "at least 1, or unlimited"}
	}
	if env.Graph == nil || env.Hops == nil || env.Hops.graph != env.Graph {
		panic("multicast: environment without a graph and its min-hop tables")
	}
	f := &Forest{
		env:     env,
		groups:  map[GroupID]*Planted{},
		cells:   env.Graph.Switches(),
		through: make([]int32, env.Graph.Switches()),
		efi:     make([]int32, env.Graph.NumPorts()),
	}
	if env.PerPort {
		f.cells += env.Graph.NumPorts()
	}
	f.busy = make([]colourSet, f.cells)
	f.owner = make([][]int32, f.cells)
	return f, nil
}

// Env is what the forest stands on.
func (f *Forest) Env() Env { return f.env }

// NumGroups is the number of groups carried.
func (f *Forest) NumGroups() int { return len(f.groups) }

// NumTrees is the number of trees.
func (f *Forest) NumTrees() int { return len(f.trees) - len(f.vacant) }

// Trees yields the trees in a fixed order.
func (f *Forest) Trees(yield func(*Planted) bool) {
	for _, p := range f.trees {
		if p != nil && !yield(p) {
			return
		}
	}
}

// Planted is the tree that carries a group; an error if there is no such
// group.
func (f *Forest) Planted(id GroupID) (*Planted, error) {
	if p, ok := f.groups[id]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("no group %d", id)
}

// EFI is the number of groups over the cable at port p between two switches.
func (f *Forest) EFI(p topology.PortID) int { return int(f.efi[p]) }

// Through is the number of trees through switch s.
func (f *Forest) Through(s topology.SwitchID) int { return int(f.through[s]) }

// Admissible checks a group before it is routed: it has members, they exist,
// it is not carried already, and its members are connected. All faults are
// returned together.
func (f *Forest) Admissible(g *Group) error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("group %d: "+format, append([]any{g.ID}, args...)...))
	}
	if _, twice := f.groups[g.ID]; twice {
		fault("has joined already")
	}
	if g.Size() == 0 {
		fault("has no members")
	}
	graph := f.env.Graph
	for _, t := range g.Terminals {
		if t < 0 || int(t) >= graph.Terminals() {
			fault("terminal %d: want 0 to %d", t, graph.Terminals()-1)
		}
	}
	for _, s := range g.Switches {
		if s < 0 || int(s) >= graph.Switches() {
			fault("switch %d: want 0 to %d", s, graph.Switches()-1)
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	span := g.Span(graph)
	for _, s := range span[1:] {
		if f.env.Hops.Hops(span[0], s) == Unreachable {
			fault("%s and %s are not connected", graph.SwitchName(span[0]), graph.SwitchName(s))
		}
	}
	return errors.Join(faults...)
}

// Plant records a tree with the groups that use it. It panics if a tree of
// that colour is in the way.
func (f *Forest) Plant(t *Tree, c Colour, groups ...Group) *Planted {
	p := &Planted{Tree: t, Colour: c, Groups: groups, index: int32(len(f.trees))}
	if n := len(f.vacant); n > 0 {
		p.index = f.vacant[n-1]
		f.vacant = f.vacant[:n-1]
		f.trees[p.index] = p
	} else {
		f.trees = append(f.trees, p)
	}
	for len(f.colourTrees) <= int(c) {
		f.colourTrees = append(f.colourTrees, 0)
		f.colourGroups = append(f.colourGroups, 0)
	}
	f.colourTrees[c]++
	f.occupy(p)
	for _, s := range t.Switches {
		f.through[s]++
	}
	for _, g := range groups {
		f.groups[g.ID] = p
	}
	f.addGroups(p, int32(len(groups)))
	return p
}

// Share lets a group use a tree that contains its members.
func (f *Forest) Share(p *Planted, g Group) {
	p.Groups = append(p.Groups, g)
	f.groups[g.ID] = p
	f.addGroups(p, 1)
}

// Uproot removes a tree and its groups.
func (f *Forest) Uproot(p *Planted) {
	f.addGroups(p, -int32(len(p.Groups)))
	for _, g := range p.Groups {
		delete(f.groups, g.ID)
	}
	f.vacate(p)
	for _, s := range p.Switches {
		f.through[s]--
	}
	f.colourTrees[p.Colour]--
	f.trees[p.index] = nil
	f.vacant = append(f.vacant, p.index)
}

// Drop removes a group from the tree that carries it, which stays as it is and
// must carry others.
func (f *Forest) Drop(p *Planted, id GroupID) {
	i := slices.IndexFunc(p.Groups, func(g Group) bool { return g.ID == id })
	if i < 0 || len(p.Groups) == 1 {
		panic(fmt.Sprintf("multicast: cannot drop group %d from a tree of %d groups", id, len(p.Groups)))
	}
	p.Groups = slices.Delete(p.Groups, i, i+1)
	delete(f.groups, id)
	f.addGroups(p, -1)
}

func (f *Forest) addGroups(p *Planted, n int32) {
	f.colourGroups[p.Colour] += n
	for _, up := range p.Up[1:] {
		f.efi[up] += n
		f.efi[f.env.Graph.Peer[up]] += n
	}
}

// occupy marks the cells of p with its colour.
func (f *Forest) occupy(p *Planted) {
	p.cells = f.cellsOf(p.Tree, p.Groups, nil)
	for _, cell := range p.cells {
		if !f.busy[cell].add(p.Colour) {
			panic(fmt.Sprintf("multicast: two trees of colour %d in cell %d", p.Colour, cell))
		}
		row := f.owner[cell]
		if int(p.Colour) >= len(row) {
			row = slices.Grow(row, int(p.Colour)+1-len(row))[:p.Colour+1]
			f.owner[cell] = row
		}
		row[p.Colour] = p.index + 1
	}
}

// vacate frees the cells of p.
func (f *Forest) vacate(p *Planted) {
	for _, cell := range p.cells {
		f.busy[cell].remove(p.Colour)
		f.owner[cell][p.Colour] = 0
	}
	p.cells = nil
}

// ownerAt is the tree that has colour c in a cell, or nil.
func (f *Forest) ownerAt(cell int32, c Colour) *Planted {
	if row := f.owner[cell]; int(c) < len(row) && row[c] != 0 {
		return f.trees[row[c]-1]
	}
	return nil
}

// cellsOf appends the cells that a tree for these groups would occupy.
func (f *Forest) cellsOf(t *Tree, groups []Group, cells []int32) []int32 {
	if !f.env.PerPort {
		for _, s := range t.Switches {
			cells = append(cells, int32(s))
		}
		return cells
	}
	start := len(cells)
	for _, p := range t.Up[1:] {
		cells = append(cells, f.linkCell(p))
	}
	for i := range groups {
		for _, m := range groups[i].Terminals {
			cells = append(cells, int32(f.env.Graph.TerminalPort[m]))
		}
		for _, s := range groups[i].Switches {
			cells = append(cells, int32(f.env.Graph.NumPorts())+int32(s))
		}
	}
	if len(groups) > 1 {
		slices.Sort(cells[start:])
		cells = cells[:start+len(slices.Compact(cells[start:]))]
	}
	return cells
}

// linkCell is the cell of the cable at port p with a table per port.
func (f *Forest) linkCell(p topology.PortID) int32 {
	return min(int32(p), f.env.Graph.Peer[p])
}

// firstFree is the lowest colour from from on that is free in all cells, or -1
// if there is none below the limit. Cost: cells times colours/64.
func (f *Forest) firstFree(cells []int32, from Colour) Colour {
	for w := int(from) / 64; ; w++ {
		if f.env.Entries != Unlimited && w*64 >= f.env.Entries {
			return -1
		}
		var taken uint64
		if w == int(from)/64 {
			taken = 1<<(from%64) - 1
		}
		for _, cell := range cells {
			if b := f.busy[cell]; w < len(b) {
				taken |= b[w]
				if taken == ^uint64(0) {
					break
				}
			}
		}
		if taken != ^uint64(0) {
			c := w*64 + bits.TrailingZeros64(^taken)
			if f.env.Entries != Unlimited && c >= f.env.Entries {
				return -1
			}
			return Colour(c)
		}
	}
}

// colourSet is a set of colours, one bit each.
type colourSet []uint64

func (b colourSet) has(c Colour) bool {
	return int(c)/64 < len(b) && b[c/64]>>(c%64)&1 != 0
}

// add reports whether c was not in the set.
func (b *colourSet) add(c Colour) bool {
	for int(c)/64 >= len(*b) {
		*b = append(*b, 0)
	}
	fresh := !b.has(c)
	(*b)[c/64] |= 1 << (c % 64)
	return fresh
}

func (b colourSet) remove(c Colour) { b[c/64] &^= 1 << (c % 64) }
