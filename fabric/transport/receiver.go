package transport

import (
	"github.com/weft-sim/weft/fabric/congestion"
	"github.com/weft-sim/weft/fabric/shared"
)

// receiver is the end of a connection that packets arrive at.
type receiver struct {
	got      []uint64 // by packet
	expected int32    // all below have arrived
	beyond   int      // packets that have arrived above
	most     int32    // highest that has arrived
	bytes    int64
	since    int64 // bytes since the last acknowledgement
	owes     bool  // an acknowledgement when the last hole is filled
	refused  int32 // going back: packet + 1 that has been asked for again
	notices  congestion.NotificationPoint
	credit   creditReceiver
}

func (r *receiver) grow(packets int) {
	for len(r.got)*64 < packets {
		r.got = append(r.got, 0)
	}
}

func (r *receiver) has(seq int32) bool { return r.got[seq>>6]>>(seq&63)&1 != 0 }

// arrivedData takes a data packet of a connection, whole or trimmed.
func (c *connection) arrivedData(p *shared.Packet) {
	s, r := c.system, &c.receiver
	s.hosts[c.dst].seen(p.Trimmed, p.Marked, p.LastHop)
	if s.config.hasCredit() {
		c.demands(p.Bytes, p.Trimmed)
	}
	if p.Trimmed {
		s.Counts.Trimmed++
		if r.has(p.Seq) {
			c.acknowledge(p, true)
			return
		}
		c.answer(refusal, p)
		return
	}
	if p.Marked && c.rate != nil {
		if r.notices.OnMarked(s.kernel.Now(), &s.config.DCQCN) {
			s.Counts.Notified++
			c.answer(notification, p)
		}
	}
	if r.has(p.Seq) {
		s.Counts.Duplicates++
		c.acknowledge(p, true)
		return
	}
	if s.goesBack && p.Seq > r.expected {
		s.Counts.Reordered++
		if r.refused != r.expected+1 { // once a gap
			r.refused = r.expected + 1
			c.answer(refusal, p).Seq = r.expected
		}
		return
	}
	first := r.bytes == 0
	r.got[p.Seq>>6] |= 1 << (p.Seq & 63)
	r.bytes += int64(p.Size)
	r.since += int64(p.Size)
	if p.Seq < r.most {
		s.Counts.Reordered++
	}
	r.most = max(r.most, p.Seq)
	if r.beyond++; p.Seq == r.expected {
		for int(r.expected) < len(c.records) && r.has(r.expected) {
			r.expected++
			r.beyond--
		}
	}
	filled := r.owes && r.beyond == 0
	if p.Ask && r.beyond > 0 {
		r.owes = true
	}
	if filled {
		r.owes = false
	}
	if first || p.Marked || p.Ask || filled || r.since >= int64(s.config.AckBytes) {
		c.acknowledge(p, p.Marked || p.Ask)
	}
}

// acknowledge answers a packet; own tells that the map begins with it.
func (c *connection) acknowledge(p *shared.Packet, own bool) {
	r := &c.receiver
	r.since = 0
	a := c.answer(acknowledgement, p)
	a.Cum, a.Bytes = r.expected, r.bytes
	if a.Base = max(p.Seq-63, r.expected+1); own {
		a.Base = p.Seq
	}
	if a.Base = max(a.Base, 0); int(a.Base) < len(c.records) {
		word, shift := a.Base>>6, uint(a.Base&63)
		a.Map = r.got[word] >> shift
		if int(word)+1 < len(r.got) && shift > 0 {
			a.Map |= r.got[word+1] << (64 - shift)
		}
	}
	c.system.Counts.Acknowledged++
}

// answer sends a control packet about a data packet back, on its entropy.
func (c *connection) answer(kind uint8, p *shared.Packet) *shared.Packet {
	id, a := c.system.control(c.dst, c.src, 2*c.number+1)
	a.Kind, a.Seq, a.Entropy, a.Again = kind, p.Seq, p.Entropy, p.Again
	a.Marked, a.LastHop = p.Marked, p.LastHop
	if kind == refusal {
		c.system.Counts.Refused++
	}
	c.system.sendControl(c.dst, id)
	return a
}
