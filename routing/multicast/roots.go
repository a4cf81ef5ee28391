package multicast

import (
	"encoding/binary"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// rootFinder finds the switches from which a group is reached in the fewest
// hops. A terminal is one hop beyond its switch.
type rootFinder struct {
	hops      *MinHop
	far       []uint64 // eight switches a word: largest distance to a member
	behind    []uint64 // the same to the switches of member terminals
	terminals bool     // behind is in use
}

func newRootFinder(hops *MinHop) *rootFinder {
	words := hops.width / 8
	return &rootFinder{hops: hops, far: make([]uint64, words), behind: make([]uint64, words)}
}

// find appends to roots the switches whose largest hop count to the members of
// g is least, ascending, and returns that hop count: the height of a tree of
// shortest paths (one hop more to a terminal than to its switch). Cost: members'
// switches times switches, eight at a time.
func (r *rootFinder) find(g *Group, roots []topology.SwitchID) (height int, _ []topology.SwitchID) {
	r.reset()
	r.include(g)
	r.finish()
	least := ^uint64(0)
	for _, w := range r.far {
		least = minBytes(least, w)
	}
	low := uint64(Unreachable)
	for b := range 8 {
		low = min(low, least>>(8*b)&0xff)
	}
	pattern := low * ones
	for i, w := range r.far {
		diff := w ^ pattern
		if (diff-ones)&^diff&highs == 0 { // no byte of w equals low
			continue
		}
		for b := range 8 {
			if diff>>(8*b)&0xff == 0 {
				roots = append(roots, topology.SwitchID(8*i+b))
			}
		}
	}
	return int(low), roots
}

// reset forgets all members.
func (r *rootFinder) reset() {
	clear(r.far)
	clear(r.behind)
	r.terminals = false
}

// include takes the members of g into account.
func (r *rootFinder) include(g *Group) {
	last := topology.SwitchID(-1)
	for _, t := range g.Terminals {
		if s := r.hops.graph.TerminalSwitch(t); s != last {
			widen(r.behind, r.hops.padded(s))
			last = s
		}
		r.terminals = true
	}
	for _, s := range g.Switches {
		widen(r.far, r.hops.padded(s))
	}
}

// finish completes far after the last member.
func (r *rootFinder) finish() {
	if r.terminals {
		for i, w := range r.behind {
			r.far[i] = maxBytes(r.far[i], addOne(w))
		}
	}
}

// bytes is a copy of far, one byte a switch.
func (r *rootFinder) bytes() []uint8 {
	b := make([]uint8, 0, 8*len(r.far))
	for _, w := range r.far {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// widen raises each byte of far to that of row.
func widen(far []uint64, row []uint8) {
	for i := range far {
		far[i] = maxBytes(far[i], binary.LittleEndian.Uint64(row[8*i:8*i+8]))
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// notLess has the bytes 0xff where a's byte is at least b's, 0 elsewhere.
func notLess(a, b uint64) uint64 {
	ge := (a&^b | ^(a^b)&((a|highs)-(b&^highs))) & highs
	return ge | (ge - ge>>7)
}

// maxBytes and minBytes work on the eight bytes of a word at a time.
func maxBytes(a, b uint64) uint64 { return b ^ (a^b)&notLess(a, b) }

func minBytes(a, b uint64) uint64 { return a ^ (a^b)&notLess(a, b) }

// addOne adds one to each byte that is not 255.
func addOne(a uint64) uint64 {
	full := notLess(a, ^uint64(0))
	return a&full | ((a&^highs+ones)^(a&highs))&^full
}

// byLoad sorts roots by the number of trees through them, then by number.
func (f *Forest) byLoad(roots []topology.SwitchID) {
	slices.SortFunc(roots, func(a, b topology.SwitchID) int {
		if d := f.through[a] - f.through[b]; d != 0 {
			return int(d)
		}
		return int(a - b)
	})
}

// leastLoaded is the root that byLoad would put first.
func (f *Forest) leastLoaded(roots []topology.SwitchID) topology.SwitchID {
	f.leastLoadedFirst(roots)
	return roots[0]
}

// leastLoadedFirst brings to the front the root that byLoad would put there.
func (f *Forest) leastLoadedFirst(roots []topology.SwitchID) {
	best := 0
	for i, s := range roots {
		if d := f.through[s] - f.through[roots[best]]; d < 0 || d == 0 && s < roots[best] {
			best = i
		}
	}
	roots[0], roots[best] = roots[best], roots[0]
}
