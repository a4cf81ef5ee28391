package core

import "math/bits"

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
