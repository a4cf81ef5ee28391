package fabric

// This file tells the observers of a fabric, blame and trace, what the packets
// at the fronts of queues wait for. They change nothing.

// bidding is what a head that is at the front of its queue and routed waits
// for.
func (d *domain) bidding() Part {
	if d.combined != 0 {
		return PartSwitch
	}
	return PartVC
}

// stalls says that the flit at the front of a queue is asleep for want of
// something.
func (d *domain) stalls(q int32, part Part) {
	if d.blame != nil {
		d.blame.holds(d, q, part)
	}
	if d.trace != nil {
		d.trace.stalls(d, q, part)
	}
}

// sleeps says that a head at the front of a queue is asleep because no virtual
// channel is free or, where some are, none has room.
func (d *domain) sleeps(q int32, free uint32) {
	if free == 0 {
		d.stalls(q, PartVC)
	} else {
		d.stalls(q, PartCredit)
	}
}

// resumes says that the flit at the front of a queue is awake and goes on
// waiting for something that is decided anew in each step.
func (d *domain) resumes(q int32, part Part) {
	if d.blame != nil {
		d.blame.holds(d, q, part)
	}
	if d.trace != nil {
		d.trace.resumes(d, q)
	}
}
