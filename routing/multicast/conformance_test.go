package multicast

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// smallNets are networks on which every engine is run to exhaustion.
func smallNets() map[string]*topology.Graph {
	parallel := topology.NewBuilder(3, topology.Class{Name: "local"})
	for t := range topology.SwitchID(6) {
		parallel.AddTerminal(t/2, 0)
	}
	for link := range topology.SwitchID(4) {
		parallel.AddLink(link/2, link/2+1, 0)
	}
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

// churn lets groups join and leave at random, checking everything after every step, then lets all leave and checks that nothing is left behind.
func churn(t *testing.T, e Engine, env Env, steps int, draw *sim.Stream) {
	t.Helper()
	var present []GroupID
	next := GroupID(0)
	leave := func() {
		i := draw.IntN(len(present))
		simtest.Check(t, e.Leave(present[i]))
		present = slices.Delete(present, i, i+1)
	}
	verify := func(step int) {
		f := e.Forest()
		err := f.Check()
		simtest.FatalIf(t, err != nil, "step %d: %v", step, err)
		simtest.FatalIf(t, f.NumGroups() != len(present), "step %d: %d groups, want %d", step, f.NumGroups(), len(present))
	}
	for step := range steps {
		if len(present) > 0 && draw.IntN(24) < len(present) {
			leave()
		} else {
			g := randomGroup(next, env.Graph, draw)
			next++
			err := e.Join(g)
			simtest.FatalIf(t, err != nil && !errors.As(err, new(*ExhaustedError)), "step %d: %v", step, err)
			if err == nil {
				present = append(present, g.ID)
			}
		}
		verify(step)
	}
	for len(present) > 0 {
		leave()
	}
	verify(steps)
	m := e.Forest().Measure()
	simtest.ErrorIf(t, m.Colours != 0 || m.MaxEFI != 0 || m.Trees != 0, "after the last group left: %+v", m)
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
			err := batch.JoinAll(nil)
			simtest.ErrorIf(t, err != nil || r.engine.Forest().Measure().Trees != 0, "%s: %v, %d trees", r.name, err, r.engine.Forest().Measure().Trees)
		}
	}
}

type variant struct {
	name   string
	engine Engine
	env    Env
}

// engineVariants makes every registered engine with every choice of its settings, with unlimited
// and few entries, with a table per switch and per port.
func engineVariants(t *testing.T, env Env) []variant {
	var variants []variant
	for _, name := range Registry.Names() {
		config := simtest.Must(Registry.Config(name))(t)
		for _, set := range combinations(t, config) {
			for _, entries := range []int{Unlimited, 1, 5} {
				for _, perPort := range []bool{false, true} {
					v := variant{env: env}
					v.env.Entries, v.env.PerPort = entries, perPort
					c, _ := Registry.Config(name)
					set(c)
					v.name = fmt.Sprintf("%s/%+v/entries=%d/port=%v", name, c, entries, perPort)
					v.engine = simtest.Must(Registry.Build(name, c, v.env))(t)
					variants = append(variants, v)
				}
			}
		}
	}
	return variants
}

// family is a network of a registered family.
func family(name string, settings ...param.Setting) *topology.Graph {
	x, err := topology.Registry.New(name, struct{}{}, settings...)
	if err != nil {
		panic(err)
	}
	return x.Graph()
}

// gridNet is a torus (or mesh) of the given dimensions.
func gridNet(wrap bool, hosts int, dims ...int) *topology.Graph {
	return family(map[bool]string{true: "torus", false: "mesh"}[wrap], param.Set("dims", dims), param.Set("terminals", hosts))
}

// randomNet wires so many ports of each switch at random.
func randomNet(switches, hosts, degree, seed int) *topology.Graph {
	return family("random-regular", param.Set("switches", switches), param.Set("degree", degree), param.Set("terminals", hosts), param.Set("seed", seed))
}

// fatTreeNet is a three-level fat tree of switches with so many ports.
func fatTreeNet(ports int) *topology.Graph {
	return family("fat-tree", param.Set("k", ports), param.Set("n", 3))
}

// dragonflyNet has a*h+1 groups of a switches with p hosts and h global cables.
func dragonflyNet(a, p, h int) *topology.Graph {
	return family("dragonfly", param.Set("a", a), param.Set("p", p), param.Set("h", h), param.Set("arrangement", "relative"))
}

// newEnv is an environment on a network.
func newEnv(t testing.TB, g *topology.Graph) Env {
	t.Helper()
	return simtest.Must(NewEnv(g, 0))(t)
}

func gridPattern(t testing.TB, g *topology.Graph, ranks int, dims ...int) []Group {
	t.Helper()
	return pattern(t, "grid", PatternEnv{Terminals: g.Terminals()}, param.Set("dims", dims), param.Set("ranks_per_terminal", ranks))
}

// pattern makes the groups of a pattern.
func pattern(t testing.TB, name string, env PatternEnv, settings ...param.Setting) []Group {
	t.Helper()
	groups := simtest.Must(Patterns.New(name, env, settings...))(t)
	for i, g := range groups {
		simtest.FatalIf(t, g.ID != GroupID(i), "group %d has number %d", i, g.ID)
	}
	return groups
}

// combinations returns one setter for every combination of a configuration's choices and booleans; numbers keep their defaults.
func combinations(t *testing.T, config any) []func(any) {
	t.Helper()
	sets := []func(any){func(any) {}}
	typ := reflect.TypeOf(config).Elem()
	for i := range typ.NumField() {
		var values []any
		switch f := typ.Field(i); {
		case f.Type.Kind() == reflect.Bool:
			values = []any{false, true}
		case f.Tag.Get("choices") != "":
			for _, c := range strings.Split(f.Tag.Get("choices"), "|") {
				values = append(values, c)
			}
		default:
			continue
		}
		var more []func(any)
		for _, set := range sets {
			for _, v := range values {
				more = append(more, func(c any) {
					set(c)
					reflect.ValueOf(c).Elem().Field(i).Set(reflect.ValueOf(v))
				})
			}
		}
		sets = more
	}
	return sets
}

// run routes groups by an engine with its defaults.
func run(t testing.TB, env Env, engine string, groups []Group, check bool) *Result {
	t.Helper()
	return simtest.Must(Route(simtest.Must(Registry.New(engine, env))(t), groups, check, nil))(t)
}

// TestPlainEntries: without sharing every group takes the lowest entry that no group has; those that groups leave are taken again before new ones.
func TestPlainEntries(t *testing.T) {
	graph := fatTreeNet(4)
	e := simtest.Must(Registry.New("minhop-mc", newEnv(t, graph)))(t)
	entry := func(id GroupID) Colour {
		simtest.Check(t, e.Join(NewGroup(id, []topology.TerminalID{0, 5}, nil)))
		return simtest.Must(e.Forest().Planted(id))(t).Colour
	}
	for id := range GroupID(4) {
		simtest.Equal(t, entry(id), Colour(id), "group %d has entry", id)
	}
	simtest.Check(t, e.Leave(2))
	simtest.Check(t, e.Leave(1))
	for i, want := range []Colour{1, 2, 4} {
		simtest.Equal(t, entry(GroupID(10+i)), want, "join %d after two groups have left entries 1 and 2: entry", i)
	}
}

// TestGWSSSPBalances: on a ring of four, from whose switches 1 and 3 the terminals of 0 and 2 are nearest, groups of these take the switch in fewer
// trees as their root. Along 0 = 1 = 2, joined by two cables each, two groups take a cable each of every pair, and four take each twice.
func TestGWSSSPBalances(t *testing.T) {
	ring := simtest.Must(Registry.New("gw-sssp", newEnv(t, gridNet(true, 1, 4))))(t)
	for id, want := range []topology.SwitchID{1, 3, 1, 3} {
		simtest.Check(t, ring.Join(NewGroup(GroupID(id), []topology.TerminalID{0, 2}, nil)))
		simtest.Equal(t, simtest.Must(ring.Forest().Planted(GroupID(id)))(t).Switches[0], want, "group %d: root", id)
	}
	line := simtest.Must(Registry.New("gw-sssp", newEnv(t, smallNets()["parallel cables"])))(t)
	for id := range GroupID(4) {
		simtest.Check(t, line.Join(NewGroup(id, []topology.TerminalID{0, 4}, nil)))
		got, want := line.Forest().Measure().MaxEFI, int(id)/2+1
		simtest.ErrorIf(t, got != want, "%d groups: %d over one cable, want %d", id+1, got, want)
	}
}
