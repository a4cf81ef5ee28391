package kinds

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// exchange is the source and the sink of an all-to-all through the fabric:
// every terminal sends one packet to every other, back to back, as fast as the
// network takes them. All packets are born in cycle 0.
type exchange struct {
	terminals int
	flits     int32
	order     [][]int32 // by terminal: destinations; nil: in ring order
	sent      []int32   // by terminal

	missing []int32 // by destination: packets not yet there
	before  arrived // those that had come in the snapshot that it goes on from
	parts   []*exchanged
}

// exchanged is a part of the sink.
type exchanged struct {
	exchange *exchange
	arrived
}

// arrived is what has reached some terminals.
type arrived struct {
	packets            int64
	last               int64 // cycle of the last arrival
	latency            int64 // in the network, sum
	latencyMax         int64
	hops, channelFlits int64
}

// newExchange prepares the order in which terminals send: "ring": terminal i
// to i+1, i+2, ..., so that at each step all destinations differ; "random":
// each terminal in an order of its own.
func newExchange(terminals, flits int, order string, seed uint64) *exchange {
	x := &exchange{terminals: terminals, flits: int32(flits), sent: make([]int32, terminals), missing: make([]int32, terminals)}
	for t := range x.missing {
		x.missing[t] = int32(terminals - 1)
	}
	if order == "random" {
		x.order = make([][]int32, terminals)
		for t := range x.order {
			for i := range terminals - 1 {
				x.order[t] = append(x.order[t], x.ring(t, i))
			}
			stream := sim.NewStream(seed, "exchange-order", t)
			sim.Shuffle(&stream, x.order[t])
		}
	}
	return x
}

func (x *exchange) ring(t, i int) int32 { return int32((t + 1 + i) % x.terminals) }

// Next implements fabric.Source.
func (x *exchange) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	i := int(x.sent[t])
	*spec = fabric.PacketSpec{}
	switch {
	case i == x.terminals-1:
		spec.Birth = fabric.Never
		return false
	case until < 0:
		return false
	}
	x.sent[t]++
	to := x.ring(int(t), i)
	if x.order != nil {
		to = x.order[t][i]
	}
	spec.Dst, spec.Flits = topology.TerminalID(to), x.flits
	return true
}

// Part implements fabric.PartedSink.
func (x *exchange) Part() fabric.Sink {
	p := &exchanged{exchange: x}
	x.parts = append(x.parts, p)
	return p
}

// Deliver implements fabric.Sink for an exchange in one part.
func (x *exchange) Deliver(d *fabric.Delivery) { x.parts[0].Deliver(d) }

// Deliver implements fabric.Sink.
func (a *exchanged) Deliver(d *fabric.Delivery) {
	a.packets++
	a.exchange.missing[d.Dst]--
	a.last = max(a.last, d.Cycle)
	latency := d.Cycle - d.Inject
	a.latency += latency
	a.latencyMax = max(a.latencyMax, latency)
	a.hops += int64(d.Hops)
	a.channelFlits += int64(d.Hops+1) * int64(d.Flits)
}

// all sums up what has arrived.
func (x *exchange) all() arrived {
	sum := x.before
	for _, a := range x.parts {
		sum.packets += a.packets
		sum.last = max(sum.last, a.last)
		sum.latency += a.latency
		sum.latencyMax = max(sum.latencyMax, a.latencyMax)
		sum.hops += a.hops
		sum.channelFlits += a.channelFlits
	}
	return sum
}

// AppendState implements fabric.Kept.
func (x *exchange) AppendState(b []byte) []byte {
	a, sum := snapshot.Writer(), x.all()
	x.archive(a, &sum)
	return append(b, a.Bytes()...)
}

// RestoreState implements fabric.Kept.
func (x *exchange) RestoreState(b []byte) error {
	a := snapshot.Reader(b)
	x.archive(a, &x.before)
	return a.End()
}

func (x *exchange) archive(a *snapshot.Archive, sum *arrived) {
	a.Mark("exchange")
	snapshot.Array(a, "terminals", x.sent, snapshot.Int)
	snapshot.Array(a, "terminals", x.missing, snapshot.Int)
	snapshot.Value(a, sum)
}

// complete finds out whether the terminals have all of their packets but those
// that faults have had given up. Every packet was sent once, so that counting
// them is enough.
func (x *exchange) complete(givenUp int64) error {
	missing := int64(0)
	for _, n := range x.missing {
		missing += int64(n)
	}
	if missing != givenUp {
		return fmt.Errorf("the network came to rest while terminals still lacked %d packets, of which %d were given up", missing, givenUp)
	}
	return nil
}
