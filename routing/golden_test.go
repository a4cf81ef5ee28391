package routing_test

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// digest is a sink that hashes deliveries, whatever their order (FNV-1a).
type digest struct{ sum uint64 }

func (d *digest) Deliver(p *fabric.Delivery) {
	h := uint64(14695981039346656037)
	for _, x := range []uint64{uint64(p.Src), uint64(p.Dst), uint64(p.Birth), uint64(p.Cycle), uint64(p.Hops)} {
		h = (h ^ x) * 1099511628211
		h ^= h >> 29
	}
	d.sum += h
}

// TestGoldenAdaptive pins the decisions of the adaptive routings on groups, in every variant of their settings, and with several Valiant candidates
// and an offset, and of those that weigh the queues of many channels: the sum of the hashes of all deliveries, under traffic that loads some channels
// more than others. The numbers were recorded from implementations that walked both paths of every packet step by step, hop counts and all, or looked
// at one channel after the other and asked of each whether it is allowed; what is fast must decide the same. A change of the model records them anew
// (the failure prints them) and says so in the change log.
func TestGoldenAdaptive(t *testing.T) {
	groups := []topology.Topology{dragonfly(t, 2, 4, 2, 0), dragonfly(t, 2, 4, 2, 4), dragonfly(t, 1, 3, 1, 2), dragonfly(t, 2, 1, 4, 0)}
	hamming := []topology.Topology{hyperX(t, 2, 4, 3, 4), hyperX(t, 3, 5, 2)}
	for _, degree := range []int{7, 40} {
		hamming = append(hamming, build(t, "random-regular", func(c *topology.RandomRegularConfig) {
			c.Switches, c.Degree, c.Terminals = map[int]int{7: 48, 40: 44}[degree], degree, 2
		}))
	}
	for name, c := range map[string]struct {
		nets []topology.Topology
		want uint64
	}{
		"ugal-g":     {groups, 0xecbc3310333b25e3},
		"ugal-l":     {groups, 0xdfdb7c89a4e61822},
		"ugal-l-vc":  {groups, 0x8c4d5f3d345d2ca4},
		"ugal-l-vch": {groups, 0x270ddd90a9eb9a5d},
		"ugal-l-cr":  {groups, 0x8c0e2b84ffceb408},
		"ugal-pb":    {groups, 0x6e5ba9e07bf2230c},
		"par":        {groups, 0x245451c80c934d1f},
		"dal":        {hamming[:2], 0x7760170d4500aaf},
		"dimwar":     {hamming[:2], 0x17a8b2169401e86e},
		"omniwar":    {hamming[:2], 0x5ca280042964a47a},
		"polarized":  {hamming, 0xa23cccaa179e8634},
	} {
		all := routingtest.Variants(t, name)
		order := simtest.Must(routing.Registry.Settings(name, routing.Env{Topology: c.nets[0]}))(t) // of the form on groups
		slices.SortStableFunc(all, func(a, b routingtest.Variant) int { return slices.Index(order, a.Key) - slices.Index(order, b.Key) })
		if c.nets[0] == groups[0] {
			all = append(all, routingtest.Variant{Routing: name, Config: eager(t, name)})
		}
		got := uint64(0)
		for _, v := range all {
			for _, topo := range c.nets {
				if r, ok := v.On(topo); ok && !v.CanDeadlock {
					got = got*31 + digestOf(t, topo, r)
				}
			}
		}
		simtest.ErrorIf(t, got != c.want, "%s: digest %#x, want %#x", name, got, c.want)
	}
}

// eager is the configuration of a routing with several candidates and an offset.
func eager(t *testing.T, name string) any {
	config := simtest.Must(routing.Registry.Config(name))(t)
	param.EachSetting(config, func(f *param.Field, v reflect.Value) {
		switch f.Key {
		case "candidates":
			v.SetInt(3)
		case "threshold":
			v.SetInt(-2)
		}
	})
	if pb, ok := config.(*routing.PiggybackConfig); ok {
		pb.Factor, pb.Offset = 0.5, 0 // two global channels a switch never differ by more than twice the mean
	}
	return config
}

// digestOf runs r under traffic half of which goes to the next terminals but three.
func digestOf(t *testing.T, topo topology.Topology, r fabric.Routing) uint64 {
	t.Helper()
	g, config := topo.Graph(), fabric.DefaultConfig()
	config.Switch.BufferFlits = 8
	config.Switch.CreditsPerCycle = 0 // as recorded
	f, d := simtest.Must(core.New(g, config, r, 5))(t), &digest{}
	f.Attach(fabric.Ends{Source: measure.NewOpenLoop(g.Terminals(), skewed{g.Terminals()}, steadily(0.3), mixed{}, 5), Sink: d})
	f.Advance(400)
	return d.sum + uint64(f.FlitHops)
}

type skewed struct{ n int }

func (s skewed) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	if i := r.IntN(2 * s.n); i < s.n {
		return topology.TerminalID(i)
	}
	return (src + 3) % topology.TerminalID(s.n)
}

// mixed draws packets of one or two flits.
type mixed struct{}

func (mixed) Draw(r *sim.Stream) int { return 1 + r.IntN(2) }

// TestSharedSteps: routings on groups take the same ways by either form of their tables, with the same random numbers,
// in dragonflies with a channel between two groups, with several, and with several of one switch.
func TestSharedSteps(t *testing.T) {
	for _, name := range []string{"min", "val", "ugal-g", "ugal-l", "ugal-l-vc", "ugal-l-vch", "ugal-l-cr", "ugal-pb", "par", "q-adaptive"} {
		for _, gateway := range []string{"random", "hashed"} {
			for i, of := range [][4]int{{2, 4, 2, 0}, {2, 4, 2, 4}, {1, 3, 1, 2}, {2, 1, 4, 0}, {1, 3, 5, 3}} {
				net := dragonfly(t, of[0], of[1], of[2], of[3])
				whole, restore := must(t, net, 0, name, settings(name, gateway)...), routing.ShareSteps()
				shared := must(t, net, 0, name, settings(name, gateway)...)
				restore()
				a, b := digestOf(t, net, whole), digestOf(t, net, shared)
				simtest.ErrorIf(t, a != b, "%s, gateways %s, network %d: digests %#x and %#x", name, gateway, i, a, b)
				all, others := dependencies(t, net, whole, whole.VCs()), dependencies(t, net, shared, shared.VCs())
				simtest.ErrorIf(t, !slices.Equal(all, others), "%s, gateways %s, network %d: %d and %d dependencies, or others", name, gateway, i, len(all), len(others))
			}
		}
	}
}

func settings(name, gateway string) []param.Setting {
	if name == "q-adaptive" {
		return nil // takes any gateway
	}
	return []param.Setting{param.Set("gateway", gateway)}
}

// build makes a topology.
func build[C any](t testing.TB, name string, set func(*C)) topology.Topology {
	t.Helper()
	return simtest.Must(param.Make(topology.Registry, name, struct{}{}, set))(t)
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

// The graphs of testdata come from the atlas's reference data, made there from the published definitions: NAME.edges.gz, a line "u v" for each cable;
// NAME.nexthop.gz, one next hop for each pair; NAME.rperm.gz, the destination of each terminal, 4 on a switch, under a permutation of switches.

// edgeList is a graph of testdata with so many terminals on each switch.
func edgeList(t testing.TB, name string, terminals int) topology.Topology {
	t.Helper()
	var edges [][2]topology.SwitchID
	for _, line := range lines(t, name+".edges.gz") {
		var e [2]topology.SwitchID
		simtest.Must(fmt.Sscan(line, &e[0], &e[1]))(t)
		edges = append(edges, e)
	}
	return joined(edges, terminals)
}

// joined is the network of some cables.
func joined(edges [][2]topology.SwitchID, terminals int) topology.Topology {
	switches := topology.SwitchID(0)
	for _, e := range edges {
		switches = max(switches, e[0]+1, e[1]+1)
	}
	b := topology.NewBuilder(int(switches), topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "cable", Latency: 1})
	for t := range int(switches) * terminals {
		b.AddTerminal(topology.SwitchID(t/terminals), 0)
	}
	for _, e := range edges {
		b.AddLink(e[0], e[1], 1)
	}
	return topology.NewFileNetwork(b.Freeze())
}

// lines lists the lines of a file of testdata without comments.
func lines(t testing.TB, name string) []string {
	t.Helper()
	data := simtest.Must(input.ReadInput(filepath.Join("testdata", name), input.MaxInput))(t)
	var all []string
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "#") {
			all = append(all, s.Text())
		}
	}
	return all
}

// recorder keeps the heads that a running fabric asks about.
type recorder struct {
	fabric.Routing
	view  *fabric.View
	heads []fabric.Head
}

func (r *recorder) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	r.view, r.heads = v, append(r.heads, *h)
	return r.Routing.Route(v, h)
}

// BenchmarkRoute is the cost of a decision, over the heads of a real run.
func BenchmarkRoute(b *testing.B) {
	large, tree := dragonfly(b, 4, 8, 4, 0), build(b, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 16, 3 })
	random := build(b, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 512, 10, 4 })
	for _, c := range []struct {
		name     string
		topo     topology.Topology
		routing  string
		settings []param.Setting
	}{
		{"min/dragonfly=1056", large, "min", nil},
		{"val/dragonfly=1056", large, "val", nil},
		{"dor/torus=16x16", torus(b, 1, 16, 16), "dor", nil},
		{"nca/fat-tree=1024", tree, "nca", nil},
		{"nca-least-loaded/fat-tree=1024", tree, "nca", []param.Setting{param.Set("up", "least-loaded")}},
		{"table/random=512", random, "table", nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			rec, g := &recorder{Routing: must(b, c.topo, 0, c.routing, c.settings...)}, c.topo.Graph()
			f := simtest.Must(core.New(g, fabric.DefaultConfig(), rec, 1))(b)
			f.Attach(fabric.Ends{Source: measure.NewOpenLoop(g.Terminals(), uniformly(g.Terminals()), steadily(0.2), single{}, 1), Sink: &counter{}})
			f.Advance(int64(100000 / g.Terminals()))
			b.ReportAllocs()
			b.ResetTimer()
			var h fabric.Head
			for done := 0; done < b.N; done += len(rec.heads) {
				for _, h = range rec.heads[:min(len(rec.heads), b.N-done)] {
					rec.Routing.Route(rec.view, &h)
				}
			}
		})
	}
}

// BenchmarkCertify is the cost of a whole certificate.
func BenchmarkCertify(b *testing.B) {
	topo := dragonfly(b, 4, 8, 4, 0)
	for _, r := range []struct {
		name string
		fabric.Routing
	}{{"min", must(b, topo, 0, "min")}, {"val", must(b, topo, 0, "val")}} {
		b.Run(r.name+"/dragonfly=1056", func(b *testing.B) {
			for b.Loop() {
				c := certify.New(r.VCs())
				walked, all, err := routing.Dependencies(topo.Graph(), r.Routing, r.VCs(), 0, c.Add)
				simtest.FatalIf(b, err != nil || !c.Certify(walked, all).Acyclic(), "%v", err)
			}
		})
	}
}
