package fabric

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/stats"
)

// warmUp runs until the mean latency of delivered packets has settled: slice
// by slice, until the truncation rule puts the warm-up into the first half of
// the slices seen. All of them are then before the window.
func (r *runner) warmUp() error {
	if r.plan.Warmup > 0 {
		if err := r.advance(r.plan.Warmup); err != nil {
			return err
		}
		r.result.Warmup, r.warm = r.plan.Warmup, true
		return nil
	}
	var series []float64
	limit := r.slicesLeft(warmupSlices)
	for !r.warm && len(series) < limit {
		if err := r.advance(sliceCycles); err != nil {
			return err
		}
		if r.last.packets > 0 || len(series) > 0 {
			series = append(series, float64(r.last.latency)/float64(r.last.packets))
		} else {
			limit--
		}
		if len(series)%5 == 0 && len(series) >= 20 {
			_, r.warm = stats.TruncationPoint(withoutGaps(series))
		}
	}
	r.result.Warmup = r.f.Cycle()
	return nil
}

// withoutGaps replaces slices without deliveries by their predecessor.
func withoutGaps(series []float64) []float64 {
	for i, x := range series {
		if math.IsNaN(x) {
			series[i] = series[i-1]
		}
	}
	return series
}

// slicesLeft is the number of slices that the budget leaves, at most n.
func (r *runner) slicesLeft(n int) int {
	if r.plan.Budget == 0 {
		return n
	}
	return min(n, max(0, int((r.plan.Budget-r.f.Cycle())/sliceCycles)))
}

// measure opens the window and extends it until the network proves saturated, or
// steady with a confidence interval that is narrow enough, or the budget ends.
func (r *runner) measure() error {
	start := r.f.Cycle()
	r.result.Open(start)
	r.delivered = r.f.usefulFlits()
	r.sent = r.f.ChannelFlits()
	if r.plan.Series > 0 {
		r.series = newSeriesRecorder(r.f, r.plan.Series)
		defer func() { r.result.Series = r.series.finish() }()
	}
	if r.plan.Window > 0 {
		if err := r.advanceWindow(r.plan.Window); err != nil {
			return err
		}
		r.close(start)
		return nil
	}
	budget := r.plan.Budget
	if budget == 0 {
		budget = DefaultBudget
	}
	for next := int64(leastSlices); ; next = max(1, int64(r.f.Cycle()-start)/sliceCycles/4) {
		if err := r.advanceWindow(next * sliceCycles); err != nil {
			return err
		}
		r.close(start)
		if r.result.Settled && r.result.State == Steady || r.result.State == Saturated || r.f.Cycle() >= budget {
			return nil
		}
		r.result.Close(Never)
	}
}

// DefaultBudget is the most cycles of warm-up and window where the plan does not
// say.
const DefaultBudget = 100_000

// close ends the window at the present cycle, and judges it.
func (r *runner) close(start int64) {
	end := r.f.Cycle()
	r.result.Close(end)
	r.result.gather()
	r.result.Window = end - start
	delivered := float64(r.f.usefulFlits() - r.delivered)
	terminals := float64(r.f.graph.Terminals())
	r.result.Accepted = delivered / float64(end-start) / terminals
	r.result.ChannelFlits = r.f.ChannelFlits()
	for i, before := range r.sent {
		r.result.ChannelFlits[i] -= before
	}
	r.judge(start)
}

// judge finds the verdict on the run so far. It looks at the window, and at the
// second half of the run if the window is shorter than that.
func (r *runner) judge(start int64) {
	precise := r.plan.Window > 0 || r.result.HalfWidth() <= r.plan.Precision*r.result.MeanLatency()
	e := Evidence{Offered: r.result.Offered, Bound: r.plan.Bound, Packets: r.result.Packets()}
	e.measure(r.progress.since(min(start, r.f.Cycle()/2)), r.f.graph.Terminals(), r.f.idleLatency(r.result.ChannelFlits))
	r.result.Evidence, r.result.Settled = e, r.warm && precise
	r.conclude()
}

func (r *runner) conclude() {
	r.result.State, r.result.Reason = r.result.Evidence.Judge()
}

// idleLatency is the mean latency in cycles of packets that cross channels as
// often as given (len = (ports+terminals)*vcs) and never wait, their flits
// following each other in a flit a cycle.
func (f *Fabric) idleLatency(channelFlits []uint32) float64 {
	var flits, cycles float64
	for ov, n := range channelFlits {
		latency := float64(f.out[ov/f.vcs].latency)
		if int32(ov) >= f.terminalOV0 {
			flits += float64(n)
		} else {
			latency += float64(f.config.Switch.Cycles())
		}
		cycles += float64(n) * latency
	}
	return cycles/flits + float64(f.DeliveredFlits)/float64(max(1, f.Packets)) - 1
}

// channelFlits is the number of flits sent so far on every virtual channel,
// modulo 2^32.
func (f *Fabric) ChannelFlits() []uint32 {
	counts := make([]uint32, len(f.outVC))
	for i := range f.outVC {
		counts[i] = f.outVC[i].flits
	}
	return counts
}

// drain goes on, with traffic, until the packets of the window have arrived.
// A network that needs far longer than its window is saturated.
func (r *runner) drain() error {
	if r.result.State == Saturated {
		return nil
	}
	end := r.result.to
	limit := end + 2*r.result.Window + 10*r.f.longestLatency() + r.f.patience()
	for r.source.Behind(end) || r.f.oldestBirth() < end {
		if r.f.Cycle() > limit {
			r.result.Evidence.Stuck = true
			r.conclude()
			return nil
		}
		if err := r.advance(sliceCycles); err != nil {
			return err
		}
	}
	r.result.gather()
	r.result.Evidence.Packets = r.result.Packets()
	r.conclude()
	return nil
}

// oldestBirth is the earliest birth among the packets in the network; Never if
// it is empty.
func (f *Fabric) oldestBirth() int64 {
	free := make([]bool, f.packetIDs())
	for _, list := range f.freeLists() {
		for _, id := range list {
			free[id] = true
		}
	}
	oldest := Never
	if f.faults != nil {
		oldest = f.faults.retry.oldestBirth()
	}
	for id := range free {
		if !free[id] {
			oldest = min(oldest, f.packet(int32(id)).birth)
		}
	}
	return oldest
}

// finish empties the network and audits it.
func (r *runner) finish() error {
	r.result.Cycles = r.f.Cycle()
	r.source.Stop(0)
	for !r.f.settled() || r.f.creditsUnderWay() {
		if err := r.advance(sliceCycles); err != nil {
			return err
		}
	}
	r.result.gather()
	r.result.Faults = r.f.FaultTally()
	return r.f.Audit()
}

// usefulFlits is the number of flits delivered that were worth it.
func (f *Fabric) usefulFlits() int64 { return f.DeliveredFlits - f.FaultTally().WastedFlits }

// Audit checks an empty network: every flit that entered it has left it or was
// discarded, every buffer is empty, every virtual channel free, every credit home.
func (f *Fabric) Audit() error {
	if f.InjectedFlits+f.ReplicatedFlits != f.DeliveredFlits+f.DiscardedFlits {
		return fmt.Errorf("audit: %d flits entered the network, %d more were made by replication, %d left it, %d were discarded",
			f.InjectedFlits, f.ReplicatedFlits, f.DeliveredFlits, f.DiscardedFlits)
	}
	if f.unit != nil {
		f.unit.comeHome(f)
	}
	for q := range f.queues {
		if v := &f.queues[q]; v.count != 0 || v.out >= 0 {
			return fmt.Errorf("audit: queue %d holds %d flits", q, v.count)
		}
	}
	for ov := range f.outVC {
		o := &f.outVC[ov]
		want := f.buffer
		if int32(ov) < f.terminalOV0 {
			port := ov / f.vcs
			want = f.bufferOf(topology.PortID(port))
			if f.out[port].free != 1<<f.vcs-1 {
				return fmt.Errorf("audit: a virtual channel of %s is still held", f.graph.PortName(topology.PortID(port)))
			}
		}
		if o.credits != want || o.waiting != 0 {
			return fmt.Errorf("audit: output virtual channel %d has %d credits, want %d, and %d flits waiting, want 0", ov, o.credits, want, o.waiting)
		}
	}
	return nil
}
