package shared

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// routes are the ports of every switch that lead nearer to every switch with terminals, on any
// topology. Sets of ports that are equal are kept once.
type routes struct {
	leaf  []int32 // by switch: number among those with terminals; -1: none
	set   []int32 // by switch*leaves + leaf; -1: it is there
	sets  []set
	width int // leaves
}

// set is ports that are equally near.
type set struct {
	ports []topology.PortID // in an order drawn for the switch
	turn  int32             // of round robin
}

// maxRoutes bounds the table of sets to 256 MiB.
const maxRoutes = 1 << 26

// newRoutes finds the ports to each switch with terminals. Cost: a breadth-first search for each.
func newRoutes(g *topology.Graph, seed uint64) (*routes, error) {
	r := &routes{leaf: slices.Repeat([]int32{-1}, g.Switches())}
	var leaves []topology.SwitchID
	for t := range g.Terminals() {
		if s := g.TerminalSwitch(topology.TerminalID(t)); r.leaf[s] < 0 {
			r.leaf[s] = int32(len(leaves))
			leaves = append(leaves, s)
		}
	}
	if r.width = len(leaves); r.width*g.Switches() > maxRoutes {
		return nil, fmt.Errorf("%d switches, %d of them with terminals: a table of shortest ways has at most %d entries", g.Switches(), r.width, maxRoutes)
	}
	order := orderOfPorts(g, seed)
	r.set = make([]int32, g.Switches()*r.width)
	known := map[string]int32{}
	neighbors := g.Neighbors()
	var distance []int16
	var key []byte
	for l, leaf := range leaves {
		distance = neighbors.DistancesFrom(leaf, distance)
		for s := range g.Switches() {
			at := s*r.width + l
			if r.set[at] = -1; topology.SwitchID(s) == leaf {
				continue
			}
			if distance[s] < 0 {
				return nil, fmt.Errorf("no path leads from %s to %s", g.SwitchName(topology.SwitchID(s)), g.SwitchName(leaf))
			}
			first, end := g.Ports(topology.SwitchID(s))
			key = key[:0]
			var ports []topology.PortID
			for _, p := range order[first:end] {
				if peer, ok := g.PeerPort(p); ok && distance[g.PortSwitch[peer]] == distance[s]-1 {
					ports = append(ports, p)
					key = append(key, byte(p), byte(p>>8), byte(p>>16), byte(p>>24))
				}
			}
			id, ok := known[string(key)]
			if !ok {
				id = int32(len(r.sets))
				known[string(key)] = id
				r.sets = append(r.sets, set{ports: ports})
			}
			r.set[at] = id
		}
	}
	return r, nil
}

// orderOfPorts lists all ports, switch by switch, each switch's in a random order (len = ports).
func orderOfPorts(g *topology.Graph, seed uint64) []topology.PortID {
	order := topology.Numbers[topology.PortID](g.NumPorts())
	for s := range g.Switches() {
		first, end := g.Ports(topology.SwitchID(s))
		stream := sim.NewStream(seed, "order of ports", s)
		sim.Shuffle(&stream, order[first:end])
	}
	return order
}

// hash mixes what chooses a path: any good hash does.
func hash(flow int32, entropy uint16, salt uint64) uint64 {
	x := salt ^ uint64(uint32(flow))<<16 ^ uint64(entropy)
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// route is the output of a packet at switch s.
func (n *Network) route(s topology.SwitchID, p *Packet) int32 {
	to := n.graph.TerminalSwitch(p.Dst)
	if to == s {
		return int32(n.graph.TerminalPort[p.Dst])
	}
	set := &n.routes.sets[n.routes.set[int(s)*n.routes.width+int(n.routes.leaf[to])]]
	ways := uint64(len(set.ports))
	switch {
	case ways == 1:
		return int32(set.ports[0])
	case n.paths == adaptive && !p.Control:
		return n.shortest(s, set.ports)
	case n.paths == roundRobin && !p.Control:
		if int(set.turn) == len(set.ports) {
			set.turn = 0
			sim.Shuffle(&n.streams[s], set.ports)
		}
		set.turn++
		return int32(set.ports[set.turn-1])
	}
	return int32(set.ports[hash(p.Flow, p.Entropy, n.salts[s])%ways])
}

// shortest is a port whose data queue is in the lowest step of fullness, at random.
func (n *Network) shortest(s topology.SwitchID, ports []topology.PortID) int32 {
	best, least := n.candidates[:0], int64(4)
	for _, p := range ports {
		o := &n.out[p]
		step, full := int64(0), 100*o.data.bytes/o.limit
		for _, from := range [...]int64{5, 10, 20} { // percent
			if full >= from {
				step++
			}
		}
		if step < least {
			best, least = best[:0], step
		}
		if step == least {
			best = append(best, int32(p))
		}
	}
	n.candidates = best
	return best[n.streams[s].IntN(len(best))]
}

// Dependencies calls yield with each pair of channels between switches that a packet may follow
// one another by on a shortest path: where packets are paused, the first may be held up by the
// second (cyclic buffer dependency). Pairs may be repeated. Cost: channels times switches with
// terminals.
func Dependencies(g *topology.Graph, yield func(topology.Dependency)) error {
	r, err := newRoutes(g, 0)
	if err != nil {
		return err
	}
	for s := range g.Switches() {
		for l := range r.width {
			at := r.set[s*r.width+l]
			if at < 0 {
				continue
			}
			for _, p := range r.sets[at].ports {
				peer, _ := g.PeerPort(p)
				next := r.set[int(g.PortSwitch[peer])*r.width+l]
				if next < 0 {
					continue
				}
				for _, q := range r.sets[next].ports {
					yield(topology.Dependency{Held: topology.Channel{Port: p}, Wanted: topology.Channel{Port: q}})
				}
			}
		}
	}
	return nil
}
