package traffic

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// WorstCaseConfig holds the settings of pattern "worst-case".
type WorstCaseConfig struct {
	Offset int `toml:"offset" doc:"groups from a terminal's own to the one that it sends to" min:"1"`
}

func init() {
	param.Register(Patterns, "worst-case", "each group sends to random terminals of the next one (WC of the dragonfly)", WorstCaseConfig{1}, newWorstCase)
}

// worstCase is the adversarial pattern of the dragonfly (Kim, Dally, Scott,
// Abts, ISCA 2008, section 4.2; bad_dragon in BookSim2): every terminal of group
// i sends to a random terminal of group i + offset, modulo the groups, so that
// the minimal paths of a whole group share the channels between the two.
type worstCase struct {
	groups division
	next   []int32 // by group
}

// grouped is what the pattern needs of a topology: of its groups, only which switch is in
// which.
type grouped interface {
	topology.Topology
	Groups() int
	GroupOf(s topology.SwitchID) int
}

func newWorstCase(config WorstCaseConfig, env Env) (Pattern, error) {
	grouped, ok := env.Topology.(grouped)
	if !ok {
		return nil, lacks("worst-case", "groups", env)
	}
	n := grouped.Groups()
	if config.Offset%n == 0 {
		return nil, &param.ParamError{Key: "offset", Value: config.Offset, Want: "a number that leads to another group than the sender's"}
	}
	w := &worstCase{groups: divide(grouped.Graph(), n, grouped.GroupOf)}
	for i, members := range w.groups.members {
		if len(members) == 0 {
			return nil, needs("worst-case", "terminals in every group; group %d has none", i)
		}
		w.next = append(w.next, int32((i+config.Offset%n)%n))
	}
	return w, nil
}

// targets are the terminals that src sends to.
func (w *worstCase) targets(src topology.TerminalID) []topology.TerminalID {
	return w.groups.members[w.next[w.groups.class[src]]]
}

func (w *worstCase) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	targets := w.targets(src)
	return targets[r.IntN(len(targets))]
}

func (w *worstCase) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	targets := w.targets(src)
	for _, dst := range targets {
		yield(dst, 1/float64(len(targets)))
	}
}
