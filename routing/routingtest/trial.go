package routingtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Trial is a random network under random settings.
type Trial struct {
	Seed    uint64
	Routing fabric.Routing
	Config  fabric.Config
	VCs     int
	Flits   int // of a packet, at most
	network topologytest.Network
	name    string
	latency int64 // of every channel
}

// DrawTrial draws a network of a registered family for a registered routing, one in three with
// fewer virtual channels than it asks for.
func DrawTrial(t testing.TB, seed uint64) *Trial {
	t.Helper()
	random := sim.NewStream(seed, "fabrics", 0)
	stream := &random
	families, routings := topologytest.Families(), routing.Registry.Names()
	for {
		n, ok := topologytest.Draw(families[stream.IntN(len(families))], stream, topologytest.Small)
		if !ok || n.Topology.Graph().Terminals() < 2 {
			continue
		}
		name := routings[stream.IntN(len(routings))]
		all := Variants(t, name)
		v := all[stream.IntN(len(all))]
		r, err := routing.Registry.Build(name, v.Config, routing.Env{Topology: n.Topology, Seed: 1})
		if err != nil {
			continue
		}
		return settings(t, seed, n, v, r.VCs(), stream)
	}
}

// DrawTrialOf draws a network of a family for a variant of a routing; nil if it finds none. For the
// overload's traffic see [Trial.Check].
func DrawTrialOf(t testing.TB, seed uint64, family string, v Variant) *Trial {
	t.Helper()
	stream := sim.NewStream(seed, "fabrics of a pair", 0)
	for range 4 {
		n, ok := topologytest.Draw(family, &stream, topologytest.Small)
		if !ok || n.Topology.Graph().Terminals() < 2 {
			continue
		}
		if r, ok := v.On(n.Topology); ok {
			return settings(t, seed, n, v, r.VCs(), &stream)
		}
	}
	return nil
}

// settings draws the settings of switches, channels and packets.
func settings(t testing.TB, seed uint64, n topologytest.Network, v Variant, vcs int, stream *sim.Stream) *Trial {
	t.Helper()
	some := func(least, most int) int { return least + stream.IntN(most-least+1) }
	tr := &Trial{Seed: seed, network: n, name: v.String(), VCs: min(vcs+some(0, 2), 16), Flits: some(1, 5), latency: int64(some(1, 4))}
	if stream.IntN(3) == 0 {
		tr.VCs = max(1, vcs-1)
	}
	var err error
	if tr.Routing, err = routing.Registry.Build(v.Routing, v.Config, routing.Env{Topology: n.Topology, Seed: 1, VCs: tr.VCs, AllowDeadlock: true}); err != nil {
		t.Fatal(err)
	}
	c := fabric.DefaultConfig()
	c.Fabric.AllowDeadlock = true
	s := &c.Switch
	s.VCs, s.BufferFlits, s.OutputBufferFlits = tr.VCs, some(1, 6), some(0, 3)
	s.RouteCycles, s.VCAllocCycles, s.CrossbarCycles, s.CreditCycles = some(0, 2), some(0, 1), some(0, 2), some(0, 2)
	s.Speedup, s.Iterations = float64(some(1, 3)), some(1, 2)
	allocators := allocator.Registry.Names()
	s.Allocator = allocator.Named(allocators[stream.IntN(len(allocators))])
	if !allocator.TraitsOf(s.Allocator.Name()).Iterates {
		s.Iterations = 1
	}
	if stream.IntN(2) == 0 {
		s.FlowControl = "cut-through"
		tr.Flits = min(tr.Flits, s.BufferFlits) // a packet must fit into a buffer
		if stream.IntN(2) == 0 {
			s.OutputBufferFlits = some(1, 3)
			if s.VCs <= 15 { // tables name lanes 0 to 14
				drawLanes(s, some)
			}
		}
	}
	c.Terminal.InjectionCycles = some(0, 3)
	if stream.IntN(3) == 0 {
		s.Pipeline = fabric.Serial
	}
	c.Channels = map[string]fabric.ChannelConfig{}
	for _, class := range n.Topology.Graph().Classes {
		c.Channels[class.Name] = fabric.ChannelConfig{Latency: sim.Time(tr.latency) * sim.Nanosecond, CreditLatency: sim.Time(seed%6) * sim.Nanosecond}
	}
	tr.Config = c
	return tr
}

// drawLanes gives every virtual channel a weight in one or both of the tables for arbitration of
// lanes.
func drawLanes(s *fabric.SwitchConfig, some func(least, most int) int) {
	var tables [2][]string
	for vc := range s.VCs {
		in := some(0, 2)
		for i := range tables {
			if in == i || in == 2 {
				tables[i] = append(tables[i], fmt.Sprintf("%d:%d", vc, some(1, 8)))
			}
		}
	}
	s.VLArbHigh, s.VLArbLow, s.VLHighLimit = strings.Join(tables[0], ","), strings.Join(tables[1], ","), some(0, 2)
}

// Check holds a trial to what must be, in runs of so many cycles:
//   - the walk to goals misses no dependency;
//   - a network with a certificate never stops, and the audit at the end of
//     its run finds every flit and credit;
//   - a network that does stop has a wait-for cycle, in the dependency graph;
//   - single packets in the idle network take the time of the hand formula;
//   - the throughput of oblivious routings keeps to the bound of the channel
//     loads.
func (tr *Trial) Check(t testing.TB, cycles int64) (all Tally) {
	t.Helper()
	all.Trials = 1
	c, dependencies := checkStages(t, tr.network.Topology, tr.Routing, tr.VCs, false)
	if c.Acyclic() {
		all.Certified = 1
	}
	tr.checkIdle(t)
	err := tr.overload(t, cycles)
	var deadlock *core.DeadlockError
	switch {
	case errors.As(err, &deadlock):
		all.Stopped = 1
		if c.Acyclic() || len(deadlock.Waits) == 0 {
			t.Errorf("%v: %s, but %v", tr, c.Describe(tr.Graph()), err)
		}
		for i, w := range deadlock.Waits {
			simtest.ErrorIf(t, !dependencies[w.Dependency()] || w.Wants != deadlock.Waits[(i+1)%len(deadlock.Waits)].Holds,
				"%v: step %d is not in the dependency graph: %v", tr, i, err)
		}
	case err != nil:
		t.Errorf("%v: %v", tr, err)
	case tr.checkBound(t, cycles):
		all.Bounded = 1
	}
	return all
}

func (tr *Trial) String() string {
	return fmt.Sprintf("seed %d: %s, %d virtual channels, on %s", tr.Seed, tr.name, tr.VCs, tr.network.Name)
}

// Fabric builds the network.
func (tr *Trial) Fabric(t testing.TB) *core.Fabric {
	t.Helper()
	return tr.With(t, tr.Config)
}

// With builds the network with other settings.
func (tr *Trial) With(t testing.TB, config fabric.Config) *core.Fabric {
	t.Helper()
	f, err := core.New(tr.Graph(), config, tr.Routing, 5)
	simtest.FatalIf(t, err != nil, "%v: %v", tr, err)
	return f
}

// Graph is the graph of the network.
func (tr *Trial) Graph() *topology.Graph { return tr.network.Topology.Graph() }

// Traffic is a source of uniform traffic at a load, with packets of one size.
func (tr *Trial) Traffic(load float64) *measure.OpenLoop {
	n := tr.Graph().Terminals()
	return measure.NewOpenLoop(n, Uniform(n), AtRate(load/float64(tr.Flits)), Fixed(tr.Flits), 5)
}

// overload runs the network with uniform traffic beyond its capacity, or, with an odd seed, from
// each terminal to one other: then the same channels stay full.
func (tr *Trial) overload(t testing.TB, cycles int64) error {
	source := tr.Traffic(1)
	if n := tr.Graph().Terminals(); tr.Seed%2 == 1 {
		source = measure.NewOpenLoop(n, newPartners(n, tr.Seed), AtRate(1/float64(tr.Flits)), Fixed(tr.Flits), 5)
	}
	_, err := measure.Run(context.Background(), tr.Fabric(t), source, 1, measure.Plan{Warmup: 500, Window: cycles})
	return err
}

// partners sends from each terminal to one other.
type partners []topology.TerminalID

// newPartners draws one cycle of all terminals (Sattolo 1986).
func newPartners(n int, seed uint64) partners {
	stream, p := sim.NewStream(seed, "partners", 0), partners(topology.Numbers[topology.TerminalID](n))
	for t := n - 1; t > 0; t-- {
		other := stream.IntN(t)
		p[t], p[other] = p[other], p[t]
	}
	return p
}

func (p partners) Destination(t topology.TerminalID, _ *sim.Stream) topology.TerminalID { return p[t] }

// sources counts flits delivered by their source.
type sources []float64

func (s sources) Deliver(d *fabric.Delivery) { s[d.Src] += float64(d.Flits) }

// checkBound compares the least throughput of a terminal in an overloaded network with the bound of
// the channel loads; false if the routing has none. Terminals send first come, first served, so
// that throughput keeps each destination's share. If all terminals exceeded the bound, its channel
// would carry more than a flit a cycle. In n cycles it carries n flits, of n/flits packets, a
// number that spreads by at most its root: six times that, and the flits in the buffers behind the
// channel at the start, are allowed.
func (tr *Trial) checkBound(t testing.TB, cycles int64) bool {
	g := tr.Graph()
	load, err := routing.Loads(g, tr.Routing, tr.VCs, Uniform(g.Terminals()))
	if err != nil {
		return false
	}
	most := slices.Max(load.Port)
	f, count := tr.Fabric(t), make(sources, g.Terminals())
	f.Attach(fabric.Ends{Source: tr.Traffic(1), Sink: count})
	f.Advance(1000)
	clear(count)
	f.Advance(cycles)
	path := 2*metrics.Measure(g).Diameter() + 4 // switches, as good as all of any path
	held := float64(path * tr.Config.Switch.BufferFlits * tr.VCs)
	n := float64(cycles) + held
	limit := n / most * (1 + 6/math.Sqrt(n/float64(tr.Flits)))
	least := slices.Min(count)
	simtest.ErrorIf(t, least > limit,
		"%v: every terminal gets %.0f flits through in %d cycles, channel loads allow %.0f", tr, least, cycles, limit)
	return true
}

// lonely sends one packet after the other, each into an idle network.
type lonely struct {
	stream    sim.Stream
	spacing   int64
	terminals int
	flits     int32
	turn      []int64 // next birth, by terminal
	delivered []fabric.Delivery
}

func (l *lonely) Next(t topology.TerminalID, until int64, p *fabric.PacketSpec) bool {
	*p = fabric.PacketSpec{Birth: l.turn[t], Flits: l.flits}
	if p.Birth > until {
		return false
	}
	l.turn[t] += l.spacing * int64(l.terminals)
	p.Dst = topology.TerminalID(l.stream.IntN(l.terminals))
	return true
}

func (l *lonely) Deliver(d *fabric.Delivery) { l.delivered = append(l.delivered, *d) }

// checkIdle compares single packets with the formula of docs/model.md. All channels have one
// latency, so that only the number of switches counts:
//
//	injection + latency + switches * (stages + latency) + (flits - 1)
//
// A buffer shorter than the credit round trip holds up the flits behind the head, as does an output
// buffer shorter than the way to it, where flits have places from switch allocation on; there
// packets have one flit.
func (tr *Trial) checkIdle(t testing.TB) {
	t.Helper()
	n := tr.Graph().Terminals()
	s := &tr.Config.Switch
	flits := int32(1)
	way := int(math.Ceil(float64(s.SwitchAllocCycles+s.CrossbarCycles) / s.Speedup))
	latency := max(tr.latency, int64(tr.Seed%6))
	if int64(s.BufferFlits) >= s.RoundTrip(fabric.ChannelTiming{Latency: latency, CreditLatency: latency}, false) && (s.OutputBufferFlits == 0 || s.OutputBufferFlits > way) {
		flits = int32(tr.Flits)
	}
	l := &lonely{stream: sim.NewStream(7, "lonely", 0), spacing: 1000, terminals: n, flits: flits, turn: make([]int64, n)}
	for i := range l.turn {
		l.turn[i] = int64(i) * l.spacing
	}
	f := tr.Fabric(t)
	f.Attach(fabric.Ends{Source: l, Sink: l})
	f.Advance(20 * l.spacing)
	simtest.FatalIf(t, len(l.delivered) == 0, "%v: nothing arrived", tr)
	stages := int64(math.Ceil(float64(s.RouteCycles+s.VCAllocCycles+s.SwitchAllocCycles+s.CrossbarCycles) / s.Speedup))
	for _, d := range l.delivered {
		want := int64(tr.Config.Terminal.InjectionCycles) + tr.latency + int64(d.Hops)*(stages+tr.latency) + int64(flits-1)
		if got := d.Cycle - d.Birth; got != want {
			t.Errorf("%v: %d flits over %d switches take %d cycles, want %d (%+v)", tr, flits, d.Hops, got, want, *s)
			return
		}
	}
}

// Tally counts what came out of trials.
type Tally struct{ Trials, Certified, Stopped, Bounded int }

// Add adds up.
func (a *Tally) Add(o Tally) {
	a.Trials += o.Trials
	a.Certified += o.Certified
	a.Stopped += o.Stopped
	a.Bounded += o.Bounded
}

// String tells the counts.
func (a Tally) String() string {
	return fmt.Sprintf("%d fabrics, %d certified, %d held to a throughput bound, %d stopped", a.Trials, a.Certified, a.Bounded, a.Stopped)
}

// Variant is a registered routing with one of its choices changed from the default.
type Variant struct {
	Routing    string
	Key, Value string // what is changed; "" for the defaults
	Config     any
	// CanDeadlock tells that the choice is for demonstrations, or that the network decides.
	CanDeadlock bool
}

// String names the variant.
func (v Variant) String() string {
	if v.Key == "" {
		return v.Routing + "/defaults"
	}
	return v.Routing + "/" + v.Key + "/" + v.Value
}

// Variants lists a routing with its defaults, with every value of every setting that has a list of
// them, and with every switch turned.
func Variants(t testing.TB, name string) []Variant {
	t.Helper()
	fresh := func() any {
		config := simtest.Must(routing.Registry.Config(name))(t)
		return config
	}
	all := []Variant{{Routing: name, Config: fresh()}}
	place := -1
	param.EachSetting(fresh(), func(f *param.Field, v reflect.Value) {
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
			deadlocks := slices.Contains(strings.Split(f.Tag.Get("deadlocks"), "|"), value)
			all = append(all, Variant{name, f.Key, value, config, deadlocks})
		}
	})
	return all
}

// setPlace gives the setting at a place among config's settings another value.
func setPlace(config any, place int, value string) {
	param.EachSetting(config, func(_ *param.Field, v reflect.Value) {
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

// On builds the variant for a topology; false if it does not carry it, or if the variant changes
// nothing.
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

// Each runs a test of a registered routing in all of its variants, on all of the given networks
// that carry it, and on one of each family of topologies. Routings that read files have no defaults
// for this; their own tests call [ConformOn].
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
