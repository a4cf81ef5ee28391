package measure

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/stats"
)

// Meter is the sink of measured runs: it measures the packets born in its window. It keeps sums by
// time of birth, so that the order in which a cycle's packets arrive does not matter.
type Meter struct {
	from, to int64 // births measured; the window is open while to == Never
	slice    int64 // cycles of a slice, of which confidence intervals are built
	slices   []slice
	batches  int   // of the interval; 0: as many as the slices allow
	full     bool  // a channel between switches was full in the window
	last     int   `snap:"-"` // slice of the packet before
	first    int64 `snap:"-"` // with which cycle that begins

	latency    stats.Histogram
	network    int64
	hops       int64
	nonMinimal int64
	packets    int64
	notes      []Measure          // of a workload, by measure
	trailing   slice              `snap:"-"` // packets delivered since TakeSlice, whenever born
	levels     []Tally            // by service level (len = 16); nil: they are not told apart
	levelsOf   fabric.LevelReader `snap:"-"` // the routing, if it is one

	pairs       []Pair  `snap:"-"` // of the plan
	pairTallies []Tally // of each
	lapse       lapse

	parts []*Meter `snap:"-"` // of the domains, to be gathered
}

type slice struct{ latency, packets int64 }

func (s *slice) add(o *slice) {
	s.latency += o.latency
	s.packets += o.packets
}

// Tally is what was measured of some of the packets, such as those of one service level.
type Tally struct {
	Packets int64           // born in the window and delivered
	Latency stats.Histogram // theirs, in cycles
	Sum     int64           // of theirs
	Flits   int64           // delivered in the window, whenever born
}

// Add sums tallies up.
func (t *Tally) Add(other *Tally) {
	t.Packets += other.Packets
	t.Flits += other.Flits
	t.Sum += other.Sum
	t.Latency.Merge(&other.Latency)
}

// NewMeter measures nothing until opened. Confidence intervals use slices of so many cycles.
func NewMeter(slice int64) *Meter {
	return &Meter{from: fabric.Never, to: fabric.Never, slice: slice, first: fabric.Never}
}

// Open begins the window: packets born in cycle from or later are measured, earlier ones forgotten.
func (m *Meter) Open(from int64) { m.open(from, m.slice) }

// open is Open with slices of another length.
func (m *Meter) open(from, slice int64) {
	for _, p := range m.parts {
		p.open(from, slice)
	}
	levels, pairs := m.levels, m.pairTallies
	clear(levels)
	clear(pairs)
	*m = Meter{from: from, to: fabric.Never, slice: slice, first: fabric.Never, trailing: m.trailing, levels: levels, levelsOf: m.levelsOf, pairs: m.pairs, pairTallies: pairs, lapse: lapse{Every: m.lapse.Every}, parts: m.parts}
}

// Close ends the window before cycle to.
func (m *Meter) Close(to int64) {
	m.to = to
	for _, p := range m.parts {
		p.Close(to)
	}
}

// Part is a meter of the same window for a domain.
func (m *Meter) Part() *Meter {
	p := &Meter{from: m.from, to: m.to, slice: m.slice, first: fabric.Never}
	if m.levels != nil {
		p.levels, p.levelsOf = make([]Tally, len(m.levels)), m.levelsOf
	}
	p.tellPairs(m.pairs)
	p.lapse.Every = m.lapse.Every
	m.parts = append(m.parts, p)
	return p
}

// gather takes over the parts' sums, whichever part measured what.
func (m *Meter) gather() {
	for _, p := range m.parts {
		gatherEach(&m.slices, p.slices, (*slice).add)
		m.latency.Merge(&p.latency)
		m.network += p.network
		m.hops += p.hops
		m.packets += p.packets
		m.nonMinimal += p.nonMinimal
		gatherEach(&m.notes, p.notes, (*Measure).Add)
		gatherEach(&m.levels, p.levels, (*Tally).Add)
		gatherEach(&m.pairTallies, p.pairTallies, (*Tally).Add)
		gatherEach(&m.lapse.Steps, p.lapse.Steps, (*LapseStep).Add)
		p.latency, p.network, p.hops, p.packets, p.nonMinimal = stats.Histogram{}, 0, 0, 0, 0
	}
}

// gatherEach adds a part's values to sums, and clears them there.
func gatherEach[T any](sums *[]T, part []T, add func(sum, value *T)) {
	AddEach(sums, part, add)
	clear(part)
}

// AddEach adds values to sums, one by one, and lengthens sums where needed.
func AddEach[T any](sums *[]T, values []T, add func(sum, value *T)) {
	extend(sums, len(values))
	for i := range values {
		add(&(*sums)[i], &values[i])
	}
}

// count enters a packet that has been delivered after the window was opened.
func (t *Tally) count(d *fabric.Delivery, inWindow, measured bool) {
	if inWindow {
		t.Flits += int64(d.Flits)
	}
	if measured {
		latency := d.Cycle - d.Birth
		t.Packets++
		t.Latency.Add(latency)
		t.Sum += latency
	}
}

// extend makes a list of n elements at least.
func extend[T any](list *[]T, n int) {
	if n > len(*list) {
		*list = append(*list, make([]T, n-len(*list))...)
	}
}

// Deliver implements Sink.
func (m *Meter) Deliver(d *fabric.Delivery) {
	latency := d.Cycle - d.Birth
	m.trailing.latency += latency
	m.trailing.packets++
	measured := m.Measures(d.Birth)
	if d.Cycle >= m.from {
		if m.levels != nil {
			m.levels[m.Level(d)].count(d, d.Cycle < m.to, measured)
		}
		for i := range m.pairs {
			if m.pairs[i].holds(d) {
				m.pairTallies[i].count(d, d.Cycle < m.to, measured)
			}
		}
		if m.lapse.Every > 0 && d.Cycle < m.to {
			m.lapse.count(d.Cycle-m.from, d)
		}
	}
	if !measured {
		return
	}
	if uint64(d.Birth-m.first) >= uint64(m.slice) { // a division for few packets only
		i := int((d.Birth - m.from) / m.slice)
		extend(&m.slices, i+1)
		m.last, m.first = i, m.from+int64(i)*m.slice
	}
	m.slices[m.last].latency += latency
	m.slices[m.last].packets++
	m.latency.Add(latency)
	m.network += d.Cycle - d.Inject
	m.hops += int64(d.Hops)
	m.packets++
	if d.NonMinimal {
		m.nonMinimal++
	}
}

// tellLevels has the packets of service levels told apart, which a routing may know.
func (m *Meter) tellLevels(r fabric.Routing) {
	m.levels = make([]Tally, 16)
	m.levelsOf, _ = r.(fabric.LevelReader)
}

// NumLevels is the number of service levels that are told apart; 0: they are not.
func (m *Meter) NumLevels() int { return len(m.levels) }

// Level is the service level of a packet, where they are told apart.
func (m *Meter) Level(d *fabric.Delivery) int {
	if m.levelsOf == nil {
		return 0
	}
	return m.levelsOf.Level(d.Src, d.Dst)
}

// Levels is what was measured of each service level (len = 16); nil unless asked for.
func (m *Meter) Levels() []Tally { return m.levels }

// takeSlice returns the packets delivered since the last call and the sum of their latencies.
func (m *Meter) takeSlice() slice {
	t := m.trailing
	m.trailing = slice{}
	for _, p := range m.parts {
		t.add(&p.trailing)
		p.trailing = slice{}
	}
	return t
}

// Packets is the number of packets measured.
func (m *Meter) Packets() int64 { return m.packets }

// Latency is the distribution of packet latency in cycles, from birth to the arrival of the tail.
func (m *Meter) Latency() *stats.Histogram { return &m.latency }

// MeanLatency is the mean of the packet latency in cycles.
func (m *Meter) MeanLatency() float64 {
	var sum slice
	for i := range m.slices {
		sum.add(&m.slices[i])
	}
	return float64(sum.latency) / float64(m.packets)
}

// HalfWidth is half the 95 % confidence interval of the mean latency in cycles
// ([stats.MeanInterval] over slices); infinite if the window is too short.
func (m *Meter) HalfWidth() float64 {
	_, half, _ := m.estimate(m.to, m.batches)
	return half
}

// queueing is how much wider an interval is made, relative to its share of the mean. A mean that is
// low by chance had short queues, which vary little (the variance of a queue's mean wait grows with
// the third to fourth power of the wait), so its interval is too narrow. With 5 the intervals of
// queues at 80 to 97 % of their capacity hold the mean as often as they should
// (docs/validation.md); an interval of 1 % becomes 5 % wider.
const queueing = 5

// BesideFull widens an interval where a channel is full and the network keeps up by other paths.
// Nothing empties the queues before that channel, and they drift for longer than a run shows: with
// UGAL-L and a dragonfly's worst case by half a per cent over 10,000 cycles.
const BesideFull = 2.5

// estimate is the mean latency of the packets born before a cycle, all of which must have
// arrived, and half of its 95 % confidence interval of so many batches, 0 being as many as the
// slices allow, which are returned; infinite where they allow none.
//
// The mean is a ratio, of the slices' latencies to their packets, both of which
// vary, and together: a slice with many packets has long queues. The series is therefore each
// slice's latencies beyond what its packets would
// have at the mean, the linear part of the ratio's error (Cochran 1977, section
// 6.4); the slices' own means give intervals that are too narrow.
func (m *Meter) estimate(before int64, batches int) (mean, half float64, of int) {
	n := int((min(before, m.to) - m.from) / max(1, m.slice))
	all := m.slices[:min(max(n, 0), len(m.slices))]
	var sum slice
	for i := range all {
		sum.add(&all[i])
	}
	if sum.packets == 0 {
		return math.NaN(), math.Inf(1), 0
	}
	mean = float64(sum.latency) / float64(sum.packets)
	beyond := make([]float64, n) // the last slices may be without births
	for i, s := range all {
		beyond[i] = (float64(s.latency) - mean*float64(s.packets)) * float64(n) / float64(sum.packets)
	}
	if batches == 0 {
		batches = stats.Batches(beyond)
	}
	half = stats.MeanInterval(beyond, 0.95, batches)
	if half *= 1 + queueing*half/mean; m.full {
		half *= BesideFull
	}
	return mean, half, batches
}

// MeanNetworkLatency is the mean from the head's entry to the tail's arrival, in cycles.
func (m *Meter) MeanNetworkLatency() float64 { return float64(m.network) / float64(m.packets) }

// MeanHops is the mean number of switches crossed.
func (m *Meter) MeanHops() float64 { return float64(m.hops) / float64(m.packets) }

// MinimalFraction is the share of packets that took no detour.
func (m *Meter) MinimalFraction() float64 { return 1 - float64(m.nonMinimal)/float64(m.packets) }

// Measures tells whether a packet born in a cycle is measured, as known when its last flit enters.
func (m *Meter) Measures(birth int64) bool { return birth >= m.from && birth < m.to }

// Bounds are the cycles from which and before which births are measured.
func (m *Meter) Bounds() (from, to int64) { return m.from, m.to }

// Measure is the distribution of times that a workload has noted.
type Measure struct {
	Name   string
	Cycles stats.Histogram
	sum    int64
}

// Mean is the mean in cycles; NaN if nothing was noted.
func (m *Measure) Mean() float64 { return float64(m.sum) / float64(m.Cycles.N()) }

// Add enters what another has noted; m takes its name.
func (m *Measure) Add(o *Measure) {
	m.Name = o.Name
	m.Cycles.Merge(&o.Cycles)
	m.sum += o.sum
}

// Note enters a time into measure i, if what it is about began in the window.
func (m *Meter) Note(i int, began, cycles int64) {
	if began < m.from || began >= m.to {
		return
	}
	extend(&m.notes, i+1)
	m.notes[i].Cycles.Add(cycles)
	m.notes[i].sum += cycles
}

// noted names what has been noted, in the order of the names.
func (m *Meter) noted(names []string) []Measure {
	if len(m.notes) > len(names) {
		panic(fmt.Sprintf("core: a workload notes measure %d and names %d", len(m.notes)-1, len(names)))
	}
	extend(&m.notes, len(names))
	for i, name := range names {
		m.notes[i].Name = name
	}
	return m.notes
}

// Pair chooses packets by their ends; [AnyTerminal] matches all.
type Pair struct{ Src, Dst topology.TerminalID }

// AnyTerminal is an end of a [Pair] that every packet has.
const AnyTerminal topology.TerminalID = -1

func (p *Pair) holds(d *fabric.Delivery) bool {
	return (p.Src == d.Src || p.Src == AnyTerminal) && (p.Dst == d.Dst || p.Dst == AnyTerminal)
}

// tellPairs has the packets of pairs counted by themselves.
func (m *Meter) tellPairs(pairs []Pair) { m.pairs, m.pairTallies = pairs, make([]Tally, len(pairs)) }

// Pairs is what was measured of each pair of the plan.
func (m *Meter) Pairs() []Tally { return m.pairTallies }

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

// Lapse is what arrived in each interval of the window, as Plan.Lapse asks, without last intervals
// in which nothing arrived.
func (m *Meter) Lapse() []LapseStep { return m.lapse.Steps }
