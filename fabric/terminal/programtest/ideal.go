package programtest

import (
	"maps"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// ideal is a network in which nobody waits for others: a terminal sends a flit a
// cycle, and a packet arrives a fixed time after its tail has left. It calls a
// workload as the fabric does, in plain code.
type ideal struct {
	t      testing.TB
	w      fabric.Workload
	cycle  int64
	free   []int64                         // by terminal: first cycle in which it can send
	alarms map[int64][]topology.TerminalID // by cycle
	flying []fabric.Delivery
	sent   []sent
}

type sent struct {
	src, dst     topology.TerminalID
	birth, cycle int64
	flits        int32
	tag          uint64
}

const flight = 12 // cycles

func newIdeal(t testing.TB, w fabric.Workload) *ideal {
	return &ideal{t: t, cycle: -1, free: make([]int64, w.Terminals()), alarms: map[int64][]topology.TerminalID{}}
}

// start connects a workload, new or restored.
func (n *ideal) start(w fabric.Workload) {
	n.w = w
	if r, ok := w.(fabric.Responder); ok {
		r.Start(func(topology.TerminalID) fabric.Engine { return n })
	}
}

// clone is the network in the same state, without a workload; alarms are those of
// the workload.
func (n *ideal) clone() *ideal {
	c := *n
	c.w, c.free, c.flying, c.sent = nil, slices.Clone(n.free), slices.Clone(n.flying), slices.Clone(n.sent)
	c.alarms = map[int64][]topology.TerminalID{}
	return &c
}

// run goes on until a cycle is over.
func (n *ideal) run(until int64) {
	for n.cycle < until {
		n.cycle++
		n.deliver()
		for _, t := range n.alarms[n.cycle] {
			n.w.(fabric.Responder).Alarm(t)
		}
		maps.DeleteFunc(n.alarms, func(cycle int64, _ []topology.TerminalID) bool { return cycle <= n.cycle })
		for t := range topology.TerminalID(len(n.free)) {
			n.send(t)
		}
	}
}

func (n *ideal) deliver() {
	arrived := n.flying
	n.flying = nil
	for i := range arrived {
		if d := &arrived[i]; d.Cycle > n.cycle {
			n.flying = append(n.flying, *d)
		} else if r, ok := n.w.(fabric.Responder); ok {
			r.Deliver(d)
		}
	}
}

// send takes a packet if the terminal is free.
func (n *ideal) send(t topology.TerminalID) {
	spec := fabric.PacketSpec{Flits: -1, Dst: -1, MLID: -1, VCs: 1}
	if n.cycle < n.free[t] {
		return
	}
	if !n.w.Next(t, n.cycle-1, &spec) {
		if spec.Birth < n.cycle {
			n.t.Errorf("cycle %d: terminal %d has no packet, and one of cycle %d", n.cycle, t, spec.Birth)
		}
		return
	}
	if spec.Flits < 1 || spec.Dst < 0 || int(spec.Dst) >= len(n.free) || spec.Birth > n.cycle-1 || spec.Birth < 0 || spec.VCs != 0 || spec.MLID != 0 {
		n.t.Errorf("cycle %d: terminal %d sends the packet %+v", n.cycle, t, spec)
		return
	}
	n.free[t] = n.cycle + int64(spec.Flits)
	n.sent = append(n.sent, sent{t, spec.Dst, spec.Birth, n.cycle, spec.Flits, spec.Tag})
	n.flying = append(n.flying, fabric.Delivery{
		Src: t, Dst: spec.Dst, Birth: spec.Birth, Inject: n.cycle, Cycle: n.cycle + int64(spec.Flits) + flight, Hops: 1, Flits: spec.Flits, Tag: spec.Tag,
	})
}

// Now implements [fabric.Engine].
func (n *ideal) Now() int64 { return n.cycle }

// Wake implements [fabric.Engine]; every terminal is asked in every cycle.
func (n *ideal) Wake(topology.TerminalID) {}

// AlarmAt implements [fabric.Engine].
func (n *ideal) AlarmAt(t topology.TerminalID, cycle int64) {
	cycle = max(cycle, n.cycle+1)
	n.alarms[cycle] = append(n.alarms[cycle], t)
}

// CyclesPerFlit implements [fabric.Engine].
func (n *ideal) CyclesPerFlit(topology.TerminalID) float64 { return 1 }

// Note implements [fabric.Engine].
func (n *ideal) Note(int, int64, int64) {}
