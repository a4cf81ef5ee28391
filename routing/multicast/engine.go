package multicast

import (
	"fmt"

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
	// Entries is the number of MFT entries of each switch (the paper's
	// Ncolor), or Unlimited.
	Entries int
	// PerPort says that every port has a forwarding table of its own, so that
	// trees conflict only where they share a port of a switch.
	PerPort bool
	// Seed is the seed of the run, for engines that draw random numbers.
	Seed uint64
}

// NewEnv computes the min-hop tables of graph on so many threads (0: one per
// processor) and returns an environment with unlimited entries.
func NewEnv(graph *topology.Graph, threads int) (Env, error) {
	hops, err := NewMinHop(graph, threads)
	return Env{Graph: graph, Hops: hops, Entries: Unlimited, Seed: 1}, err
}

// Engine routes multicast groups. Groups join and leave one after the other;
// the trees of those present stay as they are, except where the engine's
// documentation says otherwise (merging). An engine is not safe for concurrent
// use; equal sequences of calls give equal trees.
type Engine interface {
	// Join routes a new group and records it in the forest. An error leaves
	// the engine as it was.
	Join(g Group) error
	// Leave removes a group and frees what only it used.
	Leave(id GroupID) error
	// Forest is what the engine has routed so far. Only the engine may change
	// it.
	Forest() *Forest
}

// BatchEngine is the capability of engines that do better when they know all
// groups beforehand.
type BatchEngine interface {
	Engine
	// JoinAll routes the groups together. The engine must be empty.
	JoinAll(groups []Group) error
}

// Registry holds the multicast engines that experiment files can name.
var Registry = param.NewRegistry[Env, Engine]("multicast engine")

// TreeBuilder makes the tree of one group without regard to other groups'
// colours: what distinguishes one subnet manager's classical multicast routing
// from another's.
type TreeBuilder interface {
	// Build makes the tree of g from scratch. The forest holds the groups
	// routed so far, for builders that balance their load.
	Build(g *Group, f *Forest) (*Tree, error)
}

// NewPlainEngine makes an engine of a tree builder: every group has its own
// tree and its own colour, the lowest that no group has, as in subnet managers
// that never share an MLID. It refuses groups beyond Env.Entries with an
// [*ExhaustedError].
func NewPlainEngine(env Env, b TreeBuilder) (Engine, error) {
	f, err := NewForest(env)
	if err != nil {
		return nil, err
	}
	return &plainEngine{builder: b, forest: f}, nil
}

// Limited is e without groups and with the limit of entries of env, where e goes by a
// [TreeBuilder], which goes on with what it knows of the network; ok is false where not.
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

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("group %d: all %d multicast forwarding table entries are taken", e.Group, e.Entries)
}

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
	at := -1
	for i, c := range e.free {
		if at < 0 || c < e.free[at] {
			at = i
		}
	}
	if at < 0 && e.forest.env.Entries != Unlimited && int(e.next) >= e.forest.env.Entries {
		return &ExhaustedError{g.ID, e.forest.env.Entries}
	}
	t, err := e.builder.Build(&g, e.forest)
	if err != nil {
		return fmt.Errorf("group %d: %w", g.ID, err)
	}
	colour := e.next
	if at < 0 {
		e.next++
	} else {
		colour = e.free[at]
		e.free[at] = e.free[len(e.free)-1]
		e.free = e.free[:len(e.free)-1]
	}
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
