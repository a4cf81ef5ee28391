package fabric

import "github.com/weft-sim/weft/fabric/topology"

// Workload is what the terminals send in a run that is measured ([core.Fabric.Run]):
// an [core.OpenLoop], or programs that answer what they hear (a [Responder]; package
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
	// Begin, before all else, makes cycle c the workload's first, in place of 0.
	Begin(c int64)
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
	Kept
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

// LossListener is a [Responder] that may bear losses: it is told of packets that are given up.
// Others run only where nothing can be lost.
type LossListener interface {
	Responder
	// BearsLosses tells whether it does.
	BearsLosses() bool
	// Lost tells that a packet of terminal t, as it was sent, is not going to be delivered: it
	// was dropped, or there was no path, and it is not sent again. Packets of a terminal that
	// are lost at one time are told of in order of birth, then of tags. Real senders find out
	// by timers.
	Lost(t topology.TerminalID, spec *PacketSpec)
}

// BearsLosses tells whether a workload can run where packets may be lost. One that hears of
// nothing can.
func BearsLosses(w Workload) bool {
	if l, ok := w.(LossListener); ok {
		return l.BearsLosses()
	}
	_, hears := w.(Responder)
	return !hears
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
	// CyclesPerFlit is how long a flit occupies the channel out of terminal t.
	CyclesPerFlit(t topology.TerminalID) float64
	// Note enters a time of so many cycles, or a value, into measure i of
	// [Responder.Measures], if what it is about began in the window.
	Note(i int, began, cycles int64)
}
