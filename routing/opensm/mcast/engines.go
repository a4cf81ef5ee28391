package mcast

import (
	"errors"

	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim/param"
)

// OpenSMSSSPConfig configures the engine opensm-sssp.
type OpenSMSSSPConfig struct {
	LMC      int  `toml:"lmc" min:"0" max:"7" doc:"each host port has 2^lmc LIDs, where an imported fabric does not say"`
	Fallback bool `toml:"fallback" doc:"route by minhop what sssp refuses, as OpenSM does without a word, in place of an error"`
}

func init() {
	param.Register(multicast.Registry, "minhop-mc", "OpenSM's MINIHOP-MC: the first most central root, lowest ports of the min-hop tables", struct{}{},
		func(_ struct{}, env multicast.Env) (multicast.Engine, error) {
			return multicast.NewPlainEngine(env, newMinHopMC(env.Graph, shortest{env.Hops}))
		})
	param.Register(multicast.Registry, "opensm-sssp", "OpenSM's SSSP-MC as it is: shortest paths by the weights that unicast routing left", OpenSMSSSPConfig{},
		func(c OpenSMSSSPConfig, env multicast.Env) (multicast.Engine, error) {
			builder, err := newSSSPMC(env.Graph, c.LMC)
			if refused := (*opensm.InfinityError)(nil); errors.As(err, &refused) && c.Fallback {
				return multicast.NewPlainEngine(env, newMinHopMC(env.Graph, shortest{env.Hops}))
			}
			if err != nil {
				return nil, err
			}
			return multicast.NewPlainEngine(env, builder)
		})
}

// NewMinHopMCFrom makes the engine minhop-mc for a subnet whose unicast routing
// left other min-hop tables than those of all shortest paths.
func NewMinHopMCFrom(env multicast.Env, m *LIDMatrix) (multicast.Engine, error) {
	if m.graph != env.Graph {
		panic("mcast: min-hop tables of another graph")
	}
	return multicast.NewPlainEngine(env, newMinHopMC(env.Graph, m))
}

var _ portTable = (*LIDMatrix)(nil)
