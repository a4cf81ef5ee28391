package fabric

import (
	"math"

	"github.com/weft-sim/weft/sim"
)

// Meter is the sink of open-loop runs: it measures the packets born in its
// window. What it keeps is sums by time of birth, so that it does not matter
// in which order packets of a cycle arrive.
type Meter struct {
	from, to int64 // births measured; the window is open while to == Never
	slice    int64 // cycles of a slice
	slices   []slice

	latency    sim.Histogram
	network    int64
	hops       int64
	nonMinimal int64
	packets    int64
	trailing   slice // packets delivered since TakeSlice, whenever born
}

type slice struct{ latency, packets int64 }

// NewMeter measures nothing until it is opened. Confidence intervals are built
// from slices of so many cycles.
func NewMeter(sliceCycles int64) *Meter { return &Meter{from: Never, to: Never, slice: sliceCycles} }

// Open begins the window: packets born in cycle from or later are measured.
func (m *Meter) Open(from int64) { m.from = from }

// Close ends the window before cycle to.
func (m *Meter) Close(to int64) { m.to = to }

// Deliver implements Sink.
func (m *Meter) Deliver(d *Delivery) {
	latency := d.Cycle - d.Birth
	m.trailing.latency += latency
	m.trailing.packets++
	if d.Birth < m.from || d.Birth >= m.to {
		return
	}
	i := int((d.Birth - m.from) / m.slice)
	if i >= len(m.slices) {
		m.slices = append(m.slices, make([]slice, i+1-len(m.slices))...)
	}
	m.slices[i].latency += latency
	m.slices[i].packets++
	m.latency.Add(latency)
	m.network += d.Cycle - d.Inject
	m.hops += int64(d.Hops)
	m.packets++
	if d.NonMinimal {
		m.nonMinimal++
	}
}

// TakeSlice returns the mean latency of the packets delivered since the last
// call, in cycles; NaN if there were none.
func (m *Meter) TakeSlice() float64 {
	t := m.trailing
	m.trailing = slice{}
	return float64(t.latency) / float64(t.packets)
}

// Packets is the number of packets measured.
func (m *Meter) Packets() int64 { return m.packets }

// Latency is the distribution of packet latency in cycles, from birth to the
// arrival of the tail.
func (m *Meter) Latency() *sim.Histogram { return &m.latency }

// MeanLatency is the mean of the packet latency in cycles.
func (m *Meter) MeanLatency() float64 {
	sum := int64(0)
	for _, s := range m.slices {
		sum += s.latency
	}
	return float64(sum) / float64(m.packets)
}

// HalfWidth is half the 95 % confidence interval of the mean latency in
// cycles, by batch means over the slices; infinite while there are too few.
func (m *Meter) HalfWidth() float64 {
	b := sim.NewBatchMeans(batches, 1)
	for _, s := range m.slices {
		if s.packets > 0 {
			b.Add(float64(s.latency) / float64(s.packets))
		}
	}
	if b.N() < batches/2 {
		return math.Inf(1)
	}
	return b.HalfWidth(0.95)
}

// batches is the largest number of batches of a confidence interval; between
// half as many and this are used.
const batches = 40

// MeanNetworkLatency is the mean from the head's entering the network to the
// tail's arrival, in cycles.
func (m *Meter) MeanNetworkLatency() float64 { return float64(m.network) / float64(m.packets) }

// MeanHops is the mean number of switches crossed.
func (m *Meter) MeanHops() float64 { return float64(m.hops) / float64(m.packets) }

// MinimalFraction is the share of packets that took a minimal path.
func (m *Meter) MinimalFraction() float64 { return 1 - float64(m.nonMinimal)/float64(m.packets) }
