package measure

import (
	"fmt"

	"github.com/weft-sim/weft/sim/stats"
)

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
	m.extendNotes(i + 1)
	m.notes[i].Cycles.Add(cycles)
	m.notes[i].sum += cycles
}

// extendNotes makes room for n measures.
func (m *Meter) extendNotes(n int) {
	if n > len(m.notes) {
		m.notes = append(m.notes, make([]Measure, n-len(m.notes))...)
	}
}

// noted names what has been noted, in the order of the names.
func (m *Meter) noted(names []string) []Measure {
	if len(m.notes) > len(names) {
		panic(fmt.Sprintf("core: a workload notes measure %d and names %d", len(m.notes)-1, len(names)))
	}
	m.extendNotes(len(names))
	for i, name := range names {
		m.notes[i].Name = name
	}
	return m.notes
}
