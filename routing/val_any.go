package routing

import (
	"github.com/weft-sim/weft/fabric"
)

// AnyValConfig holds the settings of routing "val" on graphs without groups or
// coordinates.
type AnyValConfig struct{ PathSettings }

func init() {
	Register("val", "Valiant: by a table of paths to a random switch, then to the destination; the virtual channel rises at every hop", Use{},
		AnyValConfig{defaultPaths("random", false)}, newAnyVal)
}

// anyVal is VAL on any graph (Valiant 1982; on low-diameter graphs Besta and Hoefler,
// SC 2014): by a table of paths, those of routing "table", to a switch drawn
// uniformly from those with terminals that are neither the source's nor the
// destination's, by the table from there to the destination. A packet that passes
// its destination's switch on the way out goes on.
//
// Deadlock: the n-th hop uses VC class n, as in routing "table"; as many classes are
// needed as the longest detour has hops, twice the diameter on most graphs.
//
// Choices that the papers leave open: packets for a terminal of their own switch, and
// all packets where there are fewer than three switches with terminals, go directly.
type anyVal struct{ *legWalk }

func newAnyVal(config AnyValConfig, env Env) (fabric.Routing, error) {
	walk, err := newLegWalk("val", config.PathSettings, env)
	return &anyVal{walk}, err
}

func (r *anyVal) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if h.State == 0 {
		h.State = direct()
		if column, ok := r.drawVia(h, v.Random(h.Switch)); ok {
			h.State = over(column)
		}
	}
	return r.next(v, h)
}

func (r *anyVal) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	switch {
	case h.State != 0:
		r.exploreNext(vcs, h, 1, yield)
	case !r.exploreDetours(vcs, h, 1, yield):
		h.State = direct()
		r.exploreNext(vcs, h, 1, yield)
	}
}
