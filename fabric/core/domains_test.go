package core_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestThreads: the number of threads does not change a digit: counters, every quantile, confidence interval and
// channel, under light load and past saturation, on all kinds of networks, switches and decisions.
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
						n, config := c.network(t), fabric.DefaultConfig()
						c.set(&config)
						f, source := n.fabric(t, config), n.traffic(load, c.flits)
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
		n, config := dragonflyNetwork(t, remote, 2, 4, 2), fabric.DefaultConfig()
		config.Channels = map[string]fabric.ChannelConfig{"global": {Latency: sim.Nanosecond}, "local": {Latency: sim.Nanosecond}}
		f, _ := n.run(t, config, 0.1, 1, plan)
		simtest.ErrorIf(t, f.Threads() != 1, "%s was divided", remote)
	}
}

// TestTiles: a dragonfly of 1,056 terminals has 264*15 ports at switches and one at each terminal. With 16 virtual
// channels its queues take 264*15*16*32 = 2,027,520 bytes and the sending ends (264*15+1056)*16*16 = 1,284,096, ports
// and terminals less than 0.5 MiB: more than 3 MiB in all and less than 3.75, for four tiles of 0.75. With 3 virtual
// channels they are 0.6 MiB and the rest: too few for two. A window is a cycle longer than the channels between groups.
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
	dragonfly, config := dragonflyNetwork(t, "min", 2, 4, 2), fabric.DefaultConfig()
	config.Channels = map[string]fabric.ChannelConfig{"global": {Latency: 20 * sim.Nanosecond}}
	groups, part := dragonfly.topo.(topology.Grouped), dragonfly.fabric(t, config).Partition(3, nil)
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

// relay is a host model: a terminal that gets a packet passes it on, a pause later, to the next
// terminal of a tour, until it has been passed on so many times.
type relay struct {
	f      *core.Fabric
	pause  int64
	flits  int32
	queued [][]fabric.PacketSpec // by terminal
	heard  []*relaySink
	next   []fabric.Delivery // that nobody has acted on
	asked  int
	log    []string
}

type relaySink struct{ arrived []fabric.Delivery }

func (s *relaySink) Deliver(d *fabric.Delivery) { s.arrived = append(s.arrived, *d) }

const relayStops = 5

// newRelay has every terminal send a packet, in the cycle that born tells.
func newRelay(f *core.Fabric, pause int64, flits int32, born func(terminal int) int64) *relay {
	r := &relay{f: f, pause: pause, flits: flits, queued: make([][]fabric.PacketSpec, f.Graph().Terminals())}
	for t := range r.queued {
		r.send(topology.TerminalID(t), born(t), uint64(t)<<8)
	}
	return r
}

func (r *relay) Window() int64 { return r.pause }

func (r *relay) Over(int64) bool {
	r.act()
	return true
}

func (r *relay) Before(int64, int64) int64 {
	r.asked++
	r.act()
	return fabric.Never
}

// act passes on what has arrived.
func (r *relay) act() {
	for _, s := range r.heard {
		r.next = append(r.next, s.arrived...)
		s.arrived = s.arrived[:0]
	}
	slices.SortFunc(r.next, func(a, b fabric.Delivery) int {
		return cmp.Or(cmp.Compare(a.Cycle, b.Cycle), cmp.Compare(a.Tag, b.Tag))
	})
	for _, d := range r.next {
		r.log = append(r.log, fmt.Sprint(d.Tag, " from ", d.Src, " to ", d.Dst, " in ", d.Cycle))
		if stops := d.Tag & 255; stops < relayStops {
			r.send(d.Dst, d.Cycle+r.pause, d.Tag+1)
		}
	}
	r.next = r.next[:0]
}

func (r *relay) Part(int) fabric.Ends {
	s := &relaySink{}
	r.heard = append(r.heard, s)
	return fabric.Ends{Source: r, Sink: s}
}

// send has a packet born in a cycle.
func (r *relay) send(t topology.TerminalID, cycle int64, tag uint64) {
	to := (int(t)*5 + 7 + int(tag>>8)) % len(r.queued)
	r.queued[t] = append(r.queued[t], fabric.PacketSpec{Birth: cycle, Dst: topology.TerminalID(to), Flits: r.flits, Tag: tag})
	slices.SortFunc(r.queued[t], func(a, b fabric.PacketSpec) int {
		return cmp.Or(cmp.Compare(a.Birth, b.Birth), cmp.Compare(a.Tag, b.Tag))
	})
	r.f.WakeAt(t, cycle)
}

func (r *relay) Archive(a *snapshot.Archive) {
	snapshot.Array(a, "terminals", r.queued, func(a *snapshot.Archive, q *[]fabric.PacketSpec) { snapshot.Value(a, q) })
	snapshot.Value(a, &r.log)
}

func (r *relay) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	if len(r.queued[t]) == 0 {
		spec.Birth = fabric.Never
		return false
	}
	*spec = r.queued[t][0]
	if spec.Birth > until {
		return false
	}
	r.queued[t] = r.queued[t][1:]
	return true
}

// TestThreadsHostModel: packets that terminals pass on arrive in the same cycles for any number of threads; the last of
// them when it does, as [core.Fabric.Cycle] tells behind it; and pauses in which nothing happens take a window every
// hundred cycles, as slices of runs have: with five pauses of 20,000 cycles, 1,000 and some 200 more.
func TestThreadsHostModel(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	for _, pause := range []int64{1, 3, 40, 20_000} {
		t.Run(fmt.Sprint(pause), func(t *testing.T) {
			sameForThreads(t, func(t *testing.T, threads int) string {
				n := dragonflyNetwork(t, "min", 2, 4, 2)
				f := n.fabric(t, fabric.DefaultConfig())
				why := f.DivideFor(threads, pause, 0, nil)
				simtest.ErrorIf(t, threads > 1 && (why != "" || f.Threads() != threads), "%d threads, want %d: %s", f.Threads(), threads, why)
				r := newRelay(f, pause, 3, func(t int) int64 { return int64(t % 9) })
				simtest.Check(t, measure.RunToEnd(t.Context(), f, r, measure.ToEnd{}))
				want := (relayStops + 1) * len(r.queued)
				simtest.ErrorIf(t, len(r.log) != want || r.asked > 1300, "%d packets, want %d; %d windows", len(r.log), want, r.asked)
				return fmt.Sprintln(f.Cycle(), f.Counters, r.log)
			})
		})
	}
}

// runHosted runs a network of a trial whose terminals pass packets on, on threads, and tells
// all that there is to tell; few packets are born at once, so that terminals are idle now and
// then, and are woken for a packet that comes before the one they know of.
func runHosted(t testing.TB, tr *routingtest.Trial, pause int64, threads int, plan measure.ToEnd) (told string, passed int) {
	t.Helper()
	f := tr.Fabric(t)
	r := newRelay(f, pause, int32(min(3, tr.Config.Switch.BufferFlits)), func(t int) int64 { return int64(t * 37 % 400) })
	f.Split(threads)
	if err := measure.RunToEnd(t.Context(), f, r, plan); err != nil {
		return fmt.Sprint("deadlock", len(r.log)), len(r.log)
	}
	return fmt.Sprintln(f.Cycle(), f.Counters, f.ChannelFlits(), r.log), len(r.log)
}

func checkHosted(t testing.TB, tr *routingtest.Trial, seed uint64) (packets int) {
	t.Helper()
	random := sim.NewStream(seed, "conducted", 0)
	pause, calls := int64(1+random.IntN(60)), 0
	want, packets := runHosted(t, tr, pause, 1, measure.ToEnd{Snapshot: func(bool, func(*snapshot.Archive) error) error { calls++; return nil }})
	at := random.IntN(calls)
	keeps := func(at int, kept *[]byte) measure.ToEnd {
		seen := 0
		return measure.ToEnd{Snapshot: func(_ bool, state func(*snapshot.Archive) error) error {
			if seen++; seen != at+1 {
				return nil
			}
			b, err := snapshottest.Encode(state)
			*kept = bytes.Clone(b)
			return err
		}}
	}
	var kept []byte
	got, _ := runHosted(t, tr, pause, 1+random.IntN(3), keeps(at, &kept))
	simtest.ErrorIf(t, got != want, "%v: a snapshot in front of slice %d changes the run", tr, at)
	for _, threads := range simtest.Some(t, int(seed), 1, 2, 3) {
		var again []byte
		plan := keeps(0, &again)
		plan.From = snapshot.Reader(kept)
		got, _ := runHosted(t, tr, pause, threads, plan)
		simtest.FatalIf(t, !bytes.Equal(again, kept), "%v: the state in front of slice %d, restored on %d threads, is another", tr, at, threads)
		simtest.FatalIf(t, got != want, "%v: from slice %d on, %d threads come to\n%.200s\nwant\n%.200s", tr, at, threads, got, want)
	}
	return packets
}

// TestSnapshotsOfHosted: a network with a host model goes on from a snapshot to the very cycle in which the last thing
// happens, on any number of threads: on random networks, flit by flit and packet by packet.
func TestSnapshotsOfHosted(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	packets, trials := 0, uint64(12)
	if simtest.Soak() {
		trials = 600
	}
	for seed := range trials {
		packets += checkHosted(t, routingtest.DrawTrial(t, seed), seed)
		units := drawUnitTrial(t, 1000+seed)
		if seed%2 == 0 {
			units.Config.Fabric.Unit = fabric.UnitPacket
		}
		packets += checkHosted(t, units, seed)
	}
	simtest.ErrorIf(t, packets < 350, "%d packets are not a test", packets)
}
