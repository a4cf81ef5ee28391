package topologytest

import (
	"errors"
	"reflect"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Sample is one set of settings of a registered topology.
type Sample struct {
	Name   string
	Config any // what the registry's Config returns, changed at will
	// TightBisection says that the documentation claims the bisection to be the
	// true minimum with these settings, not only an upper bound. At most 20
	// switches can be checked.
	TightBisection bool
}

// draws is the number of random settings with which Conform builds a topology.
const draws = 8

// Conform holds the registered topology name to the contract of Graph, Facts and
// the capabilities, with its defaults and with settings drawn at random. One
// that reads a file is only held to a *param.ParamError where none is named; give
// such samples to [Check].
func Conform(t *testing.T, name string) {
	config, err := topology.Registry.Config(name)
	if err != nil {
		t.Fatal(err)
	}
	if readsFile(config) {
		if _, err := topology.Registry.Build(name, config, struct{}{}); !errors.As(err, new(*param.ParamError)) {
			t.Errorf("%s without a path: %v, want a *param.ParamError", name, err)
		}
		return
	}
	t.Run("defaults", func(t *testing.T) { Check(t, name, Sample{Config: config}) })
	stream := sim.NewStream(1, "topologytest "+name, 0)
	for range draws {
		if config, _, ok := draw(name, &stream, Small); ok {
			t.Run(describe(config), func(t *testing.T) { Check(t, name, Sample{Config: config}) })
		}
	}
}

// Check holds topology name, built with the settings of a sample, to the
// contract.
func Check(t testing.TB, name string, s Sample) {
	t.Helper()
	build := func() topology.Topology {
		topo, err := topology.Registry.Build(name, s.Config, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		return topo
	}
	topo := build()
	g := topo.Graph()
	if g != topo.Graph() {
		t.Error("Graph differs from call to call")
	}
	if !reflect.DeepEqual(g, build().Graph()) {
		t.Error("two builds with one configuration differ")
	}
	CheckGraph(t, g)
	checkFacts(t, topo, s.TightBisection)
	if x, ok := topo.(topology.Formed); ok {
		checkForms(t, x)
	}
	if x, ok := topo.(topology.Grouped); ok {
		checkGrouped(t, x)
	}
	if x, ok := topo.(topology.Grid); ok {
		checkGrid(t, x)
	}
	if x, ok := topo.(topology.Hamming); ok {
		checkHamming(t, x)
	}
	if x, ok := topo.(topology.Ranked); ok {
		checkRanked(t, x)
	}
	if x, ok := topo.(topology.Tree); ok {
		checkTree(t, x)
	}
}
