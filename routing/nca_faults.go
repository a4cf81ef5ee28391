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
	*ranking // the root's level first
	down     *topology.Down
	NCAConfig
}

func newNCAAround(config NCAConfig, tree topology.Tree, env Env) (fabric.Routing, error) {
	g := env.Topology.Graph()
	sets, _, err := newPortSets("nca", g)
	if err != nil {
		return nil, err
	}
	r := &ncaAround{&ranking{portSets: sets}, env.Down, config}
	for s := range g.Switches() {
		r.rank = append(r.rank, -int32(tree.LevelOf(topology.SwitchID(s))))
	}
	if err := r.join(); err != nil {
		return nil, err
	}
	return r, CheckVCs("nca", r.VCs(), env)
}

// join finds the ways, and refuses faults that leave two leaves joined by no way up and
// down, though by another.
func (r *ncaAround) join() error {
	part := r.down.Components()
	w := r.search(r.down)
	apart := [2]topology.SwitchID{-1, -1}
	w.run(func(node int, leaf topology.SwitchID) error { // never an error
		from := topology.SwitchID(node)
		if node < len(r.rank) && r.leaf[from] >= 0 && part[from] >= 0 && part[from] == part[leaf] &&
			(apart[0] < 0 || r.leaf[from] < r.leaf[apart[0]]) {
			apart = [2]topology.SwitchID{from, leaf}
		}
		return nil
	})
	if apart[0] < 0 {
		return nil
	}
	return fmt.Errorf("routing \"nca\" has no way up and down from %s to %s around faults (%s); routing \"table\" finds every path",
		r.graph.SwitchName(apart[0]), r.graph.SwitchName(apart[1]), r.down.Describe())
}

// choices lists the ports that serve h, all up or all down; none where it is to
// be discarded.
func (r *ncaAround) choices(h *fabric.Head) (ports []uint16, up bool) {
	ports = r.ways(h)
	if len(ports) == 0 {
		return nil, false
	}
	peer, _ := r.graph.PeerPort(r.graph.PortStart[h.Switch] + topology.PortID(ports[0]))
	return ports, r.climbs(h.Switch, r.graph.PortSwitch[peer])
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
