package fabric

import (
	"context"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
)

// RunToEnd drives the fabric with a source of finitely many packets, such as a
// collective whose packets are born when others arrive: until all terminals
// have nothing more to send, all packets have arrived and all credits are
// home. It ends with the audit of flits and credits. What the sink was told is
// the result. The fabric must be new; progress, which may be nil, is called
// every hundred cycles.
func (f *Fabric) RunToEnd(ctx context.Context, source Source, sink Sink, progress func()) error {
	if err := f.Attach(source, sink); err != nil {
		return err
	}
	r := &runner{f: f, plan: Plan{Progress: progress}, ctx: ctx, watch: f.Watch()}
	for {
		if f.idle() && f.settled() {
			return f.Audit()
		}
		if err := r.advance(sliceCycles); err != nil {
			return err
		}
	}
}

// idle tells whether nothing is going to happen any more.
func (f *Fabric) idle() bool {
	for _, d := range f.domains {
		if _, more := d.nextArrival(); more || d.anyActive() {
			return false
		}
	}
	return true
}

// Rest audits a fabric that a kernel has driven until nothing was left to do:
// packets still in it are deadlocked, otherwise all flits and credits must be
// accounted for.
func (f *Fabric) Rest() error {
	if f.InFlight() > 0 {
		return f.deadlock(stallCycles)
	}
	return f.Audit()
}

// Cycles is the longest that a flit spends in an idle switch, its channels not
// included: all stages, in whole cycles.
func (c *SwitchConfig) Cycles() int64 { return int64(math.Ceil(float64(c.steps()) / c.Speedup)) }

// steps is the number of steps of the switch core that a head takes.
func (c *SwitchConfig) steps() int {
	return c.RouteCycles + c.VCAllocCycles + c.SwitchAllocCycles + c.CrossbarCycles
}

// crossing is the longest from a flit's grant to its departure by an idle
// channel, in cycles.
func (c *SwitchConfig) crossing() int64 {
	return int64(math.Ceil(float64(c.SwitchAllocCycles+c.CrossbarCycles) / c.Speedup))
}

// OutputsHoldUp tells whether so few flits may wait behind the crossbar that no
// channel can be full: they count from their grant.
func (c *SwitchConfig) OutputsHoldUp() bool {
	return c.OutputBufferFlits > 0 && int64(c.OutputBufferFlits) <= c.crossing()
}

// CyclesVary tells whether the time in an idle switch can be shorter than
// [SwitchConfig.Cycles]: n cycles have between floor(n*speedup) and
// ceil(n*speedup) steps, by the cycle that they begin in.
func (c *SwitchConfig) CyclesVary() bool {
	return math.Ceil(float64(c.Cycles()-1)*c.Speedup) >= float64(c.steps())
}

// ChannelTiming is a channel class in cycles.
type ChannelTiming struct {
	Latency       int64
	CyclesPerFlit float64
}

// ChannelTimings resolves the channel classes of g, by class; faults as of
// [New].
func (c *Config) ChannelTimings(g *topology.Graph) ([]ChannelTiming, error) {
	timings, err := c.resolveChannels(g)
	all := make([]ChannelTiming, len(timings))
	for i, t := range timings {
		all[i] = ChannelTiming{int64(t.latency), float64(t.interval) / (1 << intervalShift)}
	}
	return all, err
}
