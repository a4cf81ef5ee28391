package routing

import (
	"errors"

	"github.com/weft-sim/weft/fabric"
)

// MinConfig holds the settings of routing "min".
type MinConfig struct {
	FirstVC int `toml:"first_vc" doc:"virtual channel in the source group; the group behind the global hop uses the next one" min:"0" max:"6"`
	GroupSettings
}

func init() {
	Register("min", "minimal on groups: local, global, local hop; the virtual channel rises at the global hop", Use{On: Groups, Faults: true},
		MinConfig{GroupSettings: defaultGroups()}, newMin)
}

// minimal is MIN on a dragonfly (Kim, Dally, Scott, Abts, ISCA 2008, section
// 4.1): a local hop to a switch with a channel into the destination's group,
// that channel, a local hop to the destination's switch; fewer where source or
// destination switch are gateways.
//
// Deadlock: write L and G for local and global channels and f for first_vc. A
// path is part of L_f G_f+1 L_f+1 (global_vc = "next") or L_f G_f L_f+1
// ("same"); a packet never waits for a channel to the left of one it holds, so
// the dependency graph has no cycle. first_vc + 2 virtual channels suffice.
//
// global_vc = "next", first_vc = 0 is BookSim2's assignment: VC 1 on the global
// channel and behind it, VC 0 before and within a group. first_vc = 1 is that
// of the dragonfly paper, where minimal packets start on VC 1 to be told from
// Valiant ones.
type minimal struct{ *groupWalk }

func newMin(config MinConfig, env Env) (fabric.Routing, error) {
	walk, err := newGroupWalk("min", env, config.GroupSettings)
	if err != nil {
		return nil, err
	}
	walk.classes = config.FirstVC + 2
	walk.minimalVC, walk.localVC = uint32(config.FirstVC), uint32(config.FirstVC)
	return &minimal{walk}, errors.Join(CheckVCs("min", walk.classes, env), walk.joins("min", false))
}

func (m *minimal) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	// No branch: nothing predicts whether the packet is at its source.
	begun := uint32(int32(h.State|-h.State) >> 31)
	h.State |= minimalState(m.minimalVC) &^ begun
	return m.next(h, v.VCs(), v.Random(h.Switch))
}

func (m *minimal) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	if h.State == 0 {
		launchMinimal(&h, m.minimalVC)
	}
	m.explore(vcs, h, 1, yield)
}
