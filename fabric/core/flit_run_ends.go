package core

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/check"
)

// leave sends the next body flits of a terminal, which has just sent a flit, as a run of flits,
// if it has several and credits for them.
func (c *flitRuns) leave(d *Domain, t int32, te *terminal, o *OutPort) {
	number := d.terminalOV(topology.TerminalID(t), int(te.VC))
	ov := &d.OutVC[number]
	flits := min(te.left-1, ov.credits)
	if flits < fewestFlits || d.Pace(o).Interval != oneCycle {
		return
	}
	*c.news.Place(WholeCycle(o.NextFree) + d.Latency(o)) = flitRunNews{
		Flit{Queue: o.dest + int32(te.VC), Packet: te.Packet << PacketBits, dst: te.Dst, State: te.state}, flits}
	c.begun = true
	c.leaving = append(c.leaving, creditRun{number, flits})
	ov.credits -= flits
	te.left -= flits
	o.NextFree += int64(flits) << IntervalShift
}

// hearCredits begins a run of credits, or ends the present one.
func (c *flitRuns) hearCredits(run creditRun) {
	number := check.At(c.creditAt, uint32(run.ov))
	if *number == 0 {
		c.credits = append(c.credits, run)
		*number = int32(len(c.credits))
		return
	}
	c.endCredits(int(*number) - 1)
}

// endCredits removes a run of credits.
func (c *flitRuns) endCredits(i int) {
	c.creditAt[c.credits[i].ov] = 0
	last := len(c.credits) - 1
	if i < last {
		c.credits[i] = c.credits[last]
		c.creditAt[c.credits[i].ov] = int32(i) + 1
	}
	c.credits = c.credits[:last]
}

// bringCredits lets a credit of each run come back.
func (c *flitRuns) bringCredits(d *Domain) {
	for i := 0; i < len(c.credits); {
		run := &c.credits[i]
		o := check.At(d.OutVC, uint32(run.ov))
		o.credits++
		if check.On {
			d.checkCredits(run.ov)
		}
		if o.credits == 1 {
			d.creditReturned(o, run.ov)
		}
		if run.left--; run.left == 0 {
			c.endCredits(i)
		} else {
			i++
		}
	}
}

// send lets a flit of each run of flits leave its terminal.
func (c *flitRuns) send(d *Domain) {
	d.InjectedFlits += int64(len(c.leaving))
	for i := 0; i < len(c.leaving); {
		l := &c.leaving[i]
		d.OutVC[l.ov].Flits++
		if l.left--; l.left > 0 {
			i++
			continue
		}
		c.leaving[i] = c.leaving[len(c.leaving)-1]
		c.leaving = c.leaving[:len(c.leaving)-1]
	}
}
