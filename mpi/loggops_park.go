package mpi

// Waiting for a busy resource. By the rules, an event that finds its CPU or NIC
// busy goes back into the queue at the time when that will be free, with its
// old number; of n events that wait for one resource, each is put back up to n
// times. But events that need the same resources always go back to the same
// time, and only the one with the lowest number gets anywhere. So they wait in
// a group, sorted by number, and the group's first event alone stands in the
// queue. The events that succeed do so at the same times and in the same order
// as by the rules: free times never sink, so whatever is put back to a time at
// which the resource is still busy merely moves on to the time at which it is
// not, and there the numbers decide.
//
// That needs times that never go back. In the compatible mode with several CPUs
// an event can be released into the past; there the rules are followed
// literally.

// parkGroup holds the events of one kind, rank, CPU and NIC that wait.
type parkGroup struct {
	heap timedHeap // by number: times are 0
	// first is the number of the event that stands in the queue for the
	// group; others that did before are stale.
	first int64
}

// parkGroup finds the group of an event: message, send and calc events of one
// rank do not need the same resources.
func (m *loggopsMachine) parkGroup(kind Kind, rank int32, cpu, nic uint8) *parkGroup {
	slot := int64(rank)*3 + int64(kind-Send)/2 // send 0, calc 1
	if kind == arrival {
		slot = int64(rank)*3 + 2
	}
	if m.cpus == 1 && m.nics == 1 {
		return &m.groups[slot]
	}
	if kind == Calc {
		nic = 0
	}
	key := slot<<16 | int64(cpu)<<8 | int64(nic)
	g := m.sparse[key]
	if g == nil {
		g = &parkGroup{}
		m.sparse[key] = g
	}
	return g
}

// park makes e wait in g if its resources are busy, which they are until free.
// It returns the event to carry out now, or false if there is none. If it
// returns one, call unpark once that has been carried out.
func (m *loggopsMachine) park(e *timedEvent, g *parkGroup, free int64) bool {
	if e.parked {
		if e.number != g.first || len(g.heap) == 0 {
			return false // stale
		}
		if free > e.time {
			m.queue.push(timedEvent{free, e.number, e.op, e.kind, true})
			return false
		}
		g.heap.pop()
		return true
	}
	if free <= e.time {
		return true
	}
	if m.queue.anyTime {
		m.queue.push(timedEvent{free, e.number, e.op, e.kind, false})
		return false
	}
	if len(g.heap) == 0 || e.number < g.first {
		g.first = e.number
		m.queue.push(timedEvent{free, e.number, e.op, e.kind, true})
	}
	g.heap.push(timedEvent{0, e.number, e.op, e.kind, true})
	return false
}

// unpark puts the next event of g into the queue after its first one, e, was
// carried out and the resources are busy until free.
func (m *loggopsMachine) unpark(e *timedEvent, g *parkGroup, free int64) {
	if e.parked && len(g.heap) > 0 {
		next := g.heap[0]
		g.first = next.number
		m.queue.push(timedEvent{max(free, e.time), next.number, next.op, e.kind, true})
	}
}
