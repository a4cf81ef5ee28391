package core_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

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

// TestThreadsHostModel: packets that terminals pass on arrive in the same cycles for any number
// of threads; the last of them when it does, as [core.Fabric.Cycle] tells behind it; and
// pauses in which nothing happens take a window every hundred
// cycles, as slices of runs have: with five pauses of 20,000 cycles, 1,000 and some 200 more.
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

// TestSnapshotsOfHosted: a network with a host model goes on from a snapshot to the very
// cycle in which the last thing happens, on any number of threads: on random networks, flit
// by flit and packet by packet.
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
