package core

import (
	"time"

	"github.com/weft-sim/weft/sim"
)

// Where the threads of a crew do not have a processor each, since others use the machine,
// too, each of them holds up the others at every barrier, and all of them may be slower
// than one. Then thread 0 goes on alone, with all domains, and the others rest until it
// calls them. Which is faster is tried: by the clock, as it does not matter to results who
// simulates a domain.

// recess is the rest of the threads of a [kernelRun].
type recess struct {
	alone  bool          // thread 0 goes on alone; changed while all threads wait
	called bool          // thread 0's: the others are to come back
	call   chan struct{} // for each of the others
	tempo  tempo
}

// nextTempo, which only tests change, tells whether one is to go on alone.
var nextTempo = (*tempo).next

// trialWindows is the number of windows between two looks at the clock.
const trialWindows = 16

// meet returns when the next window is open, and the thread is to simulate it.
func (r *kernelRun) meet(me int) {
	if me == 0 && r.recess.alone {
		r.goOn()
		return
	}
	r.barrier.WaitThen(r.opens)
	for me > 0 && r.recess.alone {
		<-r.recess.call
		r.barrier.WaitThen(r.opens)
	}
}

// together opens a window for all threads, while they wait.
func (r *kernelRun) together() {
	if x := &r.recess; x.alone {
		x.alone, x.called, x.tempo.began = false, false, time.Time{}
		if r.first == sim.MaxTime { // thread 0 has come to the end
			return
		}
	}
	r.open()
	if r.first < sim.MaxTime && r.window%trialWindows == 0 {
		r.recess.alone = nextTempo(&r.recess.tempo, false, time.Now(), r.worked(), r.barrier.Lost(), r.threads)
	}
}

// goOn opens a window for thread 0 alone, if the others have not come back, who are called
// when it is time, or when there is none.
func (r *kernelRun) goOn() {
	x := &r.recess
	if x.called && r.barrier.Waiting() == r.threads-1 {
		r.barrier.WaitThen(r.opens)
		return
	}
	r.open()
	over := r.first == sim.MaxTime
	if !x.called && (over || r.window%trialWindows == 0 && !nextTempo(&x.tempo, true, time.Now(), r.worked(), r.barrier.Lost(), r.threads)) {
		x.called = true
		for range r.threads - 1 {
			x.call <- struct{}{}
		}
	}
	if over {
		r.barrier.WaitThen(r.opens)
	}
}

// worked is how much has been simulated.
func (r *kernelRun) worked() (work int64) {
	for i, k := range r.kernels {
		work += int64(k.Handled()) + r.domains[i].FlitHops
	}
	return work
}

// tempo tells whether one thread is faster than several.
type tempo struct {
	began time.Time     // of the present trial; zero: it has not begun
	work  int64         // by then
	lost  time.Duration // likewise
	cost  [2]float64    // of a unit of work, in nanoseconds, of several and of one, when last tried
	tried [2]time.Time
	rest  time.Duration // how long one goes on alone before several are tried again
}

const (
	trial     = 100 * time.Millisecond // at least: a processor may be taken away for some tens at a time
	trialHold = time.Second            // how long that of one alone counts
	leastRest = 200 * time.Millisecond // doubled when several are slower again
	mostRest  = 8 * leastRest
	muchWait  = 0.4 // share of the time; threads that wait for less do not hold each other up much
)

// next tells whether one is to go on alone, as it did before or not, where so much has been
// done and so many threads have lost so much time by waiting for each other.
func (c *tempo) next(alone bool, now time.Time, work int64, lost time.Duration, threads int) bool {
	took, done, waited := now.Sub(c.began), work-c.work, lost-c.lost
	begun := !c.began.IsZero()
	if begun && (took < trial || done == 0) {
		return alone
	}
	c.began, c.work, c.lost = now, work, lost
	if !begun {
		return alone
	}
	cost := float64(took) / float64(done)
	if alone {
		c.cost[1], c.tried[1] = cost, now
		return cost < c.cost[0] && now.Sub(c.tried[0]) < c.rest
	}
	c.cost[0], c.tried[0] = cost, now
	if waited.Seconds() >= muchWait*float64(threads)*took.Seconds() {
		if now.Sub(c.tried[1]) > max(trialHold, 2*c.rest) {
			c.rest = leastRest
			return true
		}
		if c.cost[1] < cost {
			c.rest = min(2*c.rest, mostRest)
			return true
		}
	}
	c.rest = leastRest
	return false
}
