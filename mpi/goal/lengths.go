package goal

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/mpi"
)

// mostPaired is the most messages whose lengths are compared before a run: 24 bytes for each and its receive.
const mostPaired = 1 << 22

// length is the end of a message: what it is matched by, and its bytes.
type length struct {
	from, to, tag, op int32
	bytes             int64
}

// compare orders ends by what they are matched by.
func (l length) compare(o length) int {
	return cmp.Or(cmp.Compare(l.to, o.to), cmp.Compare(l.from, o.from), cmp.Compare(l.tag, o.tag))
}

// mixed is a hash of the end, equal for a message and its receive.
func (l length) mixed() uint64 {
	h := uint64(1)
	for _, v := range [3]uint64{uint64(l.from)<<32 | uint64(l.to), uint64(l.tag), uint64(l.bytes)} {
		high, low := bits.Mul64(h+v, 0x9e3779b97f4a7c15)
		h = high ^ low
	}
	return h
}

// checkLengths refuses messages that are longer than their receives in whatever order they are matched: of a
// pair of ranks and a tag, the n-th of the sends by length is longer than the n-th of the receives. It leaves the
// rest to the run: an order that comes out wrong, receives of any rank or tag, and schedules of many messages.
func (g *Schedule) checkLengths() error {
	differ, messages, anything := uint64(0), 0, false
	for l, kind := range g.lengths {
		if kind == mpi.Send {
			differ += l.mixed()
			messages++
		} else {
			differ -= l.mixed()
			anything = anything || l.from == mpi.Any
		}
		anything = anything || l.tag == mpi.Any
	}
	if differ == 0 || anything || messages > mostPaired {
		return nil
	}
	var ends [mpi.Recv + 1][]length
	for l, kind := range g.lengths {
		ends[kind] = append(ends[kind], l)
	}
	for _, list := range ends {
		slices.SortFunc(list, func(a, b length) int {
			return cmp.Or(a.compare(b), cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.op, b.op))
		})
	}
	for sends, receives := ends[mpi.Send], ends[mpi.Recv]; len(sends) > 0 && len(receives) > 0; {
		s, r := sends[0], receives[0]
		switch c := s.compare(r); {
		case c == 0 && s.bytes > r.bytes:
			return fmt.Errorf("%s: %w", g.place(s.op), mpi.TooLong(s.bytes, s.from, s.to, s.tag, r.bytes, g.place(r.op)))
		case c < 0:
			sends = sends[1:]
		case c > 0:
			receives = receives[1:]
		default:
			sends, receives = sends[1:], receives[1:]
		}
	}
	return nil
}

// lengths yields the sends and receives.
func (g *Schedule) lengths(yield func(length, mpi.Kind) bool) {
	r := int32(0)
	for i, op := range g.ops.All {
		for i >= g.first[r+1] {
			r++
		}
		if i%forgetAfter == forgetAfter-1 {
			g.memory.Forget()
		}
		l := length{r, op.peer, op.tag, i, op.size}
		if op.kind == mpi.Recv {
			l.from, l.to = op.peer, r
		}
		if op.kind != mpi.Calc && !yield(l, op.kind) {
			return
		}
	}
}
