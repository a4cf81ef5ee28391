package shared

import "github.com/weft-sim/weft/fabric/topology"

// Packet is a packet under way. Networks read and write the first part; the rest is the end
// points' own.
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
	Map   uint64
	Base  int32 // first number that Map is about
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
