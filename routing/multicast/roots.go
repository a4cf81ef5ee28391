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
	padding   uint64   // bytes of the last word that stand for no switch
	rows      [4][]uint8
}

func newRootFinder(hops *MinHop) *rootFinder {
	words := hops.width / 8
	return &rootFinder{
		hops: hops, far: make([]uint64, words), behind: make([]uint64, words),
		padding: ^(^uint64(0) >> (8 * (hops.width - hops.n))),
	}
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
	n := 0
	for _, t := range g.Terminals {
		s := r.hops.graph.TerminalSwitch(t)
		if s == last {
			continue
		}
		last = s
		if !r.hops.near {
			widen(r.behind, r.hops.padded(s))
		} else if r.rows[n] = r.hops.padded(s); n == len(r.rows)-1 {
			widenNear(r.behind, &r.rows)
			n = 0
		} else {
			n++
		}
	}
	if n > 0 {
		for i := n; i < len(r.rows); i++ {
			r.rows[i] = r.rows[0]
		}
		widenNear(r.behind, &r.rows)
	}
	r.terminals = r.terminals || len(g.Terminals) > 0
	for _, s := range g.Switches {
		widen(r.far, r.hops.padded(s))
	}
}

// finish completes far after the last member.
func (r *rootFinder) finish() {
	if r.terminals {
		if len(r.behind) > 0 {
			r.behind[len(r.behind)-1] |= r.padding
		}
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

// widenNear is widen by four rows at once, all of whose distances are below
// 128: comparing takes half the work then, and far goes through the cache once.
// The padding behind a row, which is not, spoils that of far only: carries run
// towards higher bytes.
func widenNear(far []uint64, rows *[4][]uint8) {
	n := 8 * len(far)
	a, b, c, d := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]
	for i := range far {
		at := 8 * i
		ab := maxNear(binary.LittleEndian.Uint64(a[at:at+8]), binary.LittleEndian.Uint64(b[at:at+8]))
		cd := maxNear(binary.LittleEndian.Uint64(c[at:at+8]), binary.LittleEndian.Uint64(d[at:at+8]))
		far[i] = maxNear(far[i], maxNear(ab, cd))
	}
}

// maxNear is maxBytes for bytes below 128.
func maxNear(a, b uint64) uint64 {
	ge := ((a | highs) - b) & highs
	return b ^ (a^b)&(ge-ge>>7)
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
	keys := f.keys[:0]
	for _, s := range roots {
		keys = append(keys, uint64(f.through[s])<<32|uint64(s))
	}
	slices.Sort(keys)
	for i, k := range keys {
		roots[i] = topology.SwitchID(uint32(k))
	}
	f.keys = keys
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
