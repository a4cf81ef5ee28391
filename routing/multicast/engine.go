// Package multicast computes multicast trees and forwarding tables: the
// engines MR4LMS (Chen, He, Li, Qi, 2021: multicast routing for limited MFT
// size) and its improvement mr4lms-plus, with the metrics and the checker that
// compare engines, and OpenSM's minhop-mc; its others are in package routing/opensm/mcast.
//
// A [Group] of terminals (and possibly switches) is carried by a [Tree] of switches. A tree
// occupies one entry of the multicast forwarding table (MFT) in each of its switches; the entry's
// number is the tree's colour, the MLID that packets carry. Trees without a common switch may share
// a colour, trees with one may not. Several groups may share a tree: each then receives the others'
// packets, and its hosts drop them.
//
// An [Engine] admits groups one after the other and keeps its trees in a [Forest], which counts
// what the papers measure: colours, groups over each link (edge forwarding index, EFI), groups on
// each tree (tree forwarding index, TFI). [Route] routes some groups and measures the result.
package multicast

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// Unlimited as [Env.Entries] lets an engine use as many colours as it likes.
const Unlimited = -1

// Env is what an engine works on.
type Env struct {
	Graph *topology.Graph
	// Hops are the min-hop tables of Graph, shared by all engines.
	Hops *MinHop
	// Entries is the number of MFT entries of each switch (the paper's Ncolor), or Unlimited.
	Entries int
	// PerPort gives every port a table of its own: trees conflict only where they share a switch
	// port.
	PerPort bool
	// Seed is the seed of the run, for engines that draw random numbers.
	Seed uint64
}

// NewEnv computes graph's min-hop tables on so many threads (0: one per processor); entries are
// unlimited.
func NewEnv(graph *topology.Graph, threads int) (Env, error) {
	hops, err := NewMinHop(graph, threads)
	return Env{Graph: graph, Hops: hops, Entries: Unlimited, Seed: 1}, err
}

// Engine routes multicast groups. Groups join and leave one after the other; the trees of those
// present stay as they are, except where the engine's documentation says otherwise (merging). An
// engine is not safe for concurrent use; equal sequences of calls give equal trees.
type Engine interface {
	// Join routes a new group and records it in the forest. An error leaves the engine as it was.
	Join(g Group) error
	// Leave removes a group and frees what only it used.
	Leave(id GroupID) error
	// Forest is what the engine has routed so far. Only the engine may change it.
	Forest() *Forest
}

// BatchEngine is the capability of engines that do better when they know all groups beforehand.
type BatchEngine interface {
	Engine
	// JoinAll routes the groups together. The engine must be empty.
	JoinAll(groups []Group) error
}

// Registry holds the multicast engines that experiment files can name.
var Registry = param.NewRegistry[Env, Engine]("multicast engine")

// TreeBuilder makes the tree of one group without regard to other groups' colours: what
// distinguishes one subnet manager's classical multicast routing from another's.
type TreeBuilder interface {
	// Build makes the tree of g from scratch. f has the groups routed so far, for balancing loads.
	Build(g *Group, f *Forest) (*Tree, error)
}

// NewPlainEngine makes an engine of a tree builder: every group has its own tree and the lowest
// free colour, as in subnet managers that never share an MLID. Groups beyond Env.Entries get an
// [*ExhaustedError].
func NewPlainEngine(env Env, b TreeBuilder) (Engine, error) {
	f, err := NewForest(env)
	if err != nil {
		return nil, err
	}
	return &plainEngine{builder: b, forest: f}, nil
}

// Limited is e emptied, with env's limit of entries, if e goes by a [TreeBuilder], which keeps what
// it knows of the network; else it is not ok.
func Limited(e Engine, env Env) (limited Engine, ok bool) {
	plain, ok := e.(*plainEngine)
	if !ok {
		return nil, false
	}
	limited, err := NewPlainEngine(env, plain.builder)
	return limited, err == nil
}

// ExhaustedError says that a group found no free entry.
type ExhaustedError struct {
	Group   GroupID
	Entries int
}

// Error names the group, and how many entries there are.
func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("group %d: all %d multicast forwarding table entries are taken", e.Group, e.Entries)
}

// plainEngine gives each group the tree of a builder and a colour of its own.
type plainEngine struct {
	builder TreeBuilder
	forest  *Forest
	free    []Colour // freed colours, unordered
	next    Colour   // colours from here on were never used
}

func (e *plainEngine) Forest() *Forest { return e.forest }

func (e *plainEngine) Join(g Group) error {
	if err := e.forest.Admissible(&g); err != nil {
		return err
	}
	colour := e.next
	if len(e.free) > 0 {
		colour = slices.Min(e.free)
	} else if e.forest.env.Entries != Unlimited && int(colour) >= e.forest.env.Entries {
		return &ExhaustedError{g.ID, e.forest.env.Entries}
	}
	t, err := e.builder.Build(&g, e.forest)
	if err == nil && (t == nil || len(t.Switches) == 0 || len(t.Up) != len(t.Switches)) {
		err = fmt.Errorf("%T has built the tree %+v: want at least one switch, and a port up for each", e.builder, t)
	}
	if err != nil {
		return fmt.Errorf("group %d: %w", g.ID, err)
	}
	e.free = slices.DeleteFunc(e.free, func(c Colour) bool { return c == colour })
	e.next = max(e.next, colour+1)
	e.forest.Plant(t, colour, g)
	return nil
}

func (e *plainEngine) Leave(id GroupID) error {
	p, err := e.forest.Planted(id)
	if err != nil {
		return err
	}
	e.free = append(e.free, p.Colour)
	e.forest.Uproot(p)
	return nil
}

// GroupID names a group to the engine that carries it; the caller chooses it.
type GroupID int32

// Group is a multicast group: who sends to and receives from one MGID. Groups
// with equal members are different groups.
type Group struct {
	ID GroupID
	// Name is the MGID or a label for reports; may be empty.
	Name string
	// Terminals are the member terminals, ascending and distinct.
	Terminals []topology.TerminalID
	// Switches are the switches whose management port is a member, ascending and distinct.
	Switches []topology.SwitchID
}

// NewGroup makes a group of members in any order, without copies. It keeps and sorts the slices.
func NewGroup(id GroupID, terminals []topology.TerminalID, switches []topology.SwitchID) Group {
	slices.Sort(terminals)
	slices.Sort(switches)
	return Group{ID: id, Terminals: slices.Compact(terminals), Switches: slices.Compact(switches)}
}

// Size is the number of members.
func (g *Group) Size() int { return len(g.Terminals) + len(g.Switches) }

// each visits the switches of g's terminals (once for neighbours in order), then g's member
// switches.
func (g *Group) each(graph *topology.Graph, visit func(m member)) {
	last := topology.SwitchID(-1)
	for _, t := range g.Terminals {
		if s := graph.TerminalSwitch(t); s != last {
			visit(member{s, 1})
			last = s
		}
	}
	for _, s := range g.Switches {
		visit(member{s, 0})
	}
}

// Span lists the switches that a tree for g must contain, ascending and distinct: those of its
// terminals and its members.
func (g *Group) Span(graph *topology.Graph) []topology.SwitchID {
	var span []topology.SwitchID
	g.each(graph, func(m member) { span = append(span, m.sw) })
	slices.Sort(span)
	return slices.Compact(span)
}

// bitset is a set of small numbers, one bit each.
type bitset []uint64

// newBitset is an empty set of numbers below n.
func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }

func (b bitset) set(i int) { b[i>>6] |= 1 << (i & 63) }

func (b bitset) clear(i int) { b[i>>6] &^= 1 << (i & 63) }

func (b *bitset) grow(i int) {
	for i>>6 >= len(*b) {
		*b = append(*b, 0)
	}
}

// Result is one point: some groups on a network, routed by one engine.
type Result struct {
	Metrics
	Refused int // groups that found no entry, where the engine does not merge
	Forest  *Forest
}

// Route routes the groups one after the other with an empty engine and measures the result; an
// engine that can takes them all together. check then verifies every tree and table row; see
// [Forest.Check]. progress, if not nil, is told the groups routed after each, but by engines that
// take all at once. All but Time is reproducible.
func Route(e Engine, groups []Group, check bool, progress func(routed int)) (*Result, error) {
	start := time.Now()
	refused, err := JoinAll(e, groups, progress)
	elapsed := time.Since(start)
	if err != nil {
		return nil, err
	}
	f := e.Forest()
	if check {
		if err := f.Check(); err != nil {
			return nil, err
		}
	}
	r := &Result{Metrics: f.Measure(), Refused: refused, Forest: f}
	r.Time = elapsed
	r.ColourBound = ColourBound(f.env, groups)
	return r, nil
}

// JoinAll routes groups with an empty engine and counts those without an entry. progress may be
// nil.
func JoinAll(e Engine, groups []Group, progress func(routed int)) (refused int, err error) {
	if batch, ok := e.(BatchEngine); ok {
		return 0, batch.JoinAll(groups)
	}
	for i, g := range groups {
		if err := e.Join(g); errors.As(err, new(*ExhaustedError)) {
			refused++
		} else if err != nil {
			return refused, &JoinError{g.ID, err}
		}
		if progress != nil {
			progress(i + 1)
		}
	}
	return refused, nil
}

// JoinError says which of several groups could not join.
type JoinError struct {
	Group GroupID
	Err   error
}

// Error is the message of Err.
func (e *JoinError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *JoinError) Unwrap() error { return e.Err }
