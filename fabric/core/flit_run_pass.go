package core

import "math/bits"

// This file holds how runs of flits pass switches.

// pass lets the flits of a run of flits that come from the present cycle on pass, as many as there
// are credits for, if nothing holds them up.
func (c *flitRuns) pass(d *domain, cv *flitRun, v *inVC) bool {
	sw := &d.switches[d.wordSwitch[cv.queue>>6]]
	port, output := uint32(d.matcher.places[cv.queue-sw.queue0].port), v.hop>>16
	o := sw.outPort(output)
	if uint32(o.free)|1<<(uint32(v.out)-output*uint32(d.vcs)) != 1<<d.vcs-1 || sw.passIns>>(port&63)&1|sw.passOuts>>(output&63)&1 != 0 {
		return false // another packet on its way through the output would soon stop it
	}
	in, ov, p := sw.inPort(port), sw.outVC(uint32(v.out)), d.pace(o)
	flits := cv.left
	if o.bounded != 0 {
		flits = min(flits, ov.credits)
	}
	since := (d.cycle - d.steps.cycle) << intervalShift // the steps that are set
	credit, depart := d.steps.at[0].credit+since, max(o.nextFree, d.steps.at[0].depart+since)
	if flits < fewestFlits || p.interval != oneCycle || o.wheel > toSwitches || in.wheel != 0 || sw.ports > 64 ||
		depart-p.window >= (d.cycle-1)<<intervalShift || in.nextCredit > credit && d.creditInterval != oneCycle {
		return false
	}
	credit = max(credit, in.nextCredit)
	cv.ov = sw.port0*int32(d.vcs) + v.out
	cv.in, cv.port = sw.port0+int32(port), sw.port0+int32(output)
	cv.from, cv.until, cv.depart, cv.credit = d.cycle, d.cycle+int64(flits)-1, depart, credit
	ov.credits -= flits * int32(o.bounded)
	v.packet, v.dst, v.state = cv.packet, cv.dst, cv.state
	next := flitRunNews{flit{d.destination(cv), cv.packet, cv.dst, cv.state}, flits}
	if cv.state < maxHops<<hopShift {
		next.state += 1 << hopShift
	}
	*c.news.Place(wholeCycle(depart) + d.latency(o)) = next
	*c.creditNews.Place(credit>>intervalShift + int64(in.delay)) = creditRun{d.feeder(cv), flits}
	*c.ends.Place(cv.until + 1) = cv.queue
	sw.passIns |= 1 << (port & 63)
	sw.passOuts |= 1 << (output & 63)
	c.leaves(cv)
	c.passing++
	return true
}

// destination is the queue that a run of flits that passes a switch comes to next.
func (d *domain) destination(cv *flitRun) int32 {
	o := &d.out[cv.port]
	return o.dest + cv.ov%int32(d.vcs)*int32(o.bounded)
}

// feeder is the output virtual channel that a run of flits at a switch came by.
func (d *domain) feeder(cv *flitRun) int32 {
	return d.in[cv.in].upstream + (cv.queue-d.switches[d.wordSwitch[cv.queue>>6]].queue0)%int32(d.vcs)
}

// stop ends the passing of a run of flits, the last flit of which crosses in a cycle. The others
// come into their queue; if there are none, the run of flits is over.
func (c *flitRuns) stop(d *domain, cv *flitRun, last int64) {
	sw := &d.switches[d.wordSwitch[cv.queue>>6]]
	o, in, ov := &d.out[cv.port], &d.in[cv.in], &d.outVC[cv.ov]
	crossed := last - cv.from + 1
	depart, credit := cv.depart+crossed<<intervalShift, cv.credit+crossed<<intervalShift // of the next one
	if crossed > 0 {
		vc := (cv.queue - sw.queue0) % int32(d.vcs)
		o.nextFree, in.nextCredit = depart, credit-oneCycle+d.creditInterval
		o.grant, in.accept, in.vc = uint16(cv.in-sw.port0+1), uint16(cv.port-sw.port0+1), uint16(vc+1)
		ov.flits += uint32(crossed)
	}
	if rest := int32(cv.until - last); rest > 0 {
		ov.credits += rest * int32(o.bounded)
		*c.news.Place(wholeCycle(depart) + d.latency(o)) = flitRunNews{flit: flit{queue: d.destination(cv)}}
		*c.creditNews.Place(credit>>intervalShift + int64(in.delay)) = creditRun{ov: d.feeder(cv)}
	}
	sw.passIns &^= 1 << ((cv.in - sw.port0) & 63)
	sw.passOuts &^= 1 << ((cv.port - sw.port0) & 63)
	cv.ov = -1
	c.passing--
	if cv.left -= int32(crossed); cv.left > 0 {
		c.comes(cv)
	} else {
		c.release(&c.at[cv.queue])
	}
}

// meet stops the runs of flits that pass by the inputs and outputs, modulo 64, of some requests. In
// the first step of a cycle their flits of this cycle are among the requests then, with the
// ports that several come from or want; later requests find them crossed.
func (c *flitRuns) meet(d *domain, sw *switchState, requests []request, first bool, ins, outs, rivalInputs, rivalOutputs uint64) ([]request, uint64, uint64) {
	for left := sw.passIns; left != 0; left &= left - 1 {
		port := uint32(bits.TrailingZeros64(left))
		cv := c.passingBy(d, sw, port)
		output := uint32(cv.port - sw.port0)
		if ins>>port&1|outs>>output&1 == 0 {
			continue
		}
		if !first {
			c.stop(d, cv, d.cycle)
			continue
		}
		d.FlitHops--
		cv.left--
		c.stop(d, cv, d.cycle-1)
		d.arriveBody(&cv.flit)
		requests = append(requests, newRequest(uint32(cv.queue-sw.queue0), port<<16|output))
		rivalInputs |= ins & (1 << port)
		rivalOutputs |= outs & (1 << output)
	}
	return requests, rivalInputs, rivalOutputs
}

// passingBy is the run of flits that passes by an input of a switch.
func (c *flitRuns) passingBy(d *domain, sw *switchState, port uint32) *flitRun {
	vcs := uint32(d.vcs)
	for local := port * vcs; local < (port+1)*vcs; local++ {
		if n := c.at[uint32(sw.queue0)+local]; n > 0 && c.all[n-1].ov >= 0 {
			return &c.all[n-1]
		}
	}
	d.broken("no run of flits passes by port %d", sw.port0+int32(port))
	return nil
}

// countFlits adds, by output virtual channel, the flits of runs of flits that pass.
func (c *flitRuns) countFlits(d *domain, counts []uint32) {
	for i := range c.all {
		if cv := &c.all[i]; cv.queue >= 0 && cv.ov >= 0 && c.at[cv.queue] == int32(i)+1 {
			counts[cv.ov] += uint32(min(cv.until, d.cycle) - cv.from + 1)
		}
	}
}
