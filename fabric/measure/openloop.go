package measure

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/check"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Pattern chooses destinations.
type Pattern interface {
	Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID
}

// Process chooses the times of packets.
type Process interface {
	// NextGap is the cycles, at least 1, from a terminal's packet to its next. state is the
	// terminal's memory, 0 at first.
	NextGap(r *sim.Stream, state *uint32) int64
}

// Gap is a gap that p has drawn. One below 1 panics, as births would never come to an end.
func Gap(p Process, gap int64) int64 {
	if gap < 1 {
		noGap(p, gap)
	}
	return gap
}

//go:noinline
func noGap(p Process, gap int64) {
	panic(&param.Misuse{Of: "process", By: p, Did: fmt.Sprintf("lets a packet follow another after %d cycles: want at least 1", gap)})
}

// Sizes chooses the lengths of packets.
type Sizes interface {
	Draw(r *sim.Stream) int
}

// OpenLoop is a source whose packets are born whatever becomes of them, into unbounded source
// queues. The queues take no memory: births are drawn in order, and a packet is made only when its
// terminal can send it.
type OpenLoop struct {
	pattern Pattern      `snap:"-"`
	process Process      `snap:"-"`
	sizes   Sizes        `snap:"-"`
	sources []openSource `snap:"fixed"` // by terminal
	stop    int64        `snap:"-"`     // no births from this cycle on
}

// openSource is a terminal's source.
type openSource struct {
	next     int64      // birth of the next packet
	births   sim.Stream // when
	contents sim.Stream // where to, how long
	state    uint32     // the process's
}

// NewOpenLoop makes the source of so many terminals.
func NewOpenLoop(terminals int, pattern Pattern, process Process, sizes Sizes, seed uint64) *OpenLoop {
	o := &OpenLoop{
		pattern: pattern, process: process, sizes: sizes, stop: fabric.Never, sources: make([]openSource, terminals),
	}
	for t := range terminals {
		s := &o.sources[t]
		s.births = sim.NewStream(seed, "birth", t)
		s.contents = sim.NewStream(seed, "packet", t)
		s.next = Gap(process, process.NextGap(&s.births, &s.state)) - 1
	}
	return o
}

// Silence lets a terminal send nothing.
func (o *OpenLoop) Silence(t topology.TerminalID) { o.sources[t].next = fabric.Never }

// Terminals is the number of terminals that the source is for.
func (o *OpenLoop) Terminals() int { return len(o.sources) }

// Next implements Source.
func (o *OpenLoop) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	s := check.At(o.sources, uint32(t))
	birth := s.next
	spec.Birth = birth
	if birth > until || birth >= o.stop {
		if birth >= o.stop {
			spec.Birth = fabric.Never
		}
		return false
	}
	s.next = birth + Gap(o.process, o.process.NextGap(&s.births, &s.state))
	if spec.Dst = o.pattern.Destination(t, &s.contents); uint32(spec.Dst) >= uint32(len(o.sources)) {
		o.beside(t, spec.Dst)
	}
	spec.Flits = int32(o.sizes.Draw(&s.contents))
	spec.Tag, spec.VCs, spec.MLID, spec.Level, spec.Entropy = 0, 0, 0, 0, 0
	return true
}

func (o *OpenLoop) beside(t, dst topology.TerminalID) {
	panic(&param.Misuse{Of: "pattern", By: o.pattern, Did: fmt.Sprintf("sends a packet from terminal %d to %d: want 0 to %d", t, dst, len(o.sources)-1)})
}

// Prefetch asks for the sources of some terminals.
func (o *OpenLoop) Prefetch(terminals []int32) {
	mem.PrefetchEach(&terminals[0], len(terminals), 4, unsafe.Pointer(&o.sources[0]), unsafe.Sizeof(openSource{}))
}

// Closed tells that births do not wait for arrivals.
func (o *OpenLoop) Closed() bool { return false }

// Stop ends births at cycle c: packets born then or later, and those still at their source when the
// last terminal has looked, are not sent.
func (o *OpenLoop) Stop(c int64) { o.stop = c }

// Behind tells whether some terminal has packets, born before cycle c, that have not been sent yet.
func (o *OpenLoop) Behind(c int64) bool {
	for t := range o.sources {
		if o.sources[t].next < c {
			return true
		}
	}
	return false
}

// BehindBy is how long the oldest packets that wait at their sources have done so at cycle now: the
// root of the mean square over all terminals, 0 without one. (A square shows a few terminals that
// fall behind among many that do not.) In an endless run it is bounded if all queues are.
func (o *OpenLoop) BehindBy(now int64) float64 {
	return BehindBy(len(o.sources), now, func(t int) int64 { return o.sources[t].next })
}

// BehindBy is that of terminals by their oldest packets' births.
func BehindBy(terminals int, now int64, oldest func(t int) int64) float64 {
	squares := 0.0
	for t := range terminals {
		if age := float64(now - oldest(t)); age > 0 {
			squares += age * age
		}
	}
	return math.Sqrt(squares / float64(terminals))
}

// Archive implements [fabric.Workload].
func (o *OpenLoop) Archive(a *snapshot.Archive) { snapshot.Fields(a, o) }

// Phase is a part of a run with destinations and births of its own.
type Phase struct {
	From    int64 // first cycle of its births
	Pattern Pattern
	Process Process // nil: the first phase's
}

// PhasedLoop is an open loop whose destinations and load change at given cycles. Packets born
// before keep their destination. Each phase is an [OpenLoop] with its own streams, which the next
// one stops.
type PhasedLoop struct {
	loops []*OpenLoop
}

// NewPhasedLoop makes the source of so many terminals, with later phases in order.
func NewPhasedLoop(terminals int, first Pattern, later []Phase, process Process, sizes Sizes, seed uint64) *PhasedLoop {
	p := &PhasedLoop{[]*OpenLoop{NewOpenLoop(terminals, first, process, sizes, seed)}}
	seeds := sim.NewStream(seed, "phases", 0)
	for i, phase := range later {
		p.loops[i].Stop(phase.From)
		own := process
		if phase.Process != nil {
			own = phase.Process
		}
		next := NewOpenLoop(terminals, phase.Pattern, own, sizes, seeds.Uint64())
		for t := range next.sources {
			next.sources[t].next += phase.From
		}
		p.loops = append(p.loops, next)
	}
	return p
}

// Terminals implements [fabric.Workload], as the methods below do.
func (p *PhasedLoop) Terminals() int { return p.loops[0].Terminals() }

// Next implements [fabric.Source]: a phase whose births have been sent has none any more.
func (p *PhasedLoop) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	for _, loop := range p.loops {
		if loop.Next(t, until, spec) {
			return true
		}
		if spec.Birth < fabric.Never {
			return false
		}
	}
	return false
}

// Closed implements [fabric.Workload].
func (p *PhasedLoop) Closed() bool { return false }

// Stop implements [fabric.Workload].
func (p *PhasedLoop) Stop(c int64) {
	for _, loop := range p.loops {
		loop.Stop(min(c, loop.stop))
	}
}

// Behind implements [fabric.Workload].
func (p *PhasedLoop) Behind(c int64) bool {
	for _, loop := range p.loops {
		if loop.Behind(min(c, loop.stop)) {
			return true
		}
	}
	return false
}

// BehindBy implements [fabric.Workload]: a terminal is behind by its oldest packet.
func (p *PhasedLoop) BehindBy(now int64) float64 {
	return BehindBy(p.Terminals(), now, func(t int) int64 {
		for _, loop := range p.loops {
			if next := loop.sources[t].next; next < loop.stop {
				return next
			}
		}
		return fabric.Never
	})
}

// Archive implements [fabric.Workload].
func (p *PhasedLoop) Archive(a *snapshot.Archive) {
	for _, loop := range p.loops {
		loop.Archive(a)
	}
}
