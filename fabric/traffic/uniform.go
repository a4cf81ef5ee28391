package traffic

import (
	"errors"
	"fmt"
	"slices"

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
	param.Register(Patterns, "hot-spot", "a share of the packets to a few terminals, the others to random ones", HotSpotConfig{0.1, []int{0}}, newHotSpot)
	param.Register(Patterns, "worst-case", "each group sends to random terminals of the next one (WC of the dragonfly)", WorstCaseConfig{1}, newWorstCase)
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

// HotSpotConfig holds the settings of pattern "hot-spot".
type HotSpotConfig struct {
	Fraction float64 `toml:"fraction" doc:"share of the packets that go to a hot spot" min:"0" max:"1"`
	Targets  []int   `toml:"targets" doc:"terminals that are hot spots, equally hot"`
}

// hotSpot sends each packet with probability fraction to one of the targets
// and otherwise to a random other terminal (Pfister and Norton, IEEE
// Transactions on Computers 1985). A target that draws itself sends to a random
// other terminal instead.
type hotSpot struct {
	fraction float64
	targets  []topology.TerminalID
	rest     uniform
}

func newHotSpot(config HotSpotConfig, env Env) (Pattern, error) {
	n := env.Topology.Graph().Terminals()
	var problems []error
	if n < 2 {
		problems = append(problems, needs("hot-spot", "at least two terminals; this topology has %d", n))
	}
	if len(config.Targets) == 0 {
		problems = append(problems, &param.ParamError{Key: "targets", Value: "[]", Want: "at least one terminal"})
	}
	h := &hotSpot{config.Fraction, nil, uniform{n, false}}
	for i, t := range config.Targets {
		key := fmt.Sprintf("targets[%d]", i)
		switch id := topology.TerminalID(t); {
		case t < 0 || t >= n:
			problems = append(problems, &param.ParamError{Key: key, Value: t, Want: fmt.Sprintf("a terminal, 0 to %d", n-1)})
		case slices.Contains(h.targets, id):
			problems = append(problems, &param.ParamError{Key: key, Value: t, Want: "each terminal at most once"})
		default:
			h.targets = append(h.targets, id)
		}
	}
	return h, errors.Join(problems...)
}

func (h *hotSpot) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	if r.Float64() < h.fraction {
		if t := h.targets[r.IntN(len(h.targets))]; t != src {
			return t
		}
	}
	return h.rest.Destination(src, r)
}

func (h *hotSpot) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	share := h.fraction / float64(len(h.targets))
	uniformly := 1 - h.fraction
	for _, t := range h.targets {
		if t == src {
			uniformly += share
		} else {
			yield(t, share)
		}
	}
	h.rest.Weights(src, func(dst topology.TerminalID, weight float64) { yield(dst, uniformly*weight) })
}

// WorstCaseConfig holds the settings of pattern "worst-case".
type WorstCaseConfig struct {
	Offset int `toml:"offset" doc:"groups from a terminal's own to the one that it sends to" min:"1"`
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
