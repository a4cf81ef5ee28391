package mpi

// The variant of ATLAHS. Where LogGOPSim has a message keep its receiver's CPU and NIC for its bytes, ATLAHS has
// it on its way for them, and then in the receiver for g and o (and O a byte) from when it finds a receive:
//
//   - a send keeps CPU and NIC as ever; its message arrives L and (s-1) G after the CPU is through;
//   - a message that finds a receive waits for the receive's CPU and the NIC, is out of the NIC after g and
//     received o + (s-1) O later; one that finds none waits for it and keeps nothing busy;
//   - a receive that finds a message begins when what it requires is done, waits until the NIC has
//     sent, and takes g, o and (s-1) O;
//   - a sender by rendezvous is held until its message is received, its NIC until that is out of the other.
//
// ATLAHS lets a CPU's clock sink where a receive finds its message while the CPU is busy; this does not. It
// also delays messages of 0 bytes by 3,700 ns in place of L; here they are as ones of 1 byte.

// afterNIC is what a message still takes on the CPU when the receiver's NIC is through with it.
func (m *loggopsMachine) afterNIC(size int64) int64 {
	if !m.Atlahs {
		return 0
	}
	return m.Overhead + m.cost(m.bytes(size), m.overByte)
}

// arrives is message.
func (m *loggopsMachine) arrives(e timedEvent) {
	send := &m.live[e.op]
	rank := send.Peer
	lists := &m.lists[rank]
	posted, ok := m.match.peek(&lists.posted, send.rank, send.Tag)
	if ok && !e.parked {
		send.at = m.live[posted].CPU
	}
	cpu, rx := m.cpu(rank, send.at), m.rx(rank, send.NIC)
	free := e.time
	if ok {
		free = max(*cpu, *rx)
	}
	g := m.parkGroup(arrival, rank, send.at, send.NIC)
	if !m.park(&e, g, free) {
		return
	}
	m.ready = m.ready[:0]
	if !ok {
		m.match.add(&lists.early, send.rank, send.Tag, e.op)
		m.unpark(&e, g, max(*cpu, *rx))
		return
	}
	m.match.take(&lists.posted, send.rank, send.Tag)
	*rx = e.time + m.Gap
	*cpu = *rx + m.afterNIC(send.Size)
	m.unpark(&e, g, *cpu)
	m.matched(posted, e.op, *cpu, *cpu, false)
}

// takesEarly has a receive take in a message that waits for it.
func (m *loggopsMachine) takesEarly(recv, early int32, now int64) {
	r := &m.live[recv]
	cpu, rx := m.cpu(r.rank, r.CPU), m.rx(r.rank, r.NIC)
	out := max(now, *m.tx(r.rank, r.NIC)) + m.Gap
	in := out + m.afterNIC(m.live[early].Size)
	*rx, *cpu = max(*rx, out), max(*cpu, in)
	m.matched(recv, early, in, in, true)
}
