package core

// seenPacket is what has been found of a packet in a state that is read.
type seenPacket struct {
	flits, left int32 // in the network, and still at its terminal
	head, tail  bool  // are among those
}

// wholePackets checks that packets are there from the first flit that has not been delivered
// to the last, and that the flits of one follow each other on every virtual channel. Where
// packets are copied or discarded on their way, or move as a whole, nothing is checked.
func (x *archiver) wholePackets(m *moving) {
	f := x.f
	if f.unit != nil || f.multicast != nil || f.faults != nil || x.Err() != nil {
		return
	}
	packets := make([]seenPacket, x.packets.count)
	note := func(packet int32) {
		p := &packets[packet>>packetBits]
		p.flits++
		p.head, p.tail = p.head || packet&headFlit != 0, p.tail || packet&tailFlit != 0
	}
	last := make([]int32, len(f.queues)) // flit, + 1; 0: none yet
	follows := func(queue, packet int32) {
		if before := last[queue] - 1; before >= 0 {
			ok := before&tailFlit != 0
			if packet&headFlit == 0 {
				ok = !ok && before>>packetBits == packet>>packetBits
			}
			x.Check(ok, "flits of packets %d and %d follow each other in queue %d", before>>packetBits, packet>>packetBits, queue)
		}
		last[queue] = packet + 1
		note(packet)
	}
	for q := range f.queues {
		f.ofQueue(int32(q)).eachQueued(&f.queues[q], func(e *queued) { follows(int32(q), e.packet) })
	}
	order(m.toSwitches, placeOfFlit)
	for _, e := range m.toSwitches {
		follows(e.item.queue, e.item.packet)
	}
	for _, e := range m.toTerminals {
		note(e.item.packet)
	}
	for t := range f.terminals {
		if te := &f.terminals[t]; te.packet >= 0 {
			p := &packets[te.packet]
			p.left += te.left
			p.head = p.head || te.flags&begun == 0
		}
	}
	for id := range packets {
		p, flits := &packets[id], f.packet(int32(id)).flits
		all := p.flits + p.left
		x.Check(p.tail == (p.left == 0) && all <= flits && (all == flits || !p.head), "packet %d of %d flits has %d in the network, and %d to come", id, flits, p.flits, p.left)
	}
}
