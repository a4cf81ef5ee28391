package routing

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// Env is what a routing is built for.
type Env struct {
	Topology topology.Topology
	// TopologyName is what messages call the topology; may be empty.
	TopologyName string
	// VCs is the number of virtual channels that the channels will have; 0:
	// as many as the routing asks for.
	VCs int
	// Seed is the seed of choices that are made once, at construction.
	Seed uint64
	// AllowDeadlock accepts fewer VCs than freedom from deadlock needs. The
	// VC classes that are missing then share the highest channel there is.
	AllowDeadlock bool
	// Down is what is out of order, to be routed around; nil: nothing. Only
	// for the routings of [AroundFaults].
	Down *topology.Down
	// Shared keeps tables for the routings that are built with it; nil: each makes its
	// own. What it keeps is read only.
	Shared Sharing
}

// Sharing builds what key names once for all that ask.
type Sharing interface {
	Get(key string, build func() (any, error)) (any, error)
}

// Once is what build makes for the graph of env, once for all routings with the same
// [Env].Shared; key names it, with all that it depends on but the graph. In networks with
// faults it is made anew.
func Once[T any](env Env, key string, build func() (T, error)) (T, error) {
	if env.Shared == nil || env.Down != nil {
		return build()
	}
	value, err := env.Shared.Get(fmt.Sprintf("routing %p %s", env.Topology.Graph(), key), func() (any, error) { return build() })
	if err != nil {
		var none T
		return none, err
	}
	return value.(T), nil
}

// maxVCs is the number of virtual channels that the switch can have.
const maxVCs = 16

// checkVCs reports that routing name needs more virtual channels than env
// grants or than there can be.
func checkVCs(name string, need int, env Env) error {
	switch {
	case need > maxVCs:
		return fmt.Errorf("routing %q needs %d virtual channels on this topology; a channel can have %d", name, need, maxVCs)
	case env.VCs != 0 && env.VCs < need && !env.AllowDeadlock:
		return &param.ParamError{Key: "switch.vcs", Value: env.VCs, Want: fmt.Sprintf("at least %d, which routing %q needs to be free from deadlock here", need, name)}
	}
	return nil
}

// homes lists the switch of every terminal.
func homes(g *topology.Graph) []topology.SwitchID {
	home := make([]topology.SwitchID, g.Terminals())
	for t := range home {
		home[t] = g.TerminalSwitch(topology.TerminalID(t))
	}
	return home
}

// allVCs is the set of all of vcs virtual channels.
func allVCs(vcs int) uint32 { return uint32(1)<<vcs - 1 }

// oneVC is the set of virtual channel vc alone, or of the highest one where
// there are fewer.
func oneVC(vc uint32, vcs int) uint32 { return 1 << min(vc, uint32(vcs-1)) }

// classVCs is the set of virtual channels of class c when vcs channels are
// divided evenly among so many classes; with fewer channels than classes, the
// highest classes share the last channel.
func classVCs(c, classes, vcs int) uint32 {
	if vcs < classes {
		return oneVC(uint32(c), vcs)
	}
	return allVCs((c+1)*vcs/classes) &^ allVCs(c*vcs/classes)
}

// spread maps a key to one of n choices, evenly and without visible relation
// between keys that differ in a bit (finaliser of MurmurHash3).
func spread(key uint32, n int) int {
	key ^= key >> 16
	key *= 0x85ebca6b
	key ^= key >> 13
	key *= 0xc2b2ae35
	key ^= key >> 16
	return int(uint64(key) * uint64(n) >> 32)
}
