package marking

import (
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Threshold holds the settings of policy "threshold".
type Threshold struct {
	Flits int  `toml:"mark_flits" doc:"flits waiting for the port from which packets are marked" unit:"flits" min:"1"`
	Every int  `toml:"mark_every" doc:"marks one of so many packets that find the port so" unit:"packets" min:"1"`
	Roots bool `toml:"mark_roots" doc:"only packets for whom there is a credit more than for one flit: ports that wait for credits are victims, not roots, of congestion"`
}

func init() {
	param.Register(Registry, "threshold", "packets that leave by a port for which many flits wait", Threshold{Flits: 32, Every: 1},
		func(c Threshold, _ Env) (Policy, error) { return &threshold{c, 0}, nil })
}

// threshold is the plain form of [infiniband]: a number of flits, whose port, not whose lane, is
// congested.
type threshold struct {
	Threshold
	passed int // packets since the last one that was marked
}

// Mark implements [Policy].
func (t *threshold) Mark(p *Leaving) bool {
	if p.Waiting < t.Flits || t.Roots && p.Credits < 2 {
		return false
	}
	if t.passed++; t.passed < t.Every {
		return false
	}
	t.passed = 0
	return true
}

// Archive implements [Policy].
func (t *threshold) Archive(a *snapshot.Archive) { snapshot.Int(a, &t.passed) }
