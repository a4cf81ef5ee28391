package arbitration

import (
	"fmt"
	"strconv"
	"strings"
)

// Entry gives a virtual lane a turn of so many units of 64 bytes; 0: none.
type Entry struct {
	Lane   uint8 // 0 to 14
	Weight uint8
}

// MaxLanes is the number of virtual lanes that data can take.
const MaxLanes = 15

// MaxEntries is the length that tables can have (InfiniBand Architecture Specification,
// volume 1, 14.2.5.9).
const MaxEntries = 64

// Unit is the number of bytes that weights count.
const Unit = 64

// Unlimited is the limit that lets the high table go on for ever.
const Unlimited = 255

// Tables are the arbitration tables of a port.
type Tables struct {
	High, Low []Entry
	// Limit is how much the high table may send before the low one has a chance, in
	// units of 4,096 bytes; 0: one packet, Unlimited: no limit.
	Limit uint8
}

// ParseEntries reads a table as OpenSM's options write it: "0:4,1:0,2:64", lane and
// weight. The empty text is the empty table.
func ParseEntries(text string) ([]Entry, error) {
	var entries []Entry
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for i, part := range strings.Split(text, ",") {
		lane, weight, ok := strings.Cut(strings.TrimSpace(part), ":")
		l, err := strconv.ParseUint(lane, 0, 8)
		w, err2 := strconv.ParseUint(weight, 0, 8)
		if !ok || err != nil || err2 != nil || l >= MaxLanes {
			return nil, fmt.Errorf("entry %d, %q: want LANE:WEIGHT, a lane of 0 to %d and a weight of 0 to 255", i, part, MaxLanes-1)
		}
		if len(entries) == MaxEntries {
			return nil, fmt.Errorf("more than %d entries", MaxEntries)
		}
		entries = append(entries, Entry{uint8(l), uint8(w)})
	}
	return entries, nil
}

// lanes is the set of lanes that a table gives a turn.
func lanes(table []Entry) uint32 {
	set := uint32(0)
	for _, e := range table {
		if e.Weight > 0 {
			set |= 1 << e.Lane
		}
	}
	return set
}

// Lanes is the set of lanes (bit l for lane l) that ever have a turn. Packets on
// others wait for ever.
func (t *Tables) Lanes() uint32 { return lanes(t.High) | lanes(t.Low) }
