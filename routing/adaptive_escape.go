package routing

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// AdaptiveEscapeConfig holds the settings of routing "adaptive-escape".
type AdaptiveEscapeConfig struct {
	Escape string `toml:"escape" doc:"escape channels: dimension order (grids and HyperX), up*/down* (any graph), or auto: dor where there are coordinates" choices:"auto|dor|up-down"`
	Rule   string `toml:"vc_rule" doc:"of escape dor on tori: whether rings have a dateline; none can deadlock" choices:"dateline|none" deadlocks:"none"`
}

func init() {
	Register("adaptive-escape", "any shortest path, by queue lengths, with escape channels (Duato); on grids and on any graph", Use{}, AdaptiveEscapeConfig{"auto", ruleDateline}, newAdaptiveEscape)
}

// adaptiveEscape is fully adaptive minimal routing: of the ports that lead nearer to its
// destination a packet takes the one with the fewest flits outstanding on the adaptive virtual
// channels, ties at random. The lowest virtual channels are escape channels: a packet asks for one
// while no adaptive channel of any such port has room for it. Waiting packets decide anew in every
// step.
//
// Deadlock: by Duato's condition (A Necessary and Sufficient Condition for Deadlock-Free Adaptive
// Routing in Wormhole Networks, IEEE TPDS 1995; its sufficient half): the escape hops lead to every
// destination from wherever a packet can be, and their extended dependency graph has no cycle.
// EscapeDependencies proves both. The escape functions:
//   - dor: dimension order, with two virtual channels in rings, the lower while
//     a packet has still to cross the edge from k-1 to 0 or back, the higher
//     from then on and where it has not (Dally and Seitz, IEEE Transactions on
//     Computers 1987). The choice follows from the place of the packet alone, so
//     that packets may leave escape channels and come back: along each dimension
//     they only get on, and to lower dimensions they never return. On HyperX, where
//     a dimension takes one hop, one virtual channel does.
//   - up-down: up*/down* tables (Autonet: Schroeder et al., IEEE JSAC 1991) with
//     one virtual channel. As escape paths are not minimal here, and a packet
//     that came back to them could have gone down before, packets stay on them
//     (Silla and Duato, IEEE TPDS 2000).
//
// With no more virtual channels than the escape function needs, all are escape channels.
type adaptiveEscape struct {
	plain
	near   *hopPaths // shortest paths
	escape escapeFunction
}

// escapeFunction is a deterministic routing that keeps no state in packets.
type escapeFunction struct {
	vcs   int  // virtual channels that it needs
	final bool // packets stay on escape channels
	// next is the port and the virtual channels to take, of vcs.
	next   func(h *fabric.Head, fresh bool, vcs int) (topology.PortID, uint32)
	unused []string // settings
}

// newAdaptiveEscape makes the routing for env. Error: no tables of its paths, or too few virtual channels.
func newAdaptiveEscape(config AdaptiveEscapeConfig, env Env) (fabric.Routing, error) {
	const name = "adaptive-escape"
	near, err := newHopPaths(name, defaultPaths("random", false), env, false)
	if err != nil {
		return nil, err
	}
	r := &adaptiveEscape{near: near}
	_, grid := env.Topology.(topology.Grid)
	_, hamming := env.Topology.(topology.Hamming)
	switch {
	case hamming && config.Escape != "up-down":
		walk, err := newHammingWalk(name, env)
		if err != nil {
			return nil, err
		}
		r.escape = walk.escape()
	case config.Escape == "dor" || config.Escape == "auto" && grid:
		walk, err := newGridWalk(name, env, config.Rule)
		if err != nil {
			return nil, err
		}
		r.escape = walk.escape()
	default:
		r.escape = newRanking(&near.portSets, -1).escape()
	}
	return r, CheckVCs(name, r.VCs(), env)
}

// UnusedSettings implements [param.Skipper]: rings are a matter of dimension order.
func (r *adaptiveEscape) UnusedSettings() []string { return r.escape.unused }

func (r *adaptiveEscape) Graph() *topology.Graph { return r.near.graph }

func (r *adaptiveEscape) VCs() int { return r.escape.vcs + 1 }

func (r *adaptiveEscape) EscapeVCs(vcs int) uint32 { return allVCs(min(r.escape.vcs, vcs)) }

func (r *adaptiveEscape) adaptiveVCs(vcs int) uint32 { return allVCs(vcs) &^ r.EscapeVCs(vcs) }

// fresh tells that a packet is not on an escape channel.
func (r *adaptiveEscape) fresh(h *fabric.Head, vcs int) bool {
	_, terminal := r.near.graph.PeerTerminal(h.In)
	return terminal || r.EscapeVCs(vcs)>>h.VC&1 == 0
}

// candidates lists a switch's local ports by which a packet may leave on adaptive virtual channels.
func (r *adaptiveEscape) candidates(h *fabric.Head, vcs int) []uint16 {
	if r.adaptiveVCs(vcs) == 0 || r.escape.final && !r.fresh(h, vcs) {
		return nil
	}
	return r.near.to(h.Switch, r.near.column[h.Dst])
}

// escapeHop is the hop by which a packet can always go on.
func (r *adaptiveEscape) escapeHop(h *fabric.Head, vcs int) fabric.Hop {
	port, set := r.escape.next(h, r.fresh(h, vcs), vcs)
	return fabric.Hop{Port: port, VCs: set}
}

func (r *adaptiveEscape) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	return r.choose(v, h, false)
}

func (r *adaptiveEscape) Reroute(v *fabric.View, h *fabric.Head) fabric.Hop {
	return r.choose(v, h, true)
}

// choose is the candidate with the fewest flits outstanding (with room: of those with room), or the
// escape hop.
func (r *adaptiveEscape) choose(v *fabric.View, h *fabric.Head, room bool) fabric.Hop {
	g := r.near.graph
	if r.near.home[h.Dst] == h.Switch {
		return fabric.Hop{Port: g.TerminalPort[h.Dst], VCs: allVCs(v.VCs())}
	}
	vcs := v.VCs()
	adaptive, ports := r.adaptiveVCs(vcs), r.candidates(h, vcs)
	best, least := topology.NoPort, 0
	first := 0
	if len(ports) > 1 {
		first = v.Random(h.Switch).IntN(len(ports))
	}
	for i := range ports {
		if i += first; i >= len(ports) {
			i -= len(ports)
		}
		p := g.PortStart[h.Switch] + topology.PortID(ports[i])
		if room && v.Room(p, h.Flits)&adaptive == 0 {
			continue
		}
		n := 0
		for set := adaptive; set != 0; set &= set - 1 {
			n += v.Outstanding(p, bits.TrailingZeros32(set))
		}
		if best == topology.NoPort || n < least {
			best, least = p, n
		}
	}
	if best == topology.NoPort {
		return r.escapeHop(h, vcs)
	}
	return fabric.Hop{Port: best, VCs: adaptive}
}

func (r *adaptiveEscape) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	g := r.near.graph
	if r.near.home[h.Dst] == h.Switch {
		yield(fabric.Hop{Port: g.TerminalPort[h.Dst], VCs: allVCs(vcs)}, h.State, 1)
		return
	}
	for _, local := range r.candidates(&h, vcs) {
		yield(fabric.Hop{Port: g.PortStart[h.Switch] + topology.PortID(local), VCs: r.adaptiveVCs(vcs)}, h.State, 0)
	}
	yield(r.escapeHop(&h, vcs), h.State, 0)
}

// escape is dimension order with a dateline that depends on places only.
func (w *gridWalk) escape() escapeFunction {
	return escapeFunction{vcs: w.rings, unused: w.UnusedSettings(), next: func(h *fabric.Head, _ bool, vcs int) (topology.PortID, uint32) {
		d, here, there, _ := w.turn(h.Switch, w.home[h.Dst])
		down := w.enter(0, d, here, there, there&1 == 0)&ringDown != 0
		way, crosses := 0, here > there
		if down {
			way, crosses = 1, here < there
		}
		port := w.towards[(int(h.Switch)*len(w.sizes)+d)*2+way]
		switch {
		case w.rings == 1 || !w.wraps[d]:
			return port, allVCs(min(w.rings, vcs))
		case crosses:
			return port, OneVC(0, vcs)
		}
		return port, OneVC(1, vcs)
	}}
}

// escape is dimension order on a HyperX, by the first of parallel cables.
func (w *hammingWalk) escape() escapeFunction {
	return escapeFunction{vcs: 1, unused: []string{"vc_rule"}, next: func(h *fabric.Head, _ bool, vcs int) (topology.PortID, uint32) {
		t, _ := w.turn(h.Switch, w.home[h.Dst])
		return t.port, OneVC(0, vcs)
	}}
}
