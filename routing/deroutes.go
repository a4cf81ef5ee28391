package routing

import (
	"math"
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// DerouteSettings are the settings that the adaptive routings on HyperX share.
type DerouteSettings struct {
	Sensing   string `toml:"sensing" doc:"what a queue length is: flits waiting in the switch for the output; credits outstanding behind it; or both" choices:"waiting|credits|both"`
	SpreadVCs bool   `toml:"spread_vcs" doc:"divide all virtual channels evenly between the hop classes, where there are more of them than classes; otherwise each class uses one"`
}

// deroutes is what the adaptive routings on HyperX share: at every switch a packet takes the
// channel with the least product of queue and hops left. A channel either aligns the packet with
// its destination in a dimension, or leads elsewhere in a dimension that is not aligned (a deroute,
// one hop more). Ties go to aligning hops, then at random. The members of the family differ in the
// dimensions and deroutes that they allow, and in virtual channels.
//
// The port that a packet came in by tells whether the last hop was a deroute: then the packet still
// is not aligned in that dimension.
//
// The papers' texts were not at hand: the members follow their abstracts and the atlas's reference
// data. Decisions fall as a packet reaches the front of its buffer.
type deroutes struct {
	plain
	*hammingWalk
	rule    derouteRule
	sense   sensing
	classes int
	sets    classSets
}

// derouteRule says when a packet may be derouted.
type derouteRule uint8

const (
	ruleDimWAR  derouteRule = iota // the lowest dimension only; no two deroutes running
	ruleOmniWAR                    // as classes are left; no two deroutes running in a dimension
	ruleDAL                        // one deroute a dimension
)

// Layout of Head.State.
const (
	derouteHops  uint32 = 1<<5 - 1 // hops made
	derouteMask         = 5        // dimensions that have been derouted in, 16 bits
	derouteStart uint32 = 1 << 21
)

func newDeroutes(name string, rule derouteRule, classes int, set DerouteSettings, env Env) (*deroutes, error) {
	walk, err := newHammingWalk(name, env)
	if err != nil {
		return nil, err
	}
	r := &deroutes{hammingWalk: walk, rule: rule, sense: senses[set.Sensing], classes: classes}
	r.sets.assign(classes, set.SpreadVCs)
	return r, CheckVCs(name, classes, env)
}

func (r *deroutes) VCs() int { return r.classes }

func (r *deroutes) Needs() fabric.Needs { return r.sense.needs() }

type journey struct {
	open  uint64  // the dimensions to align, a set of the hammingWalk's
	left  int     // how many they are
	came  int     // dimension that it came along, noDimension at its source
	there []int32 // the destination's coordinates
}

// arrive reads a packet's state at a switch, and records in it that the last hop was a deroute.
func (r *deroutes) arrive(h *fabric.Head) journey {
	home := r.home[h.Dst]
	j := journey{open: r.openTo(h.Switch, home), came: int(r.along[h.In]), there: r.place(home)}
	j.left = bits.OnesCount64(j.open)
	h.State |= derouteStart
	if r.rule == ruleDAL && j.came != noDimension && r.place(h.Switch)[j.came] != j.there[j.came] {
		h.State |= 1 << (derouteMask + j.came)
	}
	return j
}

// considered is the set of dimensions that may be routed in: those to align, or the lowest of them.
func (r *deroutes) considered(j *journey) uint64 {
	if r.rule == ruleDimWAR {
		return j.open & -j.open
	}
	return j.open
}

func (r *deroutes) lowest(set uint64) int { return int(r.dimension[bits.TrailingZeros64(set)]) }

// mayDeroute is the set of dimensions, of those considered, that a packet may be derouted in.
func (r *deroutes) mayDeroute(h *fabric.Head, j *journey, considered uint64) uint64 {
	switch {
	case r.rule == ruleDAL:
		for set := considered; set != 0; set &= set - 1 {
			considered &^= uint64(h.State>>(derouteMask+r.lowest(set))&1) << bits.TrailingZeros64(set)
		}
	case r.rule == ruleOmniWAR && r.classes-int(h.State&derouteHops)-1 < j.left:
		return 0
	case j.came != noDimension:
		considered &^= r.member[j.came]
	}
	return considered
}

// take is the hop by a port; it counts hops if they are numbered.
func (r *deroutes) take(h *fabric.Head, port topology.PortID, aligns bool, vcs int) fabric.Hop {
	class := h.State & derouteHops
	if r.rule == ruleDimWAR {
		class = 0
		if aligns {
			class = 1
		}
	} else {
		h.State++
	}
	if !aligns {
		h.State |= fabric.NonMinimal
	}
	return fabric.Hop{Port: port, VCs: r.sets[vcs][class]}
}

type least struct {
	port   topology.PortID
	weight int
	equal  int // of so many one was drawn
}

var noneYet = least{topology.NoPort, math.MaxInt, 0}

// offer weighs the cables of row that are not in but; hops is the number of hops left by them. Its
// result stays in registers.
func (l least) offer(q *queues, row, but trunk, hops int) least {
	for p, end := row.port, row.port+topology.PortID(row.count); p < end; p++ {
		if p == but.port {
			if p += topology.PortID(but.count); p >= end {
				break
			}
		}
		w := q.of(p) * hops
		if w > l.weight {
			continue
		}
		if w < l.weight {
			l.weight, l.equal = w, 0
		}
		if l.equal++; l.equal == 1 || q.random.IntN(l.equal) == 0 {
			l.port = p
		}
	}
	return l
}

var nothing = trunk{topology.NoPort, 0}

// candidates visits the rows of cables that a packet may leave by, each without some of its cables.
func (r *deroutes) candidates(h *fabric.Head, j *journey, visit func(row, but trunk, aligns bool)) {
	dims := r.considered(j)
	may := r.mayDeroute(h, j, dims)
	for set := dims; set != 0; set &= set - 1 {
		d := r.lowest(set)
		aligning := r.trunk(h.Switch, d, j.there[d])
		visit(aligning, nothing, true)
		if set&-set&may != 0 {
			visit(r.row(h.Switch, d), aligning, false)
		}
	}
}

func (r *deroutes) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	j := r.arrive(h)
	if j.left == 0 {
		return fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: v.AllVCs()}
	}
	q := r.sense.queuesAt(v, r.graph, h.Switch)
	aligning, derouting := noneYet, noneYet
	dims := r.considered(&j)
	for set := dims; set != 0; set &= set - 1 {
		d := r.lowest(set)
		aligning = aligning.offer(&q, r.trunk(h.Switch, d, j.there[d]), nothing, j.left)
	}
	if aligning.weight == 0 { // no deroute is better
		return r.take(h, aligning.port, true, v.VCs())
	}
	for set := r.mayDeroute(h, &j, dims); set != 0; set &= set - 1 {
		d := r.lowest(set)
		derouting = derouting.offer(&q, r.row(h.Switch, d), r.trunk(h.Switch, d, j.there[d]), j.left+1)
	}
	if derouting.weight < aligning.weight {
		return r.take(h, derouting.port, false, v.VCs())
	}
	return r.take(h, aligning.port, true, v.VCs())
}

func (r *deroutes) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	j := r.arrive(&h)
	if j.left == 0 {
		yield(fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}, h.State, 1)
		return
	}
	r.candidates(&h, &j, func(row, but trunk, aligns bool) {
		row.each(but, func(p topology.PortID) {
			head := h
			hop := r.take(&head, p, aligns, vcs)
			yield(hop, head.State, 0)
		})
	})
}

// DimWARConfig holds the settings of routing "dimwar".
type DimWARConfig struct{ DerouteSettings }

func init() {
	Register("dimwar", "DimWAR: dimension order on HyperX, with a deroute in a dimension where that is shorter by the queues", Use{On: AllToAll},
		DimWARConfig{DerouteSettings{"credits", true}}, newDimWAR)
	Register("omniwar", "OmniWAR: minimal adaptive on HyperX in any order of dimensions, with deroutes while virtual channels are left for them", Use{On: AllToAll},
		OmniWARConfig{-1, DerouteSettings{"credits", false}}, newOmniWAR)
	Register("dal", "DAL: dimensionally adaptive, load balanced, on HyperX: any order of dimensions, at most one deroute in each", Use{On: AllToAll},
		DALConfig{"numbered", DerouteSettings{"credits", false}}, newDAL)
}

// newDimWAR makes DimWAR, dimensionally ordered, weighted adaptive routing (McDonald, Isaev, Flores,
// Davis and Kim, "Practical and efficient incremental adaptive routing for HyperX
// networks", SC 2019): see [deroutes] for the choice. A packet takes the dimensions in
// order; in each it goes to its coordinate by one hop, or by two over any other.
//
// Deadlock: deroutes use the first of two VC classes, aligning hops the second. Sort channels by
// dimension, deroutes first: an aligning hop of the same dimension follows a deroute, then channels
// of higher dimensions. Two virtual channels whatever the number of dimensions; more are divided
// between the classes.
func newDimWAR(config DimWARConfig, env Env) (fabric.Routing, error) {
	return newDeroutes("dimwar", ruleDimWAR, 2, config.DerouteSettings, env)
}

// OmniWARConfig holds the settings of routing "omniwar".
type OmniWARConfig struct {
	Deroutes int `toml:"deroutes" doc:"most deroutes of a packet, each of them a virtual channel; -1: as many as switch.vcs leaves, or one for each dimension" min:"-1" max:"15"`
	DerouteSettings
}

// newOmniWAR makes OmniWAR, omni-dimensional, weighted adaptive routing (McDonald, Isaev, Flores,
// Davis and Kim, SC 2019): see [deroutes] for the choice. A packet takes its dimensions in any
// order. It may be derouted in any dimension that is not aligned, but not twice running in the
// same, while more VC classes are left than dimensions to align.
//
// Deadlock: hops are numbered, and the class rises at each. A packet on hop number i (from 0) with
// a dimensions to align has at least a classes left: n+m virtual channels for n dimensions and m
// deroutes. That no dimension is derouted in twice running is for performance.
func newOmniWAR(config OmniWARConfig, env Env) (fabric.Routing, error) {
	n := len(env.Topology.(topology.Hamming).Dims())
	m := config.Deroutes
	switch {
	case m >= 0:
	case env.VCs != 0:
		m = max(0, env.VCs-n)
	default:
		m = max(0, min(n, maxVCs-n))
	}
	return newDeroutes("omniwar", ruleOmniWAR, n+m, config.DerouteSettings, env)
}

// DALConfig holds the settings of routing "dal".
type DALConfig struct {
	Channels string `toml:"channels" doc:"virtual channels: numbered, one for each hop; or escape, adaptive ones and dimension order on the lowest one to escape to, decided again until the packet goes on" choices:"numbered|escape"`
	DerouteSettings
}

// newDAL makes DAL, Dimensionally-Adaptive, Load-balanced routing (Ahn, Binkert, Davis, McLaren and
// Schreiber, SC 2009): see [deroutes] for the choice. A packet takes its dimensions in
// any order and may be derouted once in each.
//
// Deadlock: with channels = "numbered" the class rises at every hop, of which there are at most 2n
// in n dimensions. With "escape" virtual channel 0 is dimension order from wherever a packet is,
// the others are adaptive: two virtual channels (Duato; see [dalEscape]).
//
// The weight of a channel is queue times hops left, as for the other routings of the family.
func newDAL(config DALConfig, env Env) (fabric.Routing, error) {
	n := len(env.Topology.(topology.Hamming).Dims())
	if config.Channels == "numbered" {
		return newDeroutes("dal", ruleDAL, 2*n, config.DerouteSettings, env)
	}
	config.Sensing, config.SpreadVCs = "credits", false
	r, err := newDeroutes("dal", ruleDAL, 2, config.DerouteSettings, env)
	return &dalEscape{r}, err
}

// dalEscape is DAL with escape channels: a packet asks for the adaptive channel of the
// least weight that has room for it, and where none has, for the dimension-order hop on
// virtual channel 0; it may come back from there.
//
// Deadlock, by Duato's condition (see package fabric's EscapeRouting): a packet on an
// escape channel of dimension d is aligned in all dimensions below d and in d, and no
// hop of any kind leaves a dimension in which it is aligned, so that the next escape
// channel it asks for is of a higher dimension.
type dalEscape struct{ *deroutes }

// UnusedSettings implements [param.Skipper]: only credits are read, and all virtual channels used.
func (r *dalEscape) UnusedSettings() []string { return []string{"sensing", "spread_vcs"} }
func (r *dalEscape) EscapeVCs(int) uint32     { return 1 }

func (r *dalEscape) Route(v *fabric.View, h *fabric.Head) fabric.Hop   { return r.decide(v, h, false) }
func (r *dalEscape) Reroute(v *fabric.View, h *fabric.Head) fabric.Hop { return r.decide(v, h, true) }

// decide takes the channel of the least weight (with room: of those with room).
func (r *dalEscape) decide(v *fabric.View, h *fabric.Head, room bool) fabric.Hop {
	j := r.arrive(h)
	if j.left == 0 {
		return fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: v.AllVCs()}
	}
	adaptive := v.AllVCs() &^ 1
	q := r.sense.queuesAt(v, r.graph, h.Switch)
	best := [2]least{noneYet, noneYet} // aligning, derouting
	if adaptive != 0 {
		r.candidates(h, &j, func(row, but trunk, aligns bool) {
			hops, to := j.left, &best[0]
			if !aligns {
				hops, to = j.left+1, &best[1]
			}
			row.each(but, func(p topology.PortID) {
				if !room || v.Room(p, h.Flits)&adaptive != 0 {
					*to = to.offer(&q, trunk{p, 1}, nothing, hops)
				}
			})
		})
	}
	switch {
	case best[0].equal == 0 && best[1].equal == 0:
		t, _ := r.turn(h.Switch, r.home[h.Dst])
		return fabric.Hop{Port: t.port, VCs: 1}
	case best[1].weight < best[0].weight:
		h.State |= fabric.NonMinimal
		return fabric.Hop{Port: best[1].port, VCs: adaptive}
	}
	return fabric.Hop{Port: best[0].port, VCs: adaptive}
}

func (r *dalEscape) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	j := r.arrive(&h)
	if j.left == 0 {
		yield(fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}, h.State, 1)
		return
	}
	if adaptive := allVCs(vcs) &^ 1; adaptive != 0 {
		r.candidates(&h, &j, func(row, but trunk, aligns bool) {
			state := h.State
			if !aligns {
				state |= fabric.NonMinimal
			}
			row.each(but, func(p topology.PortID) { yield(fabric.Hop{Port: p, VCs: adaptive}, state, 0) })
		})
	}
	t, _ := r.turn(h.Switch, r.home[h.Dst])
	yield(fabric.Hop{Port: t.port, VCs: 1}, h.State, 0)
}
