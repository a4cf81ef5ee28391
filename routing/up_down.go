package routing

import (
	"errors"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// ranking is the order of switches that up*/down* routing rests on (Autonet: Schroeder et al., IEEE
// Journal on Selected Areas in Communications 1991): channels that lead to a switch nearer to the
// root, or as near and of a lower number, are up, all others down, and no packet goes up after it
// has gone down. Channels up lead to ever earlier switches in this order, channels down to ever
// later ones, so that no dependencies close a cycle.
type ranking struct {
	*portSets
	rank   []int32     // len = switches: place in the order
	phases [2]portSets // shortest allowed paths, of packets in each phase
}

const (
	phaseUp   = 0 // the packet may still go up
	phaseDown = 1
)

// newRanking orders the switches of x's graph from a root; root < 0: the lowest switch whose
// farthest leaf is the nearest.
func newRanking(x *portSets, root int) *ranking {
	g := x.graph
	r := &ranking{portSets: x, rank: make([]int32, g.Switches())}
	if root < 0 {
		root = r.center()
	}
	row := g.DistancesFrom(topology.SwitchID(root), nil)
	order := topology.Numbers[int](g.Switches())
	slices.SortStableFunc(order, func(a, b int) int { return int(row[a]) - int(row[b]) })
	for i, s := range order {
		r.rank[s] = int32(i)
	}
	return r
}

// center is the switch whose farthest leaf is the nearest.
func (r *ranking) center() int {
	farthest := make([]int, len(r.rank))
	w := newWidely(r.portSets)
	w.masks = nil
	w.along(nil)
	w.reached = func(_ int, s topology.SwitchID, _ int, _ uint64, hops int) { farthest[s] = max(farthest[s], hops) }
	w.run(func(s int, _ topology.SwitchID) error { // never an error
		farthest[s] = math.MaxInt
		return nil
	})
	return slices.Index(farthest, slices.Min(farthest))
}

// search is for the shortest allowed paths by the cables that are not down; to be run.
func (r *ranking) search(down *topology.Down) *widely {
	r.down = down
	r.phases = [2]portSets{*r.portSets, *r.portSets}
	w := newWidely(&r.phases[phaseUp], &r.phases[phaseDown])
	w.along(down)
	n, ports := r.graph.Switches(), r.graph.NumPorts()
	for p, s := range r.graph.PortSwitch {
		up, down := &w.peers[phaseUp*ports+p], &w.peers[phaseDown*ports+p]
		if *down = -1; *up >= 0 && !r.climbs(s, topology.SwitchID(*up)) {
			*up += int32(phaseDown * n)
			*down = *up
		}
	}
	return w
}

// climbs tells whether a cable from one switch to another leads up.
func (r *ranking) climbs(from, to topology.SwitchID) bool { return r.rank[to] < r.rank[from] }

// phase is the phase, up or down, of a packet at a switch that it has come to by a port.
func (r *ranking) phase(h *fabric.Head) int {
	if before, ok := r.graph.PeerPort(h.In); ok && r.climbs(h.Switch, r.graph.PortSwitch[before]) {
		return phaseDown
	}
	return phaseUp
}

// ways lists the ports that a packet may leave by, relative to the switch's first.
func (r *ranking) ways(h *fabric.Head) []uint16 {
	return r.phases[r.phase(h)].to(h.Switch, r.column[h.Dst])
}

// escape is up*/down* routing as an escape function: each (switch, destination) has one of the
// shortest allowed paths, by a hash.
func (r *ranking) escape() escapeFunction {
	w := r.search(nil)
	w.one, w.byNumber = true, true
	w.run(func(int, topology.SwitchID) error { return nil }) // never an error
	return escapeFunction{vcs: 1, final: true, unused: []string{"vc_rule"}, next: func(h *fabric.Head, fresh bool, vcs int) (topology.PortID, uint32) {
		phase := phaseUp
		if !fresh {
			phase = r.phase(h)
		}
		return r.graph.PortStart[h.Switch] + topology.PortID(r.phases[phase].to(h.Switch, r.column[h.Dst])[0]), OneVC(0, vcs)
	}}
}

// UpDownConfig holds the settings of routing "up-down".
type UpDownConfig struct {
	Ties string `toml:"ties" doc:"choice between several next hops of shortest allowed paths: one, the same for all packets to a switch; random at each switch; or least-occupied, fewest credits outstanding at each switch" choices:"one|random|least-occupied"`
	Root int    `toml:"root" doc:"switch that all others are ordered from; -1: the one whose farthest switch with terminals is the nearest" min:"-1"`
}

func init() {
	Register("up-down", "up*/down* on any graph: up towards a root, then down; one virtual channel", Use{}, UpDownConfig{"random", -1}, newUpDownStar)
}

// upDownStar is up*/down* routing by the shortest paths that it allows; Autonet's tables hold
// the longer ones too. With ties = "least-occupied" it is adaptive. (Minimal adaptive routing
// with up*/down* as its escape is "adaptive-escape".)
//
// Deadlock: channels are ordered, see [ranking]; any virtual channel may be used, and one suffices.
// Paths are longer than shortest ones in general, and channels near the root carry the most.
//
// Memory: two portSets.
type upDownStar struct {
	plain
	*ranking
	ties ties
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
	u := &upDownStar{ranking: newRanking(sets, config.Root), ties: tiesByName[config.Ties]}
	w := u.search(nil)
	w.one = config.Ties == "one"
	// From anywhere a packet that may go up has a path, over the root if need be.
	err = w.run(func(int, topology.SwitchID) error { return nil })
	return u, errors.Join(err, CheckVCs(name, 1, env))
}

func (u *upDownStar) VCs() int { return 1 }

func (u *upDownStar) Needs() fabric.Needs { return fabric.Needs{Credits: u.ties.adaptive()} }

func (u *upDownStar) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	ways := u.ways(h)
	if len(ways) == 0 {
		return u.last(h, v.VCs())
	}
	return fabric.Hop{Port: u.choose(u.ties, v, h, ways, 0), VCs: v.AllVCs()}
}

func (u *upDownStar) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	u.explore(u.ties, h, u.ways(&h), 0, 1, vcs, anyVC, yield)
}
