package terminal

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// exchange is the part of a program that asks and is answered: every request that has arrived whole
// gets a packet of fixed size, of class High. The tag of both packets is the requester's number of
// the exchange, and whether it is the answer.
type exchange struct {
	env      *Env       `snap:"-"`
	answer   int        `snap:"-"` // flits
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

func (x *exchange) Pending() sim.Time {
	oldest := sim.MaxTime
	for _, began := range x.began {
		oldest = min(oldest, began)
	}
	return oldest
}

func (x *exchange) Archive(a *snapshot.Archive) { snapshot.Fields(a, x) }

// RequestReply holds the settings of program "request-reply".
type RequestReply struct {
	ReplyFlits int `toml:"reply_flits" doc:"size of replies" unit:"flits" min:"1" max:"1000000"`
}

// AnswerFlits implements [Answering].
func (c RequestReply) AnswerFlits() int { return c.ReplyFlits }

func init() {
	param.Register(Registry, "request-reply", "requests are born regardless of what becomes of them, and every one that arrives is answered by a reply; the load is that of both",
		RequestReply{ReplyFlits: 1}, newRequestReply)
	param.Register(Registry, "closed-loop", "every terminal has a fixed number of packets outstanding: each acknowledgement lets it send the next one; no load is offered",
		ClosedLoop{Window: 1, AckFlits: 1}, newClosedLoop)
}

// newRequestReply makes clients that are servers, too, as BookSim2's use_read_write: a reply is
// born when its request's last flit has arrived, and precedes its terminal's requests. Unlike
// there, requests are of one kind.
func newRequestReply(c RequestReply, env Env) (fabric.Workload, error) {
	process, err := env.Process(env.MeanFlits + float64(c.ReplyFlits))
	if err != nil {
		return nil, err
	}
	return NewHost(env, false, []string{"request", "reply", "round trip"}, func(t topology.TerminalID) Program {
		return &requestReply{exchange: newExchange(&env, t, c.ReplyFlits), process: process, births: sim.NewStream(env.Seed, "birth", int(t))}
	}), nil
}

// requestReply sends requests at the times of its process.
type requestReply struct {
	exchange
	process measure.Process `snap:"-"`
	births  sim.Stream
	state   uint32 // the process's
	next    int64  // cycle of the next birth
}

func (r *requestReply) Start(p *Port) {
	r.next = -1
	r.wait(p)
}

func (r *requestReply) wait(p *Port) {
	r.next += measure.Gap(r.process, r.process.NextGap(&r.births, &r.state))
	p.SetTimer(p.host.timeOf(r.next))
}

func (r *requestReply) Timer(p *Port) {
	r.begin(p)
	r.wait(p)
}

func (r *requestReply) Arrived(p *Port, a *Arrival) { r.arrived(p, a) }

func (r *requestReply) Archive(a *snapshot.Archive) { snapshot.Fields(a, r) }

// ClosedLoop holds the settings of program "closed-loop".
type ClosedLoop struct {
	Window   int `toml:"window" doc:"packets of a terminal that are under way or not acknowledged yet" min:"1" max:"1000000"`
	AckFlits int `toml:"ack_flits" doc:"size of acknowledgements" unit:"flits" min:"1" max:"1000000"`
}

// AnswerFlits implements [Answering].
func (c ClosedLoop) AnswerFlits() int { return c.AckFlits }

func newClosedLoop(c ClosedLoop, env Env) (fabric.Workload, error) {
	return NewHost(env, true, []string{"packet", "acknowledgement", "round trip"}, func(t topology.TerminalID) Program {
		return &closedLoop{newExchange(&env, t, c.AckFlits), c.Window}
	}), nil
}

// closedLoop keeps window packets outstanding.
type closedLoop struct {
	exchange
	window int // archived as the exchange is: it is a setting
}

func (c *closedLoop) Start(p *Port) {
	for range c.window {
		c.begin(p)
	}
}

func (c *closedLoop) Timer(*Port) {}

func (c *closedLoop) Arrived(p *Port, a *Arrival) {
	if c.arrived(p, a) {
		c.begin(p)
	}
}
