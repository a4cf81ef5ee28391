package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// PolarizedConfig holds the settings of routing "polarized".
type PolarizedConfig struct {
	Hops      int    `toml:"hops" doc:"most hops of a packet, each of them a virtual channel; -1: as many as switch.vcs, or 4 times the diameter less 3 (at most 16)" min:"-1" max:"16"`
	Sensing   string `toml:"sensing" doc:"what a queue length is: flits waiting in the switch for the output; credits outstanding behind it; or both" choices:"waiting|credits|both"`
	SpreadVCs bool   `toml:"spread_vcs" doc:"divide all virtual channels evenly between the hop classes, where there are more of them than classes; otherwise each class uses one"`
}

func init() {
	Register("polarized", "polarized routing on any graph: adaptive, hop by hop away from the source or towards the destination; the virtual channel rises at every hop", Use{},
		PolarizedConfig{-1, "credits", false}, newPolarized)
}

// polarized is polarized routing (Camarero, Martínez and Beivide, HOTI 2021; IEEE Micro
// 42(2), 2022). With D(s,c) and D(c,t) the distances of a packet's switch c from its
// source and destination, a hop may not lower D(s,c) - D(c,t). Hops that leave it as it
// is are allowed away from both ends while D(s,c) < D(c,t), towards both after that,
// and not along. So a packet never goes back, has many routes of many lengths, and
// makes 4*diameter - 3 hops at most. Of the channels allowed it takes the one of the
// least product of queue and hops left; ties go to the hops that raise the difference
// most, then at random.
//
// Deadlock: hops are numbered, and the class rises at each. A hop is allowed only if
// as many classes are left behind it as there are hops on shortest paths from there:
// a packet that runs out of them goes by shortest paths, and so does one that comes to
// a switch from which no hop is allowed, as there are on some graphs. As many virtual
// channels as hops suffice, of which there must be at least the diameter.
//
// Deviations: the papers add penalties to queue lengths; the product is that of the
// other adaptive routings here. They leave packets at switches without an allowed hop
// to a second routing.
//
// Memory: that of portSets, and 1 byte for each (switch, switch with terminals). Cost
// of a decision: linear in the ports of a switch.
type polarized struct {
	*hopPaths
	sense sensing
	near  [][]neighborSwitch // by switch
}

// neighborSwitch is a switch at the other end of a port.
type neighborSwitch struct {
	port topology.PortID
	row  int32 // where its lengths begin
}

// Layout of Head.State: hops made as legHops, the column of the source as legVia.

func newPolarized(config PolarizedConfig, env Env) (fabric.Routing, error) {
	const name = "polarized"
	set := defaultPaths("random", config.SpreadVCs)
	paths, err := newHopPaths(name, set, env, true)
	if err != nil {
		return nil, err
	}
	hops := config.Hops
	switch {
	case hops >= 0:
	case env.VCs != 0:
		hops = env.VCs
	default:
		hops = min(maxVCs, 4*paths.hops-3)
	}
	paths.need(max(hops, paths.hops))
	r := &polarized{paths, senses[config.Sensing], make([][]neighborSwitch, paths.graph.Switches())}
	for p, s := range paths.graph.PortSwitch {
		if peer, ok := paths.graph.PeerPort(topology.PortID(p)); ok {
			r.near[s] = append(r.near[s], neighborSwitch{topology.PortID(p), int32(paths.graph.PortSwitch[peer]) * int32(paths.leaves)})
		}
	}
	return r, checkVCs(name, paths.classes, env)
}

// UnusedSettings implements [param.Skipper].
func (r *polarized) UnusedSettings() []string { return nil }

// IgnoresTerminals implements [TerminalBlind].
func (r *polarized) IgnoresTerminals() bool { return true }

// ReadsOccupancy implements [fabric.OccupancyReader].
func (r *polarized) ReadsOccupancy() bool { return r.sense != senseCredits }

// ReadsCredits implements [fabric.CreditReader].
func (r *polarized) ReadsCredits() bool { return true }

// ReadsCrossed implements [fabric.CrossedReader].
func (r *polarized) ReadsCrossed() bool { return r.sense == senseBoth }

// poles is a packet at a switch, seen from its ends.
type poles struct {
	source, end int32 // columns
	from, to    int   // D(s,c), D(c,t)
	left        int   // classes left behind the next hop
}

// arrive looks at a packet that has come to a switch, and notes where it started.
func (r *polarized) arrive(h *fabric.Head) poles {
	if h.State == 0 {
		h.State = legStarted | uint32(r.leaf[h.Switch])<<legVia
	}
	row := int(h.Switch) * r.leaves
	x := poles{source: intermediate(h.State), end: r.column[h.Dst], left: r.classes - int(h.State&legHops) - 1}
	x.from, x.to = int(r.length[row+int(x.source)]), int(r.length[row+int(x.end)])
	return x
}

// gain is by how much a hop to a switch raises D(s,c) - D(c,t), and the hops left
// behind it; gain < 0: it is not allowed.
func (r *polarized) gain(x *poles, n neighborSwitch) (gain, hops int) {
	from, to := int(r.length[n.row+x.source]), int(r.length[n.row+x.end])
	gain = from - x.from + x.to - to
	switch {
	case to > x.left:
		return -1, to
	case gain != 0:
		return gain, to
	case from > x.from && x.from >= x.to, from < x.from && x.from < x.to, from == x.from:
		return -1, to
	}
	return 0, to
}

// take leaves by a port and counts the hop; straight says that the packet gets nearer
// to its destination.
func (r *polarized) take(h *fabric.Head, port topology.PortID, straight bool, vcs int) fabric.Hop {
	class := h.State & legHops
	h.State++
	if !straight {
		h.State |= fabric.NonMinimal
	}
	return fabric.Hop{Port: port, VCs: r.sets[vcs][class]}
}

// Route implements [fabric.Routing].
func (r *polarized) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	x := r.arrive(h)
	if x.to == 0 {
		return fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: v.AllVCs()}
	}
	best, weight, gained, equal, straight := topology.NoPort, 0, 0, 0, false
	for _, n := range r.near[h.Switch] {
		gain, hops := r.gain(&x, n)
		if gain < 0 {
			continue
		}
		w := r.sense.queue(v, n.port) * (hops + 1)
		switch {
		case equal == 0 || w < weight || w == weight && gain > gained:
			best, weight, gained, equal, straight = n.port, w, gain, 1, hops < x.to
		case w == weight && gain == gained:
			if equal++; v.Random(h.Switch).IntN(equal) == 0 {
				best, straight = n.port, hops < x.to
			}
		}
	}
	if equal == 0 { // nothing but shortest paths is left
		local := r.choose(v, h, r.to(h.Switch, x.end), 0)
		best, straight = r.graph.PortStart[h.Switch]+topology.PortID(local), true
	}
	return r.take(h, best, straight, v.VCs())
}

// Explore implements [fabric.Explorer].
func (r *polarized) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	x := r.arrive(&h)
	if x.to == 0 {
		yield(fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}, h.State, 1)
		return
	}
	allowed := false
	for _, n := range r.near[h.Switch] {
		gain, hops := r.gain(&x, n)
		if gain < 0 {
			continue
		}
		allowed = true
		head := h
		hop := r.take(&head, n.port, hops < x.to, vcs)
		yield(hop, head.State, 0)
	}
	if allowed {
		return
	}
	for _, local := range r.to(h.Switch, x.end) {
		head := h
		hop := r.take(&head, r.graph.PortStart[h.Switch]+topology.PortID(local), true, vcs)
		yield(hop, head.State, 0)
	}
}
