package main

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// AIMD holds the settings of program "aimd".
type AIMD struct {
	Limit int `toml:"limit" doc:"largest window" unit:"packets" min:"1" max:"1000"`
}

func init() {
	param.Register(terminal.Registry, "aimd", "a window of packets a terminal, one more for every window that comes back, half of it for a mark", AIMD{16}, newAIMD)
}

func newAIMD(c AIMD, env terminal.Env) (fabric.Workload, error) {
	return terminal.NewHost(env, true, []string{"packet", "round trip", "window [packets]", "halvings [1]"}, func(t topology.TerminalID) terminal.Program {
		return &aimd{env: &env, limit: c.Limit, contents: sim.NewStream(env.Seed, "packet", int(t)), window: 1}
	}), nil
}

// aimd numbers its packets. An acknowledgement has the number of its packet, and whether that
// was marked on its way.
type aimd struct {
	env      *terminal.Env `snap:"-"` // no part of the state that snapshots keep
	limit    int           `snap:"-"`
	contents sim.Stream
	window   uint64 // packets that may be under way
	returned uint64 // acknowledgements without a mark since the window has changed
	next     uint64 // number of the next packet
	deaf     uint64 // marks of packets before this one count no more
	sent     []way  // those under way, in order
}

type way struct {
	number uint64
	began  sim.Time
}

const acknowledges, wasMarked = 1, 2 // bits of tags; the number is above

func (x *aimd) Start(p *terminal.Port) { x.send(p) }

func (x *aimd) Timer(*terminal.Port) {}

func (x *aimd) send(p *terminal.Port) {
	for ; uint64(len(x.sent)) < x.window; x.next++ {
		x.sent = append(x.sent, way{x.next, p.Now()})
		p.Send(terminal.Packet{Dst: x.env.Pattern.Destination(p.Terminal(), &x.contents), Flits: x.env.Sizes.Draw(&x.contents), Tag: x.next << 2})
	}
}

func (x *aimd) Arrived(p *terminal.Port, a *terminal.Arrival) {
	if a.Tag&acknowledges == 0 {
		p.Record(0, a.Born)
		tag := a.Tag | acknowledges
		if a.Marked {
			tag |= wasMarked
		}
		p.Send(terminal.Packet{Dst: a.Src, Flits: 1, Class: terminal.High, Tag: tag})
		return
	}
	number := a.Tag >> 2
	for i := range x.sent {
		if x.sent[i].number == number {
			p.Record(1, x.sent[i].began)
			x.sent = append(x.sent[:i], x.sent[i+1:]...)
			break
		}
	}
	if a.Tag&wasMarked == 0 {
		if x.returned++; x.returned >= x.window {
			x.window, x.returned = min(x.window+1, uint64(x.limit)), 0
			p.Sample(2, int64(x.window))
		}
	} else if number >= x.deaf { // once for all that were under way together
		x.window, x.returned, x.deaf = max(1, x.window/2), 0, x.next
		p.Count(3)
	}
	x.send(p)
}

func (x *aimd) Pending() sim.Time {
	if len(x.sent) == 0 {
		return sim.MaxTime
	}
	return x.sent[0].began
}

func (x *aimd) Archive(a *snapshot.Archive) { snapshot.Fields(a, x) }
