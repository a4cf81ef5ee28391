package routing

import (
	"errors"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// ranking is the order of switches that up*/down* routing rests on (Autonet:
// Schroeder et al., IEEE Journal on Selected Areas in Communications 1991): channels
// that lead to a switch nearer to the root, or as near and of a lower number, are up,
// all others down, and no packet goes up after it has gone down. Channels up lead to
// ever earlier switches in this order, channels down to ever later ones, so that no
// dependencies close a cycle.
type ranking struct {
	*portSets
	ends  []topology.SwitchID // leaves, by column
	order []topology.SwitchID
	rank  []int32 // len = switches: place in the order
}

const (
	phaseUp   = 0 // the packet may still go up
	phaseDown = 1
)

// newRanking orders the switches of x's graph from a root; root < 0: the switch whose
// farthest leaf is the nearest (the lowest number of several).
func newRanking(x *portSets, root int) *ranking {
	g := x.graph
	r := &ranking{portSets: x, rank: make([]int32, g.Switches()), ends: make([]topology.SwitchID, x.leaves)}
	for s, column := range x.leaf {
		if column >= 0 {
			r.ends[column] = topology.SwitchID(s)
		}
	}
	if root < 0 {
		root = r.center()
	}
	row := g.DistancesFrom(topology.SwitchID(root), nil)
	r.order = make([]topology.SwitchID, g.Switches())
	for s := range r.order {
		r.order[s] = topology.SwitchID(s)
	}
	slices.SortFunc(r.order, func(a, b topology.SwitchID) int {
		if row[a] != row[b] {
			return int(row[a]) - int(row[b])
		}
		return int(a) - int(b)
	})
	for i, s := range r.order {
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
		farthest[s] = never
		return nil
	})
	return slices.Index(farthest, slices.Min(farthest))
}

// never is more hops than any path has.
const never = math.MaxInt32 / 2

// legalHops are the hops of the shortest allowed path from each switch to a leaf, by
// phase.
type legalHops [2][]int32

// measure finds the hops to a leaf. Paths down lead to later switches, so that the
// last switches come first; paths that go up first lead to earlier ones.
func (r *ranking) measure(leaf topology.SwitchID, hops *legalHops) {
	for phase := range hops {
		if hops[phase] == nil {
			hops[phase] = make([]int32, len(r.rank))
		}
	}
	visit := func(phase int, s topology.SwitchID) {
		least := int32(never)
		if s == leaf {
			least = 0
		} else {
			first, end := r.graph.Ports(s)
			for p := first; p < end; p++ {
				least = min(least, r.beyond(phase, s, p, hops)+1)
			}
		}
		hops[phase][s] = min(least, never)
	}
	for _, s := range slices.Backward(r.order) {
		visit(phaseDown, s)
	}
	for _, s := range r.order {
		visit(phaseUp, s)
	}
}

// beyond is the number of hops from the other end of port p of switch s, for a packet
// that is in some phase at s; never, where it may not or need not go.
func (r *ranking) beyond(phase int, s topology.SwitchID, p topology.PortID, hops *legalHops) int32 {
	peer, ok := r.graph.PeerPort(p)
	if !ok {
		return never
	}
	t := r.graph.PortSwitch[peer]
	switch down := r.rank[t] > r.rank[s]; {
	case down:
		return hops[phaseDown][t]
	case phase == phaseUp:
		return hops[phaseUp][t]
	}
	return never
}

// phase is that of a packet at a switch that it has come to by a port.
func (r *ranking) phase(h *fabric.Head) int {
	if before, ok := r.graph.PeerPort(h.In); ok && r.rank[r.graph.PortSwitch[before]] < r.rank[h.Switch] {
		return phaseDown
	}
	return phaseUp
}

// upDown is up*/down* routing as an escape function: of the shortest allowed paths,
// each (switch, destination) has one, chosen by a hash.
//
// Memory: 4 bytes for each (switch, switch with terminals).
type upDown struct {
	*ranking
	port [2][]uint16 // by phase, len = switches*leaves: ports relative to the switch's first; noLocal: none
}

const noLocal = math.MaxUint16

func newUpDown(x *portSets) *upDown {
	u := &upDown{ranking: newRanking(x, -1)}
	var hops legalHops
	for phase := range u.port {
		u.port[phase] = make([]uint16, len(u.rank)*u.leaves)
	}
	for _, leaf := range u.ends {
		u.measure(leaf, &hops)
		for phase := range u.port {
			for s := range u.rank {
				u.port[phase][s*u.leaves+int(u.leaf[leaf])] = u.one(phase, topology.SwitchID(s), leaf, &hops)
			}
		}
	}
	return u
}

// one is one of the ports by which a path leads on to a leaf.
func (u *upDown) one(phase int, s, leaf topology.SwitchID, hops *legalHops) uint16 {
	least := hops[phase][s]
	if s == leaf || least >= never {
		return noLocal
	}
	var ways []uint16
	first, end := u.graph.Ports(s)
	for p := first; p < end; p++ {
		if u.beyond(phase, s, p, hops)+1 == least {
			ways = append(ways, uint16(p-first))
		}
	}
	return ways[spread(uint32(s)*0x9e3779b1+uint32(leaf), len(ways))]
}

func (u *upDown) vcs() int { return 1 }

func (u *upDown) final() bool { return true }

func (u *upDown) next(h *fabric.Head, fresh bool, vcs int) (topology.PortID, uint32) {
	phase := phaseUp
	if !fresh {
		phase = u.phase(h)
	}
	local := u.port[phase][int(h.Switch)*u.leaves+int(u.column[h.Dst])]
	return u.graph.PortStart[h.Switch] + topology.PortID(local), oneVC(0, vcs)
}

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
	return u, errors.Join(err, CheckVCs(name, 1, env))
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
