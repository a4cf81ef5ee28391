package traffic

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// UniformConfig holds the settings of pattern "uniform".
type UniformConfig struct {
	Self bool `toml:"self" doc:"terminals also send to themselves, as in BookSim2; such packets cross their switch once"`
}

func init() {
	param.Register(Patterns, "uniform", "every packet to a random terminal (UR)", UniformConfig{}, newUniform)
}

// uniform sends each packet to a terminal drawn uniformly: from the others, or
// from all where self is set.
type uniform struct {
	n    int
	self bool
}

func newUniform(config UniformConfig, env Env) (Pattern, error) {
	n := env.Topology.Graph().Terminals()
	if n == 0 || n == 1 && !config.Self {
		return nil, needs("uniform", "at least two terminals (one, with self = true); this topology has %d", n)
	}
	return &uniform{n, config.Self}, nil
}

func (u *uniform) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	if u.self {
		return topology.TerminalID(r.IntN(u.n))
	}
	dst := topology.TerminalID(r.IntN(u.n - 1))
	if dst >= src {
		dst++
	}
	return dst
}

func (u *uniform) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	weight, self := u.Even()
	for dst := range topology.TerminalID(u.n) {
		if dst != src || self {
			yield(dst, weight)
		}
	}
}

// Even is the share of each destination; self tells that a terminal is its own, too.
func (u *uniform) Even() (weight float64, self bool) {
	if u.self {
		return 1 / float64(u.n), true
	}
	return 1 / float64(u.n-1), false
}
