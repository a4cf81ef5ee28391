package routing

import (
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
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
	neighbors := g.Neighbors()
	if root < 0 {
		root = r.center(neighbors)
	}
	row := neighbors.DistancesFrom(topology.SwitchID(root), nil)
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
func (r *ranking) center(neighbors *topology.Neighbors) int {
	farthest := make([]int16, len(r.rank))
	var row []int16
	for _, leaf := range r.ends {
		row = neighbors.DistancesFrom(leaf, row)
		for s, d := range row {
			if farthest[s] = max(farthest[s], d); d == topology.Unreachable {
				farthest[s] = math.MaxInt16
			}
		}
	}
	root := 0
	for s, d := range farthest {
		if d < farthest[root] {
			root = s
		}
	}
	return root
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
