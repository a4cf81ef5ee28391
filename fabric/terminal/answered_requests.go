package terminal

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// exchange is the part of a program that asks and is answered: every request that
// arrives whole is answered at once by a packet of a fixed size to its sender, of class
// High. The tag of both packets is the requester's number of the exchange, and whether
// it is the answer.
type exchange struct {
	env      *Env
	answer   int        // flits
	contents sim.Stream // destinations and sizes
	began    []sim.Time // by number of the exchange; MaxTime: the number is free
	free     []uint64   // numbers, the last to be used first
}

// Measures of an exchange, after the names of its two packets.
const (
	requestLatency = iota
	answerLatency
	roundTrip
)

func newExchange(env *Env, t topology.TerminalID, answer int) exchange {
	return exchange{env: env, answer: answer, contents: sim.NewStream(env.Seed, "packet", int(t))}
}

// begin sends a request.
func (x *exchange) begin(p *Port) {
	if len(x.free) == 0 {
		x.free = append(x.free, uint64(len(x.began)))
		x.began = append(x.began, 0)
	}
	number := x.free[len(x.free)-1]
	x.free = x.free[:len(x.free)-1]
	x.began[number] = p.Now()
	dst := x.env.Pattern.Destination(p.id, &x.contents)
	p.Send(Packet{Dst: dst, Flits: x.env.Sizes.Draw(&x.contents), Tag: number << 1})
}

// arrived answers a request; it returns true if an answer has ended an exchange.
func (x *exchange) arrived(p *Port, a *Arrival) (ended bool) {
	number := a.Tag >> 1
	if a.Tag&1 == 0 {
		p.Record(requestLatency, a.Born)
		p.Send(Packet{Dst: a.Src, Flits: x.answer, Class: High, Tag: number<<1 | 1})
		return false
	}
	p.Record(answerLatency, a.Born)
	p.Record(roundTrip, x.began[number])
	x.began[number] = sim.MaxTime
	x.free = append(x.free, number)
	return true
}

// Pending implements [Program].
func (x *exchange) Pending() sim.Time {
	oldest := sim.MaxTime
	for _, began := range x.began {
		oldest = min(oldest, began)
	}
	return oldest
}

// AppendState implements [Program].
func (x *exchange) AppendState(b []byte) []byte {
	b = AppendUint64(b, x.contents.State())
	b = AppendUint64(b, uint64(len(x.began)))
	for _, began := range x.began {
		b = AppendUint64(b, uint64(began))
	}
	b = AppendUint64(b, uint64(len(x.free)))
	for _, number := range x.free {
		b = AppendUint64(b, number)
	}
	return b
}

// RestoreState implements [Program].
func (x *exchange) RestoreState(b []byte) ([]byte, error) {
	state, b, err := TakeUint64(b)
	if err != nil {
		return b, err
	}
	x.contents, x.began, x.free = sim.StreamFrom(state), nil, nil
	for _, add := range []func(uint64){
		func(began uint64) { x.began = append(x.began, sim.Time(began)) },
		func(number uint64) { x.free = append(x.free, number) },
	} {
		n, rest, err := TakeUint64(b)
		for ; n > 0 && err == nil; n-- {
			var value uint64
			if value, rest, err = TakeUint64(rest); err == nil {
				add(value)
			}
		}
		if b = rest; err != nil {
			return b, err
		}
	}
	return b, nil
}
