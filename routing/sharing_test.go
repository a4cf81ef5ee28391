package routing_test

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/param"
)

// counted is a Sharing that keeps everything and counts what is made.
type counted struct {
	values map[string]any
	made   int
}

func (c *counted) Get(key string, build func() (any, error)) (any, error) {
	if value, ok := c.values[key]; ok {
		return value, nil
	}
	c.made++
	value, err := build()
	c.values[key] = value
	return value, err
}

// TestShared: tables are made once for all routings with the same paths, whatever they
// make of virtual channels and ties; other paths and other graphs have tables of their own.
func TestShared(t *testing.T) {
	jellyfish := func(seed uint64) topology.Topology {
		return build(t, "jellyfish", func(c *topology.JellyfishConfig) { c.Switches, c.Degree, c.Terminals, c.Seed = 12, 3, 2, seed })
	}
	x, y := jellyfish(1), jellyfish(2)
	c := &counted{values: map[string]any{}}
	for i, on := range []struct {
		topo topology.Topology
		name string
		set  []param.Setting
		made int
	}{
		{x, "table", nil, 1},
		{x, "table", []param.Setting{param.Set("ties", "random"), param.Set("hop_vcs", "any")}, 1},
		{x, "table", []param.Setting{param.Set("ties", "one")}, 2},
		{y, "table", nil, 3},
		{x, "val", nil, 4},
		{x, "val", []param.Setting{param.Set("spread_vcs", true)}, 4},
		{x, "table", []param.Setting{param.Set("spread_vcs", true)}, 4},
	} {
		shared, err := routing.Registry.New(on.name, routing.Env{Topology: on.topo, Shared: c}, on.set...)
		if err != nil {
			t.Fatal(err)
		}
		alone := must(t, on.topo, 0, on.name, on.set...)
		if c.made != on.made {
			t.Errorf("step %d: %d tables made, want %d", i, c.made, on.made)
		}
		for _, vcs := range []int{alone.VCs(), 2*alone.VCs() + 1} {
			if a, b := dependencies(t, on.topo, shared, vcs), dependencies(t, on.topo, alone, vcs); !slices.Equal(a, b) {
				t.Errorf("step %d: %d dependencies with shared tables, %d without, or others", i, len(a), len(b))
			}
		}
	}
}

// dependencies are those of a routing, in the order of their discovery.
func dependencies(t *testing.T, x topology.Topology, r fabric.Routing, vcs int) (all []topology.Dependency) {
	t.Helper()
	if _, _, err := routing.Dependencies(x.Graph(), r, vcs, 0, func(d topology.Dependency) { all = append(all, d) }); err != nil {
		t.Fatal(err)
	}
	return all
}
