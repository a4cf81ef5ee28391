package marking

import (
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Threshold holds the settings of policy "threshold".
type Threshold struct {
	Flits int `toml:"mark_flits" doc:"flits waiting for the port from which packets are marked" unit:"flits" min:"1"`
}

func init() {
	param.Register(Registry, "threshold", "packets that leave by a port for which many flits wait", Threshold{32},
		func(c Threshold, _ Env) (Policy, error) { return threshold(c), nil })
}

// threshold is the plain form of [infiniband]: a number of flits, whose port, not whose lane, is
// congested.
type threshold Threshold

// Mark implements [Policy].
func (t threshold) Mark(p *Leaving) bool { return p.Waiting >= t.Flits }

// Archive implements [Policy].
func (threshold) Archive(*snapshot.Archive) {}
