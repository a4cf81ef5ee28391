package terminal

import (
	"fmt"
	"math"
	"strings"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim"
)

// Counters are what a terminal has sent and received so far.
type Counters struct {
	SentPackets, SentFlits         int64 // that it has taken from its program
	ReceivedPackets, ReceivedFlits int64 // that have arrived
	Marked                         int64 // packets among them that a port has marked
	Lost                           int64 // packets of its own that were given up, where its program bears losses
}

// Counters are those of the terminal.
func (p *Port) Counters() Counters { return p.counters }

// LinkTime is the time that so many flits occupy the terminal's channel.
func (p *Port) LinkTime(flits int) sim.Time {
	return sim.Time(math.Round(float64(flits) * p.engine.CyclesPerFlit(p.id) * float64(p.host.clock)))
}

// Count enters that something happens now into measure i of [NewHost], which is one of values
// ([UnitOf]), as a 1.
func (p *Port) Count(i int) { p.Sample(i, 1) }

// Sample enters a value, not below 0, into measure i of [NewHost], which is one of values
// ([UnitOf]); it counts if the window is open.
func (p *Port) Sample(i int, value int64) {
	p.mustBe(i, true)
	if value < 0 {
		p.misuse("samples %d for measure %q: want 0 or more", value, p.host.measures[i])
	}
	p.engine.Note(i, p.cycle(), value)
}

// mustBe panics where a measure is not one of values, or is.
func (p *Port) mustBe(i int, values bool) {
	if p.host.values[i] != values {
		p.misuse("notes measure %q: want Record for a measure of times, and Sample or Count for one of values, whose name ends in its unit, as \"window [packets]\"", p.host.measures[i])
	}
}

func (p *Port) misuse(format string, args ...any) {
	panic(&fabric.Misuse{Of: "program", By: p.program, Did: fmt.Sprintf(format, args...)})
}

// UnitOf parts the name of a measure of values from its unit: "window [packets]". One of times
// has none.
func UnitOf(measure string) (name, unit string) {
	if name, unit, ok := strings.Cut(strings.TrimSuffix(measure, "]"), " ["); ok {
		return name, unit
	}
	return measure, ""
}

// appendState appends the counters.
func (c *Counters) appendState(b []byte) []byte {
	for _, n := range c.list() {
		b = AppendUint64(b, uint64(*n))
	}
	return b
}

func (c *Counters) restoreState(b []byte) ([]byte, error) {
	for _, n := range c.list() {
		x, rest, err := TakeUint64(b)
		if err != nil {
			return b, err
		}
		*n, b = int64(x), rest
	}
	return b, nil
}

func (c *Counters) list() [6]*int64 {
	return [6]*int64{&c.SentPackets, &c.SentFlits, &c.ReceivedPackets, &c.ReceivedFlits, &c.Marked, &c.Lost}
}
