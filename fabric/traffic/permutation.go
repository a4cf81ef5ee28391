package traffic

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// PermutationConfig holds the settings of pattern "permutation".
type PermutationConfig struct {
	Self bool `toml:"self" doc:"terminals may be their own destination; otherwise permutations with such terminals are drawn again"`
}

func init() {
	param.Register(Patterns, "permutation", "a random permutation, fixed for the run by the seed", PermutationConfig{}, newPermutation)
}

// newPermutation draws a permutation of the terminals uniformly, from all or
// from those without fixed points; of all permutations, one in e has none.
func newPermutation(config PermutationConfig, env Env) (Pattern, error) {
	n := env.Topology.Graph().Terminals()
	if n < 2 && !config.Self {
		return nil, needs("permutation", "at least two terminals (one, with self = true); this topology has %d", n)
	}
	stream := sim.NewStream(env.Seed, "permutation", 0)
	p := tabulate(n, func(src int) int { return src })
	for {
		sim.Shuffle(&stream, p)
		if config.Self || !p.hasFixedPoint() {
			return p, nil
		}
	}
}

func (f fixed) hasFixedPoint() bool {
	for src, dst := range f {
		if topology.TerminalID(src) == dst {
			return true
		}
	}
	return false
}
