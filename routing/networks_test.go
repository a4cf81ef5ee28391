package routing_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/sim"
)

// build makes a topology.
func build[C any](t testing.TB, name string, set func(*C)) topology.Topology {
	t.Helper()
	topo, err := sim.Make(topology.Registry, name, struct{}{}, set)
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

func dragonfly(t testing.TB, p, a, h, g int) topology.Topology {
	t.Helper()
	return build(t, "dragonfly", func(c *topology.DragonflyConfig) { c.P, c.A, c.H, c.G = p, a, h, g })
}

func torus(t testing.TB, terminals int, dims ...int) topology.Topology {
	t.Helper()
	return build(t, "torus", func(c *topology.GridConfig) { c.Dims, c.Terminals = dims, terminals })
}

func mesh(t testing.TB, terminals int, dims ...int) topology.Topology {
	t.Helper()
	return build(t, "mesh", func(c *topology.GridConfig) { c.Dims, c.Terminals = dims, terminals })
}

// network is a small instance of a family.
type network struct {
	name string
	topo topology.Topology
}

func networks(t testing.TB) []network {
	return []network{
		{"dragonfly", dragonfly(t, 2, 4, 2, 0)},
		{"dragonfly with several channels between groups", dragonfly(t, 2, 4, 2, 4)},
		{"dragonfly of two groups", dragonfly(t, 1, 3, 1, 2)},
		{"dragonfly of one-switch groups", dragonfly(t, 2, 1, 4, 0)},
		{"torus", torus(t, 2, 4, 6)},
		{"torus of odd and short rings", torus(t, 1, 5, 3, 2)},
		{"mesh", mesh(t, 1, 4, 3)},
		{"hypercube", mesh(t, 1, 2, 2, 2, 2)},
		{"fat tree", build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })},
		{"tapered tree with parallel cables", build(t, "xgft", func(c *topology.XGFTConfig) {
			c.M, c.W, c.Parallel = []int{4, 3, 2}, []int{1, 2, 1}, []int{1, 2, 3}
		})},
		{"random", build(t, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 24, 4, 2 })},
		{"single switch", build(t, "single-switch", func(c *topology.SingleSwitchConfig) { c.Terminals = 5 })},
	}
}

// variant is a routing with one of its choices changed from the default.
type variant struct {
	name, key, value string
	config           any
}

// variants lists routing name with its defaults, with every allowed value of
// every setting that has a list of them, and with every switch turned.
func variants(t testing.TB, name string) []variant {
	fresh := func() any {
		c, err := routing.Registry.Config(name)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	all := []variant{{name: name, config: fresh()}}
	eachChoice(reflect.TypeOf(fresh()).Elem(), nil, func(key, value string, index []int) {
		c := fresh()
		switch field := reflect.ValueOf(c).Elem().FieldByIndex(index); {
		case field.Kind() == reflect.Bool:
			field.SetBool(!field.Bool())
			all = append(all, variant{name, key, value, c})
		case field.String() != value:
			field.SetString(value)
			all = append(all, variant{name, key, value, c})
		}
	})
	return all
}

func eachChoice(typ reflect.Type, at []int, visit func(key, value string, index []int)) {
	for i := range typ.NumField() {
		f, index := typ.Field(i), append(at[:len(at):len(at)], i)
		if f.Anonymous {
			eachChoice(f.Type, index, visit)
		} else if f.Type.Kind() == reflect.Bool {
			visit(f.Tag.Get("toml"), "other", index)
		} else if choices := f.Tag.Get("choices"); choices != "" {
			for _, value := range strings.Split(choices, "|") {
				visit(f.Tag.Get("toml"), value, index)
			}
		}
	}
}

// eachRouting runs a test of every routing, in every variant, on every network
// that carries it.
func eachRouting(t *testing.T, test func(t *testing.T, n network, v variant, r fabric.Routing)) {
	nets := networks(t)
	for _, name := range routing.Registry.Names() {
		carried := 0
		for _, v := range variants(t, name) {
			for _, n := range nets {
				r, err := routing.Registry.Build(name, v.config, routing.Env{Topology: n.topo})
				if err != nil {
					continue
				}
				carried++
				t.Run(strings.Join([]string{name, v.key, v.value, n.name}, "/"), func(t *testing.T) { test(t, n, v, r) })
			}
		}
		if carried == 0 {
			t.Errorf("no network of the suite carries routing %q", name)
		}
	}
}

// certificate proves r on topo, all destinations, whatever the flow control. The
// graph is that of all dependencies.
func certificate(t testing.TB, topo topology.Topology, r fabric.Routing, vcs int) (certify.Certificate, *certify.Graph) {
	t.Helper()
	g := certify.New(vcs)
	walked, all, err := routing.Dependencies(topo.Graph(), r, vcs, 0, g.Add)
	if e, ok := r.(fabric.EscapeRouting); ok && err == nil {
		extended := certify.NewEscape(vcs)
		walked, all, err = routing.EscapeDependencies(topo.Graph(), e, vcs, true, 0, extended.Add)
		if err != nil {
			t.Fatal(err)
		}
		return extended.Certify(walked, all), g
	}
	if err != nil {
		t.Fatal(err)
	}
	if walked != all || all == 0 {
		t.Fatalf("walked %d of %d destinations", walked, all)
	}
	return g.Certify(walked, all), g
}
