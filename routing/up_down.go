package routing

import (
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// upDown is up*/down* routing by tables (Autonet: Schroeder et al., IEEE Journal
// on Selected Areas in Communications 1991): channels that lead to a switch
// nearer to the root, or as near and of a lower number, are up, all others down,
// and no packet goes up after it has gone down. Channels up lead to ever earlier
// switches in this order, channels down to ever later ones, so that no
// dependencies close a cycle. The root is the switch whose farthest switch with
// terminals is the nearest (the lowest number of several). Of the shortest
// allowed paths, each (switch, destination) has one, chosen by a hash.
//
// Memory: 4 bytes for each (switch, switch with terminals).
type upDown struct {
	near *hopPaths
	rank []int32     // len = switches: place in the order
	port [2][]uint16 // by phase, len = switches*leaves: ports relative to the switch's first; noLocal: none
}

const (
	phaseUp   = 0 // the packet may still go up
	phaseDown = 1
	noLocal   = math.MaxUint16
)

func newUpDown(near *hopPaths) *upDown {
	g := near.graph
	u := &upDown{near: near, rank: make([]int32, g.Switches())}
	var leaves []topology.SwitchID // by column
	for s, column := range near.leaf {
		if column >= 0 {
			leaves = append(leaves, topology.SwitchID(s))
		}
	}
	neighbors := g.Neighbors()
	farthest := make([]int16, g.Switches())
	var row []int16
	for _, leaf := range leaves {
		row = neighbors.DistancesFrom(leaf, row)
		for s, d := range row {
			if farthest[s] = max(farthest[s], d); d == topology.Unreachable {
				farthest[s] = math.MaxInt16
			}
		}
	}
	root := topology.SwitchID(0)
	for s, d := range farthest {
		if d < farthest[root] {
			root = topology.SwitchID(s)
		}
	}
	row = neighbors.DistancesFrom(root, row)
	order := make([]topology.SwitchID, g.Switches())
	for s := range order {
		order[s] = topology.SwitchID(s)
	}
	slices.SortFunc(order, func(a, b topology.SwitchID) int {
		if row[a] != row[b] {
			return int(row[a]) - int(row[b])
		}
		return int(a) - int(b)
	})
	for i, s := range order {
		u.rank[s] = int32(i)
	}
	for phase := range u.port {
		u.port[phase] = make([]uint16, g.Switches()*near.leaves)
	}
	hops := [2][]int32{make([]int32, g.Switches()), make([]int32, g.Switches())}
	for _, leaf := range leaves {
		u.fill(leaf, order, hops)
	}
	return u
}

// never is more hops than any path has.
const never = math.MaxInt32 / 2

// fill enters the ports towards leaf. Paths down lead to later switches, so
// that the last switches come first; paths that go up first lead to earlier ones.
func (u *upDown) fill(leaf topology.SwitchID, order []topology.SwitchID, hops [2][]int32) {
	down, up := hops[phaseDown], hops[phaseUp]
	for _, s := range slices.Backward(order) {
		down[s] = never
		if s == leaf {
			down[s] = 0
		}
		u.enter(phaseDown, s, leaf, down, func(peer topology.SwitchID) int32 {
			if u.rank[peer] < u.rank[s] {
				return never
			}
			return down[peer]
		})
	}
	for _, s := range order {
		up[s] = never
		if s == leaf {
			up[s] = 0
		}
		u.enter(phaseUp, s, leaf, up, func(peer topology.SwitchID) int32 {
			if u.rank[peer] > u.rank[s] {
				return down[peer]
			}
			return up[peer]
		})
	}
}

// enter sets hops[s], from which a path leads on with so many hops by each
// neighbour, and the port.
func (u *upDown) enter(phase int, s, leaf topology.SwitchID, hops []int32, beyond func(topology.SwitchID) int32) {
	g := u.near.graph
	first, end := g.Ports(s)
	entry := &u.port[phase][int(s)*u.near.leaves+int(u.near.leaf[leaf])]
	*entry = noLocal
	if s == leaf {
		return
	}
	ways := 0
	for p := first; p < end; p++ {
		peer, ok := g.PeerPort(p)
		if !ok {
			continue
		}
		switch n := beyond(g.PortSwitch[peer]) + 1; {
		case n < hops[s]:
			hops[s], ways = n, 1
		case n == hops[s]:
			ways++
		}
	}
	if ways == 0 {
		return
	}
	chosen := spread(uint32(s)*0x9e3779b1+uint32(leaf), ways)
	for p := first; p < end; p++ {
		peer, ok := g.PeerPort(p)
		if !ok || beyond(g.PortSwitch[peer])+1 != hops[s] {
			continue
		}
		if chosen == 0 {
			*entry = uint16(p - first)
			return
		}
		chosen--
	}
}

func (u *upDown) vcs() int { return 1 }

func (u *upDown) final() bool { return true }

func (u *upDown) next(h *fabric.Head, fresh bool, vcs int) (topology.PortID, uint32) {
	g, phase := u.near.graph, phaseUp
	if !fresh {
		if before, ok := g.PeerPort(h.In); ok && u.rank[g.PortSwitch[before]] < u.rank[h.Switch] {
			phase = phaseDown
		}
	}
	local := u.port[phase][int(h.Switch)*u.near.leaves+int(u.near.column[h.Dst])]
	return g.PortStart[h.Switch] + topology.PortID(local), oneVC(0, vcs)
}
