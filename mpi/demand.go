package mpi

import (
	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
)

// Demand is what a workload asks of CPUs whatever the network does: without noise,
// connections, relays, retries and messages that come before their receive.
type Demand struct {
	CPU   []CPUTime // len = ranks
	Alone sim.Time  // of the slowest message by itself, from the call that posts it to the end of its receive
}

// Transfers is told of what goes from node to node: count transfers of so many bytes.
type Transfers func(from, to int32, bytes, count int64)

// Demand works out what w, which it uses up, asks for. idle is the least time of a transfer of
// so many bytes from the memory of one node to that of another. Of a rendezvous only what every
// form of it has is counted. Cost: linear in the operations.
func (c *Config) Demand(w Workload, transfers Transfers, idle func(bytes int64) sim.Time) (*Demand, error) {
	nodeOf, _, err := c.Placement.Place(w.Ranks(), c.Seed)
	if err != nil {
		return nil, err
	}
	d := &demand{Config: c, Demand: Demand{CPU: make([]CPUTime, w.Ranks())}, nodeOf: nodeOf, transfers: transfers, idle: idle}
	var ops []Op
	for r := range int32(w.Ranks()) {
		for ops = w.Start(r, ops[:0]); len(ops) > 0; {
			op := ops[len(ops)-1]
			ops = w.Started(r, op.ID, 0, ops[:len(ops)-1])
			switch op.Kind {
			case Calc:
				if op.Wait {
					break
				}
				d.CPU[r].Busy += min(sim.Time(op.Size), latest)
				if op.Copy {
					d.CPU[r].Copies += sim.Time(op.Size)
				}
			case Send:
				d.message(r, &op)
			}
			ops = w.Done(r, op.ID, 0, ops)
		}
	}
	return &d.Demand, nil
}

type demand struct {
	*Config
	Demand
	nodeOf    []int32
	transfers Transfers
	idle      func(bytes int64) sim.Time
}

// message counts a message and both sides of it.
func (d *demand) message(from int32, op *Op) {
	p := &d.Protocols
	a, b := d.nodeOf[from], d.nodeOf[op.Peer]
	sender, receiver := p.SendOverhead, p.RecvOverhead
	copied := sim.Time(float64(op.Size) * 8e12 / float64(p.CopyRate))
	in, out := sim.Time(0), sim.Time(0)
	way := p.SharedLatency
	protocol := p.of(op, d.Connections.Mode == UD)
	switch control := int64(p.ControlBytes); {
	case a == b:
		in, out = copied, copied
		switch op.Segment {
		case collectives.Out:
			in = 0
		case collectives.In:
			out = 0
		}
	case protocol == collectives.Eager:
		if p.EagerCopies {
			in, out = copied, copied
		}
		way = d.idle(op.Size)
		d.transfers(a, b, op.Size, 1)
	case protocol == collectives.Direct:
		sender += p.register(op.Size)
		receiver = p.PollOverhead
		way = d.idle(op.Size)
		d.transfers(a, b, op.Size, 1)
	default: // RTS, CTS, data
		sender += p.register(op.Size) + p.RecvOverhead + p.SendOverhead
		receiver += p.SendOverhead + p.register(op.Size) + min(p.RecvOverhead, p.PollOverhead)
		way = 2*d.idle(control) + d.idle(op.Size)
		d.transfers(a, b, control, 1)
		d.transfers(b, a, control, 1)
		d.transfers(a, b, op.Size, 1)
	}
	d.CPU[from].add(sender+in, in)
	d.CPU[op.Peer].add(receiver+out, out)
	d.Alone = max(d.Alone, sender+in+way+receiver+out)
}

func (t *CPUTime) add(busy, copies sim.Time) {
	t.Busy += busy
	t.Copies += copies
}
