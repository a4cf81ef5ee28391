package multicast

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// Colour is the number of an MFT entry, from 0: the MLID less the lowest multicast LID.
type Colour int32

// Planted is a tree with its colour and the groups that it carries.
type Planted struct {
	*Tree
	Colour Colour
	// Groups are those that use the tree, in the order in which they came.
	Groups []Group

	index int32   // in Forest.trees
	cells []int32 // what the tree occupies, see Forest.cellsOf
	far   []uint8 // of united trees: distance from every switch to the farthest member
	set   bitset  // the switches, once asked for
	spare *spare  // of mr4lms-plus
}

// Forest is the state of a network's multicast tables: trees, colours, their users, and loads of
// links.
type Forest struct {
	env    Env
	trees  []*Planted // by index; nil where removed
	vacant []int32    // removed indices
	groups map[GroupID]*Planted

	// A cell is what two trees of one colour must not share: a switch, or with
	// a table per port a switch port (the lower number of the two that a cable
	// joins) or, beyond the ports, the management port of a switch.
	cells int
	busy  []bitset // len = cells: colours in use there

	through []int32       // len = switches: trees through the switch
	efi     []int32       // len = ports: groups over the cable; both ends agree
	keys    []uint64      // memory for byLoad
	colours []colourState // by colour
}

// colourState is what the forest knows of one colour.
type colourState struct {
	taken  bitset     // cells in use
	trees  []*Planted // in no particular, but a reproducible order
	groups int
}

// NewForest makes an empty forest. Entries must be positive or Unlimited.
func NewForest(env Env) (*Forest, error) {
	if env.Entries != Unlimited && env.Entries < 1 {
		return nil, &param.ParamError{Key: "entries", Value: env.Entries, Want: "at least 1, or unlimited"}
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
	f.busy = make([]bitset, f.cells)
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

// Planted is the tree that carries a group; an error if there is no such group.
func (f *Forest) Planted(id GroupID) (*Planted, error) {
	if p, ok := f.groups[id]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("no group %d", id)
}

// Admissible checks a group before it is routed: it has members, they exist, it is not carried
// already, and its members are connected. All problems are returned together.
func (f *Forest) Admissible(g *Group) error {
	var problems []error
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("group %d: "+format, append([]any{g.ID}, args...)...))
	}
	if _, twice := f.groups[g.ID]; twice {
		problem("has joined already")
	}
	if g.Size() == 0 {
		problem("has no members")
	}
	graph := f.env.Graph
	for _, t := range g.Terminals {
		if t < 0 || int(t) >= graph.Terminals() {
			problem("terminal %d: want 0 to %d", t, graph.Terminals()-1)
		}
	}
	for _, s := range g.Switches {
		if s < 0 || int(s) >= graph.Switches() {
			problem("switch %d: want 0 to %d", s, graph.Switches()-1)
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	span := g.Span(graph)
	for _, s := range span[1:] {
		if f.env.Hops.Hops(span[0], s) == Unreachable {
			problem("%s and %s are not connected", graph.SwitchName(span[0]), graph.SwitchName(s))
		}
	}
	return errors.Join(problems...)
}

// Plant records a tree with its groups. It panics if a tree of that colour is in the way.
func (f *Forest) Plant(t *Tree, c Colour, groups ...Group) *Planted {
	p := &Planted{Tree: t, Colour: c, Groups: groups, index: int32(len(f.trees))}
	if n := len(f.vacant); n > 0 {
		p.index = f.vacant[n-1]
		f.vacant = f.vacant[:n-1]
		f.trees[p.index] = p
	} else {
		f.trees = append(f.trees, p)
	}
	for len(f.colours) <= int(c) {
		f.colours = append(f.colours, colourState{taken: newBitset(f.cells)})
	}
	f.colours[c].trees = append(f.colours[c].trees, p)
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

// Share lets groups use a tree with all switches of their members. With a table per port, the
// members' ports must be free in the tree's colour.
func (f *Forest) Share(p *Planted, groups ...Group) {
	f.vacate(p)
	for _, g := range groups {
		p.Groups = append(p.Groups, g)
		f.groups[g.ID] = p
		p.Height = max(p.Height, p.Tree.HeightOf(f.env.Graph, &g))
	}
	f.occupy(p)
	f.addGroups(p, int32(len(groups)))
	p.far, p.spare = nil, nil
}

// Move gives the groups of one tree to another and removes it.
func (f *Forest) Move(from, to *Planted) {
	f.Uproot(from)
	f.Share(to, from.Groups...)
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
	trees := f.colours[p.Colour].trees
	i := slices.Index(trees, p)
	f.colours[p.Colour].trees = slices.Delete(trees, i, i+1)
	f.trees[p.index] = nil
	f.vacant = append(f.vacant, p.index)
}

// Remove takes a group away: its tree goes with the last group; until then it loses every switch
// without another group's member at or below it (Chen et al. 2021, algorithm 6).
func (f *Forest) Remove(id GroupID) error {
	p, err := f.Planted(id)
	if err != nil {
		return err
	}
	f.Uproot(p)
	left := slices.DeleteFunc(p.Groups, func(g Group) bool { return g.ID == id })
	if len(left) > 0 {
		f.Plant(f.prune(p.Tree, left), p.Colour, left...)
	}
	return nil
}

// prune is t without the switches that lead to no member of groups; the root stays.
func (f *Forest) prune(t *Tree, groups []Group) *Tree {
	graph := f.env.Graph
	needed := make(map[topology.SwitchID]bool)
	for i := range groups {
		groups[i].each(graph, func(m member) { needed[m.sw] = true })
	}
	for i := len(t.Switches) - 1; i > 0; i-- {
		if needed[t.Switches[i]] {
			needed[parentOf(graph, t.Up[i])] = true
		}
	}
	pruned := &Tree{Switches: t.Switches[:1:1], Up: t.Up[:1:1]}
	for i := 1; i < len(t.Switches); i++ {
		if s := t.Switches[i]; needed[s] {
			pruned.Switches = append(pruned.Switches, s)
			pruned.Up = append(pruned.Up, t.Up[i])
		}
	}
	for i := range groups {
		pruned.Height = max(pruned.Height, pruned.HeightOf(graph, &groups[i]))
	}
	return pruned
}

// addGroups adds n groups, or takes them off, to the counts of a planted tree's colour and cables.
func (f *Forest) addGroups(p *Planted, n int32) {
	f.colours[p.Colour].groups += int(n)
	for _, up := range p.Up[1:] {
		f.efi[up] += n
		f.efi[f.env.Graph.Peer[up]] += n
	}
}

func (f *Forest) occupy(p *Planted) {
	p.cells = f.cellsOf(p.Tree, p.Groups, nil)
	taken := f.colours[p.Colour].taken
	for _, cell := range p.cells {
		if taken.has(int(cell)) {
			panic(fmt.Sprintf("multicast: two trees of colour %d in cell %d", p.Colour, cell))
		}
		taken.set(int(cell))
		f.busy[cell].grow(int(p.Colour))
		f.busy[cell].set(int(p.Colour))
	}
}

func (f *Forest) vacate(p *Planted) {
	taken := f.colours[p.Colour].taken
	for _, cell := range p.cells {
		taken.clear(int(cell))
		f.busy[cell].clear(int(p.Colour))
	}
	p.cells = nil
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
		cells = f.env.requiredCells(&groups[i], cells)
	}
	if len(groups) > 1 {
		slices.Sort(cells[start:])
		cells = cells[:start+len(slices.Compact(cells[start:]))]
	}
	return cells
}

// requiredCells appends the cells that any tree for g occupies.
func (env *Env) requiredCells(g *Group, cells []int32) []int32 {
	if !env.PerPort {
		g.each(env.Graph, func(m member) { cells = append(cells, int32(m.sw)) })
		return cells
	}
	for _, t := range g.Terminals {
		cells = append(cells, int32(env.Graph.TerminalPort[t]))
	}
	for _, s := range g.Switches {
		cells = append(cells, int32(env.Graph.NumPorts())+int32(s))
	}
	return cells
}

func (f *Forest) cellSet(cells []int32) bitset {
	set := newBitset(f.cells)
	for _, cell := range cells {
		set.set(int(cell))
	}
	return set
}

// linkCell is the cell of the cable at port p with a table per port.
func (f *Forest) linkCell(p topology.PortID) int32 { return min(int32(p), f.env.Graph.Peer[p]) }

// firstFree is the lowest colour, at least from, that is free in all cells and below the limit, or
// -1. Cost: cells times colours/64.
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

// Metrics are the figures of a forest.
type Metrics struct {
	Groups int
	Trees  int
	// Colours is the number of MFT entries needed: colours with a tree. As engines take the lowest
	// free colour, it is the highest MLID, but for gaps left by groups.
	Colours int
	// ColourBound is a proven lower bound on Colours if no two groups share a tree; see
	// [ColourBound].
	ColourBound int
	MaxEFI      int     // most groups over one cable between switches, both directions together
	MeanEFI     float64 // over all such cables
	MaxTFI      int     // most groups on one tree
	MeanTFI     float64 // groups over trees
	MaxHeight   int
	MeanHeight  float64 // over trees
	TreeLinks   int     // cables of all trees
	PerColour   []ColourUse
	Time        time.Duration // of routing all groups
}

// ColourUse tells how much one colour carries.
type ColourUse struct {
	Trees, Groups int
	LargestTree   int // most groups on one tree
}

// Measure computes the metrics of a forest, without Time and ColourBound.
func (f *Forest) Measure() Metrics {
	m := Metrics{Groups: len(f.groups)}
	heights := 0
	for p := range f.Trees {
		m.Trees++
		m.MaxTFI = max(m.MaxTFI, len(p.Groups))
		m.MaxHeight = max(m.MaxHeight, p.Height)
		heights += p.Height
		m.TreeLinks += p.Links()
	}
	if m.Trees > 0 {
		m.MeanTFI = float64(m.Groups) / float64(m.Trees)
		m.MeanHeight = float64(heights) / float64(m.Trees)
	}
	for _, c := range f.colours {
		use := ColourUse{Trees: len(c.trees), Groups: c.groups}
		for _, p := range c.trees {
			use.LargestTree = max(use.LargestTree, len(p.Groups))
		}
		m.PerColour = append(m.PerColour, use)
		if len(c.trees) > 0 {
			m.Colours++
		}
	}
	total, cables := 0, 0
	for p, load := range f.efi {
		if peer := f.env.Graph.Peer[p]; peer > int32(p) {
			m.MaxEFI = max(m.MaxEFI, int(load))
			total += int(load)
			cables++
		}
	}
	if cables > 0 {
		m.MeanEFI = float64(total) / float64(cables)
	}
	return m
}

// EFIHistogram counts the cables between switches by the groups over them (len = largest EFI + 1).
func (f *Forest) EFIHistogram() []int {
	var histogram []int
	for p, load := range f.efi {
		if f.env.Graph.Peer[p] > int32(p) {
			for int(load) >= len(histogram) {
				histogram = append(histogram, 0)
			}
			histogram[load]++
		}
	}
	return histogram
}
