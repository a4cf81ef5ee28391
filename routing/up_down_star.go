package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// UpDownConfig holds the settings of routing "up-down".
type UpDownConfig struct {
	Ties string `toml:"ties" doc:"choice between several next hops of shortest allowed paths: one, the same for all packets to a switch; random at each switch; or least-occupied, fewest credits outstanding at each switch" choices:"one|random|least-occupied"`
	Root int    `toml:"root" doc:"switch that all others are ordered from; -1: the one whose farthest switch with terminals is the nearest" min:"-1"`
}

func init() {
	Register("up-down", "up*/down* on any graph: up towards a root, then down; one virtual channel", Use{}, UpDownConfig{"random", -1}, newUpDownStar)
}

// upDownStar is up*/down* routing (Autonet: Schroeder et al., IEEE Journal on Selected
// Areas in Communications 1991) by the shortest paths that it allows. With ties =
// "least-occupied" it is adaptive: all shortest allowed paths are used by the queues
// that packets find. (Minimal adaptive routing with up*/down* as its escape is
// "adaptive-escape".)
//
// Deadlock: channels are ordered, see [ranking]; any virtual channel may be used, and
// one suffices. Paths are longer than shortest ones in general, and channels near the
// root carry the most.
//
// Autonet's tables hold all allowed paths, the longer ones too; here only the shortest
// allowed ones are taken.
//
// Memory: that of two portSets; while it is built, 4 bytes for each (switch, switch
// with terminals).
type upDownStar struct {
	*ranking
	phases   [2]portSets
	settings UpDownConfig
}

func newUpDownStar(config UpDownConfig, env Env) (fabric.Routing, error) {
	const name = "up-down"
	sets, _, err := newPortSets(name, env.Topology.Graph())
	if err != nil {
		return nil, err
	}
	if n := sets.graph.Switches(); config.Root >= n {
		return nil, &param.ParamError{Key: "root", Value: config.Root, Want: "a switch of this topology, or -1"}
	}
	if err := sets.connected(name); err != nil {
		return nil, err
	}
	u := &upDownStar{ranking: newRanking(sets, config.Root), phases: [2]portSets{*sets, *sets}, settings: config}
	n := len(u.rank)
	var hops legalHops
	var all [2][]int16 // by phase: hops[column*n+s]
	for phase := range all {
		all[phase] = make([]int16, n*u.leaves)
	}
	for column, leaf := range u.ends {
		u.measure(leaf, &hops)
		for phase := range all {
			for s, d := range hops[phase] {
				all[phase][column*n+s] = int16(min(d, 1<<15-2))
			}
		}
	}
	for phase := range u.phases {
		u.phases[phase].fill(func(s topology.SwitchID, masks []byte, width int) { u.mark(phase, s, masks, width, &all) })
	}
	return u, checkVCs(name, 1, env)
}

// mark sets in masks the bits of the ports of switch s that lead on to each leaf.
func (u *upDownStar) mark(phase int, s topology.SwitchID, masks []byte, width int, all *[2][]int16) {
	n := len(u.rank)
	first, end := u.graph.Ports(s)
	for p := first; p < end; p++ {
		peer, ok := u.graph.PeerPort(p)
		if !ok {
			continue
		}
		t, then := u.graph.PortSwitch[peer], phaseDown
		if u.rank[t] < u.rank[s] {
			if then = phaseUp; phase == phaseDown {
				continue
			}
		}
		bit := int(p - first)
		for column := range u.leaves {
			own := all[phase][column*n+int(s)]
			if own > 0 && all[then][column*n+int(t)] == own-1 {
				masks[column*width+bit/8] |= 1 << (bit % 8)
			}
		}
	}
	if u.settings.Ties == "one" {
		for leaf := range u.leaves {
			leaveOne(masks[leaf*width:][:width], s, leaf)
		}
	}
}

func (u *upDownStar) VCs() int { return 1 }

func (u *upDownStar) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (u *upDownStar) IgnoresTerminals() bool { return true }

// ways lists the ports that a packet may leave by, relative to the switch's first.
func (u *upDownStar) ways(h *fabric.Head) []uint16 {
	return u.phases[u.phase(h)].to(h.Switch, u.column[h.Dst])
}

func (u *upDownStar) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	ways, first := u.ways(h), u.graph.PortStart[h.Switch]
	switch {
	case len(ways) == 0:
		return fabric.Hop{Port: u.graph.TerminalPort[h.Dst], VCs: v.AllVCs()}
	case len(ways) == 1:
		return fabric.Hop{Port: first + topology.PortID(ways[0]), VCs: v.AllVCs()}
	case u.settings.Ties == "least-occupied":
		return fabric.Hop{Port: first + topology.PortID(leastOccupied(v, first, ways, v.Random(h.Switch))), VCs: v.AllVCs()}
	}
	return fabric.Hop{Port: first + topology.PortID(ways[v.Random(h.Switch).IntN(len(ways))]), VCs: v.AllVCs()}
}

func (u *upDownStar) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	ways := u.ways(&h)
	if len(ways) == 0 {
		yield(fabric.Hop{Port: u.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}, h.State, 1)
		return
	}
	weight := 1 / float64(len(ways))
	if u.settings.Ties == "least-occupied" {
		weight = 0
	}
	for _, local := range ways {
		yield(fabric.Hop{Port: u.graph.PortStart[h.Switch] + topology.PortID(local), VCs: allVCs(vcs)}, h.State, weight)
	}
}
