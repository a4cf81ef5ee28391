package atlas

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/param"
)

// sizes are settings of families whose defaults are another size than that at which pairs
// are measured, some hundred terminals.
var sizes = map[string]string{
	"dragonfly":      "p = 2\na = 4\nh = 2\n",
	"megafly":        "p = 3\nleaves = 3\nspines = 3\nh = 3\n",
	"hyperx":         "dims = [4, 4]\nterminals = 4\n",
	"polarfly":       "q = 7\n",
	"jellyfish":      "switches = 48\ndegree = 6\nterminals = 3\n",
	"xpander":        "degree = 6\nlift = 7\nterminals = 3\n",
	"random-regular": "switches = 48\ndegree = 6\nterminals = 3\n",
	"torus":          "dims = [8, 8]\nterminals = 2\n",
	"mesh":           "dims = [8, 8]\nterminals = 2\n",
	"twisted-torus":  "dims = [8, 4]\ntwist = [0, 4]\nterminals = 2\n",
	"fat-tree":       "k = 8\nn = 3\n",
	"xgft":           "m = [6, 6, 4]\nw = [1, 3, 3]\n",
	"butterfly":      "k = 4\nn = 3\n",
	"kautz":          "d = 3\nn = 3\nterminals = 3\n",
	"oft":            "k = 4\n",
	"rail-optimised": "rails = 4\nnodes = 8\nunits = 4\nuplinks = 8\nspines = 4\n",
	"multi-plane":    "planes = 2\nm = [8, 8]\nw = [1, 4]\nparallel = [1, 2]\n",
}

// Networks lists a network of every registered family that needs no file.
func Networks() []Candidate {
	var all []Candidate
	for _, name := range topology.Registry.Names() {
		c := Candidate{name, sizes[name]}
		if _, err := c.Build(); err == nil {
			all = append(all, c)
		}
	}
	return all
}

// Pair is a routing on a network, and what is known of it without running it.
type Pair struct {
	Network *Candidate
	Routing string
	// Variant is a setting with which the routing can deadlock, "KEY = VALUE"; empty for
	// the defaults.
	Variant string
	VCs     int
	// Refused says why weft does not build it, without the sentence's subject; a network
	// without what the routing needs is no pair at all.
	Refused     string
	Certificate network.Certificate
	Learns      bool    // switches learn while packets move
	Uniform     float64 // bounds from channel loads; NaN where choices depend on queues
	Worst       float64
}

// WorstPattern names the pattern that is hard for a network: one group to the next
// where there are groups, else all terminals of a switch to those of another.
func WorstPattern(x topology.Topology) string {
	if hasPattern(x, "worst-case") {
		return "worst-case"
	}
	return "switch-permutation"
}

// hasPattern tells whether a network has what a pattern needs.
func hasPattern(x topology.Topology, name string) bool {
	_, err := traffic.Patterns.New(name, traffic.Env{Topology: x, Seed: 1})
	return err == nil
}

// Pairs certifies every registered routing that a network has what it needs for, with its
// defaults and with each choice by which it can deadlock.
func Pairs(network *Candidate) ([]Pair, error) {
	x, err := network.Build()
	if err != nil {
		return nil, err
	}
	var all []Pair
	for _, name := range routing.Registry.Names() {
		env := routing.Env{Topology: x, TopologyName: network.Family, Seed: 1}
		keys, err := routing.Registry.Settings(name, env)
		if err != nil {
			continue // the network has not got what it needs
		}
		config, err := routing.Registry.Config(name)
		if err != nil {
			return nil, err
		}
		pair := certified(network, x, name, "", config, env)
		if pair.Refused != "" && readsFiles(config) {
			continue // it is no pair without a file
		}
		all = append(all, pair)
		param.EachSetting(config, func(f reflect.StructField, v reflect.Value) {
			key := f.Tag.Get("toml")
			if !slices.Contains(keys, key) || f.Tag.Get("deadlocks") == "" {
				return
			}
			was, env := v.String(), env
			env.AllowDeadlock = true
			for _, choice := range strings.Split(f.Tag.Get("deadlocks"), "|") {
				v.SetString(choice)
				p := certified(network, x, name, fmt.Sprintf("%s = %q", key, choice), config, env)
				r, err := routing.Registry.Build(name, config, env)
				if err != nil || slices.Contains(routing.Registry.Unused(name, env, r), key) {
					continue // it goes with another setting, or there is no ring to cut
				}
				all = append(all, p)
			}
			v.SetString(was)
		})
	}
	return all, nil
}

// readsFiles tells whether a routing is about files, such as those of a cluster.
func readsFiles(config any) bool {
	_, reads := config.(interface{ Files() []string })
	return reads
}

// certified builds a pair and looks at it.
func certified(c *Candidate, x topology.Topology, name, variant string, config any, env routing.Env) Pair {
	p := Pair{Network: c, Routing: name, Variant: variant, Uniform: math.NaN(), Worst: math.NaN()}
	r, err := routing.Registry.Build(name, config, env)
	if err != nil {
		p.Refused = err.Error()
		return p
	}
	p.VCs = max(1, r.VCs())
	_, p.Learns = r.(fabric.Learner)
	if p.Certificate, err = network.Certify(x.Graph(), r, p.VCs); err != nil {
		p.Refused = err.Error()
		return p
	}
	p.Uniform, p.Worst = bound(x, r, p.VCs, "uniform"), bound(x, r, p.VCs, WorstPattern(x))
	return p
}

// bound is the load at which the first channel is full, NaN where it is not known.
func bound(x topology.Topology, r fabric.Routing, vcs int, pattern string) float64 {
	p, err := traffic.Patterns.New(pattern, traffic.Env{Topology: x, Seed: 1})
	if err != nil {
		return math.NaN()
	}
	load, err := routing.Loads(x.Graph(), r, vcs, p.(traffic.Matrix))
	if err != nil {
		return math.NaN()
	}
	most, _ := load.Bound(nil)
	return min(1, most)
}

// NetworksOf are those of [Networks] of the families that are named; all without names.
func NetworksOf(names []string) ([]Candidate, error) {
	all := Networks()
	if len(names) == 0 {
		return all, nil
	}
	var some []Candidate
	for _, name := range names {
		i := slices.IndexFunc(all, func(c Candidate) bool { return c.Family == name })
		if i < 0 {
			var known []string
			for _, c := range all {
				known = append(known, c.Family)
			}
			return nil, fmt.Errorf("--topology %s: want %s", name, strings.Join(known, ", "))
		}
		some = append(some, all[i])
	}
	return some, nil
}
