package core

import (
	"cmp"
	"math/bits"
	"slices"
)

// This file holds how runs of flits pass switches.

// pass lets the flits of a run of flits that come from the present cycle on pass, as many as there
// are credits for, if nothing holds them up.
func (c *flitRuns) pass(d *Domain, cv *flitRun, v *InVC) bool {
	sw := &d.Switches[d.WordSwitch[cv.Queue>>6]]
	port, output := uint32(d.Matcher.Places[cv.Queue-sw.Queue0].Port), v.Hop>>16
	o := sw.OutPort(output)
	if uint32(o.free)|1<<(uint32(v.Out)-output*uint32(d.vcs)) != 1<<d.vcs-1 || sw.passIns>>(port&63)&1|sw.passOuts>>(output&63)&1 != 0 {
		return false // another packet on its way through the output would soon stop it
	}
	in, ov, p := sw.inPort(port), sw.outVC(uint32(v.Out)), d.Pace(o)
	flits := cv.left
	if o.Bounded != 0 {
		flits = min(flits, ov.credits)
	}
	since := (d.Cycle - d.Steps.cycle) << IntervalShift // the steps that are set
	credit, depart := d.Steps.at[0].credit+since, max(o.NextFree, d.Steps.at[0].Depart+since)
	if flits < fewestFlits || p.Interval != oneCycle || o.wheel > toSwitches || in.wheel != 0 || sw.Ports > 64 ||
		depart-p.window >= (d.Cycle-1)<<IntervalShift || in.nextCredit > credit && d.creditInterval != oneCycle {
		return false
	}
	credit = max(credit, in.nextCredit)
	cv.ov = sw.Port0*int32(d.vcs) + v.Out
	cv.in, cv.port = sw.Port0+int32(port), sw.Port0+int32(output)
	cv.from, cv.until, cv.depart, cv.credit = d.Cycle, d.Cycle+int64(flits)-1, depart, credit
	ov.credits -= flits * int32(o.Bounded)
	v.Packet, v.dst, v.State = cv.Packet, cv.dst, cv.State
	next := flitRunNews{Flit{d.destination(cv), cv.Packet, cv.dst, cv.State}, flits}
	if cv.State < MaxHops<<HopShift {
		next.State += 1 << HopShift
	}
	*c.news.Place(WholeCycle(depart) + d.Latency(o)) = next
	*c.creditNews.Place(credit>>IntervalShift + int64(in.delay)) = creditRun{d.feeder(cv), flits}
	*c.ends.Place(cv.until + 1) = cv.Queue
	sw.passIns |= 1 << (port & 63)
	sw.passOuts |= 1 << (output & 63)
	c.leaves(cv)
	c.passing++
	return true
}

// destination is the queue that a run of flits that passes a switch comes to next.
func (d *Domain) destination(cv *flitRun) int32 {
	o := &d.Out[cv.port]
	return o.dest + cv.ov%int32(d.vcs)*int32(o.Bounded)
}

// feeder is the output virtual channel that a run of flits at a switch came by.
func (d *Domain) feeder(cv *flitRun) int32 {
	return d.in[cv.in].upstream + (cv.Queue-d.Switches[d.WordSwitch[cv.Queue>>6]].Queue0)%int32(d.vcs)
}

// stop ends the passing of a run of flits, the last flit of which crosses in a cycle. The others
// come into their queue; if there are none, the run of flits is over.
func (c *flitRuns) stop(d *Domain, cv *flitRun, last int64) {
	sw := &d.Switches[d.WordSwitch[cv.Queue>>6]]
	o, in, ov := &d.Out[cv.port], &d.in[cv.in], &d.OutVC[cv.ov]
	crossed := last - cv.from + 1
	depart, credit := cv.depart+crossed<<IntervalShift, cv.credit+crossed<<IntervalShift // of the next one
	if crossed > 0 {
		vc := (cv.Queue - sw.Queue0) % int32(d.vcs)
		o.NextFree, in.nextCredit = depart, credit-oneCycle+d.creditInterval
		o.grant, in.accept, in.vc = uint16(cv.in-sw.Port0+1), uint16(cv.port-sw.Port0+1), uint16(vc+1)
		ov.Flits += uint32(crossed)
	}
	if rest := int32(cv.until - last); rest > 0 {
		ov.credits += rest * int32(o.Bounded)
		*c.news.Place(WholeCycle(depart) + d.Latency(o)) = flitRunNews{Flit: Flit{Queue: d.destination(cv)}}
		*c.creditNews.Place(credit>>IntervalShift + int64(in.delay)) = creditRun{ov: d.feeder(cv)}
	}
	sw.passIns &^= 1 << ((cv.in - sw.Port0) & 63)
	sw.passOuts &^= 1 << ((cv.port - sw.Port0) & 63)
	cv.ov = -1
	c.passing--
	if cv.left -= int32(crossed); cv.left > 0 {
		c.comes(cv)
	} else {
		c.release(&c.at[cv.Queue])
	}
}

// meet stops the runs of flits that pass by the inputs and outputs, modulo 64, of some requests. In
// the first step of a cycle their flits of this cycle are among the requests then, with the
// ports that several come from or want; later requests find them crossed.
func (c *flitRuns) meet(d *Domain, sw *SwitchState, requests []Request, first bool, ins, outs, rivalInputs, rivalOutputs uint64) ([]Request, uint64, uint64) {
	for left := sw.passIns; left != 0; left &= left - 1 {
		port := uint32(bits.TrailingZeros64(left))
		cv := c.passingBy(d, sw, port)
		output := uint32(cv.port - sw.Port0)
		if ins>>port&1|outs>>output&1 == 0 {
			continue
		}
		if !first {
			c.stop(d, cv, d.Cycle)
			continue
		}
		d.FlitHops--
		cv.left--
		c.stop(d, cv, d.Cycle-1)
		d.arriveBody(&cv.Flit)
		requests = append(requests, newRequest(uint32(cv.Queue-sw.Queue0), port<<16|output))
		rivalInputs |= ins & (1 << port)
		rivalOutputs |= outs & (1 << output)
	}
	return requests, rivalInputs, rivalOutputs
}

// passingBy is the run of flits that passes by an input of a switch.
func (c *flitRuns) passingBy(d *Domain, sw *SwitchState, port uint32) *flitRun {
	vcs := uint32(d.vcs)
	for local := port * vcs; local < (port+1)*vcs; local++ {
		if n := c.at[uint32(sw.Queue0)+local]; n > 0 && c.all[n-1].ov >= 0 {
			return &c.all[n-1]
		}
	}
	d.broken("no run of flits passes by port %d", sw.Port0+int32(port))
	return nil
}

// countFlits adds, by output virtual channel, the flits of runs of flits that pass.
func (c *flitRuns) countFlits(d *Domain, counts []uint32) {
	for i := range c.all {
		if cv := &c.all[i]; cv.Queue >= 0 && cv.ov >= 0 && c.at[cv.Queue] == int32(i)+1 {
			counts[cv.ov] += uint32(min(cv.until, d.Cycle) - cv.from + 1)
		}
	}
}

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
