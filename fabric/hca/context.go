package hca

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/mem"
)

// contextCache holds the QP contexts that adapters have at hand: of each so many
// sets of contextWays, least recently used out first. A miss of the model costs
// what the configuration says; nothing else depends on what the cache holds.
type contextCache struct {
	sets       []contextSet // those of an adapter in a row; empty if all contexts are at hand
	perAdapter int          // a power of two
}

// contextSet fills a cache line of the machine that simulates it.
type contextSet [contextWays]QP // most recent first

const contextWays = 8

// noQP marks an empty way.
const noQP QP = -1 << 63

// newContextCache makes a cache of at least so many entries for each of n
// adapters: the next power of two.
func newContextCache(entries, n int) contextCache {
	if entries == 0 {
		return contextCache{}
	}
	c := contextCache{perAdapter: 1 << bits.Len(uint((entries+contextWays-1)/contextWays-1))}
	c.sets = mem.HugePages(make([]contextSet, n*c.perAdapter))
	var empty contextSet
	for way := range empty {
		empty[way] = noQP
	}
	for i := range c.sets {
		c.sets[i] = empty
	}
	return c
}

// touch uses a context of the adapter whose sets begin at first and tells
// whether it was there.
func (c *contextCache) touch(first int32, qp QP) (hit bool) {
	if len(c.sets) == 0 {
		return true
	}
	set := c.at(first, qp)
	last := qp
	for i, w := range set {
		set[i] = last
		if w == qp {
			return true
		}
		last = w
	}
	return false
}

// at is the set of a QP of the adapter whose sets begin at first.
func (c *contextCache) at(first int32, qp QP) *contextSet {
	return &c.sets[int(first)+setOf(qp)&(c.perAdapter-1)]
}

// setOf tells the number of a QP's set by its last bits.
func setOf(qp QP) int { return int(uint64(qp) * 0x9e3779b97f4a7c15 >> 32) }
