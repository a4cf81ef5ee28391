package hca

import "math/bits"

// contextCache holds the QP contexts that an adapter has at hand: sets of
// contextWays, least recently used out first. A miss of the model costs what
// the configuration says; nothing else depends on what the cache holds.
type contextCache struct {
	ways []QP // contextWays per set, most recent first; empty if all contexts are at hand
	mask uint64
}

const contextWays = 8

// noQP marks an empty way.
const noQP QP = -1 << 63

// newContextCache makes a cache of at least so many entries: the next power of
// two.
func newContextCache(entries int) contextCache {
	if entries == 0 {
		return contextCache{}
	}
	sets := 1 << bits.Len(uint((entries+contextWays-1)/contextWays-1))
	c := contextCache{ways: make([]QP, sets*contextWays), mask: uint64(sets - 1)}
	for i := range c.ways {
		c.ways[i] = noQP
	}
	return c
}

// touch uses a context and tells whether it was there.
func (c *contextCache) touch(qp QP) (hit bool) {
	if len(c.ways) == 0 {
		return true
	}
	h := uint64(qp) * 0x9e3779b97f4a7c15
	set := c.ways[(h>>32&c.mask)*contextWays:][:contextWays]
	last := QP(qp)
	for i, w := range set {
		set[i] = last
		if w == qp {
			return true
		}
		last = w
	}
	return false
}
