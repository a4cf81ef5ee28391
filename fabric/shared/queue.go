package shared

import (
	"math"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Packet is a packet under way, in a cache line of 64 bytes. Networks read and write the first part; the rest is
// the end points' own.
type Packet struct {
	next   int32 // the packet behind it: of a queue, of those due in a slot, or of free ones; -1: none
	target int32 // input port of the switch that it is in, -1: none; on the way, what its event is for
	at     int64 // of its event, ps

	Size    int32 // bytes on the wire, header included
	Dst     topology.TerminalID
	Flow    int32 // with Entropy, chooses the path
	Entropy uint16
	event   uint8
	Control bool // belongs to the class that goes first, and is neither marked nor trimmed
	Marked  bool // by a queue
	Trimmed bool // to its header
	LastHop bool // where it was trimmed: at the queue to its terminal

	Kind  uint8
	Ask   bool  // data: wants an acknowledgement at once; an acknowledgement: Map begins with Seq
	Again bool  // data: has been sent before
	Seq   int32 // number within the flow: data; of the data that an answer is about
	Cum   int32 // an answer's: all data below have arrived
	Map   uint64
	Bytes int64 // an answer's: received in all; a pull's: granted in all; data: pull target
}

// Base is the first number that an acknowledgement's Map is about.
func (p *Packet) Base() int32 {
	if p.Ask {
		return p.Seq
	}
	return max(p.Seq-63, p.Cum+1)
}

// packets is a pool whose packets do not move.
type packets struct {
	chunks []*[chunk]Packet
	free   int32 // first of the list; -1: none
	inUse  int
}

const chunk = 1 << 12

func (s *packets) at(id int32) *Packet { return &s.chunks[uint32(id)/chunk][uint32(id)%chunk] }

// take returns a packet with nothing set.
func (s *packets) take() (int32, *Packet) {
	if s.free < 0 {
		first := int32(len(s.chunks)) * chunk
		s.chunks = append(s.chunks, new([chunk]Packet))
		for i := int32(chunk) - 1; i >= 0; i-- {
			s.at(first + i).next = s.free
			s.free = first + i
		}
	}
	id := s.free
	p := s.at(id)
	s.free = p.next
	*p = Packet{next: -1, target: -1}
	s.inUse++
	return id, p
}

func (s *packets) release(id int32) {
	s.at(id).next, s.free = s.free, id
	s.inUse--
}

// output is a port of a switch, or of a terminal, with what waits for it: three cache lines of 64 bytes, of which a
// packet's way in and its way out touch the first two.
type output struct {
	data, control fifo
	until         int64 // when the packet in service leaves, if no event tells; never
	sending       int32 // packet in service; idle, asked
	first         bool  // it goes before data
	host          bool  // the output is a terminal's
	eager         bool  // an event tells that a packet leaves: something depends on it before it arrives
	paused        bool
	limit         int64 // of data
	deepest       int64 // data has been, in bytes

	number          int32
	size            int32        // of the packet in service
	in              int32        // input that it came by
	to              int32        // input at the far end: port, or ^terminal
	latency         int64        // until it is in a queue of the far end
	divider         *sim.Divider // of its rate
	serializer      sim.Serializer
	from            int64 // marks; never
	sent, sentBytes int64

	seldom
	full         int64 // marks
	controlLimit int64 // at least limit
	stream       sim.Stream
}

// never is behind all times.
const never = math.MaxInt64

// Counters are what a port has done.
type Counters struct {
	Sent, SentBytes int64 // packets that have left
	DeepestData     int64 // bytes
	DeepestInPort   int64 // bytes; 0 without pause
	seldom
}

type seldom struct {
	Marked, Trimmed int64
	Dropped         int64 // for want of room
	Paused          int64 // times
	PausedFor       int64 // ps; of an output, less when it was paused if it is
}

// held is what of an input is in its switch, in bytes.
type held struct {
	bytes, deepest int64
	pausing        bool // the sender has been told to pause
}

// fifo is a queue of packets. bytes counts the one in service, too.
type fifo struct {
	head, tail int32 // -1: none
	bytes      int64
}

func (q *fifo) put(s *packets, id int32, p *Packet) {
	if p.next = -1; q.head < 0 {
		q.head = id
	} else {
		s.at(q.tail).next = id
	}
	q.tail = id
	q.bytes += int64(p.Size)
}

// flights are the packets that have events to come: a timing wheel whose slots hold lists of them. Simultaneous
// events come in ascending order of targets, those of one target in the order of filing.
type flights struct {
	slot   int64 // at hand: a time >> shift. Lists have events of later ones
	shift  uint
	order  []flight // events up to the slot at hand, the first one last
	spare  []flight // as long
	listed uint64   // events that order has had
	ahead  int32    // of a later slot, from which packets are fetched into caches: packet + 1; 0: none
	used   sim.SlotSet
	lists  [sim.Slots]int32 // the packet filed last + 1; 0: none
}

type flight struct {
	at         int64
	target, id int32
}

func (e *flight) before(o *flight) bool { return e.at < o.at || e.at == o.at && e.target < o.target }

// span makes slots so wide that packets of at most so many bytes arrive within a turn of the wheel, from when they
// begin to be sent.
func (f *flights) span(out []output, bytes int64) {
	f.slot = -1
	longest := int64(0)
	for i := range out {
		longest = max(longest, out[i].latency+int64(out[i].divider.Rate().PicosecondsFor(sim.Bytes(bytes))))
	}
	f.shift = uint(max(0, bits.Len64(uint64(longest+longest/(sim.Slots/4)))+1-bits.Len(sim.Slots)))
}

// put files a packet for an event.
func (f *flights) put(id int32, p *Packet, event uint8, target int32, at int64) {
	p.event, p.target, p.at = event, target, at
	slot := at >> (f.shift & 63)
	if slot <= f.slot {
		e, i := flight{at, target, id}, 0
		for i < len(f.order) && e.before(&f.order[i]) {
			i++
		}
		f.order = slices.Insert(f.order, i, e)
		f.listed++
		return
	}
	i := int(slot) & (sim.Slots - 1)
	p.next, f.lists[i] = f.lists[i]-1, id+1
	f.used.Add(i)
}

// first is the time of the first event, from now on; never, if there is none.
func (f *flights) first(s *packets, now int64) int64 {
	if len(f.order) == 0 && !f.turn(s, now) {
		return never
	}
	return f.order[len(f.order)-1].at
}

// take takes the event that first has told.
func (f *flights) take() flight {
	e := f.order[len(f.order)-1]
	f.order = f.order[:len(f.order)-1]
	return e
}

// turn makes the next slot that has events the one at hand; false if there is none.
func (f *flights) turn(s *packets, now int64) bool {
	from := max(f.slot+1, now>>(f.shift&63))
	i, ok := f.used.Next(int(from) & (sim.Slots - 1))
	if !ok {
		if i, ok = f.used.Next(0); !ok {
			return false
		}
	}
	f.used.Remove(i)
	f.slot = from + (int64(i)-from)&(sim.Slots-1)
	order, count := f.order[:cap(f.order)], 0
	const run = 16 // sorted by insertion
	id := f.lists[i] - 1
	for f.lists[i] = 0; id >= 0; count++ {
		if count == len(order) {
			order = append(order, flight{})
			order = order[:cap(order)]
		}
		p, k := s.at(id), count
		e := flight{p.at, p.target, id}
		for ; k%run != 0 && order[k-1].before(&e); k-- {
			order[k] = order[k-1]
		}
		order[k], id = e, p.next
	}
	order = order[:count]
	for size := run; size < len(order); size *= 2 {
		merged := f.spare[:0]
		for rest := order; len(rest) > 0; {
			a, b := rest[:min(size, len(rest))], rest[min(size, len(rest)):min(2*size, len(rest))]
			rest = rest[len(a)+len(b):]
			for len(a) > 0 && len(b) > 0 {
				if a[0].before(&b[0]) {
					merged, b = append(merged, b[0]), b[1:]
				} else {
					merged, a = append(merged, a[0]), a[1:]
				}
			}
			merged = append(append(merged, a...), b...)
		}
		f.spare, order = order, merged
	}
	if i, ok = f.used.Next(i + 1); ok {
		f.ahead = f.lists[i]
	} else {
		f.ahead = 0
	}
	f.order = order
	f.listed += uint64(len(order))
	return true
}

// holdUp counts a packet that has come in by a port, and pauses the sender if there are too
// many bytes of it in the switch (priority flow control, IEEE 802.1Qbb, with one priority).
func (n *Network) holdUp(in int32, p *Packet) {
	if !n.pauses {
		return
	}
	h := &n.held[in]
	h.bytes += int64(p.Size)
	h.deepest = max(h.deepest, h.bytes)
	if h.bytes > int64(n.config.XOff) && !h.pausing {
		h.pausing = true
		n.tell(in, stops)
	}
}

// letGo counts a packet that has left the switch that it had come to by an input.
func (n *Network) letGo(in, size int32) {
	if !n.pauses || in < 0 {
		return
	}
	h := &n.held[in]
	h.bytes -= int64(size)
	if h.pausing && h.bytes < int64(n.config.XOn) {
		h.pausing = false
		n.tell(in, goesOn)
	}
}

// tell sends the sender of a channel a pause frame, which takes the time of flight and no
// bandwidth.
func (n *Network) tell(in int32, event uint8) {
	sender := n.graph.Peer[in]
	if sender < 0 {
		sender = int32(n.graph.NumPorts()) + ^sender
	}
	id, p := n.packets.take()
	n.flights.put(id, p, event, sender, int64(n.kernel.Now())+n.timing.flight(n.graph.PortClass[in]))
}

// pause stops an output behind the packet in service, or lets it go on.
func (n *Network) pause(o *output, stop bool) {
	if o.paused = stop; stop {
		o.Paused++
		o.PausedFor -= int64(n.kernel.Now())
		return
	}
	o.PausedFor += int64(n.kernel.Now())
	n.start(o)
}
