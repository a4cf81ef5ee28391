package certify

import (
	"maps"
	"math/bits"
	"slices"
)

// span is the number of words that a row holds side by side: enough for all
// channels out of the largest of switches.
const span = 64

// row is a set of nodes, most of them near to each other: the channels that one
// channel waits for lead out of one switch, whose ports are numbered one after
// the other. These are a bitmap, of a word for most switches; others, behind the
// adaptive channels of an escape routing, are in words by number.
type row struct {
	first int // words[0] holds nodes from 64*first on
	words []uint64
	far   map[int]uint64
}

func (r *row) add(node int) {
	word, bit := node/64, uint64(1)<<(node%64)
	i := word - r.first
	switch {
	case r.words == nil:
		r.first, r.words = word, []uint64{bit}
	case i >= 0 && i < len(r.words):
		r.words[i] |= bit
	case i >= 0 && i < span:
		r.words = append(r.words, make([]uint64, i+1-len(r.words))...)
		r.words[i] = bit
	default:
		if r.far == nil {
			r.far = map[int]uint64{}
		}
		r.far[word] |= bit
	}
}

func (r *row) has(node int) bool {
	word, bit := node/64, uint64(1)<<(node%64)
	if i := word - r.first; i >= 0 && i < len(r.words) {
		return r.words[i]&bit != 0
	}
	return r.far[word]&bit != 0
}

// each visits the members, ascending.
func (r *row) each(visit func(node int)) {
	word := func(number int, w uint64) {
		for ; w != 0; w &= w - 1 {
			visit(64*number + bits.TrailingZeros64(w))
		}
	}
	numbers := slices.Sorted(maps.Keys(r.far))
	after, _ := slices.BinarySearch(numbers, r.first)
	for _, n := range numbers[:after] {
		word(n, r.far[n])
	}
	for i, w := range r.words {
		word(r.first+i, w)
	}
	for _, n := range numbers[after:] {
		word(n, r.far[n])
	}
}
