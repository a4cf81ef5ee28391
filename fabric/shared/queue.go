package shared

import "github.com/weft-sim/weft/sim"

// output is a port of a switch, or of a terminal, with what waits for it.
type output struct {
	data, control fifo
	sending       int32 // packet in service; idle, asked
	paused        bool
	terminal      bool // the far end is one
	marks         bool
	to            int32 // input at the far end: port, or ^terminal
	psPerByte     int64
	latency       int64 // until it is in a queue of the far end
	flight        int64 // until a pause is there
	limit         int64 // of data
	controlLimit  int64
	from, full    int64 // marks

	stream sim.Stream
	Counters
}

// Counters are what a port has done.
type Counters struct {
	Sent, SentBytes            int64 // packets that have left
	Marked, Trimmed            int64
	Dropped                    int64 // for want of room
	Paused                     int64 // times
	PausedFor                  int64 // ps
	pausedAt                   int64
	DeepestData, DeepestInPort int64 // bytes
}

// fifo is a queue of packets. bytes counts the one in service, too.
type fifo struct {
	ring  []int32 // len: a power of 2
	first uint32
	count uint32
	bytes int64
}

func (q *fifo) put(id int32, size int32) {
	if int(q.count) == len(q.ring) {
		ring := make([]int32, max(8, 2*len(q.ring)))
		for i := range q.count {
			ring[i] = q.ring[(q.first+i)&uint32(len(q.ring)-1)]
		}
		q.ring, q.first = ring, 0
	}
	q.ring[(q.first+q.count)&uint32(len(q.ring)-1)] = id
	q.count++
	q.bytes += int64(size)
}

// take takes the first packet, which counts in bytes until it has left.
func (q *fifo) take() int32 {
	id := q.ring[q.first&uint32(len(q.ring)-1)]
	q.first++
	q.count--
	return id
}

// last is the last packet.
func (q *fifo) last() *int32 { return &q.ring[(q.first+q.count-1)&uint32(len(q.ring)-1)] }
