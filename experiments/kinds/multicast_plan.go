package kinds

import (
	"errors"
	"fmt"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/routing/multicast"
)

// multicastPlan is the trees of a point, with their layers.
type multicastPlan struct {
	forest *multicast.Forest
	layers *multicast.Layers
	index  map[*multicast.Planted]int // of layers.Of
	unsafe error                      // they can deadlock, which is allowed
}

// plan routes the groups; points with the same network, groups and engine share
// the outcome.
func (c *latencyConfig) plan(p *latencyParts, seed uint64, threads int) (*multicastPlan, error) {
	build := func() (any, error) { return c.makePlan(p, seed, threads) }
	shared := c.Topology.Type.Shared()
	key := fmt.Sprintf("multicast plan %s\n%s\n%s\n%v %v %d %d %d %v", c.Topology.Type.Fingerprint(), c.Groups.Pattern.Fingerprint(), c.Multicast.Engine.Fingerprint(),
		c.Multicast.Entries, c.Multicast.PerPort, c.Multicast.Layers, p.unicast, seed, c.Fabric.AllowDeadlock)
	plan, err := shared.Get(key, build)
	if err != nil {
		return nil, err
	}
	return plan.(*multicastPlan), nil
}

func (c *latencyConfig) makePlan(p *latencyParts, seed uint64, threads int) (*multicastPlan, error) {
	env, err := c.Multicast.environment(&c.Topology, p.topology.Graph(), seed, threads)
	if err != nil {
		return nil, err
	}
	engine, err := c.Multicast.Engine.Build(env)
	if err != nil {
		return nil, err
	}
	result, err := multicast.Route(engine, p.groups, false, nil)
	if err != nil {
		return nil, experiments.At("multicast.engine", fmt.Errorf("= %q: %w", c.Multicast.Engine.Name(), err))
	}
	if result.Refused > 0 {
		return nil, experiments.At("multicast.entries", fmt.Errorf("= %v: %s refused %d of %d groups", c.Multicast.Entries, c.Multicast.Engine.Name(), result.Refused, len(p.groups)))
	}
	plan := &multicastPlan{forest: result.Forest, index: map[*multicast.Planted]int{}}
	var trees []*multicast.Tree
	for t := range plan.forest.Trees {
		plan.index[t] = len(trees)
		trees = append(trees, t.Tree)
	}
	most := min(c.Multicast.Layers, fabric.MaxVCs-p.unicast)
	if most < 1 {
		return nil, experiments.At("switch.vcs", fmt.Errorf("leaves no virtual channel for multicast packets: unicast packets take %d of %d", p.unicast, fabric.MaxVCs))
	}
	plan.layers, err = multicast.AssignLayers(p.topology.Graph(), trees, most)
	var cyclic *multicast.CyclicError
	switch {
	case errors.As(err, &cyclic) && c.Fabric.AllowDeadlock:
		plan.unsafe = err
		plan.layers = &multicast.Layers{Of: make([]int, len(trees)), Count: most}
		for i := range trees {
			plan.layers.Of[i] = i % most
		}
	case err != nil:
		return nil, experiments.At("multicast.layers", fmt.Errorf("= %d: %w%s", c.Multicast.Layers, err, network.AllowHint))
	}
	return plan, nil
}

// tables are the plan's forwarding tables as switches read them. An MLID is a
// colour.
func (p *multicastPlan) tables() []fabric.MulticastTable {
	all := p.forest.Tables()
	tables := make([]fabric.MulticastTable, len(all))
	for s, rows := range all {
		t := &tables[s]
		t.Ports = rows.Ports
		for _, colour := range rows.Colours {
			t.MLIDs = append(t.MLIDs, int32(colour))
		}
	}
	return tables
}
