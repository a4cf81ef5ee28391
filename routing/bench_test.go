package routing_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// recorder keeps the heads that a running fabric asks about.
type recorder struct {
	fabric.Routing
	view  *fabric.View
	heads []fabric.Head
}

func (r *recorder) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	r.view = v
	r.heads = append(r.heads, *h)
	return r.Routing.Route(v, h)
}

// BenchmarkRoute is the cost of a decision, over the heads of a real run.
func BenchmarkRoute(b *testing.B) {
	for _, c := range []struct {
		name string
		topo topology.Topology
		r    func(topology.Topology) fabric.Routing
	}{
		{"min/dragonfly=1056", dragonfly(b, 4, 8, 4, 0), func(t topology.Topology) fabric.Routing {
			return must(b, t, 0, "min")
		}},
		{"val/dragonfly=1056", dragonfly(b, 4, 8, 4, 0), func(t topology.Topology) fabric.Routing {
			return must(b, t, 0, "val")
		}},
		{"dor/torus=16x16", torus(b, 1, 16, 16), func(t topology.Topology) fabric.Routing {
			return must(b, t, 0, "dor")
		}},
		{"nca/fat-tree=1024", build(b, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 16, 3 }), func(t topology.Topology) fabric.Routing {
			return must(b, t, 0, "nca")
		}},
		{"nca-least-loaded/fat-tree=1024", build(b, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 16, 3 }), func(t topology.Topology) fabric.Routing {
			return must(b, t, 0, "nca", param.Set("up", "least-loaded"))
		}},
		{"table/random=512", build(b, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 512, 10, 4 }), func(t topology.Topology) fabric.Routing {
			return must(b, t, 0, "table")
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			rec := &recorder{Routing: c.r(c.topo)}
			g := c.topo.Graph()
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
