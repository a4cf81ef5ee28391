package dswitch

import "slices"

// sessionRun is the state of [SessionNetwork.Run]: a register for one flit in front of each splitter,
// spine port and joiner port. In every cycle all flits move on to the next register or are dropped, so
// that the flits of a packet go where its head went.
//
// A flit is packet*2 + 2, plus 1 if it is the head; 0 is an empty register. A packet is slot*R*m +
// processor*m + port, slots being reused in turn by the sessions under way.
type sessionRun struct {
	n        *SessionNetwork
	schedule *SessionSchedule
	options  SessionOptions
	indirect int // 1 if spine switches add the input port

	headers   []Headers // per slot
	session   []int     // per slot: the session that uses it
	perSlot   int       // R*m
	period    int       // cycles from session to session
	next      int       // the session to start next
	injecting int       // flits of session next-1 still to be sent
	now, last int       // cycle; cycle in which the last tail arrives

	// up[s] holds the input registers of stage s's splitters, s >= 1; up[k] those of the spine.
	// down[s] holds the input registers of stage s's joiners. upTo, downTo: where the head in that
	// register was sent, -1 if it was dropped.
	up, down, upTo, downTo [][]int32
	busy                   [][]int // by stage (k: the spine) and port: the last cycle in which a head took it

	arrived, arrival []int    // by processor: foreign packets in session arrival, its latest
	dropped          []bitRow // per destination: sources of packets that lost to others
	stopped          bool     // by SessionOptions.Stop
	out              SessionsRow
}

func newSessionRun(n *SessionNetwork, schedule *SessionSchedule, o SessionOptions) *sessionRun {
	k, R := n.k, n.Processors()
	r := &sessionRun{
		n: n, schedule: schedule, options: o, perSlot: R * n.m, period: o.PacketFlits,
		up: make([][]int32, k+1), down: make([][]int32, k), upTo: make([][]int32, k+1), downTo: make([][]int32, k),
		busy: make([][]int, k+1), arrived: make([]int, R), arrival: slices.Repeat([]int{-1}, R), dropped: newBitRows(R),
	}
	under := 2*k + o.PacketFlits // cycles from a session's first flit to its last tail
	if o.Drain {
		r.period = under
	}
	if schedule.Indirect {
		r.indirect = 1
	}
	slots := under/r.period + 1
	r.session = make([]int, slots)
	r.headers = make([]Headers, slots)
	for i := range r.headers {
		r.headers[i] = n.headers()
	}
	for s := 1; s <= k; s++ {
		r.up[s] = make([]int32, len(n.down[s]))
		r.upTo[s] = make([]int32, len(n.down[s]))
		r.busy[s] = slices.Repeat([]int{-1}, len(n.down[s]))
	}
	for s := range k {
		r.down[s] = make([]int32, len(n.up[s]))
		r.downTo[s] = make([]int32, len(n.up[s]))
	}
	r.busy[0] = slices.Repeat([]int{-1}, R)
	r.out.Sessions = schedule.Sessions
	if r.out.Sessions > 0 {
		r.last = (r.out.Sessions-1)*r.period + under - 1
	} else {
		r.last = -1
	}
	r.out.got = newBitRows(R)
	return r
}

// cycle moves every flit one stage, nearest to the destination first: registers are emptied before
// they are filled.
func (r *sessionRun) cycle() {
	k := r.n.k
	r.deliver()
	for s := 1; s < k; s++ {
		r.join(s)
	}
	r.spine()
	for s := k - 1; s >= 1; s-- {
		r.split(s)
	}
	r.inject()
	r.now++
}

func (r *sessionRun) processorOf(flit int32) int { return int(flit/2-1) % r.perSlot / r.n.m }

// route is digit i of the header of flit's packet.
func (r *sessionRun) route(flit int32, i int) int {
	p := int(flit/2 - 1)
	return int(r.headers[p/r.perSlot].digits[p%r.perSlot*r.n.k+i])
}

// inject starts the flits of the session under way, or of the next one, at the first stage.
func (r *sessionRun) inject() {
	head := int32(0)
	if r.injecting == 0 {
		if r.next == r.out.Sessions || r.now != r.next*r.period {
			return
		}
		if stop := r.options.Stop; stop != nil && stop() {
			r.stopped = true
			return
		}
		slot := r.next % len(r.headers)
		r.headers[slot].Clear()
		r.schedule.Fill(r.next, &r.headers[slot])
		r.session[slot] = r.next
		r.next++
		r.injecting, head = r.options.PacketFlits, 1
	}
	r.injecting--
	slot := (r.next - 1) % len(r.headers)
	h, f := &r.headers[slot], r.n.faults
	for p := range r.perSlot {
		if h.digits[p*r.n.k] == noPacket || f.unitDead(0, p/r.n.m) {
			continue
		}
		r.out.Injected += int(head)
		if f.cableDead(0, p) {
			r.out.FaultDrops += int(head)
			continue
		}
		r.up[1][r.n.up[0][p]] = int32(slot*r.perSlot+p)*2 + 2 + head
	}
}

// move takes the flits out of registers: heads go where decide says, flits behind them where the
// head was sent; -1: they are dropped.
func move(from, sent, to []int32, decide func(at int, head int32) int32) {
	for at, flit := range from {
		if flit == 0 {
			continue
		}
		from[at] = 0
		if flit&1 != 0 {
			sent[at] = decide(at, flit)
		}
		if next := sent[at]; next >= 0 {
			to[next] = flit
		}
	}
}

// take books what lets one packet through, unless another of the session has it: heads come
// together.
func (r *sessionRun) take(busy *int) bool {
	if *busy == r.now {
		return false
	}
	*busy = r.now
	return true
}

// split moves flits through the splitters of stage s >= 1.
func (r *sessionRun) split(s int) {
	move(r.up[s], r.upTo[s], r.up[s+1], func(u int, head int32) int32 {
		port := u*r.n.m + r.route(head, s-1)
		if f := r.n.faults; f.unitDead(s, u) || f.cableDead(s, port) {
			r.out.FaultDrops++
			return -1
		}
		return r.n.up[s][port]
	})
}

// spine moves flits through the m x m switches.
func (r *sessionRun) spine() {
	k, m, f := r.n.k, r.n.m, r.n.faults
	move(r.up[k], r.upTo[k], r.down[k-1], func(in int, head int32) int32 {
		out := in - in%m + (r.route(head, k-1)+r.indirect*(in%m))%m
		to := r.n.down[k][out]
		switch {
		case f.switchDead(in/m) || f.cableDead(k-1, int(to)):
			r.out.FaultDrops++
		case !r.take(&r.busy[k][out]):
			r.out.Conflicts++
			r.drop(head, k-1, int(to)/m)
		default:
			return to
		}
		return -1
	})
}

// join moves flits through the one-packet joiners of stage s >= 1.
func (r *sessionRun) join(s int) {
	m, f := r.n.m, r.n.faults
	move(r.down[s], r.downTo[s], r.down[s-1], func(in int, head int32) int32 {
		u := in / m
		to := r.n.down[s][u]
		switch {
		case f.unitDead(s, u):
			r.out.FaultDrops++
		case to < 0:
			r.out.Unplugged++
		case f.cableDead(s-1, int(to)):
			r.out.FaultDrops++
		case !r.take(&r.busy[s][u]):
			r.out.AccessDrops++
			r.drop(head, s, u)
		default:
			return to
		}
		return -1
	})
}

// deliver takes flits off the first stage's joiners.
func (r *sessionRun) deliver() {
	m := r.n.m
	for in, flit := range r.down[0] {
		if flit == 0 {
			continue
		}
		r.down[0][in] = 0
		u := in / m
		if flit&1 != 0 {
			r.downTo[0][in] = -1
			switch {
			case r.n.faults.unitDead(0, u):
				r.out.FaultDrops++
			case !r.take(&r.busy[0][u]) && r.n.SingleAccess:
				r.out.AccessDrops++
				r.drop(flit, 0, u)
			default:
				r.downTo[0][in] = int32(r.options.PacketFlits)
			}
		}
		if r.downTo[0][in] > 0 {
			if r.downTo[0][in]--; r.downTo[0][in] == 0 {
				r.receive(flit, u)
			}
		}
	}
}

// receive books a complete packet.
func (r *sessionRun) receive(flit int32, destination int) {
	source := r.processorOf(flit)
	r.out.Cycles = r.now + 1
	if source == destination {
		r.out.Own++
		return
	}
	session := r.session[int(flit/2-1)/r.perSlot]
	if r.arrival[destination] != session {
		r.arrival[destination], r.arrived[destination] = session, 0
	}
	r.arrived[destination]++
	r.out.MaxPerSession = max(r.out.MaxPerSession, r.arrived[destination])
	if r.out.got[destination].has(source) {
		r.out.Duplicates++
	} else {
		r.out.Received++
		if r.out.Last != session+1 {
			r.out.Last = session + 1
			r.out.Busy++
		}
		r.out.got[destination].set(source)
	}
	if r.options.Received != nil {
		r.options.Received(session, source, destination)
	}
}

// drop remembers which pair of processors a dropped packet was to serve.
func (r *sessionRun) drop(flit int32, stage, unit int) {
	if d := int(r.n.processor[stage][unit]); d >= 0 {
		r.dropped[d].set(r.processorOf(flit))
	}
}

func (r *sessionRun) finish() *SessionsRow {
	R, f := r.n.Processors(), r.n.faults
	for d := range R {
		for s := range R {
			if d == s || r.out.got[d].has(s) {
				continue
			}
			if !f.unitDead(0, d) && !f.unitDead(0, s) {
				r.out.MissingPairs++
			}
			if r.dropped[d].has(s) {
				r.out.LostPairs++
			}
		}
	}
	return &r.out
}
