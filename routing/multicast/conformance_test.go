package multicast

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// smallNets are networks on which every engine is run to exhaustion.
func smallNets() map[string]*topology.Graph {
	parallel := topology.NewBuilder(3, topology.Class{Name: "local"})
	for s := range topology.SwitchID(3) {
		parallel.AddTerminal(s, 0)
		parallel.AddTerminal(s, 0)
	}
	parallel.AddLink(0, 1, 0)
	parallel.AddLink(0, 1, 0)
	parallel.AddLink(1, 2, 0)
	parallel.AddLink(1, 2, 0)
	single := topology.NewBuilder(1, topology.Class{Name: "local"})
	for range 6 {
		single.AddTerminal(0, 0)
	}
	return map[string]*topology.Graph{
		"torus":     gridNet(true, 1, 4, 4),
		"mesh":      gridNet(false, 2, 3, 5),
		"random":    randomNet(14, 2, 4, 7),
		"dragonfly": dragonflyNet(2, 2, 1),
		"fat-tree":  fatTreeNet(4),
		"trimmed": family("trimmed-tree", param.Set("groups", 3), param.Set("group_terminals", 6), param.Set("leaf_terminals", 3),
			param.Set("middles", 2), param.Set("tops", 2), param.Set("top_cables", 1)),
		"parallel cables": parallel.Freeze(),
		"single switch":   single.Freeze(),
	}
}

func randomGroup(id GroupID, g *topology.Graph, draw *sim.Stream) Group {
	var terminals []topology.TerminalID
	var switches []topology.SwitchID
	for range 1 + draw.IntN(6) {
		if draw.IntN(8) == 0 {
			switches = append(switches, topology.SwitchID(draw.IntN(g.Switches())))
		} else {
			terminals = append(terminals, topology.TerminalID(draw.IntN(g.Terminals())))
		}
	}
	return NewGroup(id, terminals, switches)
}

// drawGroups are so many of them.
func drawGroups(n int, g *topology.Graph, draw *sim.Stream) (groups []Group) {
	for id := range n {
		groups = append(groups, randomGroup(GroupID(id), g, draw))
	}
	return groups
}

// churn lets groups join and leave at random, checking everything after every
// step, then lets all leave and checks that nothing is left behind.
func churn(t *testing.T, e Engine, env Env, steps int, draw *sim.Stream) {
	t.Helper()
	var present []GroupID
	next := GroupID(0)
	leave := func() {
		i := draw.IntN(len(present))
		if err := e.Leave(present[i]); err != nil {
			t.Fatal(err)
		}
		present = slices.Delete(present, i, i+1)
	}
	verify := func(step int) {
		f := e.Forest()
		if err := f.Check(); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if f.NumGroups() != len(present) {
			t.Fatalf("step %d: %d groups, want %d", step, f.NumGroups(), len(present))
		}
	}
	for step := range steps {
		if len(present) > 0 && draw.IntN(24) < len(present) {
			leave()
		} else {
			g := randomGroup(next, env.Graph, draw)
			next++
			err := e.Join(g)
			var exhausted *ExhaustedError
			switch {
			case err == nil:
				present = append(present, g.ID)
			case !errors.As(err, &exhausted):
				t.Fatalf("step %d: %v", step, err)
			}
		}
		verify(step)
	}
	for len(present) > 0 {
		leave()
	}
	verify(steps)
	if m := e.Forest().Measure(); m.Colours != 0 || m.MaxEFI != 0 || m.Trees != 0 {
		t.Errorf("after the last group left: %+v", m)
	}
}

// TestChurn: ten thousand random joins and leaves on each small network.
func TestChurn(t *testing.T) {
	const total = 10000
	onSmallNets(t, func(t *testing.T, env Env) {
		runs := engineVariants(t, env)
		for i, r := range runs {
			draw := sim.NewStream(1, "churn", i)
			t.Run(r.name, func(t *testing.T) { churn(t, r.engine, r.env, (total+len(runs)-1)/len(runs), &draw) })
		}
	})
}

// onSmallNets tests on every small network, side by side.
func onSmallNets(t *testing.T, test func(t *testing.T, env Env)) {
	for name, g := range smallNets() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t, g)
			test(t, env)
		})
	}
}

// TestBatchOfNone: no groups together are no groups one after the other.
func TestBatchOfNone(t *testing.T) {
	env := newEnv(t, smallNets()["torus"])
	for _, r := range engineVariants(t, env) {
		if batch, ok := r.engine.(BatchEngine); ok {
			if err := batch.JoinAll(nil); err != nil || r.engine.Forest().Measure().Trees != 0 {
				t.Errorf("%s: %v, %d trees", r.name, err, r.engine.Forest().Measure().Trees)
			}
		}
	}
}

type variant struct {
	name   string
	engine Engine
	env    Env
}

// engineVariants makes every registered engine with every choice of its
// settings, with unlimited and few entries, with a table per switch and per
// port.
func engineVariants(t *testing.T, env Env) []variant {
	var variants []variant
	for _, name := range Registry.Names() {
		config, err := Registry.Config(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range combinations(t, config) {
			for _, entries := range []int{Unlimited, 1, 5} {
				for _, perPort := range []bool{false, true} {
					v := variant{env: env}
					v.env.Entries, v.env.PerPort = entries, perPort
					c, _ := Registry.Config(name)
					set(c)
					v.name = fmt.Sprintf("%s/%+v/entries=%d/port=%v", name, c, entries, perPort)
					v.engine, err = Registry.Build(name, c, v.env)
					if err != nil {
						t.Fatalf("%s: %v", v.name, err)
					}
					variants = append(variants, v)
				}
			}
		}
	}
	return variants
}
