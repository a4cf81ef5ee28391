package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestThreads: the number of threads does not change a digit: counters, every
// quantile, confidence interval and channel, under light load and past
// saturation, on all kinds of networks, switches and decisions.
func TestThreads(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	core.PrefetchAlways(t.Cleanup)
	for _, c := range []struct {
		name    string
		network func(t testing.TB) network
		set     func(c *fabric.Config)
		flits   int
	}{
		{"dragonfly", dragonfly("min"), func(c *fabric.Config) {}, 1},
		{"dragonfly, pipelined", dragonfly("val"), func(c *fabric.Config) { *c = pipelined() }, 3},
		{"dragonfly, cut-through", dragonfly("val"), func(c *fabric.Config) { c.Switch.FlowControl = "cut-through" }, 4},
		{"dragonfly, fractional speedup", dragonfly("min"), func(c *fabric.Config) { c.Switch.Speedup = 1.5 }, 2},
		{"dragonfly, UGAL-L", dragonfly("ugal-l"), func(c *fabric.Config) { c.Switch.BufferFlits = 8 }, 2},
		{"dragonfly, UGAL-L_VCH", dragonfly("ugal-l-vch"), func(c *fabric.Config) { c.Switch.BufferFlits = 8 }, 2},
		{"dragonfly, UGAL-L_CR", dragonfly("ugal-l-cr"), func(c *fabric.Config) { c.Switch.BufferFlits = 8 }, 2},
		{"dragonfly, PAR", dragonfly("par"), func(c *fabric.Config) {}, 1},
		{"dragonfly, Q-adaptive", dragonfly("q-adaptive"), func(c *fabric.Config) { c.Switch.BufferFlits = 8 }, 2},
		{"dragonfly, UGAL-G", dragonfly("ugal-g"), func(c *fabric.Config) {
			c.Channels = map[string]fabric.ChannelConfig{"global": {Latency: 20 * sim.Nanosecond}}
		}, 1},
		{"dragonfly, wavefront", dragonfly("val"), func(c *fabric.Config) { c.Switch.Allocator = allocator.Named("wavefront") }, 2},
		{"dragonfly, age", dragonfly("val"), func(c *fabric.Config) { c.Switch.Allocator = allocator.Named("age") }, 2},
		{"dragonfly, matrix", dragonfly("val"), func(c *fabric.Config) { c.Switch.Allocator = allocator.Named("matrix") }, 2},
		{"dragonfly, packets", dragonfly("val"), packets, 6},
		{"dragonfly, packets, UGAL-L", dragonfly("ugal-l"), packets, 4},
		{"dragonfly, packets, Q-adaptive", dragonfly("q-adaptive"), packets, 4},
		{"dragonfly, arbitration between lanes", dragonfly("val"), func(c *fabric.Config) {
			*c = laneConfig("2:8", "0:24,1:8", 1)
		}, 6},
		{"tree", smallTree, func(c *fabric.Config) {}, 1},
		{"torus", smallTorus, func(c *fabric.Config) { c.Switch.BufferFlits = 6 }, 5},
	} {
		plan := measure.Plan{Precision: 0.05, Budget: 3000, Levels: true}
		if testing.Short() {
			plan = measure.Plan{Warmup: 50, Window: 100, Levels: true} // with the race detector
		}
		t.Run(c.name, func(t *testing.T) {
			for _, load := range simtest.Some(t, 0, 0.1, 0.9) {
				t.Run(fmt.Sprint(load), func(t *testing.T) {
					want := ""
					for i, threads := range append([]int{1}, simtest.Threads(t, 0)...) {
						if i == 1 { // the first is not tiled
							core.TileFrom(t.Cleanup, 1, 1)
						}
						n := c.network(t)
						config := fabric.DefaultConfig()
						c.set(&config)
						f := n.fabric(t, config)
						source := n.traffic(load, c.flits)
						plan.Threads = threads
						r := simtest.Must(measure.Run(t.Context(), f, source, load, plan))(t)
						simtest.ErrorIf(t, f.Threads() != threads || (f.Domains() > 1) != (i > 0),
							"run %d: %d threads, %d domains, want %d threads", i, f.Threads(), f.Domains(), threads)
						got := fmt.Sprint(f.Counters, r.Latency().Quantile(0.5), r.Latency().Quantile(0.99)) + describe(r)
						simtest.ErrorIf(t, r.Levels()[0].Packets != r.Packets(), "%d packets of level 0, %d in all", r.Levels()[0].Packets, r.Packets())
						if want == "" {
							want = got
						}
						simtest.ErrorIf(t, got != want, "%d threads, %d domains:\n%.300s\nwant\n%.300s", threads, f.Domains(), got, want)
					}
				})
			}
		})
	}
}

// sameForThreads runs something on several numbers of threads and wants the same of all.
func sameForThreads(t *testing.T, run func(t *testing.T, threads int) string) {
	t.Helper()
	want := ""
	for _, threads := range simtest.Threads(t, 0) {
		got := run(t, threads)
		if threads == 1 {
			want = got
		}
		simtest.ErrorIf(t, got != want, "%d threads:\n%s", threads, difference(got, want))
	}
}

// A thread begins with its own parts, the first half of them, and takes over those
// of another that is late, from the last on; nobody does a part twice.
func TestLateThread(t *testing.T) {
	first, second := core.TaskOrders()
	want := []int{0, 1, 2, 3, 7, 6, 5, 4}
	simtest.ErrorIf(t, !slices.Equal(first, want) || len(second) > 0, "parts %v and %v, want %v and none", first, second, want)
}

// Routings that read other switches and small networks keep to one thread.
func TestThreadsRefused(t *testing.T) {
	run := func(n network, plan measure.Plan) *core.Fabric {
		t.Helper()
		f, _ := n.run(t, fabric.DefaultConfig(), 0.1, 1, plan)
		return f
	}
	plan := measure.Plan{Threads: 2, Warmup: 100, Window: 100}
	simtest.ErrorIf(t, run(dragonflyNetwork(t, "min", 2, 4, 2), plan).Threads() != 1, "a small network was divided")
	core.DivideAlways(t.Cleanup)
	// Channels of one latency: groups are divided.
	for _, remote := range []string{"ugal-g", "ugal-pb"} {
		n := dragonflyNetwork(t, remote, 2, 4, 2)
		config := fabric.DefaultConfig()
		config.Channels = map[string]fabric.ChannelConfig{"global": {Latency: sim.Nanosecond}, "local": {Latency: sim.Nanosecond}}
		f, _ := n.run(t, config, 0.1, 1, plan)
		simtest.ErrorIf(t, f.Threads() != 1, "%s was divided", remote)
	}
}

// TestTiles: a dragonfly of 1,056 terminals has 264*15 ports at switches and one at each terminal.
// With 16 virtual channels its queues take 264*15*16*32 = 2,027,520 bytes and the sending ends
// (264*15+1056)*16*16 = 1,284,096, ports and terminals less than 0.5 MiB: more than 3 MiB in all and
// less than 3.75, for four tiles of 0.75. With 3 virtual channels they are 0.6 MiB and the rest: too few for
// two. A window is a cycle longer than the channels between groups.
func TestTiles(t *testing.T) {
	for _, c := range []struct{ vcs, latency, want int }{{16, 15, 4}, {16, 14, 1}, {3, 15, 1}} {
		config := fabric.DefaultConfig()
		config.Switch.VCs = c.vcs
		config.Channels = map[string]fabric.ChannelConfig{"global": {Latency: sim.Time(c.latency) * sim.Nanosecond}}
		f, _ := dragonflyNetwork(t, "min", 4, 8, 4).run(t, config, 0.1, 1, measure.Plan{Warmup: 1, Window: 1})
		simtest.ErrorIf(t, f.Domains() != c.want || f.Threads() != 1,
			"%d virtual channels, %d ns: %d domains, %d threads; want %d, 1", c.vcs, c.latency, f.Domains(), f.Threads(), c.want)
	}
}

// TestPartition: a dragonfly falls into whole groups, a torus into slabs, a fat tree into halves of
// its leaves with the switches above them; parts are of nearly equal size.
func TestPartition(t *testing.T) {
	dragonfly := dragonflyNetwork(t, "min", 2, 4, 2)
	config := fabric.DefaultConfig()
	config.Channels = map[string]fabric.ChannelConfig{"global": {Latency: 20 * sim.Nanosecond}}
	groups := dragonfly.topo.(topology.Grouped)
	part := dragonfly.fabric(t, config).Partition(3, nil)
	for s := range part {
		simtest.ErrorIf(t, part[s] != groups.GroupOf(topology.SwitchID(s))/3,
			"dragonfly: switch %d of group %d is in part %d", s, groups.GroupOf(topology.SwitchID(s)), part[s])
	}
	torus := newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{4, 6} })
	part = torus.fabric(t, fabric.DefaultConfig()).Partition(2, nil)
	for s := range part {
		simtest.ErrorIf(t, part[s] != s/12, "torus: switch %d is in part %d", s, part[s])
	}
	// 4-ary: 4 pods of 2 leaves and 2 middles, 4 tops: parts of 2 pods and 2 tops.
	tree := smallTree(t)
	g := tree.topo.Graph()
	part = tree.fabric(t, fabric.DefaultConfig()).Partition(2, nil)
	for terminal := range g.Terminals() {
		simtest.Equal(t, part[g.TerminalSwitch(topology.TerminalID(terminal))], terminal/8, "tree: terminal %d is in part", terminal)
	}
	cut := 0
	for p := range g.NumPorts() {
		if peer, ok := g.PeerPort(topology.PortID(p)); ok && part[g.PortSwitch[p]] != part[g.PortSwitch[peer]] {
			cut++
		}
	}
	if sizes := slices.Repeat([]int{0}, 2); cut != 16 { // each top has 2 of its 4 cables to the other half: 4*2, both directions
		for _, p := range part {
			sizes[p]++
		}
		t.Errorf("tree: %d channels are cut, want 16; sizes %v", cut, sizes)
	}
	// Tops, each as near to one half as to the other, are divided in order of their numbers.
	simtest.EqualSlices(t, part[16:], []int{0, 0, 1, 1}, "tree: tops are in parts")
	// Traffic in the first two pods only: a pod each, and the tops again.
	weights := make([]int32, g.Terminals())
	for terminal := range 8 {
		weights[terminal] = 1
	}
	part = tree.fabric(t, fabric.DefaultConfig()).Partition(2, weights)
	for terminal := range 8 {
		got := part[g.TerminalSwitch(topology.TerminalID(terminal))]
		simtest.ErrorIf(t, got != terminal/4, "tree, half empty: terminal %d is in part %d", terminal, got)
	}
	simtest.EqualSlices(t, part[16:], []int{0, 0, 1, 1}, "tree, half empty: tops are in parts")
}
