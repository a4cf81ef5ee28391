package opensm

import "math/bits"

// openPairs are the pairs of switches of one layer that were not tried in vain: a bit
// for each source (row) and destination.
type openPairs struct {
	n, width int
	rows     []uint64 // len = n*width
}

func newOpenPairs(n int) *openPairs {
	width := (n + 63) / 64
	return &openPairs{n, width, make([]uint64, n*width)}
}

// set adds or removes a pair, both ways.
func (p *openPairs) set(a, b int, is bool) {
	for _, at := range [][2]int{{a, b}, {b, a}} {
		word, bit := &p.rows[at[0]*p.width+at[1]/64], uint64(1)<<(at[1]%64)
		if *word &^= bit; is {
			*word |= bit
		}
	}
}

// next is the pair at or after (src, dst): destinations go round first, then sources.
// ok is false if there is none.
func (p *openPairs) next(src, dst int) (_, _ int, ok bool) {
	for range p.n {
		row := p.rows[src*p.width:][:p.width]
		if d := after(row, dst); d >= 0 {
			return src, d, true
		}
		if d := after(row, 0); d >= 0 {
			return src, d, true
		}
		src = (src + 1) % p.n
	}
	return 0, 0, false
}

// after is the first bit of a row at or after one, -1 if there is none.
func after(row []uint64, bit int) int {
	word := row[bit/64] >> (bit % 64) << (bit % 64)
	for i := bit / 64; ; {
		if word != 0 {
			return 64*i + bits.TrailingZeros64(word)
		}
		if i++; i == len(row) {
			return -1
		}
		word = row[i]
	}
}

// lashCeiling is more pairs, both directions counted, than OpenSM looks for in the
// emptiest layer: layers that have as many do not become it.
const lashCeiling = 9999

// balance moves pairs from the fullest layer to the emptiest until they differ by
// less than three pairs, or no pair can be moved. Pairs are drawn by the C
// library's rand(), which OpenSM never seeds here; from a pair that is not in the
// fullest layer, or was tried in vain, on to the next one that is.
func (w *lash) balance() {
	if len(w.layers) == 1 {
		return
	}
	open := make([]*openPairs, len(w.layers))
	for i := range open {
		open[i] = newOpenPairs(w.n)
	}
	for at, next := range w.next {
		if next >= 0 {
			open[w.layer[at]].set(at/w.n, at%w.n, true)
		}
	}
	var tried [][2]int // pairs, all in one layer or another
	forget := func(layer int) {
		kept := tried[:0]
		for _, pair := range tried {
			if int(w.layer[pair[0]*w.n+pair[1]]) == layer {
				open[layer].set(pair[0], pair[1], true)
			} else {
				kept = append(kept, pair)
			}
		}
		tried = kept
	}
	random := newCRandom(1)
	high, low := 0, len(w.layers)-1
	trials := w.pairs[high]
	for {
		src, dst := random.next()%w.n, random.next()%w.n
		src, dst, found := open[high].next(src, dst)
		if !found {
			return
		}
		open[high].set(src, dst, false)
		if w.addPair(w.layers[low], int32(src), int32(dst)) {
			w.removePair(w.layers[high], int32(src), int32(dst))
			w.layer[src*w.n+dst], w.layer[dst*w.n+src] = uint8(low), uint8(low)
			open[low].set(src, dst, true)
			w.pairs[high] -= 2
			w.pairs[low] += 2
		} else {
			tried = append(tried, [2]int{src, dst})
			trials -= 2
		}
		if trials == 0 || w.pairs[high]-w.pairs[low] < 6 {
			return
		}
		oldHigh, oldLow := high, low
		least, most := lashCeiling, 0
		for i, pairs := range w.pairs {
			if pairs < least {
				low, least = i, pairs
			}
			if pairs > most {
				high, most = i, pairs
			}
		}
		if low != oldLow {
			trials = w.pairs[high]
			forget(high)
		}
		if high != oldHigh {
			trials = w.pairs[high]
			forget(oldHigh)
		}
	}
}
