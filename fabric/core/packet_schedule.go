package core

// flitSchedule is when each flit of a packet does something, such as cross a switch, or when
// its credit comes back, kept as a few lines in place of an event a flit: flit i does
// it in the cycle in which the largest of at[k] + i*slope(every[k]) falls. Times are
// in cycles << intervalShift. 56 bytes.
//
// The lines are those of what limits the flits of a packet that holds its ports: the
// core takes those that are stored, one a step; others come no faster than the channel
// brings them, or than a slower one before it did; the output takes them no faster
// than its channel; and credits leave no faster than their wires take them.
type flitSchedule struct {
	at    [scheduleLines]int64
	every [scheduleLines]uint8 // slope, of packetUnit.slopes
	lines int8                 // in use
	flits int32
	done  int32 // flits that have been counted already
	ov    int32 // output virtual channel that it is about; -1: the schedule is of nothing
	port  int32 // of ov, as of Fabric.out, where it is of credits
}

const scheduleLines = 4

// start makes an empty schedule one of so many flits, with a line for the first of what limits
// them.
func (r *flitSchedule) start(flits, ov int32, at int64, every uint8) {
	r.at[0], r.every[0] = at, every
	r.lines, r.flits, r.ov = 1, flits, ov
}

// copyTo copies a schedule that has just been made, line by line (see [packetUnit.cross]), but
// for its port. No two neighbours are copied together: the compiler would make one of them.
func (r *flitSchedule) copyTo(to *flitSchedule) {
	for k := range to.at {
		to.at[k], to.every[k] = r.at[k], r.every[k]
	}
	to.lines, to.flits, to.ov = r.lines, r.flits, r.ov
	to.done, to.port = 0, 0
}

// limit adds a line, unless one that is there lies above it everywhere.
func (r *flitSchedule) limit(u *packetUnit, at int64, every uint8) {
	last := int64(r.flits - 1)
	end := at + last*u.slopes[every]
	for k := range r.lines {
		if r.at[k] >= at && r.at[k]+last*u.slopes[r.every[k]] >= end {
			return
		}
	}
	if int(r.lines) == scheduleLines {
		panic("core: a packet is limited in more ways than there are")
	}
	r.at[r.lines], r.every[r.lines] = at, every
	r.lines++
}

// time is the cycle of flit i.
func (r *flitSchedule) time(u *packetUnit, i int32) int64 { return r.exact(u, i) >> IntervalShift }

// exact is the time of flit i in cycles << intervalShift.
func (r *flitSchedule) exact(u *packetUnit, i int32) int64 {
	t := r.at[0] + int64(i)*u.slopes[r.every[0]]
	for k := int8(1); k < r.lines; k++ {
		t = max(t, r.at[k]+int64(i)*u.slopes[r.every[k]])
	}
	return t
}

// before is the number of flits before a time in cycles << intervalShift.
func (r *flitSchedule) before(u *packetUnit, time int64) int32 {
	n := int64(r.flits)
	last := time - 1
	for k := range r.lines {
		left, slope := last-r.at[k], u.slopes[r.every[k]]
		if left < 0 {
			return 0
		}
		if n*slope > left {
			if slope == 1<<IntervalShift { // one a cycle, as nearly always
				n = left>>IntervalShift + 1
			} else {
				n = left/slope + 1
			}
		}
	}
	return int32(min(n, int64(r.flits)))
}

// take is how many flits there are before a time that no call before has returned.
func (r *flitSchedule) take(u *packetUnit, time int64) int32 {
	n := r.before(u, time)
	fresh := n - r.done
	r.done = n
	return fresh
}

// delay puts a schedule off.
func (r *flitSchedule) delay(time int64) {
	for k := range r.lines {
		r.at[k] += time
	}
}

// from drops the first flits of a schedule.
func (r *flitSchedule) from(u *packetUnit, i int32) {
	for k := range r.lines {
		r.at[k] += int64(i) * u.slopes[r.every[k]]
	}
	r.flits -= i
}
