// Package terminal has the programs that terminals run in measured runs of a fabric:
// they decide what is sent when, hear of what arrives, and answer with packets of
// their own.
//
// [Registry] makes a [fabric.Workload] for all terminals. The open loop is one that
// the fabric has itself; the others are a [Program] for each terminal, in a [Host].
package terminal

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Program is what one terminal runs. It is told of time that it has asked for and of
// packets that arrive, and sends packets and sets its timer through its [Port]. It
// meets other terminals by packets only and shares nothing with them that changes:
// the programs of several terminals run at the same time on several threads. Random
// numbers come from streams of its own, named by the terminal.
type Program interface {
	// Start is called before the first cycle, unless the program has been read from a state.
	Start(p *Port)
	// Timer is called when the time of the timer has come; the timer is then off.
	Timer(p *Port)
	// Arrived is called for every packet whose tail reaches the terminal, before the
	// timer of the same cycle. It must not keep a.
	Arrived(p *Port, a *Arrival)
	// Pending is the time at which the oldest exchange that waits for an answer
	// began; [sim.MaxTime]: none does. The window is left when those begun in it have
	// ended.
	Pending() sim.Time
	// Archive writes all that changes in the program, or reads it into a new program of the
	// same settings, which goes on from there; it may be [snapshot.Fields].
	Archive(a *snapshot.Archive)
}

// Sender is a program that is told of its own departures: that the terminal has
// taken a packet, whose head leaves as soon as there is a credit.
type Sender interface{ Departed(p *Port, sent *Packet) }

// Bearer is a program that bears losses; others do not run where packets may be lost.
type Bearer interface {
	// Lost is called when a packet of this terminal has been given up: it was dropped, or had
	// no path, and the network does not send it again.
	Lost(p *Port, lost *Packet)
}

// Class is the priority of a packet at its terminal. In the network that is [Packet].Level,
// for routings that go by it.
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
	// Level is its class of service in the network, 0 to 15, and Entropy chooses its path,
	// if the routing goes by them.
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
	Trimmed     bool     // of its payload by a switch: Flits is 1
}

// Env is what a workload is built for.
type Env struct {
	Terminals int
	Pattern   measure.Pattern // destinations
	Sizes     measure.Sizes   // of packets that are not answers
	MeanFlits float64         // of Sizes
	// Process makes the times of packets for the offered load, if each counts for so
	// many flits of it in the mean.
	Process func(flits float64) (measure.Process, error)
	Seed    uint64
	Clock   sim.Time // length of a cycle
}

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
	return measure.NewOpenLoop(env.Terminals, env.Pattern, process, env.Sizes, env.Seed), nil
}
