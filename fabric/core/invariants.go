package core

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/lists"
)

// The checked build (-tags weftcheck) checks the following; wheels check their times themselves.

// checkPeriod is how many cycles pass, at least, from one check of a whole network to the next.
const checkPeriod = 64

// checkAll checks the whole network between cycles, now and then: every place in a buffer is a flit
// in it or on its way, or a credit here or on its way; flits are where they came to or have left;
// pools hold just what is behind queues' fronts.
func (f *Fabric) checkAll() {
	if f.cycle < f.checkAt || f.unit != nil { // whose flits and credits are not single
		return
	}
	f.checkAt = f.cycle + checkPeriod
	first := f.domains[0]
	taken, inside, chunks := make([]int32, len(f.Queues)), int64(0), 0
	coming := make([]int32, len(f.OutVC)) // credits
	for _, d := range f.domains {
		for _, w := range d.Flits[:firstOutbox] {
			w.Each(func(e Flit) {
				inside++
				if e.Queue >= 0 {
					taken[e.Queue]++
				}
			})
		}
		d.credits[0].Each(func(ov int32) { coming[ov]++ })
		if d.held != nil {
			d.held.Each(func(h heldCredit) { coming[h.upstream]++ })
		}
		chunks += len(d.Pool.chunks) - 1
		for n := d.Pool.free; n != 0; n = *d.Pool.follows(n) {
			chunks--
		}
	}
	for p := range f.in {
		for vc := range int32(f.vcs) {
			q, ov := f.queueOf(topology.PortID(p), int(vc)), f.in[p].upstream+vc
			count := f.Queues[q].Count
			inside += int64(count)
			if count > 1 {
				last := f.Queues[q].Last % chunkPlaces
				chunks -= 1 + int(count+chunkFlits-3-last)/chunkFlits
			}
			if credits := f.OutVC[ov].credits; credits+coming[ov]+taken[q]+count != f.buffer {
				first.broken("queue %d: of %d places %d are taken, %d flits and %d credits are on their way, and %d credits are left",
					q, f.buffer, count, taken[q], coming[ov], credits)
			}
		}
	}
	if chunks != 0 {
		first.broken("pools have %d chunks more than queues hold behind their fronts", chunks)
	}
	if entered, left := f.InjectedFlits+f.ReplicatedFlits, f.DeliveredFlits+f.DiscardedFlits; entered-left != inside {
		first.broken("%d flits came to be in the network, %d have left it, and %d are in it", entered, left, inside)
	}
}

// Audit checks an empty network: every flit that entered has left or was discarded, all buffers are
// empty, all virtual channels free, all credits home.
func (f *Fabric) Audit() error {
	if f.InjectedFlits+f.ReplicatedFlits != f.DeliveredFlits+f.DiscardedFlits {
		return fmt.Errorf("audit: %d flits entered the network, %d more were made by replication, %d left it, %d were discarded",
			f.InjectedFlits, f.ReplicatedFlits, f.DeliveredFlits, f.DiscardedFlits)
	}
	if d := f.domains[0]; d.Unit != nil {
		d.Unit.comeHome(d)
	}
	for q := range f.Queues {
		if v := &f.Queues[q]; v.Count != 0 || v.Out >= 0 {
			return fmt.Errorf("audit: queue %d holds %d flits", q, v.Count)
		}
	}
	for ov := range f.OutVC {
		o := &f.OutVC[ov]
		want := f.buffer
		if int32(ov) < f.terminalOV0 {
			port := ov / f.vcs
			want = f.bufferOf(topology.PortID(port))
			if f.Out[port].free != 1<<f.vcs-1 {
				return fmt.Errorf("audit: a virtual channel of %s is still held", f.graph.PortName(topology.PortID(port)))
			}
		}
		if o.credits != want || o.waiting != 0 {
			return fmt.Errorf("audit: output virtual channel %d has %d credits, want %d, and %d flits waiting, want 0", ov, o.credits, want, o.waiting)
		}
	}
	return nil
}

func (f *Fabric) count() {
	f.Counters = Counters{}
	for _, d := range f.domains {
		f.InjectedFlits += d.InjectedFlits
		f.DeliveredFlits += d.DeliveredFlits
		f.FlitHops += d.FlitHops
		f.Counters.Packets += d.Counters.Packets
		f.ReplicatedFlits += d.ReplicatedFlits
		f.DiscardedFlits += d.DiscardedFlits
	}
	if check.On {
		f.checkAll()
	}
}

// ChannelFlits is the flits sent so far on every virtual channel (len = (ports+terminals)*vcs), mod
// 2^32.
func (f *Fabric) ChannelFlits() []uint32 {
	counts := lists.Make(len(f.OutVC), func(i int) uint32 { return f.OutVC[i].Flits })
	return counts
}

// UsefulFlits is the number of flits delivered that were worth it.
func (f *Fabric) UsefulFlits() int64 { return f.DeliveredFlits - f.FaultTally().WastedFlits }

// FlitsInside is the number of flits in the network.
func (f *Fabric) FlitsInside() int64 {
	return f.InjectedFlits + f.ReplicatedFlits - f.DeliveredFlits - f.DiscardedFlits
}

// IdleLatency is the mean latency in cycles of packets that cross channels as often as given (len =
// (ports+terminals)*vcs) and never wait; their flits (meanFlits) follow each other in a flit a
// cycle.
func (f *Fabric) IdleLatency(channelFlits []uint32, meanFlits float64) float64 {
	var flits, cycles float64
	for ov, n := range channelFlits {
		latency := float64(f.Latency(&f.Out[ov/f.vcs]))
		if int32(ov) >= f.terminalOV0 {
			flits += float64(n)
		} else {
			latency += float64(f.Config.Switch.Cycles())
		}
		cycles += float64(n) * latency
	}
	return cycles/flits + meanFlits - 1
}

// InFlight is the number of packets between injection and delivery.
func (f *Fabric) InFlight() int {
	n := f.packets.ids()
	for _, d := range f.domains {
		n -= len(d.packetFree)
	}
	return n
}

// OldestBirth is the earliest birth among the packets in the network; Never if it is empty.
func (f *Fabric) OldestBirth() int64 {
	free := make([]bool, f.packets.ids())
	for _, d := range f.domains {
		for _, id := range d.packetFree {
			free[id] = true
		}
	}
	oldest := f.oldestInLanes()
	if f.Faults != nil {
		for id := range int32(f.SourcePackets.ids()) { // the packets whose end is not known
			if l := f.SourcePackets.At(id); !l.delivered {
				oldest = min(oldest, l.Spec.Birth)
			}
		}
	}
	for id := range free {
		if !free[id] {
			oldest = min(oldest, f.Packet(int32(id)).Birth)
		}
	}
	return oldest
}

// CreditsUnderWay tells whether any credit has not come back.
func (f *Fabric) CreditsUnderWay() bool {
	for _, d := range f.domains {
		if d.held != nil && d.held.Len() > 0 || d.Unit != nil && d.Unit.creditsUnderWay(d) {
			return true
		}
		if d.credits[0].Len() > 0 {
			return true
		}
	}
	return false
}

// Settled tells whether all packets that the source has handed over are delivered or given up,
// without a copy in the network.
func (f *Fabric) Settled() bool {
	if f.InFlight() > 0 || f.oldestInLanes() < fabric.Never {
		return false
	}
	if f.Faults == nil {
		return true
	}
	pending := 0
	for _, d := range f.domains {
		pending += d.retry.pending
		if d.behind != nil && d.behind.next(d.Cycle) < fabric.Never { // discarded flits are waited for as if they were there
			return false
		}
	}
	return pending == 0
}

// FaultTally is what has become of packets so far; zero without faults.
func (f *Fabric) FaultTally() fabric.FaultTally {
	tally := fabric.FaultTally{}
	for _, d := range f.domains {
		if d.retry != nil {
			tally.Add(d.retry.tally)
		}
	}
	return tally
}
