package core

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/check"
)

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

// tellRefusals tells the observer, if there is one, of those that there are.
func (d *Domain) tellRefusals(sw *SwitchState) {
	refusals := d.Matcher.refusals[:d.Matcher.refused]
	d.Matcher.refused = 0
	if d.observer == nil {
		return
	}
	for _, r := range refusals {
		queue := sw.Queue0 + int32(r.local)
		if r.part != PartSerial {
			d.observer.Sleeps(d, queue, r.part)
		} else {
			d.observer.Blocked(d, queue, sw.OutPort(sw.Queue(r.local).Hop>>16))
		}
	}
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
