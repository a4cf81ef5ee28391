package multicast

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// gridNet is a torus (or mesh) of the given dimensions.
func gridNet(wrap bool, hosts int, dims ...int) *topology.Graph {
	n := 1
	for _, d := range dims {
		n *= d
	}
	b := topology.NewBuilder(n, topology.Class{Name: "local"})
	for s := range n {
		for range hosts {
			b.AddTerminal(topology.SwitchID(s), 0)
		}
	}
	for s := range n {
		stride := 1
		for _, d := range dims {
			at := s / stride % d
			if at+1 < d {
				b.AddLink(topology.SwitchID(s), topology.SwitchID(s+stride), 0)
			} else if wrap && d > 2 {
				b.AddLink(topology.SwitchID(s), topology.SwitchID(s-at*stride), 0)
			}
			stride *= d
		}
	}
	return b.Freeze()
}

// randomNet wires so many ports of each switch at random.
func randomNet(switches, hosts, degree int, seed uint64) *topology.Graph {
	b := topology.NewBuilder(switches, topology.Class{Name: "local"})
	for s := range switches {
		for range hosts {
			b.AddTerminal(topology.SwitchID(s), 0)
		}
	}
	draw := sim.NewStream(seed, "test network", 0)
	// Pair stubs, then swap until there are no loops and parallel cables.
	stubs := make([]int, 0, switches*degree)
	for s := range switches {
		for range degree {
			stubs = append(stubs, s)
		}
	}
	sim.Shuffle(&draw, stubs)
	joined := map[[2]int]int{}
	key := func(i int) [2]int {
		return [2]int{min(stubs[2*i], stubs[2*i+1]), max(stubs[2*i], stubs[2*i+1])}
	}
	pairs := len(stubs) / 2
	for i := range pairs {
		joined[key(i)]++
	}
	bad := func(i int) bool { k := key(i); return k[0] == k[1] || joined[k] > 1 }
	for i := range pairs {
		for tries := 0; bad(i) && tries < 1000; tries++ {
			j := draw.IntN(pairs)
			joined[key(i)]--
			joined[key(j)]--
			stubs[2*i], stubs[2*j] = stubs[2*j], stubs[2*i]
			joined[key(i)]++
			joined[key(j)]++
			if bad(i) || bad(j) {
				joined[key(i)]--
				joined[key(j)]--
				stubs[2*i], stubs[2*j] = stubs[2*j], stubs[2*i]
				joined[key(i)]++
				joined[key(j)]++
			}
		}
	}
	for i := range pairs {
		k := key(i)
		b.AddLink(topology.SwitchID(k[0]), topology.SwitchID(k[1]), 0)
	}
	return b.Freeze()
}

// trimmedNet is a tree of boards: leaves of so many hosts, each leaf joined to
// every middle switch of its board, each top to so many middles of every board.
func trimmedNet(boards, hosts, perLeaf, middles, tops, joins int) *topology.Graph {
	leaves := (hosts + perLeaf - 1) / perLeaf
	perBoard := leaves + middles
	b := topology.NewBuilder(boards*perBoard+tops, topology.Class{Name: "local"})
	for board := range boards {
		base := board * perBoard
		for h := range hosts {
			b.AddTerminal(topology.SwitchID(base+h/perLeaf), 0)
		}
		for l := range leaves {
			for m := range middles {
				b.AddLink(topology.SwitchID(base+l), topology.SwitchID(base+leaves+m), 0)
			}
		}
		for t := range tops {
			for j := range joins {
				b.AddLink(topology.SwitchID(base+leaves+(t*joins+j)%middles), topology.SwitchID(boards*perBoard+t), 0)
			}
		}
	}
	return b.Freeze()
}

// fatTreeNet is a three-level fat tree of switches with so many ports.
func fatTreeNet(ports int) *topology.Graph {
	half := ports / 2
	pods := ports
	b := topology.NewBuilder(pods*ports+half*half, topology.Class{Name: "local"})
	for pod := range pods {
		base := pod * ports
		for l := range half {
			for range half {
				b.AddTerminal(topology.SwitchID(base+l), 0)
			}
			for m := range half {
				b.AddLink(topology.SwitchID(base+l), topology.SwitchID(base+half+m), 0)
			}
		}
		for m := range half {
			for t := range half {
				b.AddLink(topology.SwitchID(base+half+m), topology.SwitchID(pods*ports+m*half+t), 0)
			}
		}
	}
	return b.Freeze()
}

// dragonflyNet has a*h+1 groups of a switches with p hosts and h global cables.
func dragonflyNet(a, p, h int) *topology.Graph {
	groups := a*h + 1
	b := topology.NewBuilder(groups*a, topology.Class{Name: "local"})
	for s := range groups * a {
		for range p {
			b.AddTerminal(topology.SwitchID(s), 0)
		}
	}
	for g := range groups {
		for i := range a {
			for j := range i {
				b.AddLink(topology.SwitchID(g*a+i), topology.SwitchID(g*a+j), 0)
			}
		}
		for k := range a * h { // absolute arrangement: cable k leads to group (g+k+1) mod groups
			other := (g + k + 1) % groups
			if other > g {
				back := (g - other - 1 + groups) % groups
				b.AddLink(topology.SwitchID(g*a+k/h), topology.SwitchID(other*a+back/h), 0)
			}
		}
	}
	return b.Freeze()
}

func gridPattern(t testing.TB, g *topology.Graph, ranks int, dims ...int) []Group {
	t.Helper()
	groups, err := param.Make(Patterns, "grid", PatternEnv{Terminals: g.Terminals()}, func(c *GridConfig) {
		c.Dims = dims
		c.RanksPerTerminal = ranks
	})
	if err != nil {
		t.Fatal(err)
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
