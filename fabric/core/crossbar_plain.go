package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/check"
)

// neverPlain, which only tests set, lets requestCrossbar and evaluate do what requestPlainly
// and evaluatePlainly can.
var neverPlain bool

// requestsPlainly tells whether requestPlainly serves: heads have got their virtual channel
// before, or take it as they cross and need no more than a credit, and flits wait for nothing
// else.
func (d *Domain) requestsPlainly() bool {
	if d.Combined == 0 {
		return d.hold == nil && d.multicast == nil && !d.storeForward && !neverPlain
	}
	return !d.cutThrough && d.escape == nil && !neverPlain
}

// refusal is why the flit at the front of a queue does not ask for the crossbar, for
// the observer.
type refusal struct {
	local uint32
	part  Part
}

// tellRefusals tells the observer.
func (d *Domain) tellRefusals(sw *SwitchState, refusals []refusal) {
	for _, r := range refusals {
		queue := sw.Queue0 + int32(r.local)
		if r.part != PartSerial {
			d.observer.Sleeps(d, queue, r.part)
		} else {
			d.observer.Blocked(d, queue, sw.OutPort(sw.Queue(r.local).Hop>>16))
		}
	}
}

// requestPlainly is requestCrossbar for the usual case. Nothing is called from its
// loop, which lets the compiler keep in registers what is in it, and what nothing
// predicts is computed without branches.
func (d *Domain) requestPlainly(sw *SwitchState, step uint32) []Request {
	requests, origins := check.Of(d.Matcher.requests), check.Of(d.Matcher.origins)
	combined, vcs, last := d.Combined, uint32(d.vcs), uint32(1)<<((d.vcs-1)&31)
	n := uint32(0)
	now := d.Cycle << IntervalShift
	full := now + d.leastWindow // before that, there is room behind the crossbar in any case
	for w := range sw.masks {
		asleep := uint64(0)
		for left := sw.masks[w].sa; left != 0; left &= left - 1 {
			local := uint32(w<<6 + bits.TrailingZeros64(left))
			v := sw.Queue(local)
			if int32(v.Ready-step) > 0 {
				continue
			}
			output := v.Hop >> 16
			o := sw.OutPort(output)
			if v.Packet&combined != 0 {
				free := v.Hop & uint32(o.free)
				first := output * vcs
				// Found without o.free, which may be on its way from memory. A
				// decision may allow none: its packet waits.
				lov := first + uint32(bits.TrailingZeros32(v.Hop|last))
				if set := v.Hop & (1<<fabric.MaxVCs - 1); set&(set-1) != 0 {
					lov = first + uint32(bits.TrailingZeros32(free))
					several := free&(free-1) != 0
					if free &^= withoutCredit(sw.outVCs.From(first), vcs); free != 0 && several {
						lov = nextVC(check.At(d.acceptOV, uint32(sw.Queue0)+local), first, free)
					}
				} else if sw.outVC(lov).credits == 0 {
					free = 0
				}
				if free == 0 { // as sleepForVC
					asleep |= left & -left
					*check.At(d.waitNext, uint32(sw.Queue0)+local) = o.waiters
					o.waiters = sw.Queue0 + int32(local) + 1
					d.Matcher.refuse(local, lacking(v.Hop&uint32(o.free)))
					continue
				}
				v.Out = int32(lov)
			} else if sw.outVC(uint32(v.Out)).credits == 0 {
				asleep |= left & -left
				d.Matcher.refuse(local, PartCredit)
				continue
			}
			if o.NextFree >= full && o.NextFree-d.Pace(o).window >= now { // no room behind the crossbar
				d.Matcher.refuse(local, PartSerial)
				continue
			}
			*requests.At(n) = *origins.At(local) | Request(output)
			n++
		}
		sw.masks[w].sa &^= asleep
	}
	if d.observer != nil {
		d.tellRefusals(sw, d.Matcher.refusals[:d.Matcher.refused])
	}
	d.Matcher.refused = 0
	return d.Matcher.requests[:n]
}

// refuse notes that a queue does not ask.
func (m *matcher) refuse(local uint32, why Part) {
	*check.At(m.refusals, m.refused) = refusal{local, why}
	m.refused++
}

// withoutCredit is the set of those of the first vcs virtual channels that have no
// credit.
func withoutCredit(ovs check.Array[outVC], vcs uint32) (set uint32) {
	for vc := range vcs {
		set |= uint32(ovs.At(vc).credits-1) >> 31 << (vc & 31)
	}
	return set
}

// nextVC is the output virtual channel of a port, the first of which is given,
// that is in a set and nearest to a round-robin pointer, which moves behind it. The
// pointer is in this port or elsewhere.
func nextVC(pointer *int32, first, set uint32) (lov uint32) {
	behind := min(max(*pointer-int32(first), 0), fabric.MaxVCs)
	from := set >> (behind & 31) << (behind & 31)
	if from == 0 {
		from = set
	}
	lov = first + uint32(bits.TrailingZeros32(from))
	*pointer = int32(lov) + 1
	return lov
}
