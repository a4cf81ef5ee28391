package multicast

// bitset is a set of small numbers, one bit each.
type bitset []uint64

func (b bitset) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }

func (b bitset) set(i int) { b[i>>6] |= 1 << (i & 63) }

func (b bitset) clear(i int) { b[i>>6] &^= 1 << (i & 63) }

// grow makes room for i.
func (b *bitset) grow(i int) {
	for i>>6 >= len(*b) {
		*b = append(*b, 0)
	}
}
