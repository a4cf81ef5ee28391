package terminal

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/measure"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// RequestReply holds the settings of program "request-reply".
type RequestReply struct {
	ReplyFlits int `toml:"reply_flits" doc:"size of replies" unit:"flits" min:"1" max:"1000000"`
}

func init() {
	param.Register(Registry, "request-reply", "requests are born regardless of what becomes of them, and every one that arrives is answered by a reply; the load is that of both",
		RequestReply{ReplyFlits: 1}, newRequestReply)
}

// newRequestReply makes clients that are servers, too, as those of BookSim2 with
// use_read_write: a reply is born when the last flit of its request has arrived, and
// goes before the requests of its terminal. Other than there, requests are of one kind.
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
	process measure.Process
	births  sim.Stream
	state   uint32 // the process's
	next    int64  // cycle of the next birth
}

func (r *requestReply) Start(p *Port) {
	r.next = p.host.first - 1
	r.wait(p)
}

// wait sets the timer to the next birth.
func (r *requestReply) wait(p *Port) {
	r.next += r.process.NextGap(&r.births, &r.state)
	p.SetTimer(p.host.timeOf(r.next))
}

func (r *requestReply) Timer(p *Port) {
	r.begin(p)
	r.wait(p)
}

func (r *requestReply) Arrived(p *Port, a *Arrival) { r.arrived(p, a) }

func (r *requestReply) AppendState(b []byte) []byte {
	for _, x := range []uint64{r.births.State(), uint64(r.state), uint64(r.next)} {
		b = AppendUint64(b, x)
	}
	return r.exchange.AppendState(b)
}

func (r *requestReply) RestoreState(b []byte) ([]byte, error) {
	var x [3]uint64
	var err error
	for i := range x {
		if x[i], b, err = TakeUint64(b); err != nil {
			return b, fmt.Errorf("request-reply: %w", err)
		}
	}
	r.births, r.state, r.next = sim.StreamFrom(x[0]), uint32(x[1]), int64(x[2])
	return r.exchange.RestoreState(b)
}
