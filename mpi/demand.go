package mpi

import (
	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
)

// Demand is what a workload asks of CPUs whatever the network does: without noise, connections,
// relays, retries and early messages.
type Demand struct {
	CPU   []CPUTime // len = ranks
	Alone sim.Time  // of the slowest message by itself, from the call that posts it to the end of its receive
	Ways
}

// Ways are those that messages of a workload take.
type Ways struct {
	Inside bool // some message stays in a node
	Eager  bool // some message between nodes goes eagerly
	RDMA   bool // some message is read or written where it lies: by rendezvous, or at once
	Polled bool // a receiver polls for some of those
}

// Or is the ways of two workloads.
func (w Ways) Or(o Ways) Ways {
	return Ways{w.Inside || o.Inside, w.Eager || o.Eager, w.RDMA || o.RDMA, w.Polled || o.Polled}
}

// Transfers is told of what goes from node to node: count transfers of so many bytes.
type Transfers func(from, to int32, bytes, count int64)

// Demand works out what w, which it uses up, asks for. idle is the least time of a transfer between
// two nodes' memories. Of a rendezvous only what all forms have counts. Cost: linear in the
// operations.
func (c *Config) Demand(w Workload, transfers Transfers, idle func(bytes int64) sim.Time) (*Demand, error) {
	nodeOf, nodes, err := c.Placement.Place(w.Ranks(), c.Seed)
	if err != nil {
		return nil, err
	}
	d := &demand{Config: c, Demand: Demand{CPU: make([]CPUTime, w.Ranks())}, nodeOf: nodeOf, places: c.Memory.places(nodeOf, nodes), transfers: transfers, idle: idle}
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
				d.CPU[r].Busy = min(d.CPU[r].Busy+min(sim.Time(op.Size), latest), latest)
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

// Load is what the ranks of a schedule have together.
type Load struct{ Operations, Sends, Rendezvous, Bursts float64 }

// OperationsOf estimates the operations of a workload that begins, at a small part of the cost of going through them.
func OperationsOf(w Workload) float64 {
	if s, ok := w.(*ScheduleRun); ok {
		return new(Protocols).LoadOf(s.s, false, 1, 5, 17).Operations
	}
	return float64(w.Unreleased())
}

// LoadOf estimates it from so many ranks, and rounds of each. A burst has at most quantum bytes.
func (p *Protocols) LoadOf(s collectives.Schedule, datagrams bool, quantum sim.Bytes, ranks, rounds int) (l Load) {
	var ops []collectives.Op
	n := min(ranks, s.Ranks())
	for i := range n {
		rank := int((2*int64(i) + 1) * int64(s.Ranks()) / int64(2*n))
		all := s.Rounds(rank)
		looked := min(all, rounds)
		times := float64(s.Ranks()) / float64(n) * float64(all) / float64(looked)
		for j := range looked {
			ops = s.Round(rank, int((2*int64(j)+1)*int64(all)/int64(2*looked)), ops[:0])
			l.Operations += times * float64(len(ops))
			for _, o := range ops {
				if o.Kind != collectives.Send {
					continue
				}
				l.Sends += times
				l.Bursts += times * float64(max(1, o.Bytes/int64(quantum)))
				if p.of(&Op{Size: o.Bytes, Protocol: o.Protocol}, datagrams) != collectives.Eager {
					l.Rendezvous += times
				}
			}
		}
	}
	return l
}

// demand is the work of [Config.Demand] so far.
type demand struct {
	*Config
	Demand
	nodeOf    []int32
	places    places
	transfers Transfers
	idle      func(bytes int64) sim.Time
}

// message counts a message and both sides of it.
func (d *demand) message(from int32, op *Op) {
	p := &d.Protocols
	a, b := d.nodeOf[from], d.nodeOf[op.Peer]
	sender, receiver := p.overhead(a == b, p.SendOverhead), d.places.fetch(d.Config, from, op.Peer, op.Size, a == b)
	copied := copyTime(op.Size, d.places.rate(d.Config, from, op.Peer, op.Size, a == b, op.Segment))
	in, out := sim.Time(0), sim.Time(0)
	way := d.places.way(d.Config, from, op.Peer)
	protocol := p.of(op, d.Connections.Mode == UD)
	switch {
	case a == b:
		d.Inside = true
		in, out = copied, copied
		switch op.Segment {
		case collectives.Out:
			in = 0
		case collectives.In:
			out = 0
		}
		if p.inOneCopy(op.Size, op.Segment) {
			in = 0
			receiver += p.SingleCopyTime
		}
	case protocol == collectives.Eager:
		d.Eager = true
		if op.Size > int64(d.Adapter.InlineLimit) {
			sender += p.BufferTime
		}
		if p.EagerCopies {
			in, out = copied, copied
		}
		if p.fromPlace(op.Size) {
			in = 0
		}
		way = d.idle(op.Size)
		d.transfers(a, b, op.Size, 1)
		if p.inPieces(op.Size) {
			d.pieces(from, op, sender, receiver)
			return
		}
	case protocol == collectives.Direct:
		d.RDMA, d.Polled = true, true
		sender += p.register(op.Size)
		receiver = p.PollOverhead
		way = d.idle(op.Size)
		d.transfers(a, b, op.Size, 1)
	default: // RTS, CTS, data
		d.RDMA, d.Polled = true, d.Polled || protocol != collectives.Rendezvous || d.Connections.Proxy
		sender += p.register(op.Size)
		answer := p.ReadOverhead
		if protocol != collectives.Read {
			answer = p.SendOverhead
			sender += p.RecvOverhead + p.SendOverhead
		}
		if p.tells(protocol) {
			sender += p.BufferTime + p.RecvOverhead
			answer += p.BufferTime + p.SendOverhead
			d.transfers(b, a, controlBytes, 1)
		}
		receiver += answer + p.register(op.Size) + min(p.RecvOverhead, p.PollOverhead)
		way = 2*d.idle(controlBytes) + d.idle(op.Size)
		d.transfers(a, b, controlBytes, 1)
		d.transfers(b, a, controlBytes, 1)
		d.transfers(a, b, op.Size, 1)
	}
	d.CPU[from].add(sender+in, in)
	d.CPU[op.Peer].add(receiver+out, out)
	d.Alone = max(d.Alone, sender+in+way+receiver+out)
}

// pieces counts both sides of a message in pieces: of the slower side's work only the other's for the piece at
// that end comes on top. Over a relay it goes whole, without the time for each piece.
func (d *demand) pieces(from int32, op *Op, sender, receiver sim.Time) {
	p, each := &d.Protocols, pieceSize(&d.Protocols, op.Size)
	number := (op.Size + each - 1) / each
	last := op.Size - (number-1)*each
	copied := func(bytes int64) sim.Time { return copyTime(bytes, p.CopyRate) }
	in := sim.Time(number-1)*copied(each) + copied(last)
	more := sim.Time(number-1) * p.SegmentOverhead
	if d.Connections.Proxy {
		more = 0
	}
	d.CPU[from].add(sender+in+more, in)
	d.CPU[op.Peer].add(receiver+in+more, in)
	d.Alone = max(d.Alone, sender+in+more+d.idle(last)+copied(last), sender+copied(each)+d.idle(each)+receiver+in+more)
}

// add adds times, in ps.
func (t *CPUTime) add(busy, copies sim.Time) {
	t.Busy += busy
	t.Copies += copies
}
