package routing

import (
	"errors"

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
// Memory: that of two portSets.
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
	w := newWidely(&u.phases[phaseUp], &u.phases[phaseDown])
	w.one = config.Ties == "one"
	n, ports := u.graph.Switches(), u.graph.NumPorts()
	for p, s := range u.graph.PortSwitch {
		up, down := &w.peers[phaseUp*ports+p], &w.peers[phaseDown*ports+p]
		*up, *down = -1, -1
		peer, ok := u.graph.PeerPort(topology.PortID(p))
		if !ok {
			continue
		}
		if t := u.graph.PortSwitch[peer]; u.rank[t] > u.rank[s] {
			*down = int32(phaseDown*n) + int32(t)
			*up = *down
		} else {
			*up = int32(phaseUp*n) + int32(t)
		}
	}
	// From anywhere a packet that may go up has a path, over the root if need be.
	err = w.run(func(int, topology.SwitchID) error { return nil })
	return u, errors.Join(err, checkVCs(name, 1, env))
}

func (u *upDownStar) VCs() int { return 1 }

func (u *upDownStar) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (u *upDownStar) IgnoresTerminals() bool { return true }

// Needs implements [fabric.Needer].
func (u *upDownStar) Needs() fabric.Needs {
	return fabric.Needs{Credits: u.settings.Ties == "least-occupied"}
}

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
