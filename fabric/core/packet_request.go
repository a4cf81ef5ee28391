package core

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/check"
)

// requestsPlainly tells whether request serves: heads take their virtual channel as
// they cross, at once, and go where they have been decided for.
func (u *packetUnit) requestsPlainly(d *Domain) bool {
	return d.Combined != 0 && d.escape == nil && !d.storeForward && !neverPlain
}

// allocate is [domain.allocateSwitch] without detours where nobody has a rival.
func (u *packetUnit) allocate(d *Domain, sw *SwitchState, t *StepTime) {
	if d.registered != nil || d.observer != nil || d.lanes != nil || !u.requestsPlainly(d) {
		d.allocateSwitch(sw, t)
		return
	}
	requests, rivalInputs, rivalOutputs := u.request(d, sw, t.Number)
	if rivalInputs|rivalOutputs == 0 {
		u.cross(d, sw, requests, t, true)
	} else {
		d.allocateRivals(sw, requests, rivalInputs, rivalOutputs, t)
	}
}

// held tells whether another packet holds a port that the packet at the front of a queue
// wants to cross between, which then sleeps.
func (u *packetUnit) held(d *Domain, sw *SwitchState, local, port, output uint32) bool {
	ports := check.Of(d.hold.ports).From(uint32(sw.Port0))
	if from := ports.At(port); from.input {
		u.sleep(d, sw, local, &from.inputWaiters)
		return true
	}
	to := ports.At(output)
	if to.output {
		u.sleep(d, sw, local, &to.outputWaiters)
	}
	return to.output
}

// request is Fabric.requestCrossbar for packets in the usual case.
func (u *packetUnit) request(d *Domain, sw *SwitchState, step uint32) (list []Request, rivalInputs, rivalOutputs uint64) {
	requests, places := check.Of(d.Matcher.requests), check.Of(d.Matcher.Places)
	accepts := check.Of(d.acceptOV).From(uint32(sw.Queue0))
	vcs, n := uint32(d.vcs), uint32(0)
	now, wide := d.Cycle<<IntervalShift, d.Steps.Wide(step)
	full := now + d.leastWindow // before that, there is room behind the crossbar in any case
	var inputs, outputs uint64
	for w := range sw.masks {
		m := &sw.masks[w]
		for left := m.sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if int32(v.Ready-step) > 0 {
				continue
			}
			port, output := uint32(places.At(local).Port), v.Hop>>16
			o := sw.OutPort(output)
			if !u.timed {
				if u.held(d, sw, local, port, output) {
					continue
				}
			} else if until := max(sw.inPort(port).until, o.until); until >= wide {
				u.waitUntil(d, sw, local, until)
				continue
			}
			if o.NextFree >= full {
				if from := o.NextFree - d.Pace(o).window; from >= now {
					u.sleepUntil(d, sw, local, from>>IntervalShift+1)
					continue
				}
			}
			free := v.Hop & uint32(o.free)
			lov := output*vcs + uint32(bits.TrailingZeros32(free))
			if free != 0 && free&(free-1) == 0 && sw.outVC(lov).credits >= d.inflow(v.Packet>>PacketBits).flits {
				v.Out = int32(lov) // chooseVC in most cases
				*accepts.At(local) = v.Out + 1
			} else if !d.chooseVC(sw, local, v, free) {
				d.sleepForVC(sw, w, left&-left)
				if d.observer != nil {
					d.observer.Sleeps(d, sw.Queue0+int32(local), lacking(free))
				}
				continue
			}
			*requests.At(n) = newRequest(local, port<<16|output)
			n++
			in, out := uint64(1)<<(port&63), uint64(1)<<(output&63)
			rivalInputs |= inputs & in
			inputs |= in
			rivalOutputs |= outputs & out
			outputs |= out
		}
	}
	return d.Matcher.requests[:n], rivalInputs, rivalOutputs
}
