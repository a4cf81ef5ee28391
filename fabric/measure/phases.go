package measure

import (
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Phase is a part of a run with destinations and births of its own.
type Phase struct {
	From    int64 // first cycle of its births
	Pattern Pattern
	Process Process // nil: the first phase's
}

// PhasedLoop is an open loop whose destinations and load change at given cycles. Packets that were
// born before go where they were born to. Each phase is an [OpenLoop] with streams of its own,
// which the next one stops.
type PhasedLoop struct {
	loops []*OpenLoop
}

// NewPhasedLoop makes the source of so many terminals, with the phases that follow the first,
// in order.
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

// BehindBy implements [fabric.Workload]: a terminal is behind by the oldest packet of its first
// phase that has any.
func (p *PhasedLoop) BehindBy(now int64) float64 {
	squares := 0.0
	for t := range p.Terminals() {
		for _, loop := range p.loops {
			if next := loop.sources[t].next; next < min(now, loop.stop) {
				squares += float64(now-next) * float64(now-next)
				break
			}
		}
	}
	return math.Sqrt(squares / float64(p.Terminals()))
}

// AppendState implements [fabric.Workload].
func (p *PhasedLoop) AppendState(b []byte) []byte {
	a := snapshot.Writer()
	for _, loop := range p.loops {
		snapshot.Value(a, loop)
	}
	return append(b, a.Bytes()...)
}

// RestoreState implements [fabric.Workload].
func (p *PhasedLoop) RestoreState(b []byte) error {
	a := snapshot.Reader(b)
	for _, loop := range p.loops {
		snapshot.Value(a, loop)
	}
	return a.End()
}
