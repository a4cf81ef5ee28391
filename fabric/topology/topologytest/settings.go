package topologytest

import (
	"errors"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Sets lists settings of a family.
func Sets[C any](configs ...C) (list []any) {
	for i := range configs {
		list = append(list, &configs[i])
	}
	return list
}

// To sets all settings of a family.
func To[C any](config C) func(any) { return func(c any) { *c.(*C) = config } }

// But changes settings of a family from the defaults.
func But[C any](set func(*C)) func(any) { return func(c any) { set(c.(*C)) } }

// Make builds a family's network of the defaults as set changes them.
func Make(family string, set func(any)) (topology.Topology, error) {
	config, err := topology.Registry.Config(family)
	if err != nil {
		return nil, err
	}
	set(config)
	return topology.Registry.Build(family, config, struct{}{})
}

// Build is Make, which has to succeed.
func Build[C any](t testing.TB, family string, set func(*C)) topology.Topology {
	t.Helper()
	return simtest.Must(Make(family, But(set)))(t)
}

// Refuses checks that settings are refused, by the key of the problem.
func Refuses(t *testing.T, family, key string, set func(any)) {
	t.Helper()
	_, err := Make(family, set)
	var problem *param.ParamError
	if !errors.As(err, &problem) || problem.Key != key {
		t.Errorf("%s: %v, want a problem of %s", family, err, key)
	}
}

// CheckFacts checks a network against closed forms that were counted by hand, or elsewhere.
func CheckFacts(t *testing.T, family string, set func(any), want topology.Facts) {
	t.Helper()
	x := simtest.Must(Make(family, set))(t)
	g := x.Graph()
	if got := x.Facts(); got != want || g.Switches() != got.Switches || g.Terminals() != got.Terminals || g.SwitchLinks() != got.Links {
		t.Errorf("%s: %+v, want %+v; the graph has %d switches, %d terminals, %d links", family, got, want, g.Switches(), g.Terminals(), g.SwitchLinks())
	}
	CheckGraph(t, g)
	if d := metrics.Measure(g).Diameter(); g.Switches() < 2000 && d != want.Diameter {
		t.Errorf("%s: diameter %d, want %d", family, d, want.Diameter)
	}
}

// CheckShape is [CheckLayout] of a family's network, which has a shape and a number of frames.
func CheckShape(t *testing.T, family string, set func(any), shape topology.Shape, frames int) {
	t.Helper()
	if l := CheckLayout(t, simtest.Must(Make(family, set))(t), 0.99); l.Shape != shape || len(l.Frames) != frames {
		t.Errorf("%s: shape %v with %d frames: %s", family, l.Shape, len(l.Frames), l.How)
	}
}

// LeadsTo lists the switches at the other ends of a switch's ports to switches.
func LeadsTo(g *topology.Graph, s topology.SwitchID) (list []topology.SwitchID) {
	for _, to := range g.Links(s) {
		list = append(list, to)
	}
	return list
}
