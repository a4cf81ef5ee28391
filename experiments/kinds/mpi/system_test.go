package mpi

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/adapters"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/mpi/systems"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestSystemsAgreeOnIdlePairs: under every preset but qdr a message between two idle nodes takes as long
// through the fabric as over LogGP, on one switch and over two to four of them, within five flit times. Latencies
// are rounded to cycles once a cable and once a cable with a switch, births and the last flit up; a
// rendezvous has three transfers, and its way is compared as a whole.
func TestSystemsAgreeOnIdlePairs(t *testing.T) {
	dragonfly := simtest.Must(topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 2), param.Set("a", 4), param.Set("h", 2)))(t).Graph()
	// over so many switches, to the first node of the nearest switch that is one channel less away
	over := func(switches int) string {
		return fmt.Sprintf("[0, %d]", 2*slices.Index(dragonfly.DistancesFrom(0, nil), int16(switches-1)))
	}
	for _, preset := range append(systems.Registry.Names(), "edr, pieces and look-ups of pages") {
		if preset == systems.QDR {
			continue
		}
		preset, pieces, _ := strings.Cut(preset, ",")
		for _, pair := range []struct {
			topology, nodes string
			switches        int
		}{{"fat-tree", "[0, 1]", 1}, {"fat-tree", "[0, 15]", 3}, {"dragonfly", "[0, 1]", 1}, {"dragonfly", over(2), 2}, {"dragonfly", over(3), 3}, {"dragonfly", over(4), 4}} {
			settings := []string{"kind=mpi", "job.ranks=2", "placement.per_node=1", "placement.type=explicit", "placement.nodes=" + pair.nodes,
				"loggp.nodes_per_leaf=2", "topology.type=" + pair.topology, "workload.iterations=3", "system.preset=" + preset,
				`sweep.workload.bytes=["1B", "188B", "300B", "2KiB", "8KiB", "16KiB", "64KiB", "1MiB"]`, "sweep.job.machine=[loggp, fabric]"}
			if pieces != "" {
				settings = append(settings, "system.library=intel-mpi", "system.transport=verbs")
			}
			if pair.topology == "dragonfly" {
				settings = append(settings, "topology.p=2", "topology.a=4", "topology.h=2")
			}
			if pair.switches%2 == 0 {
				settings = append(settings, fmt.Sprintf("system.far_switches=%d", pair.switches))
			}
			o := enginetest.OutcomeOf(t, "", settings...)
			trips := enginetest.Numbers(t, o.Results, "steady_iteration_s")
			link := (&SystemTable{Preset: experiments.Choose(systems.Registry, preset)}).values()
			flit := 0.0
			for _, v := range link {
				if v.Key == "hca.link_rate" {
					var rate sim.Rate
					simtest.Check(t, rate.UnmarshalText([]byte(v.Value)))
					flit = fabric.FlitTime(rate, 64).Seconds()
				}
			}
			for i := 0; i < len(trips); i += 2 {
				difference := math.Abs(trips[i]-trips[i+1]) / 2
				simtest.ErrorIf(t, !(difference <= 5*flit), "%s, nodes %v, size %d: one way takes %v s over LogGP, %v s through the fabric: %.1f flit times apart", preset, pair, i/2, trips[i]/2, trips[i+1]/2, difference/flit)
			}
		}
	}
}

// TestSystemSetsWhatIsNotGiven: a preset sets the tables of a machine, keys of the file stay, also those
// of an adapter that is not the default one; a library adds its own and chooses algorithms.
func TestSystemSetsWhatIsNotGiven(t *testing.T) {
	c := mpiOf(t, "[system]\npreset = \"edr\"\nlibrary = \"mpich\"\n[hca]\nmtu = \"2KiB\"\n[protocol]\nsend_overhead = \"1us\"\n[workload]\ntype = \"osu-alltoall\"\nalgorithm = \"allreduce-library\"\n")
	adapter := c.HCA.Preset.Config().(*hca.Config)
	simtest.ErrorIf(t, adapter.MTU != 2048 || adapter.LinkRate != 100e9 || adapter.InlineLimit != 188, "the adapter is %+v", adapter)
	simtest.ErrorIf(t, c.Protocol.SendOverhead != sim.Microsecond || c.Protocol.RecvOverhead != 100*sim.Nanosecond || c.Protocol.Rendezvous != "get", "the protocols are %+v", c.Protocol)
	// Two cables of 10 ns and a switch of 65 ns; four and three.
	simtest.ErrorIf(t, c.LogGP.Latency != 85*sim.Nanosecond || c.LogGP.Far != 235*sim.Nanosecond, "near %v, far %v", c.LogGP.Latency, c.LogGP.Far)
	simtest.ErrorIf(t, c.Fabric.Clock != 5120*sim.Picosecond, "the clock is %v, want 64 B at 100 Gb/s", c.Fabric.Clock)
	library := ""
	for _, p := range param.DescribeParams(c.Workload.Type.Config().(*skeletons.OSUAlltoall).Algorithm.Config()) {
		if p.Key == "library" {
			library = p.Default
		}
	}
	simtest.ErrorIf(t, library != `"mpich"`, "the algorithm is of %s", library)
	verbs := mpiOf(t, "[system]\npreset = \"edr\"\nlibrary = \"intel-mpi\"\ntransport = \"verbs\"\n")
	simtest.ErrorIf(t, verbs.Protocol.SendOverhead != 690*sim.Nanosecond, "over verbs a message is posted in %v", verbs.Protocol.SendOverhead)
	none := mpiOf(t, "[hca]\npreset = \"edr\"\n")
	simtest.ErrorIf(t, none.Protocol.SendOverhead != mpi.DefaultProtocols.SendOverhead || none.LogGP != mpi.DefaultLogGP, "without a system the protocols are %+v", none.Protocol)
}

// TestSystemsAreSound: every value of every preset and library is a key of the kind, and has a source.
func TestSystemsAreSound(t *testing.T) {
	keys := map[string]bool{"hca.preset": true}
	for _, d := range experiments.DescribeKinds() {
		if d.Name != "mpi" {
			continue
		}
		for _, table := range d.Tables {
			for _, p := range table.Params {
				keys[table.Header()+"."+p.Key] = true
			}
			for _, choice := range table.Choices {
				for _, e := range choice.Entries {
					for _, p := range e.Params {
						keys[table.Header()+"."+p.Key] = true
					}
				}
			}
		}
	}
	check := func(p *systems.Preset) {
		for _, v := range p.Value {
			simtest.ErrorIf(t, !keys[v.Key] || strings.TrimSpace(v.Source) == "", "%s: %s = %s (%s) is no key of kind mpi, or has no source", p.Name, v.Key, v.Value, v.Source)
		}
		for _, f := range p.Fitted {
			for _, key := range f.Values {
				simtest.ErrorIf(t, !keys[key], "%s: fitted value %s is no key of kind mpi", p.Name, key)
			}
		}
	}
	for _, name := range systems.Registry.Names() {
		p, err := systems.Registry.New(name, struct{}{})
		simtest.Check(t, err)
		check(p)
		mpiOf(t, "[system]\npreset = \""+name+"\"\n")
	}
	for _, name := range systems.Libraries() {
		check(systems.Library(name))
	}
}

// Where the network is not contended, the fabric and LogGP agree. Flits of 8 B at 2 ns make a link of 32 Gb/s. A packet
// takes a cycle from its birth to the channel, 50 cycles on it, 2 steps of a switch with speedup 2, 50 cycles on the
// second channel: 102 cycles, LogGP's latency of 204 ns. What remains is rounding, each to less than a cycle: births,
// arrivals, flits that are not full; on a message of several packets nothing adds up, as each is born when the engine
// comes to it. A round trip has two messages, with rendezvous of four stages each.
func TestFabricAndLogGPAgree(t *testing.T) {
	o := enginetest.OutcomeOf(t, "", "kind=mpi", "job.ranks=2", "placement.per_node=1", "topology.terminals=2",
		"fabric.flit_bytes=8B", "fabric.clock=2ns", "switch.buffer_flits=512",
		"channel.terminal.latency=100ns", "loggp.latency=204ns",
		`sweep.workload.bytes=["1B", "64B", "1500B", "2KiB", "8KiB", "64KiB", "300000B"]`,
		"sweep.job.machine=[loggp, fabric]")
	trips := enginetest.Numbers(t, o.Results, "steady_iteration_s")
	for i := 0; i < len(trips); i += 2 {
		loggp, fabric := trips[i], trips[i+1]
		simtest.Near(t, loggp, fabric, 2*4*2*2e-9, "size %d: a round trip over LogGP, in s, beside one through the fabric:", i/2)
	}
}

// Giving up the orders of queue pairs without messages under way changes nothing, also
// where packets overtake each other, and where the receiver's part works on them meanwhile.
func TestOrdersAreBegunAnew(t *testing.T) {
	enginetest.DivideAlways(t)
	run := func(threads int) *results.Table {
		return enginetest.Execute(t, enginetest.Load(t, "kind = \"mpi\"\n"+enginetest.HalfFly, "job.ranks=32", "job.machine=fabric",
			"placement.per_node=2", "workload.type=osu-alltoall", "workload.bytes=12KiB",
			"workload.iterations=2"), engine.Execution{Threads: threads}).Results
	}
	want := run(1)
	defer func(n int) { adapters.FewOrders = n }(adapters.FewOrders)
	adapters.FewOrders = 1
	for _, threads := range []int{1, 3} {
		got := run(threads)
		simtest.ErrorIf(t, !reflect.DeepEqual(got, want), "%d threads: %v, want %v", threads, got.Rows, want.Rows)
	}
}

// pausing is the division of a run that is stopped now and then, for its state to be
// written: at any event of a single part, and in any gap between windows of several.
type pausing struct {
	mpi.Division
	every  int // events or windows, in the mean; 0: it is not stopped
	random sim.Stream
	first  bool // stop before anything happens
}

func (p *pausing) Archive(a *snapshot.Archive) { p.Division.(mpi.Stater).Archive(a) }

func (p *pausing) Event(a *snapshot.Archive, e *sim.Event) int {
	return p.Division.(mpi.Stater).Event(a, e)
}

// now tells whether to stop here.
func (p *pausing) now() bool { return p.every > 0 && p.random.IntN(p.every) == 0 }

// Transport implements mpi.Division.
func (p *pausing) Transport(part int, k *sim.Kernel, sink mpi.Sink) (mpi.Transport, error) {
	if p.Parts() == 1 {
		sink = pausingSink{sink, p, k}
	}
	return p.Division.Transport(part, k, sink)
}

// pausingSink stops a single kernel at some deliveries.
type pausingSink struct {
	mpi.Sink
	p *pausing
	k *sim.Kernel
}

func (s pausingSink) Delivered(id int32) {
	s.Sink.Delivered(id)
	if s.p.now() {
		s.k.Stop()
	}
}

// Run implements mpi.Division.
func (p *pausing) Run(kernels []*sim.Kernel, m mpi.Meeting) {
	stop := false
	if p.first {
		stop = pause(m)
	}
	if !stop {
		p.Division.Run(kernels, pausingMeeting{m, p})
	}
}

// pause makes a meeting offer its state.
func pause(m mpi.Meeting) (stop bool) {
	for range 1024 { // the windows for which it is not asked
		stop = stop || m.Stop()
	}
	return stop
}

type pausingMeeting struct {
	mpi.Meeting
	p *pausing
}

func (m pausingMeeting) Stop() bool {
	if m.p.Parts() == 1 {
		return m.Meeting.Stop()
	}
	return m.p.now() && pause(m.Meeting)
}

// fabricRun is a program on a fabric that is stopped and goes on.
type fabricRun struct {
	t      testing.TB
	config *Config
}

// run is the result on so many threads.
func (r *fabricRun) run(threads int, p *pausing, checkpoint mpi.Checkpoint) (string, error) {
	c := r.config
	config, err := c.Runtime(1)
	simtest.Check(r.t, err)
	w, err := c.build()
	simtest.Check(r.t, err)
	divide, over, err := c.overFabric(&config.Adapter, &experiments.Run{Threads: threads}, 1, &mpiObserved{}, false, new(mpiRow))
	simtest.Check(r.t, err)
	config.Checkpoint = checkpoint
	config.Divide = func(nodes int, alone sim.Time, why string) (mpi.Division, error) {
		p.Division, err = divide(nodes, alone, why)
		return p, err
	}
	result, err := over(config.Run(w))
	if s, ok := w.(*mpi.ScheduleRun); ok {
		return fmt.Sprint(result, s.PhaseEnds()), err
	}
	return fmt.Sprint(result), err
}

// check stops a run at random moments; what goes on from there, on any number of
// threads, comes to the same, and writes the state that it has read.
func (r *fabricRun) check(name string, random *sim.Stream, moments int) {
	want, err := r.run(1, &pausing{}, mpi.Checkpoint{})
	simtest.FatalIf(r.t, err != nil, "%s: %v", name, err)
	for moment := range moments {
		threads, seen, at := 1+random.IntN(3), 0, 1+random.IntN(20)
		every := 1 + random.IntN(20)
		var kept []byte
		got, err := r.run(threads, &pausing{every: every, random: *random}, mpi.Checkpoint{Save: func(done bool, state func(*snapshot.Archive) error) error {
			if seen++; seen > at || done && kept != nil {
				return nil
			}
			kept, err = snapshottest.Encode(state)
			return err
		}})
		simtest.FatalIf(r.t, err != nil || got != want, "%s: with snapshots, %d threads: %v, %v, want %v", name, threads, got, err, want)
		for _, threads := range simtest.Some(r.t, moment+len(name), 1, 2, 3) {
			p := &pausing{random: *random, first: true}
			var again []byte
			got, err := r.run(threads, p, mpi.Checkpoint{From: snapshot.Reader(kept), Save: func(_ bool, state func(*snapshot.Archive) error) error {
				if again != nil {
					return nil
				}
				again, err = snapshottest.Encode(state)
				return err
			}})
			simtest.FatalIf(r.t, err != nil || got != want, "%s, from state %d on, %d threads: %v, %v, want %v", name, moment, threads, got, err, want)
			simtest.FatalIf(r.t, !bytes.Equal(ofNetwork(again), ofNetwork(kept)), "%s: the network of %d bytes that %d threads read is written as another, of %d", name, len(ofNetwork(kept)), threads, len(ofNetwork(again)))
		}
		simtest.Refuse(r.run(2, &pausing{}, mpi.Checkpoint{From: snapshot.Reader(kept[:random.IntN(len(kept))])}))(r.t, "")
	}
}

// ofNetwork is the state of a run from the adapters on. What comes before has the numbers of
// messages that nobody uses, which follow from the parts.
func ofNetwork(state []byte) []byte { return state[bytes.Index(state, []byte("adapters")):] }

// TestFabricProgramsGoOn: programs on fabrics that go on from a state of a random moment, on any number of threads, are
// the programs themselves: over all protocols and ways of connecting, with lanes, and with packets as the unit.
func TestFabricProgramsGoOn(t *testing.T) {
	enginetest.DivideAlways(t)
	moments := 1
	if simtest.Soak() {
		moments = 20
	}
	random := sim.NewStream(1, "fabric programs", 0)
	for j, program := range threaded {
		for _, on := range simtest.Some(t, j, threadedNetworks...) {
			text := "kind = \"mpi\"\n[job]\nranks = 32\nmachine = \"fabric\"\n[placement]\nper_node = 2\n" + program.text + on.text
			r := &fabricRun{t, enginetest.Load(t, text).Points[0].Config().(*Config)}
			r.check(program.name+" on "+on.name, &random, moments)
		}
	}
}
