package routing

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// ncaAround is nca in a tree with faults: down where a way down to the
// destination is left, otherwise up by a port of a shortest way up and down that
// is left; among several, as nca chooses. Whole subtrees of ports up drop out
// for destinations that cannot be reached by them.
//
// Deadlock: as nca, also where tables change under way: a packet that has come
// down does not go up again, but is discarded where its way down is gone.
//
// Pairs that only a way with a second climb joins are refused; "table" has it.
type ncaAround struct {
	portSets
	level []int32 // len = switches
	down  *topology.Down
	NCAConfig
}

func newNCAAround(config NCAConfig, tree topology.Tree, env Env) (fabric.Routing, error) {
	g := env.Topology.Graph()
	sets, sample, err := newPortSets("nca", g)
	if err != nil {
		return nil, err
	}
	r := &ncaAround{portSets: *sets, down: env.Down, NCAConfig: config}
	for s := range g.Switches() {
		r.level = append(r.level, int32(tree.LevelOf(topology.SwitchID(s))))
	}
	below, all := r.distances(tree.Levels(), sample)
	if err := r.joins(all, sample); err != nil {
		return nil, err
	}
	r.fill(func(s topology.SwitchID, masks []byte, width int) {
		row := int(s) * r.leaves
		r.eachCable(s, func(p topology.PortID, peer topology.SwitchID, up bool) {
			bit := g.LocalPort(p)
			theirs, own := below[int(peer)*r.leaves:], below[row:]
			if up {
				theirs, own = all[int(peer)*r.leaves:], all[row:]
			}
			for leaf := range r.leaves {
				if up == (below[row+leaf] < 0) && own[leaf] > 0 && theirs[leaf] == own[leaf]-1 {
					masks[leaf*width+bit/8] |= 1 << (bit % 8)
				}
			}
		})
	})
	return r, CheckVCs("nca", r.VCs(), env)
}

// eachCable visits the cables of a switch to others that are in order.
func (r *ncaAround) eachCable(s topology.SwitchID, visit func(p topology.PortID, peer topology.SwitchID, up bool)) {
	for p, end := r.graph.Ports(s); p < end; p++ {
		if peer, ok := r.graph.PeerPort(p); ok && !r.down.Port(p) {
			other := r.graph.PortSwitch[peer]
			visit(p, other, r.level[other] > r.level[s])
		}
	}
}

// distances is the number of hops from each switch to each leaf, [s*leaves+leaf],
// of the ways down alone and of those up and down that routing takes, down as
// soon as it can; -1 where there is none. Cost: cables * leaves.
func (r *ncaAround) distances(levels int, sample []topology.TerminalID) (below, all []int16) {
	byLevel := make([][]topology.SwitchID, levels)
	for s, level := range r.level {
		byLevel[level] = append(byLevel[level], topology.SwitchID(s))
	}
	below = make([]int16, len(r.level)*r.leaves)
	for i := range below {
		below[i] = -1
	}
	for column, t := range sample {
		below[int(r.home[t])*r.leaves+column] = 0
	}
	nearest := func(s, peer topology.SwitchID, from, to []int16) {
		for leaf := range r.leaves {
			theirs, own := from[int(peer)*r.leaves+leaf], &to[int(s)*r.leaves+leaf]
			if theirs >= 0 && (*own < 0 || theirs+1 < *own) {
				*own = theirs + 1
			}
		}
	}
	for _, switches := range byLevel {
		for _, s := range switches {
			r.eachCable(s, func(_ topology.PortID, peer topology.SwitchID, up bool) {
				if !up {
					nearest(s, peer, below, below)
				}
			})
		}
	}
	all = make([]int16, len(below))
	for level := levels - 1; level >= 0; level-- {
		for _, s := range byLevel[level] {
			row := all[int(s)*r.leaves:][:r.leaves]
			for i := range row {
				row[i] = -1
			}
			r.eachCable(s, func(_ topology.PortID, peer topology.SwitchID, up bool) {
				if up {
					nearest(s, peer, all, all)
				}
			})
			for leaf, d := range below[int(s)*r.leaves:][:r.leaves] {
				if d >= 0 {
					row[leaf] = d
				}
			}
		}
	}
	return below, all
}

// joins refuses faults that leave two leaves joined by no way up and down,
// though by another.
func (r *ncaAround) joins(all []int16, sample []topology.TerminalID) error {
	part := r.down.Components()
	for _, src := range sample {
		for column, dst := range sample {
			from, to := r.home[src], r.home[dst]
			if part[from] >= 0 && part[from] == part[to] && all[int(from)*r.leaves+column] < 0 {
				return fmt.Errorf("routing \"nca\" has no way up and down from %s to %s around faults (%s); routing \"table\" finds every path",
					r.graph.SwitchName(from), r.graph.SwitchName(to), r.down.Describe())
			}
		}
	}
	return nil
}

func (r *ncaAround) VCs() int { return 1 }

func (r *ncaAround) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (r *ncaAround) IgnoresTerminals() bool { return r.Up != "hashed" && r.Down != "hashed" }

func (r *ncaAround) Needs() fabric.Needs { return fabric.Needs{Queues: r.Up == "least-loaded"} }

// choices lists the ports that serve h, all up or all down; none where it is to
// be discarded.
func (r *ncaAround) choices(h *fabric.Head) (ports []uint16, up bool) {
	ports = r.to(h.Switch, r.column[h.Dst])
	if len(ports) == 0 {
		return nil, false
	}
	peer, _ := r.graph.PeerPort(r.graph.PortStart[h.Switch] + topology.PortID(ports[0]))
	up = r.level[r.graph.PortSwitch[peer]] > r.level[h.Switch]
	if from, ok := r.graph.PeerPort(h.In); ok && up && r.level[r.graph.PortSwitch[from]] > r.level[h.Switch] {
		return nil, false
	}
	return ports, up
}

// hop is the decision for a port.
func (r *ncaAround) hop(h *fabric.Head, local uint16, vcs int) fabric.Hop {
	return fabric.Hop{Port: r.graph.PortStart[h.Switch] + topology.PortID(local), VCs: allVCs(vcs)}
}

func (r *ncaAround) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	ports, up := r.choices(h)
	n := len(ports)
	switch {
	case n == 0:
		return r.last(h, v.VCs(), r.down)
	case n == 1:
		return r.hop(h, ports[0], v.VCs())
	case r.hashes(up):
		return r.hop(h, ports[hashedChoice(h, n)], v.VCs())
	}
	start := v.Random(h.Switch).IntN(n)
	if !up || r.Up != "least-loaded" {
		return r.hop(h, ports[start], v.VCs())
	}
	best, least := fabric.Hop{}, math.MaxInt
	for i := range n { // from a random one, so that ties are spread
		hop := r.hop(h, ports[(start+i)%n], v.VCs())
		if load := v.LoadAll(hop.Port); load < least {
			best, least = hop, load
		}
	}
	return best
}

func (r *ncaAround) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	ports, up := r.choices(&h)
	if len(ports) == 0 {
		if hop := r.last(&h, vcs, r.down); hop != fabric.Discard {
			yield(hop, h.State, 1)
		}
		return
	}
	if r.hashes(up) {
		n := hashedChoice(&h, len(ports))
		ports = ports[n : n+1]
	}
	weight := 1 / float64(len(ports))
	if up && len(ports) > 1 && r.Up == "least-loaded" {
		weight = 0
	}
	for _, local := range ports {
		yield(r.hop(&h, local, vcs), h.State, weight)
	}
}
