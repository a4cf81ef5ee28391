package routing_test

import (
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
	x, y := jellyfish(t, 1), jellyfish(t, 2)
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
		alone, err := routing.Registry.New(on.name, routing.Env{Topology: on.topo}, on.set...)
		if err != nil {
			t.Fatal(err)
		}
		if c.made != on.made {
			t.Errorf("step %d: %d tables made, want %d", i, c.made, on.made)
		}
		for _, vcs := range []int{alone.VCs(), 2*alone.VCs() + 1} {
			a, b := dependencies(t, on.topo, shared, vcs), dependencies(t, on.topo, alone, vcs)
			if len(a) != len(b) {
				t.Errorf("step %d: %d dependencies with shared tables, %d without", i, len(a), len(b))
			}
			for d := range a {
				if !b[d] {
					t.Fatalf("step %d: %v only with shared tables", i, d)
				}
			}
		}
	}
}

func dependencies(t *testing.T, x topology.Topology, r fabric.Routing, vcs int) map[topology.Dependency]bool {
	t.Helper()
	set := map[topology.Dependency]bool{}
	if _, _, err := routing.Dependencies(x.Graph(), r, vcs, 0, func(d topology.Dependency) { set[d] = true }); err != nil {
		t.Fatal(err)
	}
	return set
}

func jellyfish(t *testing.T, seed uint64) topology.Topology {
	t.Helper()
	x, err := topology.Registry.New("jellyfish", struct{}{}, param.Set("switches", 12), param.Set("degree", 3), param.Set("terminals", 2), param.Set("seed", seed))
	if err != nil {
		t.Fatal(err)
	}
	return x
}
