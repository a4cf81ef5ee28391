package routing

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// UGALPFConfig holds the settings of routing "ugal-pf".
type UGALPFConfig struct {
	Reading       string `toml:"reading" doc:"when packets leave the minimal path: paper, once its output's queue reaches two thirds of a buffer, for the neighbour with the emptiest output; sst, once the queue is longer than 3/2 of that of the best neighbour drawn, and threshold" choices:"paper|sst"`
	Threshold     int    `toml:"threshold" doc:"of reading sst" unit:"flits" min:"0" max:"1000000"`
	Candidates    int    `toml:"candidates" doc:"of reading sst: detours drawn for each packet" min:"1" max:"64"`
	NeighbourTies string `toml:"neighbour_ties" doc:"of reading paper, choice between several neighbours with the emptiest output: random, or lowest, the switch with the lowest number, as BookSim2 chooses" choices:"random|lowest"`
	Sensing       string `toml:"sensing" doc:"what a queue length is: flits waiting in the switch for the output; credits outstanding behind it; or both" choices:"waiting|credits|both"`
	DecidedAt     string `toml:"decided_at" doc:"where: at the terminal, a cycle before the packet enters its channel; or at the switch, as the packet arrives" choices:"terminal|switch"`
	PathSettings
}

func init() {
	Register("ugal-pf", "UGAL-PF of PolarFly, on any graph: minimal, or over a neighbour of the source switch; the virtual channel rises at every hop", Use{},
		UGALPFConfig{"paper", 50, 4, "random", "credits", "terminal", defaultPaths("random", false)}, newUGALPF)
}

// ugalPF is UGAL-PF, UGAL with Compact Valiant paths (Lakhotia et al., PolarFly, SC
// 2022, as the BookSim that was published with it reads it): a detour leads over a
// neighbour of the source switch, one hop more than a minimal path of two. Where
// source and destination are neighbours themselves, a path over a third neighbour
// would lead back in part, and a switch two hops away is the intermediate.
//
//   - reading = "paper": a packet goes minimally while the queue of its output, all
//     virtual channels, is shorter than two thirds of the buffer of one. Otherwise it
//     takes the neighbour whose output has the shortest queue, of several the one that
//     neighbour_ties says: as intermediate, or, if source and destination are neighbours, one of
//     that neighbour's neighbours, drawn at random from those that are neither. If
//     the minimal output has the shortest queue, the packet goes minimally.
//   - reading = "sst": the PolarFly of SST merlin. Neighbours are drawn at random (any
//     switch, if source and destination are neighbours); the packet goes minimally
//     while q_m < 3/2*q_nm + T for the shortest queue q_nm of those drawn.
//
// Deadlock: hops are numbered as in routing "val" on any graph, 2+2 on PolarFly.
// hop_vcs = "any" is as published: at the first switch the virtual channel with the
// fewest credits outstanding when the packet is decided, then any. It can deadlock.
//
// On graphs whose diameter is not 2, "neighbours" and "not" is all that is told apart.
type ugalPF struct {
	*legWalk
	settings UGALPFConfig
	sense    sensing
	near     [][]neighbor // by switch
}

// neighbor is a switch with terminals at the other end of a cable.
type neighbor struct {
	port   topology.PortID
	column int32
}

func newUGALPF(config UGALPFConfig, env Env) (fabric.Routing, error) {
	walk, err := newLegWalk("ugal-pf", config.PathSettings, env)
	if err != nil {
		return nil, err
	}
	u := &ugalPF{walk, config, senses[config.Sensing], make([][]neighbor, walk.graph.Switches())}
	eachCable(walk.graph, func(p topology.PortID, from, to topology.SwitchID) {
		if column := walk.leaf[to]; column >= 0 {
			u.near[from] = append(u.near[from], neighbor{p, column})
		}
	})
	return u, nil
}

func (u *ugalPF) UnusedSettings() []string {
	unused := u.legWalk.UnusedSettings()
	if u.settings.Reading == "paper" {
		unused = append(unused, "threshold", "candidates")
	} else {
		unused = append(unused, "neighbour_ties")
	}
	return unused
}

func (u *ugalPF) Needs() fabric.Needs {
	needs := u.sense.needs()
	needs.Departs = u.settings.DecidedAt == "terminal"
	return needs
}

func (u *ugalPF) Depart(v *fabric.View, h *fabric.Head) uint32 {
	decided := u.decide(v, h)
	h.State = decided
	if hop := u.onward(v, h); u.choosesVC(h, hop.Port) {
		decided |= u.emptiestVC(v, hop.Port) + 1
	}
	h.State = decided
	return v.AllVCs()
}

func (u *ugalPF) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if h.State == 0 {
		h.State = u.decide(v, h)
	}
	noted := uint32(0) // at the terminal: the virtual channel of the first hop, + 1
	if u.counted == 0 {
		noted, h.State = h.State&hopCount, h.State&^hopCount
	}
	hop := u.onward(v, h)
	switch {
	case !u.choosesVC(h, hop.Port):
	case noted > 0:
		hop.VCs = 1 << (noted - 1)
	default:
		hop.VCs = 1 << u.emptiestVC(v, hop.Port)
	}
	return hop
}

// emptiestVC is the first virtual channel of a port with the fewest credits outstanding.
func (u *ugalPF) emptiestVC(v *fabric.View, port topology.PortID) uint32 {
	best, least := 0, v.Outstanding(port, 0)
	for vc := 1; vc < v.VCs(); vc++ {
		if n := v.Outstanding(port, vc); n < least {
			best, least = vc, n
		}
	}
	return uint32(best)
}

// choosesVC tells whether credits outstanding choose the virtual channel of a packet's first hop.
func (u *ugalPF) choosesVC(h *fabric.Head, out topology.PortID) bool {
	_, first := u.graph.PeerTerminal(h.In)
	_, between := u.graph.PeerPort(out)
	return u.counted == 0 && first && between
}

// decide is the state in which a packet starts.
func (u *ugalPF) decide(v *fabric.View, h *fabric.Head) uint32 {
	here, there := u.leaf[h.Switch], u.column[h.Dst]
	if here == there {
		return direct()
	}
	random := v.Random(h.Switch)
	minimal := u.choose(u.ties, v, h, u.to(h.Switch, there), u.key(h))
	if u.settings.Reading == "sst" {
		return u.decideDrawn(v, h, u.sense.queue(v, minimal), random)
	}
	if buffer := v.Outstanding(minimal, 0) + v.Credits(minimal, 0); 3*u.sense.queue(v, minimal) < 2*buffer {
		return direct()
	}
	best := u.emptiest(v, h, random)
	if best.column < 0 || best.port == minimal {
		return direct()
	}
	if u.adjacent(h.Switch, there) {
		if best.column = u.drawBeyond(best.column, here, there, random); best.column < 0 {
			return direct()
		}
	}
	return over(best.column)
}

// emptiest is the neighbour whose output has the shortest queue; column < 0 if there are none.
func (u *ugalPF) emptiest(v *fabric.View, h *fabric.Head, random *sim.Stream) neighbor {
	best, least, equal := neighbor{column: -1}, 0, 0
	for _, n := range u.near[h.Switch] {
		switch q := u.sense.queue(v, n.port); {
		case equal == 0 || q < least:
			best, least, equal = n, q, 1
		case q > least:
		case u.settings.NeighbourTies == "lowest":
			if u.via[n.column] < u.via[best.column] {
				best = n
			}
		default:
			if equal++; random.IntN(equal) == 0 {
				best = n
			}
		}
	}
	return best
}

// adjacent tells whether a cable joins a switch to a leaf.
func (u *ugalPF) adjacent(s topology.SwitchID, column int32) bool { return u.lengthTo(s, column) == 1 }

// drawBeyond draws a neighbour of the leaf at column other than two switches; -1 if none.
func (u *ugalPF) drawBeyond(column, here, there int32, random *sim.Stream) int32 {
	drawn, equal := int32(-1), 0
	for _, n := range u.near[u.via[column]] {
		if n.column != here && n.column != there {
			if equal++; random.IntN(equal) == 0 {
				drawn = n.column
			}
		}
	}
	return drawn
}

// decideDrawn is decide of reading sst; minimal is the queue of the minimal output.
func (u *ugalPF) decideDrawn(v *fabric.View, h *fabric.Head, minimal int, random *sim.Stream) uint32 {
	here, there, near := u.leaf[h.Switch], u.column[h.Dst], u.near[h.Switch]
	adjacent := u.adjacent(h.Switch, there)
	best, least := int32(-1), 0
	for range u.settings.Candidates {
		var n neighbor
		switch {
		case adjacent:
			n.column = int32(random.IntN(u.leaves - 1))
			if n.column >= here {
				n.column++
			}
			n.port = u.choose(u.ties, v, h, u.to(h.Switch, n.column), u.key(h))
		case len(near) > 0:
			n = near[random.IntN(len(near))]
		default:
			return direct()
		}
		if q := u.sense.queue(v, n.port); best < 0 || q < least {
			best, least = n.column, q
		}
	}
	if minimal < 3*least/2+u.settings.Threshold {
		return direct()
	}
	return over(best)
}

func (u *ugalPF) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	exploreDetours(u, true, vcs, h, yield)
}

func (u *ugalPF) exploreOnward(vcs int, h fabric.Head, share float64, yield func(fabric.Hop, uint32, float64)) {
	u.legWalk.exploreOnward(vcs, h, share, func(hop fabric.Hop, after uint32, weight float64) {
		if !u.choosesVC(&h, hop.Port) {
			yield(hop, after, weight)
			return
		}
		for set := hop.VCs; set != 0; set &= set - 1 {
			yield(fabric.Hop{Port: hop.Port, VCs: 1 << bits.TrailingZeros32(set)}, after, weight)
		}
	})
}

func (u *ugalPF) eachDetour(h *fabric.Head, visit func(state uint32, share float64)) {
	here, there := u.leaf[h.Switch], u.column[h.Dst]
	switch {
	case !u.adjacent(h.Switch, there):
		for _, n := range u.near[h.Switch] {
			visit(over(n.column), 0)
		}
	case u.settings.Reading == "sst":
		for column := range int32(u.leaves) {
			if column != here {
				visit(over(column), 0)
			}
		}
	default:
		for _, n := range u.near[h.Switch] {
			for _, beyond := range u.near[u.via[n.column]] {
				if beyond.column != here && beyond.column != there {
					visit(over(beyond.column), 0)
				}
			}
		}
	}
}
