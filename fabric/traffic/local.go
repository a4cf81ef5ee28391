package traffic

import (
	"errors"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// LocalConfig holds the settings of pattern "local".
type LocalConfig struct {
	Switch float64 `toml:"switch" doc:"share of the packets that stay at their switch" min:"0" max:"1"`
	Group  float64 `toml:"group" doc:"share of the packets that stay in their group: of a dragonfly or megafly, or the leaves below common switches of a tree (its pod), their own switch included" min:"0" max:"1"`
}

func init() {
	param.Register(Patterns, "local", "shares of the packets stay at their switch and in their group, the others go anywhere", LocalConfig{0.5, 0}, newLocal)
}

// local sends packets to a random other terminal: of the same switch with probability switch, of
// the same group with probability group, else of all.
type local struct {
	atSwitch, inGroup float64
	switches, groups  neighbours
	all               uniform
}

func newLocal(config LocalConfig, env Env) (Pattern, error) {
	g := env.Topology.Graph()
	n := g.Terminals()
	if n < 2 {
		return nil, needs("local", "at least two terminals; this topology has %d", n)
	}
	var problems []error
	if config.Switch+config.Group > 1 {
		problems = append(problems, &param.ParamError{Key: "group", Value: config.Group, Want: "at most what switch leaves of 1"})
	}
	l := &local{atSwitch: config.Switch, inGroup: config.Group, all: uniform{n, false}}
	l.switches = neighboursOf(divide(g, g.Switches(), func(s topology.SwitchID) int { return int(s) }))
	if config.Switch > 0 && l.switches.lonely() {
		problems = append(problems, needs("local", "two terminals or more at every switch that has any, where packets stay at their switch"))
	}
	if config.Group > 0 {
		groupOf, count := groups(env.Topology)
		if groupOf == nil {
			problems = append(problems, lacks("local", "groups or pods", env))
			return nil, errors.Join(problems...)
		}
		l.groups = neighboursOf(divide(g, count, groupOf))
		if l.groups.lonely() {
			problems = append(problems, needs("local", "two terminals or more in every group that has any, where packets stay in them"))
		}
	}
	return l, errors.Join(problems...)
}

// lonely tells whether some class has one member only.
func (d *division) lonely() bool {
	return slices.ContainsFunc(d.members, func(m []topology.TerminalID) bool { return len(m) == 1 })
}

// groups are the groups of a topology's switches with terminals, or a tree's pods (leaves that a
// switch above joins); nil: none.
func groups(t topology.Topology) (groupOf func(topology.SwitchID) int, count int) {
	switch t := t.(type) {
	case grouped:
		return t.GroupOf, t.Groups()
	case topology.Tree:
		pods := podsOf(t)
		return func(s topology.SwitchID) int { return int(pods[s]) }, t.Graph().Switches()
	}
	return nil, 0
}

// podsOf gives each leaf the lowest leaf that switches of the next level join it to.
func podsOf(t topology.Tree) []topology.SwitchID {
	g := t.Graph()
	pod := topology.Numbers[topology.SwitchID](g.Switches())
	root := func(s topology.SwitchID) topology.SwitchID {
		for pod[s] != s {
			pod[s] = pod[pod[s]]
			s = pod[s]
		}
		return s
	}
	for i := range pod {
		above := topology.SwitchID(i)
		if t.LevelOf(above) != 1 {
			continue
		}
		first := topology.SwitchID(-1)
		for _, below := range g.Links(above) {
			if t.LevelOf(below) != 0 {
				continue
			}
			leaf := root(below)
			if first < 0 {
				first = leaf
			}
			pod[max(first, leaf)] = min(first, leaf)
			first = min(first, leaf)
		}
	}
	for s := range pod {
		pod[s] = root(topology.SwitchID(s))
	}
	return pod
}

// neighbours is a division of which members are drawn.
type neighbours struct {
	division
	size int // of all classes, if each is a run of terminals; 0: they are not
}

func neighboursOf(d division) neighbours {
	size := 0
	for t, c := range d.class {
		if d.index[t] == 0 {
			size = max(size, len(d.members[c]))
		}
	}
	for t := range d.class {
		if len(d.class)%size != 0 || int(d.index[t]) != t%size {
			return neighbours{d, 0}
		}
	}
	return neighbours{d, size}
}

// other is a random terminal of src's class but src.
func (n *neighbours) other(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	if n.size > 0 { // looks nothing up: tables of large networks are in no cache
		first := int(src) / n.size * n.size
		dst := first + r.IntN(n.size-1)
		if dst >= int(src) {
			dst++
		}
		return topology.TerminalID(dst)
	}
	members := n.members[n.class[src]]
	i := r.IntN(len(members) - 1)
	if i >= int(n.index[src]) {
		i++
	}
	return members[i]
}

func (l *local) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	switch x := r.Float64(); {
	case x < l.atSwitch:
		return l.switches.other(src, r)
	case x < l.atSwitch+l.inGroup:
		return l.groups.other(src, r)
	}
	return l.all.Destination(src, r)
}

func (l *local) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	among := func(d *neighbours, share float64) {
		if share == 0 {
			return
		}
		members := d.members[d.class[src]]
		for _, dst := range members {
			if dst != src {
				yield(dst, share/float64(len(members)-1))
			}
		}
	}
	among(&l.switches, l.atSwitch)
	among(&l.groups, l.inGroup)
	if rest := 1 - l.atSwitch - l.inGroup; rest > 0 {
		l.all.Weights(src, func(dst topology.TerminalID, weight float64) { yield(dst, rest*weight) })
	}
}
