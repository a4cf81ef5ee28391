package fabric

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/stats"
)

// Workload is what the terminals send in a run that is measured ([Fabric.Run]):
// an [OpenLoop], or programs that answer what they hear (a [Responder]; package
// fabric/terminal has them). What belongs to a terminal may be touched by the
// calls that are about that terminal only: several threads make them at the same
// time. Stop, Behind, BehindBy and the state are asked for between cycles.
type Workload interface {
	Source
	// Terminals is the number of terminals that the workload is for.
	Terminals() int
	// Closed tells that packets are born only because others have arrived: there is
	// then no offered load, and nothing can fall behind.
	Closed() bool
	// Stop ends the births at cycle c: packets born then or later are not sent,
	// also of those that wait already.
	Stop(c int64)
	// Behind tells whether something begun before cycle c waits to be sent, or for an
	// answer.
	Behind(c int64) bool
	// BehindBy is how far the terminals are behind what is asked of them at cycle
	// now, in cycles: a number that grows without bound if they fall further and
	// further behind. 0 for a closed workload.
	BehindBy(now int64) float64
	// AppendState appends all that the workload is going to depend on, beside its
	// settings and seed; RestoreState, before the first cycle, makes a new workload
	// of the same settings and seed go on from there.
	AppendState(b []byte) []byte
	RestoreState(b []byte) error
}

// Responder is a workload that hears of arrivals and of time.
type Responder interface {
	Workload
	// Sink is told of a packet on the thread of the terminal that it has reached.
	Sink
	// Start is called once, before the first cycle. engine(t) is what simulates
	// terminal t.
	Start(engine func(t topology.TerminalID) Engine)
	// Alarm is called in a cycle for which t has set an alarm, behind all arrivals
	// of the cycle.
	Alarm(t topology.TerminalID)
	// Measures names what the workload notes ([Engine.Note]).
	Measures() []string
}

// Engine is what a [Responder] sees of the fabric that simulates a terminal.
type Engine interface {
	// Now is the present cycle; -1 before the first.
	Now() int64
	// Wake says that terminal t has a packet to send.
	Wake(t topology.TerminalID)
	// AlarmAt asks for an alarm in a cycle, or in the next one if that is later.
	// Alarms cannot be taken back.
	AlarmAt(t topology.TerminalID, cycle int64)
	// Note enters a time of so many cycles into measure i of [Responder.Measures],
	// if what it is about began in the window.
	Note(i int, began, cycles int64)
}

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

// listen is the sink of a domain in a run: a meter, and the workload if it is a
// Responder.
func (d *domain) listen(w Workload, m *Meter) Sink {
	r, ok := w.(Responder)
	if !ok {
		return m
	}
	d.responder, d.meter, d.alarms = r, m, sim.NewWheel[int32](1024)
	return &listener{r, m}
}

// listener tells a workload of arrivals that have been measured.
type listener struct {
	workload Responder
	meter    *Meter
}

func (l *listener) Deliver(d *Delivery) {
	l.meter.Deliver(d)
	l.workload.Deliver(d)
}

// Now implements [Engine].
func (d *domain) Now() int64 { return d.cycle }

// AlarmAt implements [Engine].
func (d *domain) AlarmAt(t topology.TerminalID, cycle int64) {
	*d.alarms.Place(max(cycle, d.cycle+1)) = int32(t)
}

// Note implements [Engine].
func (d *domain) Note(i int, began, cycles int64) { d.meter.note(i, began, cycles) }

// ring gives the alarms of cycle c.
func (d *domain) ring(c int64) {
	for batch := d.alarms.Next(c); batch != nil; batch = d.alarms.Next(c) {
		for _, t := range batch {
			d.responder.Alarm(topology.TerminalID(t))
		}
	}
}

// note enters a time into measure i, if what it is about began in the window.
func (m *Meter) note(i int, began, cycles int64) {
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
		panic(fmt.Sprintf("fabric: a workload notes measure %d and names %d", len(m.notes)-1, len(names)))
	}
	m.extendNotes(len(names))
	for i, name := range names {
		m.notes[i].Name = name
	}
	return m.notes
}
