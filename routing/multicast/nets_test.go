package multicast

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

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
	env, err := NewEnv(g, 0)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func gridPattern(t testing.TB, g *topology.Graph, ranks int, dims ...int) []Group {
	t.Helper()
	return pattern(t, "grid", PatternEnv{Terminals: g.Terminals()}, param.Set("dims", dims), param.Set("ranks_per_terminal", ranks))
}

// pattern makes the groups of a pattern.
func pattern(t testing.TB, name string, env PatternEnv, settings ...param.Setting) []Group {
	t.Helper()
	groups, err := Patterns.New(name, env, settings...)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range groups {
		if g.ID != GroupID(i) {
			t.Fatalf("group %d has number %d", i, g.ID)
		}
	}
	return groups
}

// combinations returns one setter for every combination of a configuration's
// choices and booleans; numbers keep their defaults.
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
	e, err := Registry.New(engine, env)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Route(e, groups, check, nil)
	if err != nil {
		t.Fatalf("multicast engine %q: %v", engine, err)
	}
	return r
}
