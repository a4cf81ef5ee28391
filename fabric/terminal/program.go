// Package terminal has the programs of terminals in measured runs of a fabric: they decide what is
// sent when, hear of what arrives, and answer with packets.
//
// [Registry] makes a [fabric.Workload] for all terminals: the fabric's open loop, or a [Program]
// for each terminal, in a [Host].
package terminal

import (
	"fmt"
	"math"
	"strings"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Program is what one terminal runs. It is told of its timer and of packets that arrive, and sends
// packets and sets the timer through its [Port]. It shares nothing with other terminals that
// changes: programs run at the same time on several threads. Random numbers come from streams of
// its own, named by the terminal.
type Program interface {
	// Start is called before the first cycle, unless the program has been read from a state.
	Start(p *Port)
	// Timer is called when the time of the timer has come; the timer is then off.
	Timer(p *Port)
	// Arrived is called for every packet whose tail arrives, before the same cycle's timer. It must
	// not keep a.
	Arrived(p *Port, a *Arrival)
	// Pending is the time at which the oldest unanswered exchange began; [sim.MaxTime]: none. The
	// window is left when those begun in it have ended.
	Pending() sim.Time
	// Archive writes all that changes in the program, or reads it into a new one of the same
	// settings; it may be [snapshot.Fields].
	Archive(a *snapshot.Archive)
}

// Sender is a program told of its departures: the terminal has taken a packet, whose head leaves
// with the next credit.
type Sender interface{ Departed(p *Port, sent *Packet) }

// Bearer is a program that bears losses; others do not run where packets may be lost.
type Bearer interface {
	// Lost is called when a packet of this terminal is given up: dropped or without a path, and not
	// sent again.
	Lost(p *Port, lost *Packet)
}

// Class is the priority of a packet at its terminal; in the network [Packet].Level is, if the
// routing reads it.
type Class uint8

const (
	Low  Class = iota // sent when no packet of class High waits
	High              // acknowledgements, replies
)

// Packet is a packet to be sent.
type Packet struct {
	Dst   topology.TerminalID // may be the sender
	Flits int                 // at least 1
	Class Class
	Tag   uint64 // below 2^63; comes with the arrival
	// Level is its class of service in the network, 0 to 15, and Entropy chooses its path, if the
	// routing reads them.
	Level   uint8
	Entropy uint16
}

// Arrival is a packet that has arrived whole.
type Arrival struct {
	Src         topology.TerminalID
	Flits       int
	Class       Class
	Tag         uint64
	Born, Enter sim.Time // when it was sent, and its head entered the network
	Hops        int      // switches crossed
	Marked      bool     // by a port on its way (switch.marking)
}

// Env is what a workload is built for.
type Env struct {
	Terminals int
	Pattern   measure.Pattern // destinations
	Sizes     measure.Sizes   // of packets that are not answers
	MeanFlits float64         // of Sizes
	// Process times packets for the offered load, each of so many flits in the mean.
	Process func(flits float64) (measure.Process, error)
	Phases  []measure.Phase                  // with destinations of their own, behind the first; only of the open loop
	Silent  func(t topology.TerminalID) bool // sends nothing but answers; nil: none does
	Seed    uint64
	Clock   sim.Time // length of a cycle
}

// Answering is implemented by the settings of programs that answer, with packets of so many flits.
type Answering interface{ AnswerFlits() int }

// Registry holds every program that experiment files can name.
var Registry = param.NewRegistry[Env, fabric.Workload]("program")

func init() {
	param.Register(Registry, "open-loop", "packets are born regardless of what becomes of them; nobody answers", struct{}{}, newOpenLoop)
}

func newOpenLoop(_ struct{}, env Env) (fabric.Workload, error) {
	process, err := env.Process(env.MeanFlits)
	if err != nil {
		return nil, err
	}
	if len(env.Phases) > 0 {
		return measure.NewPhasedLoop(env.Terminals, env.Pattern, env.Phases, process, env.Sizes, env.Seed), nil
	}
	source := measure.NewOpenLoop(env.Terminals, env.Pattern, process, env.Sizes, env.Seed)
	for t := range topology.TerminalID(env.Terminals) {
		if env.Silent != nil && env.Silent(t) {
			source.Silence(t)
		}
	}
	return source, nil
}

// Port is how a program reaches its terminal.
type Port struct {
	host     *Host               `snap:"-"`
	engine   fabric.Engine       `snap:"-"`
	program  Program             `snap:"-"` // archived behind the fields
	sender   Sender              `snap:"-"` // the program, if it is one
	id       topology.TerminalID `snap:"-"`
	timer    int64               // cycle; Never: off
	waiting  [2]sim.FIFO[queued] // by class
	counters Counters
	arrival  Arrival `snap:"-"` // handed to the program: kept here so that it is not allocated
}

// Terminal is the terminal's number.
func (p *Port) Terminal() topology.TerminalID { return p.id }

// Now is the present time: when the cycle begins.
func (p *Port) Now() sim.Time { return p.host.timeOf(p.cycle()) }

// cycle is the present cycle; before the first, that.
func (p *Port) cycle() int64 { return max(0, p.engine.Now()) }

// Send hands a packet to the terminal, born now. Its head enters the channel
// terminal.injection_cycles later (at least one cycle) if nothing is before it; after the end of
// the run never.
func (p *Port) Send(packet Packet) {
	if packet.Flits < 1 || int(packet.Dst) < 0 || int(packet.Dst) >= len(p.host.ports) || packet.Class > High || packet.Tag>>63 != 0 || packet.Level > 15 {
		p.misuse("on terminal %d sends the packet %+v: want at least 1 flit, a terminal of 0 to %d, class Low or High, a tag below 2^63, a level up to 15", p.id, packet, len(p.host.ports)-1)
	}
	now := p.cycle()
	if now >= p.host.stop {
		return
	}
	p.waiting[packet.Class].Put(queued{packet, now})
	p.engine.Wake(p.id)
}

// Waiting is the number of packets of a class that the terminal has not taken yet.
func (p *Port) Waiting(class Class) int { return p.waiting[class].Len() }

// SetTimer sets the timer anew: to the first cycle that begins at a time or later, the next one at
// the earliest. [sim.MaxTime] turns it off.
func (p *Port) SetTimer(at sim.Time) {
	cycle := int64(at / p.host.clock)
	if at%p.host.clock > 0 {
		cycle++
	}
	if cycle = max(cycle, p.engine.Now()+1); cycle >= fabric.Never || at == sim.MaxTime {
		p.timer = fabric.Never
		return
	}
	p.timer = cycle
	p.engine.AlarmAt(p.id, cycle)
}

// Record enters the time from began until now into [NewHost]'s measure i, one of times, if began is
// in the window.
func (p *Port) Record(i int, began sim.Time) {
	p.mustBe(i, false)
	from := int64(began / p.host.clock)
	p.engine.Note(i, from, p.cycle()-from)
}

// queued is a packet that waits.
type queued struct {
	Packet
	birth int64 // cycle
}

// oldest is the birth of the oldest packet of a class that waits; Never if none does.
func (p *Port) oldest(class Class) int64 {
	if q := &p.waiting[class]; q.Len() > 0 {
		return q.At(0).birth
	}
	return fabric.Never
}

// Counters are what a terminal has sent and received so far.
type Counters struct {
	SentPackets, SentFlits         int64 // that it has taken from its program
	ReceivedPackets, ReceivedFlits int64 // that have arrived
	Marked                         int64 // packets among them that a port has marked
	Lost                           int64 // packets of its own that were given up, where its program bears losses
}

// Counters are the terminal's.
func (p *Port) Counters() Counters { return p.counters }

// LinkTime is the time that so many flits occupy the terminal's channel.
func (p *Port) LinkTime(flits int) sim.Time {
	return sim.Time(math.Round(float64(flits) * p.engine.CyclesPerFlit(p.id) * float64(p.host.clock)))
}

// InjectionTime is the least time from Send until the head enters the channel.
func (p *Port) InjectionTime() sim.Time { return p.host.timeOf(p.engine.InjectionCycles()) }

// Count enters a 1 now into [NewHost]'s measure i, one of values ([UnitOf]).
func (p *Port) Count(i int) { p.Sample(i, 1) }

// Sample enters a value, at least 0, into [NewHost]'s measure i, one of values ([UnitOf]), if the
// window is open.
func (p *Port) Sample(i int, value int64) {
	p.mustBe(i, true)
	if value < 0 {
		p.misuse("samples %d for measure %q: want 0 or more", value, p.host.measures[i])
	}
	p.engine.Note(i, p.cycle(), value)
}

// mustBe panics where there is no such measure, or it is not one of values, or is.
func (p *Port) mustBe(i int, values bool) {
	if i < 0 || i >= len(p.host.values) {
		p.misuse("notes measure %d: want one that it names to NewHost, from 0 to %d", i, len(p.host.values)-1)
	}
	if p.host.values[i] != values {
		p.misuse("notes measure %q: want Record for a measure of times, and Sample or Count for one of values, whose name ends in its unit, as \"window [packets]\"", p.host.measures[i])
	}
}

func (p *Port) misuse(format string, args ...any) {
	panic(&param.Misuse{Of: "program", By: p.program, Did: fmt.Sprintf(format, args...)})
}

// UnitOf parts the name of a measure of values from its unit, "window [packets]"; times have none.
func UnitOf(measure string) (name, unit string) {
	if name, unit, ok := strings.Cut(strings.TrimSuffix(measure, "]"), " ["); ok {
		return name, unit
	}
	return measure, ""
}
