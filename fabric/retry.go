package fabric

import "github.com/weft-sim/weft/fabric/topology"

// retry is the transport of a network with faults, between the terminals and
// their source and sink: it keeps every packet until its end is known and,
// where the plan has retries, sends it again after a timeout, as a reliable
// connection (RC) of InfiniBand does. Each packet is acknowledged for itself
// and repeated alone; RC goes back to the first packet that is missing.
// Acknowledgements are not sent as packets: one comes back as many cycles after
// the tail's arrival as the packet was in the network. A packet whose
// acknowledgement is late is sent again although it has arrived; the
// destination throws the second one away. A terminal repeats packets before it
// sends new ones.
type retry struct {
	graph   *topology.Graph
	x       *faults
	source  Source
	sink    Sink
	senders []sender // by terminal
	letters []letter
	unused  []int32 // letters
	pending int     // letters neither delivered nor given up
}

// letter is a packet of the source. It is in use until it is delivered or given
// up, no transmission of it is under way and no timer runs for it.
type letter struct {
	spec      PacketSpec
	acked     int64 // cycle in which the acknowledgement is back, once delivered
	tries     int   // to send it
	sent      int   // those that found a path: transmissions
	flying    int   // in the network
	timed     bool  // in a sender's list
	delivered bool
	noPath    bool // at the last try
}

// sender is a terminal's list of timers, in order of their ends.
type sender struct {
	timers []timer
	first  int
}

type timer struct {
	end    int64
	letter int32
}

// faulty puts the retries between the terminals and their source and sink.
func (f *Fabric) faulty(source Source, sink Sink) (Source, Sink) {
	if f.multicast != nil {
		panic("fabric: faults do not follow the copies of multicast packets")
	}
	r := &retry{graph: f.graph, x: f.faults, source: source, sink: sink, senders: make([]sender, f.graph.Terminals())}
	f.faults.retry = r
	return r, r
}

// Next implements [Source].
func (r *retry) Next(t topology.TerminalID, until int64, spec *PacketSpec) bool {
	for {
		if id, ok := r.expired(t, until); ok {
			if r.send(t, id, until, spec) {
				return true
			}
			continue
		}
		if !r.source.Next(t, until, spec) {
			if s := &r.senders[t]; s.first < len(s.timers) {
				spec.Birth = min(spec.Birth, s.timers[s.first].end)
			}
			return false
		}
		id := int32(len(r.letters))
		if n := len(r.unused); n > 0 {
			id = r.unused[n-1]
			r.unused = r.unused[:n-1]
		} else {
			r.letters = append(r.letters, letter{})
		}
		r.letters[id] = letter{spec: *spec}
		r.pending++
		if r.send(t, id, until, spec) {
			return true
		}
	}
}

// expired takes the timers of terminal t that have ended by a cycle until one
// of them asks for another transmission.
func (r *retry) expired(t topology.TerminalID, until int64) (letter int32, ok bool) {
	s := &r.senders[t]
	for s.first < len(s.timers) && s.timers[s.first].end <= until {
		due := s.timers[s.first]
		if s.first++; s.first > len(s.timers)/2 { // moves each timer once, on average
			s.timers = append(s.timers[:0], s.timers[s.first:]...)
			s.first = 0
		}
		l := &r.letters[due.letter]
		l.timed = false
		if l.delivered && l.acked <= due.end || l.tries > r.x.plan.Retries {
			r.settle(due.letter)
			continue
		}
		return due.letter, true
	}
	return 0, false
}

// send makes a letter's next transmission, if it has a path.
func (r *retry) send(t topology.TerminalID, id int32, now int64, spec *PacketSpec) bool {
	l := &r.letters[id]
	l.tries++
	if r.x.plan.Retries > 0 {
		l.timed = true
		r.senders[t].timers = append(r.senders[t].timers, timer{now + r.x.plan.Timeout, id})
	}
	if l.noPath = !r.x.reachable(r.graph, t, l.spec.Dst); l.noPath {
		r.settle(id)
		return false
	}
	if l.sent++; l.sent > 1 {
		r.x.tally.Retransmitted++
	}
	l.flying++
	*spec = l.spec
	spec.Tag = uint64(id)
	return true
}

// Deliver implements [Sink].
func (r *retry) Deliver(d *Delivery) {
	id := int32(d.Tag)
	l := &r.letters[id]
	l.flying--
	if l.delivered {
		r.x.tally.Duplicates++
		r.x.tally.WastedFlits += int64(d.Flits)
	} else {
		l.delivered, l.acked = true, 2*d.Cycle-d.Inject
		r.pending--
		d.Tag = l.spec.Tag
		r.sink.Deliver(d)
	}
	r.settle(id)
}

// dropped tells that a transmission has been discarded.
func (r *retry) dropped(tag uint64) {
	r.x.tally.Dropped++
	r.letters[tag].flying--
	r.settle(int32(tag))
}

// settle ends a letter of which nothing is under way any more.
func (r *retry) settle(id int32) {
	l := &r.letters[id]
	if l.flying > 0 || l.timed {
		return
	}
	if !l.delivered {
		r.pending--
		r.x.tally.GivenUpFlits += int64(l.spec.Flits)
		if l.noPath {
			r.x.tally.Unreachable++
		} else {
			r.x.tally.Lost++
		}
	}
	l.spec.Birth = Never
	r.unused = append(r.unused, id)
}

// patience is how long retries may take a packet.
func (f *Fabric) patience() int64 {
	if f.faults == nil {
		return 0
	}
	return f.faults.plan.Timeout * int64(f.faults.plan.Retries+1)
}

// oldestBirth is the earliest birth among the packets whose end is not known.
func (r *retry) oldestBirth() int64 {
	oldest := Never
	for i := range r.letters {
		if l := &r.letters[i]; !l.delivered {
			oldest = min(oldest, l.spec.Birth)
		}
	}
	return oldest
}
