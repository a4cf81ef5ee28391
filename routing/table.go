package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// TableConfig holds the settings of routing "table".
type TableConfig struct{ PathSettings }

func init() {
	Register("table", "shortest paths on any graph, or those of a file, by tables; the virtual channel rises at every hop", Use{Faults: true},
		TableConfig{defaultPaths("hashed", true)}, newTable)
}

// table routes by shortest paths, in switch-switch hops, on any connected
// graph. Where several ports lead nearer to the destination's switch, one is
// chosen: the same for all packets to that switch ("one"), by a hash of source
// terminal, destination terminal and switch ("hashed": each pair keeps one path), at
// random at each switch ("random"), or by the credits outstanding there
// ("least-occupied", minimal adaptive routing). With next_hops the paths are those of
// a file, and the choice is one of parallel cables.
//
// Deadlock: the n-th hop of a packet uses VC class n, counted from 0, so that a
// packet waits only for channels of a higher class than it holds (Günther,
// IEEE Transactions on Communications 1981). As many classes are needed as the
// longest path between switches with terminals has hops; more virtual
// channels are divided evenly between the classes, or lie idle with spread_vcs =
// false. hop_vcs = "any" has no classes, as the published BookSim of PolarFly, and can
// deadlock on most graphs.
//
// Faults: the tables are those of the network without what is down. Packets for
// terminals that no path leads to are discarded ([fabric.Discard]), and so are
// packets that tables which change on their way lead over more hops than there
// are classes. Where switches have ranks ([topology.Ranked]), classes go by turns ([turns])
// in a network without faults.
//
// Memory: that of portSets. Networks of more than 16,384 switches with terminals
// are refused: family routings (min, dor, nca) need no such tables.
type table struct{ *hopPaths }

// Layout of Head.State.
const (
	tableHops    uint32 = 1<<6 - 1 // hops made, where they are numbered
	tableStarted uint32 = 1 << 6
	tableKey            = 7 // hash of source and destination, 16 bits
)

func newTable(config TableConfig, env Env) (fabric.Routing, error) {
	paths, err := newHopPaths("table", config.PathSettings, env, false)
	if err != nil {
		return nil, err
	}
	paths.byTurns(env, 1)
	return &table{paths}, CheckVCs("table", paths.classes, env)
}

// Widened implements [Widener]: all shortest paths.
func (r *table) Widened() fabric.Routing {
	if r.Ties != "hashed" {
		return nil
	}
	wide := *r.hopPaths
	wide.Ties, wide.ties = "random", tiesRandom
	return &table{&wide}
}

func (r *table) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	ports := r.ports(h)
	if len(ports) == 0 {
		return r.last(h, v.VCs(), r.down)
	}
	return r.hop(h, r.choose(v, h, ports, h.State>>tableKey), v.VCs())
}

// ports lists the ports that a packet may leave by, none at its destination's switch,
// and starts packets at their source.
func (r *table) ports(h *fabric.Head) []uint16 {
	if h.State == 0 {
		h.State = tableStarted | uint32(spread(uint32(h.Dst)*0x9e3779b1+uint32(h.In), 1<<16))<<tableKey
	}
	return r.to(h.Switch, r.column[h.Dst])
}

// hop takes a port, relative to the switch's first, and counts the hop.
func (r *table) hop(h *fabric.Head, local uint16, vcs int) fabric.Hop {
	port := r.graph.PortStart[h.Switch] + topology.PortID(local)
	class, after := r.step(h.State&tableHops, port)
	if int(class) >= r.classes { // only where tables change
		return fabric.Discard
	}
	h.State = h.State&^tableHops | after
	return fabric.Hop{Port: port, VCs: r.sets[vcs][class]}
}

func (r *table) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	ports := r.ports(&h)
	if len(ports) == 0 {
		if hop := r.last(&h, vcs, r.down); hop != fabric.Discard {
			yield(hop, h.State, 1)
		}
		return
	}
	r.explore(&h, ports, h.State>>tableKey, func(local uint16, weight float64) {
		head := h
		if hop := r.hop(&head, local, vcs); hop != fabric.Discard {
			yield(hop, head.State, weight)
		}
	})
}

// widen makes the classes those of hops: paths of several periods have more turns.
func (r *table) widen(vcs int) {
	r.turns = nil
	r.need(max(r.hops, vcs))
}
