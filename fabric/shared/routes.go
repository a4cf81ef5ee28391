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
	leaf  []int32 // by terminal: number of its switch among those with terminals
	set   []int32 // by switch*leaves + leaf; here; below, one port: alone - port
	sets  []set
	ports []topology.PortID // of sets
	width int               // leaves
}

const (
	here  = -1
	alone = -2
)

// set is ports that are equally near, from first to end of all, in an order drawn for the switch.
type set struct {
	first, end int32
	turn       int32 // of round robin: the next one
}

// from lists the ports that lead from a switch to a leaf.
func (r *routes) from(s topology.SwitchID, leaf int32) []topology.PortID {
	switch i := r.set[int(s)*r.width+int(leaf)]; {
	case i == here:
		return nil
	case i < here:
		return []topology.PortID{topology.PortID(alone - i)}
	default:
		return r.ports[r.sets[i].first:r.sets[i].end]
	}
}

// maxRoutes bounds the table of sets to 256 MiB.
const maxRoutes = 1 << 26

// newRoutes finds the ports to each switch with terminals. Cost: a breadth-first search for each.
func newRoutes(g *topology.Graph, seed uint64) (routes, error) {
	r := routes{leaf: make([]int32, g.Terminals())}
	var leaves []topology.SwitchID
	number := slices.Repeat([]int32{-1}, g.Switches())
	for t := range r.leaf {
		s := g.TerminalSwitch(topology.TerminalID(t))
		if number[s] < 0 {
			number[s] = int32(len(leaves))
			leaves = append(leaves, s)
		}
		r.leaf[t] = number[s]
	}
	if r.width = len(leaves); r.width*g.Switches() > maxRoutes {
		return r, fmt.Errorf("%d switches, %d of them with terminals: a table of shortest ways has at most %d entries", g.Switches(), r.width, maxRoutes)
	}
	order := topology.Numbers[topology.PortID](g.NumPorts()) // switch by switch, each switch's in a random order
	for s := range g.Switches() {
		first, end := g.Ports(topology.SwitchID(s))
		stream := sim.NewStream(seed, "order of ports", s)
		sim.Shuffle(&stream, order[first:end])
	}
	r.set = make([]int32, g.Switches()*r.width)
	known := map[string]int32{}
	neighbors := g.Neighbors()
	var distance []int16
	var key []byte
	for l, leaf := range leaves {
		distance = neighbors.DistancesFrom(leaf, distance)
		for s := range g.Switches() {
			at := s*r.width + l
			if r.set[at] = here; topology.SwitchID(s) == leaf {
				continue
			}
			if distance[s] < 0 {
				return r, fmt.Errorf("no path leads from %s to %s", g.SwitchName(topology.SwitchID(s)), g.SwitchName(leaf))
			}
			first, end := g.Ports(topology.SwitchID(s))
			key = key[:0]
			begin := len(r.ports)
			for _, p := range order[first:end] {
				if peer, ok := g.PeerPort(p); ok && distance[g.PortSwitch[peer]] == distance[s]-1 {
					r.ports = append(r.ports, p)
					key = append(key, byte(p), byte(p>>8), byte(p>>16), byte(p>>24))
				}
			}
			id, ok := known[string(key)]
			switch {
			case ok:
			case len(r.ports) == begin+1:
				id = alone - int32(r.ports[begin])
			default:
				id = int32(len(r.sets))
				r.sets = append(r.sets, set{int32(begin), int32(len(r.ports)), int32(begin)})
				begin = len(r.ports)
			}
			known[string(key)], r.set[at], r.ports = id, id, r.ports[:begin]
		}
	}
	return r, nil
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
	r := &n.routes
	i := r.set[int(s)*r.width+int(r.leaf[p.Dst])]
	if i == here {
		return int32(n.graph.TerminalPort[p.Dst])
	} else if i < here {
		return alone - i
	}
	set := &r.sets[i]
	switch {
	case n.paths == byHash || p.Control:
		h, ways := hash(p.Flow, p.Entropy, n.salts[s]), uint64(set.end-set.first)
		if ways&(ways-1) == 0 {
			return int32(r.ports[set.first+int32(h&(ways-1))])
		}
		return int32(r.ports[set.first+int32(h%ways)])
	case n.paths == adaptive:
		return n.shortest(s, r.ports[set.first:set.end])
	}
	if set.turn == set.end {
		set.turn = set.first
		sim.Shuffle(&n.streams[s], r.ports[set.first:set.end])
	}
	set.turn++
	return int32(r.ports[set.turn-1])
}

// shortest is a port whose data queue is in the lowest step of fullness, at random.
func (n *Network) shortest(s topology.SwitchID, ports []topology.PortID) int32 {
	best, least := n.candidates[:0], int64(4)
	for _, p := range ports {
		o := &n.out[p]
		n.settle(o, int64(n.kernel.Now()))
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

// Dependencies calls yield with each pair of channels between switches that a packet may follow one
// another by on a shortest path: where packets are paused, the first may be held up by the second
// (cyclic buffer dependency). Pairs may be repeated. Cost: channels times switches with terminals.
func Dependencies(g *topology.Graph, yield func(topology.Dependency)) error {
	r, err := newRoutes(g, 0)
	if err != nil {
		return err
	}
	for s := range topology.SwitchID(g.Switches()) {
		for l := range int32(r.width) {
			for _, p := range r.from(s, l) {
				peer, _ := g.PeerPort(p)
				for _, q := range r.from(g.PortSwitch[peer], l) {
					yield(topology.Dependency{Held: topology.Channel{Port: p}, Wanted: topology.Channel{Port: q}})
				}
			}
		}
	}
	return nil
}
