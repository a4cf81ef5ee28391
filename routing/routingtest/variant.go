package routingtest

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Variant is a registered routing with one of its choices changed from the
// default.
type Variant struct {
	Routing    string
	Key, Value string // what is changed; "" for the defaults
	Config     any
	// CanDeadlock tells that the choice is for demonstrations, or that the network
	// decides ([routing.NetworkDecides]).
	CanDeadlock bool
}

// String names the variant.
func (v Variant) String() string {
	if v.Key == "" {
		return v.Routing + "/defaults"
	}
	return v.Routing + "/" + v.Key + "/" + v.Value
}

// Variants lists a routing with its defaults, with every allowed value of every
// setting that has a list of them, and with every switch turned.
func Variants(t testing.TB, name string) []Variant {
	t.Helper()
	fresh := func() any {
		config := simtest.Must(routing.Registry.Config(name))(t)
		return config
	}
	decides := routing.NetworkDecides(name)
	all := []Variant{{Routing: name, Config: fresh(), CanDeadlock: decides}}
	place := -1
	param.EachSetting(fresh(), func(f reflect.StructField, v reflect.Value) {
		place++
		values := strings.Split(f.Tag.Get("choices"), "|")
		if v.Kind() == reflect.Bool {
			values = []string{"other"}
		}
		for _, value := range values {
			if value == "" || v.Kind() == reflect.String && value == v.String() {
				continue
			}
			config := fresh()
			setPlace(config, place, value)
			deadlocks := decides || slices.Contains(strings.Split(f.Tag.Get("deadlocks"), "|"), value)
			all = append(all, Variant{name, f.Tag.Get("toml"), value, config, deadlocks})
		}
	})
	return all
}

// setPlace gives the setting at a place among config's settings another value.
func setPlace(config any, place int, value string) {
	param.EachSetting(config, func(_ reflect.StructField, v reflect.Value) {
		if place--; place != -1 {
			return
		}
		if v.Kind() == reflect.Bool {
			v.SetBool(!v.Bool())
		} else {
			v.SetString(value)
		}
	})
}

// On builds the variant for a topology; false if it does not carry the routing,
// or if the variant makes no difference there.
func (v Variant) On(topo topology.Topology) (fabric.Routing, bool) {
	env := routing.Env{Topology: topo}
	r, err := routing.Registry.Build(v.Routing, v.Config, env)
	if err != nil || v.Key != "" && slices.Contains(routing.Registry.Unused(v.Routing, env, r), v.Key) {
		return nil, false
	}
	return r, true
}

// drawn are a network of every family, drawn once.
var drawn = sync.OnceValue(func() []topologytest.Network {
	return topologytest.Networks(topologytest.Size{Switches: 24, Terminals: 40})
})

// networks are a network of every family and the caller's.
func networks(more []topologytest.Network) []topologytest.Network {
	return slices.Concat(drawn(), more)
}

// Each runs a test of a registered routing in all of its variants, on all of the
// given networks that carry it, and on one of each family of topologies. Routings
// that read files have no defaults that any network carries; their own tests call
// [ConformOn].
func Each(t *testing.T, name string, more []topologytest.Network, test func(t *testing.T, n topologytest.Network, v Variant, r fabric.Routing)) {
	nets := networks(more)
	carried := 0
	for _, v := range Variants(t, name) {
		for _, n := range nets {
			if r, ok := v.On(n.Topology); ok {
				carried++
				t.Run(strings.Join([]string{v.String(), n.Name}, "/"), func(t *testing.T) { test(t, n, v, r) })
			}
		}
	}
	config := simtest.Must(routing.Registry.Config(name))(t)
	if _, reads := config.(topology.PathConfig); carried == 0 && !reads {
		t.Errorf("no network of the suite carries routing %q", name)
	}
}
