package shared

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Packet is a packet under way, in a cache line of 64 bytes. Networks read and write the first part; the rest is
// the end points' own.
type Packet struct {
	next int32 // free packet behind it
	in   int32 // input port of the switch that it is in; -1: none

	Size     int32 // bytes on the wire, header included
	Src, Dst topology.TerminalID
	Flow     int32 // with Entropy, chooses the path
	Entropy  uint16
	Control  bool  // belongs to the class that goes first, and is neither marked nor trimmed
	Marked   bool  // by a queue
	Trimmed  bool  // to its header
	LastHop  bool  // where it was trimmed: at the queue to its terminal
	Hops     uint8 // switches crossed

	Kind  uint8
	Ask   bool  // data: wants an acknowledgement at once
	Again bool  // data: has been sent before
	Seq   int32 // number within the flow: data; of the data that an answer is about
	Cum   int32 // an answer's: all data below have arrived
	Base  int32 // first number that Map is about
	Map   uint64
	Bytes int64 // an answer's: received in all; a pull's: granted in all; data: pull target
}

// packets is a pool whose packets do not move.
type packets struct {
	chunks [][]Packet
	free   int32 // first of the list; -1: none
	inUse  int
}

const chunk = 1 << 12

func (s *packets) at(id int32) *Packet { return &s.chunks[id/chunk][id%chunk] }

// take returns a packet with nothing set.
func (s *packets) take() (int32, *Packet) {
	if s.free < 0 {
		first := int32(len(s.chunks)) * chunk
		s.chunks = append(s.chunks, make([]Packet, chunk))
		for i := int32(chunk) - 1; i >= 0; i-- {
			s.at(first + i).next = s.free
			s.free = first + i
		}
	}
	id := s.free
	p := s.at(id)
	s.free = p.next
	*p = Packet{next: -1, in: -1}
	s.inUse++
	return id, p
}

func (s *packets) release(id int32) {
	s.at(id).next, s.free = s.free, id
	s.inUse--
}

// output is a port of a switch, or of a terminal, with what waits for it: four cache lines of 64 bytes, of which a
// packet's way in touches the first, its way out the first two, and both the counts that begin the third.
type output struct {
	data     fifo
	limit    int64 // of data
	sending  int32 // packet in service; idle, asked
	to       int32 // input at the far end: port, or ^terminal
	paused   bool
	terminal bool // the far end is one
	marks    bool

	control    fifo
	divider    *sim.Divider // of rate
	serializer sim.Serializer
	latency    int64 // until it is in a queue of the far end

	from, full int64 // marks
	Counters
	stream       sim.Stream
	controlLimit int64
	rate         sim.Rate
	flight       int64 // until a pause is there
}

// Counters are what a port has done.
type Counters struct {
	Sent, SentBytes int64 // packets that have left
	DeepestData     int64 // bytes
	Marked, Trimmed int64
	Dropped         int64 // for want of room
	Paused          int64 // times
	PausedFor       int64 // ps
	pausedAt        int64
	DeepestInPort   int64 // bytes
}

// fifo is a queue of packets. bytes counts the one in service, too.
type fifo struct {
	sim.FIFO[int32]
	bytes int64
}

func (q *fifo) put(id int32, size int32) {
	q.Put(id)
	q.bytes += int64(size)
}

// holdUp counts a packet that has come in by a port, and pauses the sender if there are too
// many bytes of it in the switch (priority flow control, IEEE 802.1Qbb, with one priority).
func (n *Network) holdUp(in int32, p *Packet) {
	p.in = in
	n.held[in] += int64(p.Size)
	o := &n.out[in]
	o.DeepestInPort = max(o.DeepestInPort, n.held[in])
	if n.held[in] > int64(n.config.XOff) && !n.pausing[in] {
		n.pausing[in] = true
		n.tell(in, 1)
	}
}

// letGo counts a packet that has left its switch.
func (n *Network) letGo(p *Packet) {
	in := p.in
	p.in = -1
	n.held[in] -= int64(p.Size)
	if n.pausing[in] && n.held[in] < int64(n.config.XOn) {
		n.pausing[in] = false
		n.tell(in, 0)
	}
}

// tell sends the sender of a channel a pause frame, which takes the time of flight and no
// bandwidth.
func (n *Network) tell(in int32, stop int64) {
	sender := int32(n.graph.NumPorts())
	if t, ok := n.graph.PeerTerminal(topology.PortID(in)); ok {
		sender += int32(t)
	} else {
		peer, _ := n.graph.PeerPort(topology.PortID(in))
		sender = int32(peer)
	}
	n.kernel.After(sim.Time(n.out[sender].flight), n.id, paused, sender, stop)
}

// pause stops an output behind the packet in service, or lets it go on.
func (n *Network) pause(at int32, stop bool) {
	o := &n.out[at]
	if o.paused = stop; stop {
		o.Paused++
		o.pausedAt = int64(n.kernel.Now())
		return
	}
	o.PausedFor += int64(n.kernel.Now()) - o.pausedAt
	n.start(at, o)
}
