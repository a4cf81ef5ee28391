package kinds

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestTransportStateIsWhole: no field of transfers under way is forgotten in snapshots. What
// is named here is no part of the state, for the reason given.
func TestTransportStateIsWhole(t *testing.T) {
	snapshottest.Names[fabricNetwork](t, "fabric", "nodes", "flights", "orders", "parts",
		"adapter", "clock", "delay", "flit", "full", "at", "nodeAt", "partOf", // of the settings
		"tracer",       // of a timeline, of which no state is kept
		"jobs",         // kind jobs writes none
		"state", "ran") // writes it, and tells how far the run is
	snapshottest.Names[fabricTransport](t, "fabricNetwork", "adapters", "orderOf",
		"number", "kernel", "handler", "sink", // made before
		"passages",        // of a timeline
		"last", "latency", // the network's, of all parts; kind jobs
		"free", "order", "over", "manyOrders") // of records that nobody uses
	snapshottest.Names[sender](t, "HCA", "packets", "head", "waking", "lanes",
		"enough") // of the settings
	snapshottest.Names[senderLanes](t, "arbiter", "turns", "waiting",
		"tables", "enough") // likewise
	snapshottest.Names[outgoing](t, "birth", "tag",
		"dst", "flits") // follow from the tag
	snapshottest.Names[qpOrder](t, "sent", "expected", "ahead")
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
	config *mpiConfig
}

// run is the result on so many threads.
func (r *fabricRun) run(threads int, p *pausing, checkpoint mpi.Checkpoint) (string, error) {
	c := r.config
	config, err := c.runtime(1)
	if err != nil {
		r.t.Fatal(err)
	}
	w, err := c.build()
	if err != nil {
		r.t.Fatal(err)
	}
	divide, over, err := c.overFabric(&config.Adapter, &experiments.Run{Threads: threads}, 1, &mpiObserved{}, false, new(mpiRow))
	if err != nil {
		r.t.Fatal(err)
	}
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
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	for moment := range moments {
		threads, seen, at := 1+random.IntN(3), 0, 1+random.IntN(20)
		every := 1 + random.IntN(20)
		var kept []byte
		got, err := r.run(threads, &pausing{every: every, random: *random}, mpi.Checkpoint{Save: func(done bool, state func(*snapshot.Archive) error) error {
			if seen++; seen > at || done && kept != nil {
				return nil
			}
			kept, err = snapshot.Encode(state)
			return err
		}})
		if err != nil || got != want {
			r.t.Fatalf("%s: with snapshots, %d threads: %v, %v, want %v", name, threads, got, err, want)
		}
		for _, threads := range simtest.Some(r.t, moment+len(name), 1, 2, 3) {
			p := &pausing{random: *random, first: true}
			var again []byte
			got, err := r.run(threads, p, mpi.Checkpoint{From: snapshot.Reader(kept), Save: func(_ bool, state func(*snapshot.Archive) error) error {
				if again != nil {
					return nil
				}
				again, err = snapshot.Encode(state)
				return err
			}})
			if err != nil || got != want {
				r.t.Fatalf("%s, from state %d on, %d threads: %v, %v, want %v", name, moment, threads, got, err, want)
			}
			if !bytes.Equal(ofNetwork(again), ofNetwork(kept)) {
				r.t.Fatalf("%s: the network of %d bytes that %d threads read is written as another, of %d", name, len(ofNetwork(kept)), threads, len(ofNetwork(again)))
			}
		}
		if _, err := r.run(2, &pausing{}, mpi.Checkpoint{From: snapshot.Reader(kept[:random.IntN(len(kept))])}); err == nil {
			r.t.Errorf("%s: a part of a state is taken", name)
		}
	}
}

// ofNetwork is the state of a run from the adapters on. What comes before has the numbers of
// messages that nobody uses, which follow from the parts.
func ofNetwork(state []byte) []byte { return state[bytes.Index(state, []byte("adapters")):] }

// TestFabricProgramsGoOn: programs on fabrics that go on from a state of a random moment, on
// any number of threads, are the programs themselves: over all protocols and ways of
// connecting, with lanes, and with packets as the unit.
func TestFabricProgramsGoOn(t *testing.T) {
	divideAlways(t)
	moments := 1
	if simtest.Soak() {
		moments = 20
	}
	random := sim.NewStream(1, "fabric programs", 0)
	for j, program := range threaded {
		for _, on := range simtest.Some(t, j, threadedNetworks...) {
			text := "kind = \"mpi\"\n[job]\nranks = 32\nmachine = \"fabric\"\n[placement]\nper_node = 2\n" + program.text + on.text
			r := &fabricRun{t, load(t, text).Points[0].Config().(*mpiConfig)}
			r.check(program.name+" on "+on.name, &random, moments)
		}
	}
}

// laneStar is a switch with terminals: packets to terminal t take lane t modulo 2 from
// their terminal on.
type laneStar struct{ graph *topology.Graph }

func newLaneStar(terminals int) *laneStar {
	b := topology.NewBuilder(1, topology.Class{Name: "terminal", Latency: 50})
	for range terminals {
		b.AddTerminal(0, 0)
	}
	return &laneStar{b.Freeze()}
}

func (n *laneStar) Graph() *topology.Graph { return n.graph }

func (n *laneStar) VCs() int { return 2 }

func (n *laneStar) InjectionVCs(int) uint32 { return 3 }

func (n *laneStar) Needs() fabric.Needs { return fabric.Needs{Departs: true} }

func (n *laneStar) Depart(_ *fabric.View, h *fabric.Head) uint32 { return 1 << (h.Dst & 1) }

func (n *laneStar) Route(_ *fabric.View, h *fabric.Head) fabric.Hop {
	return fabric.Hop{Port: n.graph.TerminalPort[h.Dst], VCs: 1 << (h.Dst & 1)}
}

// laneArrivals is a sink that notes when messages arrive, by their number.
type laneArrivals struct {
	kernel *sim.Kernel
	at     map[int32]sim.Time
}

func (a *laneArrivals) Delivered(id int32) { a.at[id] = a.kernel.Now() }

func (a *laneArrivals) Written(id int32, now sim.Time) { a.at[id] = now }

// lanesAdapter is an adapter whose engine is as fast as its link, a flit of 64 bytes a
// nanosecond, so that the link is what fills up.
func lanesAdapter() hca.Config {
	c := hca.HDR
	c.LinkRate, c.DMARate = 512e9, 512e9
	c.RequestTime, c.SwitchTime, c.PacketTime, c.ContextEntries = 0, 0, 0, 0
	return c
}

func lanesTransport(t *testing.T, terminals int, low string) (*sim.Kernel, *laneArrivals, mpi.Transport) {
	t.Helper()
	n := newLaneStar(terminals)
	config := fabric.DefaultConfig()
	config.Switch.FlowControl, config.Switch.BufferFlits = "cut-through", 256
	config.Terminal.VLArbLow = low
	f := simtest.Must(core.New(n.graph, config, n, 1))(t)
	k := sim.NewKernel()
	sink := &laneArrivals{k, map[int32]sim.Time{}}
	adapter := lanesAdapter()
	adapters := simtest.Must(newFabricNetwork(f, 64, &adapter, terminals, nil))(t)
	transport := simtest.Must(adapters.Transport(0, k, sink))(t)
	return k, sink, transport
}

// An adapter with messages on two lanes that each could fill its link divides it by the
// weights, message by message of many packets of an MTU of 4,096 bytes, and among the QPs
// of a lane evenly.
func TestAdapterDividesItsLink(t *testing.T) {
	for _, c := range []struct {
		low   string
		ratio float64
	}{
		{"0:192,1:64", 3},
		{"0:3,1:1", 1},
		{"0:64,1:255,1:1", 1. / 5}, // 255 units are four packets of 64, and a unit is one more
	} {
		k, sink, transport := lanesTransport(t, 6, c.low)
		const messages, size = 400, 64 << 10
		for m := range int32(messages) {
			for to := range int32(4) { // lanes 0, 1, 0, 1
				transport.Send(mpi.Transfer{ID: 4*m + to, From: 4, To: to, Bytes: size, QP: hca.QP(to), PeerQP: 7})
			}
		}
		k.Run(sim.Time(messages) * 1024 * sim.Nanosecond) // a quarter of all; a message takes 1,024 flits
		var got [4]float64
		for id := range sink.at {
			got[id%4]++
		}
		lane0, lane1 := got[0]+got[2], got[1]+got[3]
		if all := lane0 + lane1; math.Abs(lane0/all-c.ratio/(1+c.ratio)) > 0.01 || all < 0.98*messages {
			t.Errorf("%s: %v messages on lane 0 and %v on lane 1, want %v to 1", c.low, lane0, lane1, c.ratio)
		}
		if math.Abs(got[0]-got[2]) > 1 || math.Abs(got[1]-got[3]) > 1 {
			t.Errorf("%s: QPs of a lane have sent %v messages", c.low, got)
		}
	}
}

// Five adapters send to one on lane 0 without end. One of them sends a small message on
// lane 1 now and then: it takes within 5 % of what it takes alone where the adapter has lanes.
// Where it has none, it waits for the burst that is at a standstill.
func TestAdapterLanesDoNotWaitForEachOther(t *testing.T) {
	const gap, small = 20_000 * sim.Nanosecond, 1 << 20
	mean := func(low string, congested bool) sim.Time {
		k, sink, transport := lanesTransport(t, 8, low)
		if congested {
			for from := range int32(5) {
				for m := range int32(40) {
					transport.Send(mpi.Transfer{ID: from*40 + m, From: from + 1, To: 0, Bytes: 256 << 10, QP: 3, PeerQP: hca.QP(from)})
				}
			}
		}
		var began []sim.Time
		for m := range 20 {
			k.Run(sim.Time(m+1) * gap)
			began = append(began, k.Now())
			transport.Send(mpi.Transfer{ID: small + int32(m), From: 2, To: 7, Bytes: 512, QP: 9, PeerQP: 9})
		}
		k.Run(30 * gap)
		sum := sim.Time(0)
		for m, from := range began {
			at, ok := sink.at[small+int32(m)]
			if !ok {
				t.Fatalf("message %d of lane 1 has not arrived", m)
			}
			sum += at - from
		}
		return sum / sim.Time(len(began))
	}
	alone, beside, fifo := mean("0:64,1:64", false), mean("0:64,1:64", true), mean("", true)
	if beside > alone+alone/20 || fifo < 2*alone {
		t.Errorf("%v alone, %v beside a congested lane, %v without lanes", alone, beside, fifo)
	}
}
