package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// OmniWARConfig holds the settings of routing "omniwar".
type OmniWARConfig struct {
	Deroutes int `toml:"deroutes" doc:"most deroutes of a packet, each of them a virtual channel; -1: as many as switch.vcs leaves, or one for each dimension" min:"-1" max:"15"`
	DerouteSettings
}

func init() {
	Register("omniwar", "OmniWAR: minimal adaptive on HyperX in any order of dimensions, with deroutes while virtual channels are left for them", Use{On: AllToAll},
		OmniWARConfig{-1, DerouteSettings{"credits", false}}, newOmniWAR)
}

// newOmniWAR makes OmniWAR, omni-dimensional, weighted adaptive routing (McDonald, Isaev, Flores, Davis
// and Kim, SC 2019): see [deroutes] for the choice. A packet takes its dimensions in any
// order and may be derouted in any dimension in which it is not aligned, but not in the
// one in which it just has been, while more VC classes are left than it has dimensions
// to align.
//
// Deadlock: hops are numbered, and the class rises at each. A packet on hop number i
// (from 0) with a dimensions to align has at least a classes left: n+m virtual
// channels for n dimensions and m deroutes. That no dimension is derouted in twice
// running is for performance.
//
// The text of the paper was not at hand: this is after its abstract and the
// description in the atlas's reference data. The decision falls as a packet reaches
// the front of its buffer.
func newOmniWAR(config OmniWARConfig, env Env) (fabric.Routing, error) {
	n := len(env.Topology.(topology.Hamming).Dims())
	m := config.Deroutes
	switch {
	case m >= 0:
	case env.VCs != 0:
		m = max(0, env.VCs-n)
	default:
		m = max(0, min(n, maxVCs-n))
	}
	return newDeroutes("omniwar", ruleOmniWAR, n+m, config.DerouteSettings, env)
}
