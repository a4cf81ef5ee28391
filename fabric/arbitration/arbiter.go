// Package arbitration is InfiniBand's choice between a port's virtual lanes: two tables of weights,
// one before the other within a limit.
package arbitration

import (
	"fmt"
	"strconv"
	"strings"
)

// Arbiter chooses the lane of a port's next packet (InfiniBand Architecture
// Specification, volume 1, 7.6.9, as OpenSM's documents and vendors' manuals give it).
//
// Within a table lanes take turns in its order: a packet may start while some of its turn's weight
// is left, and takes one unit for every 64 bytes, the last ones rounded up; what it takes beyond
// the weight is not held against the next turn. A turn ends, too, when its lane has no packet.
// Lanes may have several entries and be in both tables.
//
// The high table goes first whenever it has a packet. Once it has sent Limit times
// 4,096 bytes, counted like weights, since the low table last had its chance, the low
// one has it: one packet, if there is any. With a limit of 0 that is after each
// packet. The management lane, 15, is before all and not modelled.
//
// The zero value is not valid; use [New].
type Arbiter struct {
	tables    *Tables `snap:"-"`
	highLanes uint32  `snap:"-"`
	lowLanes  uint32  `snap:"-"`
	high, low turn
	sent      int32 // units by the high table since the low one's chance
}

// turn is a place in a table.
type turn struct {
	entry int16
	left  int16 // units; none or less: over
}

// Choice is the lane of a next packet and the entry that it is the turn of.
type Choice struct {
	Lane  uint8
	high  bool
	fresh bool // the limit begins anew
	entry int16
}

// New makes an arbiter of tables, which must not change.
func New(t *Tables) Arbiter {
	return Arbiter{tables: t, highLanes: lanes(t.High), lowLanes: lanes(t.Low),
		high: turn{entry: int16(len(t.High) - 1)}, low: turn{entry: int16(len(t.Low) - 1)}}
}

// Tables are the arbiter's.
func (a *Arbiter) Tables() *Tables { return a.tables }

// Choose tells which lane with a packet ready (bit l of ready for lane l) is next; not ok if none
// has a turn. It changes nothing. Cost: a table's length.
func (a *Arbiter) Choose(ready uint32) (c Choice, ok bool) {
	high, low := ready&a.highLanes, ready&a.lowLanes
	over := a.spent()
	switch {
	case high != 0 && (low == 0 || !over):
		entry := a.high.next(a.tables.High, high)
		return Choice{a.tables.High[entry].Lane, true, over, entry}, true
	case low != 0:
		entry := a.low.next(a.tables.Low, low)
		return Choice{Lane: a.tables.Low[entry].Lane, entry: entry}, true
	}
	return Choice{}, false
}

// spent tells whether the low table is to have its chance.
func (a *Arbiter) spent() bool {
	switch limit := a.tables.Limit; limit {
	case Unlimited:
		return false
	case 0:
		return a.sent > 0
	default:
		return a.sent >= int32(limit)*(4096/Unit)
	}
}

// next is the entry whose turn it is, of those with a lane in ready, which is one of the table's.
func (t *turn) next(table []Entry, ready uint32) int16 {
	if t.left > 0 && ready>>table[t.entry].Lane&1 != 0 {
		return t.entry
	}
	for i := t.entry; ; {
		if i++; int(i) == len(table) {
			i = 0
		}
		if e := table[i]; e.Weight > 0 && ready>>e.Lane&1 != 0 {
			return i
		}
	}
}

// Packets is the number of packets of so many bytes, at least one, that may start by a choice among
// ready lanes before lanes are chosen anew, if these keep having packets. For owners that take
// several packets at a time.
func (a *Arbiter) Packets(c Choice, ready uint32, bytes int64) int64 {
	table, turn := a.tables.Low, &a.low
	if c.high {
		table, turn = a.tables.High, &a.high
	} else if ready&a.highLanes != 0 {
		return 1 // the low table's chance
	}
	left := int64(table[c.entry].Weight)
	if turn.entry == c.entry && turn.left > 0 {
		left = int64(turn.left)
	}
	if limit := int64(a.tables.Limit); c.high && ready&a.lowLanes != 0 && limit != Unlimited {
		left = min(left, limit*(4096/Unit)-int64(a.sent)) // not spent: c would be of the low table
	}
	units := max(1, (bytes+Unit-1)/Unit)
	return max(1, (left+units-1)/units)
}

// Send counts a packet of so many bytes that begins by a choice of this arbiter, the last one made.
func (a *Arbiter) Send(c Choice, bytes int64) {
	units := int32((bytes + Unit - 1) / Unit)
	if !c.high {
		a.sent = 0
		a.low.send(a.tables.Low, c.entry, units)
		return
	}
	if c.fresh {
		a.sent = 0
	}
	a.sent = min(a.sent+units, 1<<30)
	a.high.send(a.tables.High, c.entry, units)
}

func (t *turn) send(table []Entry, entry int16, units int32) {
	if t.entry != entry || t.left <= 0 {
		*t = turn{entry, int16(table[entry].Weight)}
	}
	t.left = int16(max(int32(t.left)-units, 0))
}

// Entry gives a virtual lane a turn of so many units of 64 bytes; 0: none.
type Entry struct {
	Lane   uint8 // 0 to 14
	Weight uint8
}

// MaxLanes is the number of virtual lanes that data can take.
const MaxLanes = 15

// MaxEntries is a table's greatest length (InfiniBand Architecture Specification, vol. 1,
// 14.2.5.9).
const MaxEntries = 64

// Unit is the number of bytes that weights count.
const Unit = 64

// Unlimited is the limit that lets the high table go on for ever.
const Unlimited = 255

// Tables are the arbitration tables of a port.
type Tables struct {
	High, Low []Entry
	// Limit is how much the high table may send before the low one has a chance, in 4,096 bytes; 0:
	// one packet, Unlimited: no limit.
	Limit uint8
}

// ParseEntries reads a table of OpenSM's options, "0:4,1:0,2:64" (lane:weight); "" is the empty
// table.
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

// Lanes is the set of lanes (bit l for lane l) that ever have a turn. Others' packets never leave.
func (t *Tables) Lanes() uint32 { return lanes(t.High) | lanes(t.Low) }
