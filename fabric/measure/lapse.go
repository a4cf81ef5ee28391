package measure

import "github.com/weft-sim/weft/fabric"

// LapseStep is what arrived in an interval of the window, whenever it was born.
type LapseStep struct {
	Flits, Packets int64
	Latency        int64 // sum over the packets, in cycles
	NonMinimal     int64 // packets
}

// Add sums steps up.
func (s *LapseStep) Add(o *LapseStep) {
	s.Flits += o.Flits
	s.Packets += o.Packets
	s.Latency += o.Latency
	s.NonMinimal += o.NonMinimal
}

// lapse is the steps of a window.
type lapse struct {
	Every int64 // cycles of a step; 0: nobody asks
	Steps []LapseStep
}

// count enters a packet that arrives so many cycles after the start of the window.
func (c *lapse) count(at int64, d *fabric.Delivery) {
	i := int(at / c.Every)
	extend(&c.Steps, i+1)
	s := &c.Steps[i]
	s.Flits += int64(d.Flits)
	s.Packets++
	s.Latency += d.Cycle - d.Birth
	if d.NonMinimal {
		s.NonMinimal++
	}
}

// gather takes over what a part has counted.
func (c *lapse) gather(part *lapse) {
	extend(&c.Steps, len(part.Steps))
	for i := range part.Steps {
		c.Steps[i].Add(&part.Steps[i])
	}
	part.Steps = nil
}

// Lapse is what arrived in each interval of the window, as Plan.Lapse asks; the last ones
// may be missing, where nothing arrived.
func (m *Meter) Lapse() []LapseStep { return m.lapse.Steps }
