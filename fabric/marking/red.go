package marking

import (
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// RED holds the settings of policy "red".
type RED struct {
	From        int     `toml:"mark_from_flits" doc:"mean of the flits waiting for the port up to which no packet is marked" unit:"flits" min:"0"`
	To          int     `toml:"mark_to_flits" doc:"mean from which every packet is marked" unit:"flits" min:"1"`
	Probability float64 `toml:"mark_probability" doc:"of a mark just below mark_to_flits; it grows from mark_from_flits on in proportion" min:"0" max:"1"`
	Weight      float64 `toml:"mark_weight" doc:"of what waits now in the moving mean; 1: no mean" min:"0.000001" max:"1"`
}

// Validate checks that the two ends are in order; see [param.Validate].
func (c *RED) Validate() error {
	if c.To <= c.From {
		return &param.ParamError{Key: "mark_to_flits", Value: c.To, Want: "more than mark_from_flits"}
	}
	return nil
}

func init() {
	param.Register(Registry, "red", "packets at random, the more so the more flits wait for their port", RED{16, 64, 0.1, 1},
		func(c RED, e Env) (Policy, error) { return &red{c, sim.NewStream(e.Seed, "red", e.Port), 0}, nil })
}

// red is random early detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4),
// 1993, section IV), which marks; with a weight of 1 it is the marking of DCQCN's switches
// (Zhu et al., SIGCOMM 2015, section 3.1).
//
// Deviations: the mean moves with packets that leave, not with those that come, and not while
// the port is idle; the probability does not grow with the packets since the last mark.
type red struct {
	RED
	stream sim.Stream
	mean   float64
}

// Mark implements [Policy]. It draws for every packet between the two ends only.
func (r *red) Mark(p *Leaving) bool {
	r.mean += r.Weight * (float64(p.Waiting) - r.mean)
	switch {
	case r.mean <= float64(r.From):
		return false
	case r.mean >= float64(r.To):
		return true
	}
	return r.stream.Float64() < r.Probability*(r.mean-float64(r.From))/float64(r.To-r.From)
}

// Archive implements [Policy].
func (r *red) Archive(a *snapshot.Archive) {
	sim.ArchiveStream(a, &r.stream)
	snapshot.Float(a, &r.mean)
}
