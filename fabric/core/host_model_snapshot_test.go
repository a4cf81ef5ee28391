package core_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// hosted is a network of a trial whose terminals pass packets on.
type hosted struct {
	*core.Fabric
	relay *relay
	watch *core.Watchdog
}

// newHosted builds it, on threads, with the packets that wait at the terminals; nil: the
// first ones. Few are born at once, so that terminals are idle now and then, and are woken
// for a packet that comes before the one they know of.
func newHosted(t testing.TB, tr *routingtest.Trial, pause int64, threads int, queued [][]fabric.PacketSpec) *hosted {
	t.Helper()
	c := &hosted{Fabric: tr.Fabric(t)}
	terminals := c.Graph().Terminals()
	c.relay = &relay{f: c.Fabric, pause: pause, flits: int32(min(3, tr.BufferFlits())), queued: make([][]fabric.PacketSpec, terminals)}
	c.Split(threads)
	c.watch = c.Watch()
	sink := func() fabric.Sink {
		c.relay.heard = append(c.relay.heard, &relaySink{})
		return c.relay.heard[len(c.relay.heard)-1]
	}
	if err := c.AttachModel(c.relay, pause, c.relay, sink); err != nil {
		t.Fatal(err)
	}
	if queued != nil {
		for i := range queued {
			c.relay.queued[i] = slices.Clone(queued[i])
		}
		return c
	}
	for terminal := range terminals {
		c.relay.send(topology.TerminalID(terminal), int64(terminal*37%400), uint64(terminal)<<8)
	}
	return c
}

// advance simulates cycles, as a host model's owner does.
func (c *hosted) advance(cycles int64) error {
	c.Advance(cycles)
	c.relay.Before(c.Cycle(), c.Cycle())
	return c.watch.Look()
}

func (c *hosted) state(t testing.TB) []byte {
	t.Helper()
	a := snapshot.Writer()
	c.ArchiveWithModel(a, c.watch, nil)
	if a.Err() != nil {
		t.Fatal(a.Err())
	}
	return a.Bytes()
}

// end goes on until nothing is going to happen, and tells all that there is to tell.
func (c *hosted) end() string {
	for !c.Still() {
		if err := c.advance(500); err != nil {
			return "deadlock"
		}
	}
	c.Rewind()
	return fmt.Sprintln(c.Cycle(), c.Counters, c.ChannelFlits(), c.relay.log)
}

func checkHosted(t testing.TB, tr *routingtest.Trial, seed uint64) (packets int) {
	t.Helper()
	random := sim.NewStream(seed, "conducted", 0)
	pause, at := int64(1+random.IntN(60)), int64(1+random.IntN(900))
	whole := newHosted(t, tr, pause, 1, nil)
	if err := whole.advance(at); err != nil {
		return 0
	}
	before := len(whole.relay.log)
	want := whole.end()
	packets = len(whole.relay.log)

	first := newHosted(t, tr, pause, 1+random.IntN(3), nil)
	_ = first.advance(at)
	kept, queued, log := first.state(t), make([][]fabric.PacketSpec, len(first.relay.queued)), slices.Clone(first.relay.log)
	for i := range queued {
		queued[i] = slices.Clone(first.relay.queued[i])
	}
	if len(log) != before {
		t.Fatalf("%v: %d packets have been passed on by cycle %d, want %d", tr, len(log), at, before)
	}
	if first.end() != want {
		t.Errorf("%v: a snapshot in cycle %d changes the run", tr, at)
	}
	for _, threads := range simtest.Some(t, int(seed), 1, 2, 3) {
		c := newHosted(t, tr, pause, threads, queued)
		c.relay.log = slices.Clone(log)
		a := snapshot.Reader(kept)
		if c.ArchiveWithModel(a, c.watch, nil); a.End() != nil {
			t.Fatalf("%v: %v", tr, a.Err())
		}
		if !bytes.Equal(c.state(t), kept) {
			t.Fatalf("%v: the state of cycle %d, restored on %d threads, is another", tr, at, threads)
		}
		if got := c.end(); got != want {
			t.Fatalf("%v: from cycle %d on, %d threads come to\n%.200s\nwant\n%.200s", tr, at, threads, got, want)
		}
	}
	return packets
}

// TestSnapshotsOfConducted: a network with a host model goes on from a snapshot to the very
// cycle in which the last thing happens, on any number of threads: on random networks, flit
// by flit, with runs of flits and without, and packet by packet.
func TestSnapshotsOfHosted(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	packets, trials := 0, uint64(12)
	if os.Getenv("SOAK_TIME") != "" {
		trials = 600
	}
	for seed := range trials {
		packets += checkHosted(t, routingtest.DrawTrial(t, seed), seed)
		units := routingtest.DrawUnitTrial(t, 1000+seed)
		if seed%2 == 0 {
			units.SetUnit(fabric.UnitPacket)
		}
		packets += checkHosted(t, units, seed)
	}
	if packets < 350 {
		t.Errorf("%d packets are not a test", packets)
	}
}
