package fabric

import "github.com/weft-sim/weft/sim"

// behind keeps count of the flits that have crossed their switch and go on
// waiting, by the output virtual channel of the decision: for their channel, or,
// where the routing is a [SlotCounter], for their credit to be sent. Only for
// occupancy readers.
type behind struct {
	flits []int32 // by output virtual channel
	until *sim.Wheel[int32]
	slots bool // until credits are sent
}

// SlotCounter is implemented by credit sensers for which a flit goes on
// waiting, as [View] shows it, until its credit is sent: its slot is occupied
// for that long.
type SlotCounter interface{ CountsHeldSlots() bool }

func newBehind(f *Fabric, reach int64) *behind {
	b := &behind{flits: make([]int32, f.terminalOV0), until: sim.NewWheel[int32](reach)}
	if r, ok := f.routing.(SlotCounter); ok {
		b.slots = r.CountsHeldSlots()
	}
	return b
}

// cross counts a flit that crosses switch sw in this cycle, decided for local
// output virtual channel lov, to depart at a time and its credit to be sent so
// many cycles late.
func (b *behind) cross(f *Fabric, sw *switchState, lov uint32, depart, late int64) {
	sw.outVC(lov).waiting--
	until := depart >> intervalShift
	if b.slots && late > 0 {
		until = max(until, f.cycle+late-1)
	}
	if until > f.cycle {
		ov := sw.port0*int32(f.vcs) + int32(lov)
		b.flits[ov]++
		*b.until.Place(until + 1) = ov
	}
}

// release ends the waiting of flits whose time came before cycle c.
func (b *behind) release(c int64) {
	for batch := b.until.Next(c); batch != nil; batch = b.until.Next(c) {
		for _, ov := range batch {
			b.flits[ov]--
		}
	}
}
