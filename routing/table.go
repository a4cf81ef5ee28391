package routing

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// TableConfig holds the settings of routing "table".
type TableConfig struct {
	Ties string `toml:"ties" doc:"choice between shortest paths: hashed by source and destination, or random at each switch" choices:"hashed|random"`
}

func init() {
	Register("table", "shortest paths on any graph, by tables; the virtual channel rises at every hop", Use{Faults: true}, TableConfig{"hashed"}, newTable)
}

// table routes by shortest paths, in switch-switch hops, on any connected
// graph. Where several ports lead nearer to the destination's switch, one is
// chosen by a hash of source terminal, destination terminal and switch
// ("hashed": each pair keeps one path) or at random at each switch ("random").
//
// Deadlock: the n-th hop of a packet uses VC class n, counted from 0, so that a
// packet waits only for channels of a higher class than it holds (Günther,
// IEEE Transactions on Communications 1981). As many classes are needed as the
// longest shortest path between switches with terminals has hops; more virtual
// channels are divided evenly between the classes.
//
// Faults: the tables are those of the network without what is down. Packets for
// terminals that no path leads to are discarded ([fabric.Discard]), and so are
// packets that tables which change on their way lead over more hops than there
// are classes.
//
// Memory: that of portSets. Networks of more than 5,000 switches with terminals
// are refused: family routings (min, dor, nca) need no such tables.
type table struct {
	portSets
	down   *topology.Down
	hops   int // longest shortest path between switches with terminals; classes
	hashed bool
}

// Layout of Head.State.
const (
	tableHops    uint32 = 1<<6 - 1 // hops made
	tableStarted uint32 = 1 << 6
	tableKey            = 7 // hash of source and destination, 16 bits
)

func newTable(config TableConfig, env Env) (fabric.Routing, error) {
	sets, sample, err := newPortSets("table", env.Topology.Graph())
	if err != nil {
		return nil, err
	}
	r := &table{portSets: *sets, down: env.Down, hashed: config.Ties == "hashed"}
	distance, err := r.distances(sample)
	if err != nil {
		return nil, err
	}
	r.fill(func(s topology.SwitchID, masks []byte, width int) { r.markNearer(masks, width, distance, s) })
	return r, checkVCs("table", r.VCs(), env)
}

// distances is the number of hops from each switch to each leaf:
// distance[s*leaves+leaf].
func (r *table) distances(sample []topology.TerminalID) ([]int16, error) {
	switches := r.graph.Switches()
	distance := make([]int16, switches*r.leaves)
	neighbors := r.graph.NeighborsWithout(r.down)
	var row []int16
	for column, t := range sample {
		row = neighbors.DistancesFrom(r.home[t], row)
		for s, d := range row {
			if r.leaf[s] >= 0 {
				if d == topology.Unreachable && r.down == nil {
					return nil, fmt.Errorf("routing \"table\" needs a connected network; no path joins %s and %s",
						r.graph.SwitchName(topology.SwitchID(s)), r.graph.SwitchName(r.home[t]))
				}
				r.hops = max(r.hops, int(d))
			}
			distance[s*r.leaves+column] = d
		}
	}
	return distance, nil
}

// markNearer sets in masks, width bytes for each leaf, the bits of the ports of
// switch s that lead nearer to it.
func (r *table) markNearer(masks []byte, width int, distance []int16, s topology.SwitchID) {
	own := distance[int(s)*r.leaves:][:r.leaves]
	first, end := r.graph.Ports(s)
	for p := first; p < end; p++ {
		peer, ok := r.graph.PeerPort(p)
		if !ok || r.down.Port(p) {
			continue
		}
		theirs := distance[int(r.graph.PortSwitch[peer])*r.leaves:][:r.leaves]
		bit := int(p - first)
		for leaf, d := range own {
			if d > 0 && theirs[leaf] == d-1 {
				masks[leaf*width+bit/8] |= 1 << (bit % 8)
			}
		}
	}
}

func (r *table) VCs() int { return max(1, r.hops) }

func (r *table) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (r *table) IgnoresTerminals() bool { return !r.hashed }

// Widened implements [Widener]: all shortest paths.
func (r *table) Widened() fabric.Routing {
	if !r.hashed {
		return nil
	}
	wide := *r
	wide.hashed = false
	return &wide
}

func (r *table) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	return r.route(h, v.VCs(), v.Random(h.Switch))
}

func (r *table) route(h *fabric.Head, vcs int, random *sim.Stream) fabric.Hop {
	ports := r.ports(h)
	switch {
	case len(ports) == 0:
		return r.last(h, vcs, r.down)
	case len(ports) == 1:
		return r.hop(h, ports[0], vcs)
	case r.hashed:
		return r.hop(h, ports[r.hash(h, len(ports))], vcs)
	}
	return r.hop(h, ports[random.IntN(len(ports))], vcs)
}

// ports lists the ports nearer to h's destination, empty at its switch, and
// starts packets at their source.
func (r *table) ports(h *fabric.Head) []uint16 {
	if h.State == 0 {
		h.State = tableStarted | uint32(spread(uint32(h.Dst)*0x9e3779b1+uint32(h.In), 1<<16))<<tableKey
	}
	return r.to(h.Switch, h.Dst)
}

// hash chooses one of n by the packet's key and the switch.
func (r *table) hash(h *fabric.Head, n int) int {
	return spread(h.State>>tableKey+uint32(h.Switch)*0x9e3779b1, n)
}

// hop takes a port, relative to the switch's first, and counts the hop.
func (r *table) hop(h *fabric.Head, local uint16, vcs int) fabric.Hop {
	class := int(h.State & tableHops)
	if class >= r.hops { // only where tables change
		return fabric.Discard
	}
	h.State++
	return fabric.Hop{Port: r.graph.PortStart[h.Switch] + topology.PortID(local), VCs: classVCs(class, r.VCs(), vcs)}
}

func (r *table) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	ports := r.ports(&h)
	if len(ports) == 0 {
		if hop := r.last(&h, vcs, r.down); hop != fabric.Discard {
			yield(hop, h.State, 1)
		}
		return
	}
	if r.hashed {
		n := r.hash(&h, len(ports))
		ports = ports[n : n+1]
	}
	for _, local := range ports {
		head := h
		if hop := r.hop(&head, local, vcs); hop != fabric.Discard {
			yield(hop, head.State, 1/float64(len(ports)))
		}
	}
}

func (r *table) widen(vcs int) { r.hops = max(r.hops, vcs) }
