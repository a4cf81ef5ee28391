package routing

import "github.com/weft-sim/weft/fabric"

// headNumbers numbers the heads that a walk comes to, towards one destination:
// 0, 1, 2, ... in order of discovery. Where packets carry one state only at a
// place, as most do, it is an array by port and virtual channel.
type headNumbers struct {
	vcs   int
	count int32
	walk  uint32     // the slots of others are free
	slots []headSlot // len = ports*vcs
	rest  map[uint64]int32
}

type headSlot struct {
	walk   uint32
	state  uint32
	number int32
}

func newHeadNumbers(ports, vcs int) *headNumbers {
	return &headNumbers{vcs: vcs, walk: 1, slots: make([]headSlot, ports*vcs), rest: map[uint64]int32{}}
}

// reset forgets all heads.
func (n *headNumbers) reset() {
	n.walk++
	if n.walk == 0 {
		clear(n.slots)
		n.walk = 1
	}
	n.count = 0
	if len(n.rest) > 0 {
		clear(n.rest)
	}
}

// of is the number of a head; known tells whether it had one.
func (n *headNumbers) of(h fabric.Head) (number int32, known bool) {
	slot := &n.slots[int(h.In)*n.vcs+int(h.VC)]
	if slot.walk != n.walk {
		*slot = headSlot{n.walk, h.State, n.count}
		n.count++
		return slot.number, false
	}
	if slot.state == h.State {
		return slot.number, true
	}
	key := uint64(h.In)<<32 | uint64(h.VC)<<fabric.StateBits | uint64(h.State)
	number, known = n.rest[key]
	if !known {
		number = n.count
		n.rest[key] = number
		n.count++
	}
	return number, known
}
