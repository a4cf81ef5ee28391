package terminal

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Port is how a program reaches its terminal.
type Port struct {
	host     *Host
	engine   fabric.Engine
	program  Program
	sender   Sender // the program, if it is one
	id       topology.TerminalID
	timer    int64    // cycle; Never: off
	waiting  [2]queue // by class
	counters Counters
	arrival  Arrival // handed to the program: kept here so that it is not allocated
}

// Terminal is the terminal's number.
func (p *Port) Terminal() topology.TerminalID { return p.id }

// Now is the present time: that of the cycle.
func (p *Port) Now() sim.Time { return p.host.timeOf(p.cycle()) }

// cycle is the present cycle; before the first, that.
func (p *Port) cycle() int64 { return max(p.host.first, p.engine.Now()) }

// Send hands a packet to the terminal, born now. Its head enters the channel
// terminal.injection_cycles later, at least one cycle, if nothing is before it. After
// the end of the run nothing is sent.
func (p *Port) Send(packet Packet) {
	if packet.Flits < 1 || int(packet.Dst) < 0 || int(packet.Dst) >= len(p.host.ports) || packet.Class > High || packet.Tag>>63 != 0 || packet.Level > 15 {
		p.misuse("on terminal %d sends the packet %+v: want at least 1 flit, a terminal of 0 to %d, class Low or High, a tag below 2^63, a level up to 15", p.id, packet, len(p.host.ports)-1)
	}
	now := p.cycle()
	if now >= p.host.stop {
		return
	}
	p.waiting[packet.Class].put(queued{packet, now})
	p.engine.Wake(p.id)
}

// Waiting is the number of packets of a class that the terminal has not taken yet.
func (p *Port) Waiting(class Class) int { return p.waiting[class].len() }

// SetTimer sets the timer, in place of what it was set to before: to the first cycle
// that begins at a time or later, the next one at the earliest. [sim.MaxTime] turns it
// off.
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

// Record enters the time from began until now into measure i of [NewHost], which is one of times;
// it counts if began is in the window.
func (p *Port) Record(i int, began sim.Time) {
	p.mustBe(i, false)
	from := int64(began / p.host.clock)
	p.engine.Note(i, from, p.cycle()-from)
}

// oldest is the birth of the oldest packet that waits; Never if none does.
func (p *Port) oldest() int64 { return min(p.waiting[Low].oldest(), p.waiting[High].oldest()) }

// queue holds packets in order.
type queue struct {
	packets []queued
	first   int // those before have been taken
}

type queued struct {
	Packet
	birth int64 // cycle
}

func (q *queue) len() int { return len(q.packets) - q.first }

func (q *queue) oldest() int64 {
	if q.len() == 0 {
		return fabric.Never
	}
	return q.packets[q.first].birth
}

func (q *queue) put(packet queued) { q.packets = append(q.packets, packet) }

func (q *queue) take() queued {
	packet := q.packets[q.first]
	if q.first++; q.first > len(q.packets)/2 { // moves each packet once, on average
		q.packets = append(q.packets[:0], q.packets[q.first:]...)
		q.first = 0
	}
	return packet
}

func (q *queue) appendState(b []byte) []byte {
	b = AppendUint64(b, uint64(q.len()))
	for _, packet := range q.packets[q.first:] {
		for _, x := range []uint64{uint64(packet.birth), uint64(packet.Dst), uint64(packet.Flits), uint64(packet.Class), packet.Tag, uint64(packet.Entropy)<<8 | uint64(packet.Level)} {
			b = AppendUint64(b, x)
		}
	}
	return b
}

func (q *queue) restoreState(b []byte) ([]byte, error) {
	n, b, err := TakeUint64(b)
	*q = queue{}
	for ; n > 0 && err == nil; n-- {
		var x [6]uint64
		for i := range x {
			if x[i], b, err = TakeUint64(b); err != nil {
				return b, err
			}
		}
		q.put(queued{Packet{topology.TerminalID(x[1]), int(x[2]), Class(x[3]), x[4], uint8(x[5]), uint16(x[5] >> 8)}, int64(x[0])})
	}
	return b, err
}
