package fabric

// This file tells the observers of a fabric, blame and trace, what the packets
// at the fronts of queues wait for. They change nothing.

// bidding is what a head that is at the front of its queue and routed waits
// for.
func (f *Fabric) bidding() Part {
	if f.combined != 0 {
		return PartSwitch
	}
	return PartVC
}

// stalls says that the flit at the front of a queue is asleep for want of
// something.
func (f *Fabric) stalls(q int32, part Part) {
	if f.blame != nil {
		f.blame.holds(f, q, part)
	}
	if f.trace != nil {
		f.trace.stalls(f, q, part)
	}
}

// sleeps says that a head at the front of a queue is asleep because no virtual
// channel is free or, where some are, none has room.
func (f *Fabric) sleeps(q int32, free uint32) {
	if free == 0 {
		f.stalls(q, PartVC)
	} else {
		f.stalls(q, PartCredit)
	}
}

// resumes says that the flit at the front of a queue is awake and goes on
// waiting for something that is decided anew in each step.
func (f *Fabric) resumes(q int32, part Part) {
	if f.blame != nil {
		f.blame.holds(f, q, part)
	}
	if f.trace != nil {
		f.trace.resumes(f, q)
	}
}
