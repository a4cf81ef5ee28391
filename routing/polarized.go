package routing

import (
	"math"

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

// polarized is polarized routing (Camarero, Martínez and Beivide, HOTI 2021; IEEE Micro 42(2),
// 2022). With D(s,c) and D(c,t) the distances of a packet's switch c from its source and
// destination, a hop may not lower D(s,c) - D(c,t). Hops that keep it lead away from both ends
// while D(s,c) < D(c,t), and towards both after that. So a packet never goes back, has many routes
// of many lengths, and makes 4*diameter - 3 hops at most. Of the channels allowed it takes the one
// of the least product of queue and hops left; ties go to the hops that raise the difference most,
// then at random.
//
// Deadlock: the class rises at each hop. A hop is allowed only if it leaves as many classes as
// shortest paths from there have hops. A packet without spare classes, or at a switch that allows
// no hop (some graphs have such), goes by shortest paths. As many virtual channels as hops suffice;
// there must be as many as the diameter.
//
// Deviations: the papers add penalties to queue lengths, weft multiplies as its other adaptive
// routings do. They leave packets at switches without an allowed hop to a second routing.
//
// Memory: portSets, and 1 byte for each (switch, switch with terminals). Cost
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

// batch bounds how many neighbours are looked at together.
const batch = 32

// Layout of Head.State: hops made as hopCount says, the column of the source as legVia.

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
	eachCable(paths.graph, func(p topology.PortID, from, to topology.SwitchID) {
		r.near[from] = append(r.near[from], neighborSwitch{p, int32(to) * int32(paths.leaves)})
	})
	return r, CheckVCs(name, paths.classes, env)
}

func (r *polarized) Needs() fabric.Needs { return r.sense.needs() }

// poles is a packet at a switch, seen from its ends.
type poles struct {
	source, end int32 // columns
	from, to    int   // D(s,c), D(c,t)
	left        int   // classes left behind the next hop
}

// arrive reads a packet's state at a switch, and notes its source at the first.
func (r *polarized) arrive(h *fabric.Head) poles {
	if h.State == 0 {
		h.State = legStarted | uint32(r.leaf[h.Switch])<<legVia
	}
	row := int(h.Switch) * r.leaves
	x := poles{source: intermediate(h.State), end: r.column[h.Dst], left: r.classes - int(h.State&hopCount) - 1}
	x.from, x.to = int(r.length[row+int(x.source)]), int(r.length[row+int(x.end)])
	return x
}

// A change is what a hop does to D(s,c) and D(c,t), by -1, 0 or 1 each: 3*(change of D(s,c) + 1) +
// change of D(c,t) + 1, below 9.
const (
	changes    = 16 // room for them
	noChange   = 4
	notAllowed = -1
)

// third is a change by what it does to D(c,t), 0 to 2.
var third = [changes]uint8{0, 1, 2, 0, 1, 2, 0, 1, 2}

// gains tells by how much a hop raises D(s,c) - D(c,t), by its change.
type gains [changes]int8

// allowances are the gains of packets at a switch, by whether D(s,c) < D(c,t), and by
// the classes left behind the hop less D(c,t) plus 2, 3 if more.
var allowances = func() (all [2][4]gains) {
	for rising := range all {
		for spare := range all[rising] {
			for change := range 9 {
				from, to := change/3-1, change%3-1
				gain := from - to
				if to > spare-2 || gain < 0 ||
					gain == 0 && (from == 0 || from > 0 && rising == 0 || from < 0 && rising == 1) {
					gain = notAllowed
				}
				all[rising][spare][change] = int8(gain)
			}
		}
	}
	return all
}()

func (x *poles) gains() *gains {
	rising := 0
	if x.from < x.to {
		rising = 1
	}
	return &allowances[rising][min(max(x.left-x.to+2, 0), 3)]
}

// still is what is taken off 3*D(s,c') + D(c',t) to have the change of a hop to c'.
func (x *poles) still() int { return 3*x.from + x.to - noChange }

// change numbers how a hop to a switch changes the distances to both poles, each by 1 at most.
func (r *polarized) change(x *poles, n neighborSwitch) int {
	return 3*int(r.length[n.row+x.source]) + int(r.length[n.row+x.end]) - x.still()
}

// straight tells of a change whether the packet gets nearer to its destination.
func straight(change int) bool { return third[change] == 0 }

// leave takes a port; straight says that the packet gets nearer to its destination.
func (r *polarized) leave(h *fabric.Head, port topology.PortID, straight bool, vcs int) fabric.Hop {
	if !straight {
		h.State |= fabric.NonMinimal
	}
	return r.take(h, port, vcs)
}

func (r *polarized) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	x := r.arrive(h)
	if x.to == 0 {
		return fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: v.AllVCs()}
	}
	// Which hops are allowed is unpredictable: they are gathered without branches, then weighed.
	var hops [batch]uint16 // place among the neighbours, and change
	best, least, equal, nearer := topology.NoPort, math.MaxInt, 0, false
	gains, q := x.gains(), r.sense.queuesAt(v, r.graph, h.Switch)
	length, still := r.length, x.still()
	for all := r.near[h.Switch]; len(all) > 0; {
		near := all[:min(batch, len(all))]
		all = all[len(near):]
		allowed := 0
		for i, n := range near {
			change := 3*int(length[n.row+x.source]) + int(length[n.row+x.end]) - still
			hops[allowed&(batch-1)] = uint16(i<<4 | change)
			allowed += 1 + int(gains[change&(changes-1)]>>7)
		}
		for _, hop := range hops[:allowed] {
			change, port := int(hop&(changes-1)), near[hop>>4].port
			w := q.of(port)*(x.to+int(third[change]))*4 - int(gains[change])
			if w > least {
				continue
			}
			if w < least {
				least, equal = w, 0
			}
			if equal++; equal == 1 || q.random.IntN(equal) == 0 {
				best, nearer = port, straight(change)
			}
		}
	}
	if equal == 0 { // nothing but shortest paths is left
		best, nearer = r.choose(r.ties, v, h, r.to(h.Switch, x.end), 0), true
	}
	return r.leave(h, best, nearer, v.VCs())
}

func (r *polarized) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	x := r.arrive(&h)
	if x.to == 0 {
		yield(fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}, h.State, 1)
		return
	}
	allowed := false
	for _, n := range r.near[h.Switch] {
		change := r.change(&x, n)
		if x.gains()[change] == notAllowed {
			continue
		}
		allowed = true
		head := h
		hop := r.leave(&head, n.port, straight(change), vcs)
		yield(hop, head.State, 0)
	}
	if !allowed {
		r.explore(r.ties, h, r.to(h.Switch, x.end), 0, 0, vcs, r.take, yield)
	}
}
