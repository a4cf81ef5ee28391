package core

import (
	"cmp"
	"slices"
)

// disband ends all runs of flits between two cycles and lets every flit and credit of theirs go by
// itself: the state of the network is then what it is without them. New ones begin as the
// network goes on. Cost: linear in what is on its way.
func (f *Fabric) disband() {
	for _, d := range f.domains {
		if d.flitRuns != nil {
			d.flitRuns.disband(d)
		}
	}
}

// coming is items that come one a cycle from a cycle on; of none, as news: the present one
// ends before that cycle.
type coming[T any] struct {
	item    T
	from, n int64
}

// disband is [Fabric.disband] for a domain.
func (c *flitRuns) disband(d *Domain) {
	var flits []coming[Flit]
	for i := range c.all {
		cv := &c.all[i]
		number := c.place(d, cv.Queue)
		if *number != int32(i)+1 {
			continue // free
		}
		if cv.Queue < 0 {
			cv.left = int32(cv.until - d.Cycle)
			c.reaching--
		} else if cv.ov >= 0 {
			c.stop(d, cv, min(cv.until, d.Cycle))
		}
		if cv.left > 0 {
			flits = append(flits, coming[Flit]{cv.Flit, d.Cycle + 1, int64(cv.left)})
		}
		*number = 0
	}
	for _, l := range c.leaving {
		c.stay(d, l)
	}
	c.news.Items(func(cycle int64, n *flitRunNews) {
		flits = append(flits, coming[Flit]{n.Flit, cycle, int64(n.flits)})
	})
	fileRuns(flits, func(e *Flit) int32 { return e.Queue }, func(cycle int64, e Flit) {
		if e.Queue < 0 {
			*d.Flits[toTerminals].Place(cycle) = e
		} else {
			*d.Flits[toSwitches].Place(cycle) = e
		}
	})
	var credits []coming[int32]
	for _, run := range c.credits {
		c.creditAt[run.ov] = 0
		credits = append(credits, coming[int32]{run.ov, d.Cycle + 1, int64(run.left)})
	}
	c.creditNews.Items(func(cycle int64, run *creditRun) {
		credits = append(credits, coming[int32]{run.ov, cycle, int64(run.left)})
	})
	fileRuns(credits, func(ov *int32) int32 { return *ov }, func(cycle int64, ov int32) { *d.credits[0].Place(cycle) = ov })
	c.all, c.free, c.arriving, c.leaving, c.credits = c.all[:0], c.free[:0], c.arriving[:0], c.leaving[:0], c.credits[:0]
	c.ends.Remove(func(*int32) bool { return true })
	c.news.Remove(func(*flitRunNews) bool { return true })
	c.creditNews.Remove(func(*creditRun) bool { return true })
}

// fileRuns files every item of some runs and news of runs, those of a place in the order in
// which they were sent.
func fileRuns[T any](runs []coming[T], place func(*T) int32, file func(cycle int64, item T)) {
	slices.SortStableFunc(runs, func(a, b coming[T]) int { return cmp.Compare(a.from, b.from) })
	last := map[int32]*coming[T]{} // by place
	for i := range runs {
		r := &runs[i]
		if p := place(&r.item); r.n > 0 {
			last[p] = r
		} else {
			last[p].n = min(last[p].n, r.from-last[p].from)
		}
	}
	for _, r := range runs {
		for k := range r.n {
			file(r.from+k, r.item)
		}
	}
}

// stay takes back the flits of a run of flits that its terminal has still to send.
func (c *flitRuns) stay(d *Domain, l creditRun) {
	t := (l.ov - d.terminalOV0) / int32(d.vcs)
	te, o := &d.Terminals[t], &d.Out[d.TerminalOut0+t]
	te.left += l.left
	d.OutVC[l.ov].credits += l.left
	o.NextFree -= int64(l.left) << IntervalShift
	next := WholeCycle(o.NextFree)
	*c.news.Place(next + d.Latency(o)) = flitRunNews{Flit: Flit{Queue: o.dest + int32(te.VC)}}
	d.wakeAt(t, te, next)
}
