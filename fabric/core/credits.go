package core

// Credits travel on wires of their own beside the channel, credits_per_cycle of
// them in a cycle of the flit clock, whatever the channel's data rate. The slots
// that an input frees, on any of its virtual channels, wait for that in one queue.
// As with the output queue, only the time at which the wires are free again is
// kept: inPort.nextCredit. An input takes at most a flit a cycle, so the queue
// empties; it holds more than one credit only while the core, faster than the
// channel, drains a buffer.

// heldCredit is a credit that credit sensing holds back, and the event of its
// release.
type heldCredit struct {
	port     int32 // input port
	upstream int32 // ov that it is for
}

// creditIntervalOf is the time that a credit takes the wires, in cycles <<
// intervalShift.
func creditIntervalOf(perCycle int) int64 {
	if perCycle == 0 {
		return 0
	}
	return (1<<IntervalShift + int64(perCycle) - 1) / int64(perCycle)
}

// sendCredit queues a credit that may leave an input from a time on, in cycles <<
// intervalShift, for the far end's ov upstream.
func (d *Domain) sendCredit(in *inPort, upstream int32, ready int64) {
	send := max(ready, in.nextCredit)
	in.nextCredit = send + d.creditInterval
	*d.credits[in.wheel&15].Place(send>>IntervalShift + int64(in.delay)) = upstream
}

// toTerminal takes the credit of a flit for a terminal, and files its return: the terminal
// takes the flit as it arrives, and the credit leaves in the cycle after. back is when it
// would be back if it left at once.
func (d *Domain) toTerminal(o *outVC, ov int32, back int64) {
	o.credits--
	*d.credits[0].Place(back + 1 + int64(d.Config.Switch.CreditCycles)) = ov
}

// holdCredit keeps back, for so many cycles, a credit that could leave an input at
// a time. It joins the input's queue only then: those of later flits pass it.
func (d *Domain) holdCredit(port, upstream int32, ready, late int64) {
	*d.held.Place(ready>>IntervalShift + late - 1) = heldCredit{port, upstream}
}

// releaseCredits queues the credits that may leave from the cycle after c on.
func (d *Domain) releaseCredits(c int64) {
	for batch := d.held.Next(c); batch != nil; batch = d.held.Next(c) {
		for _, h := range batch {
			d.sendCredit(&d.in[h.port], h.upstream, (c+1)<<IntervalShift)
		}
	}
}
