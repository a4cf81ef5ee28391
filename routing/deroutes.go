package routing

import (
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// DerouteSettings are the settings that the adaptive routings on HyperX share.
type DerouteSettings struct {
	Sensing   string `toml:"sensing" doc:"what a queue length is: flits waiting in the switch for the output; credits outstanding behind it; or both" choices:"waiting|credits|both"`
	SpreadVCs bool   `toml:"spread_vcs" doc:"divide all virtual channels evenly between the hop classes, where there are more of them than classes; otherwise each class uses one"`
}

// deroutes is what the adaptive routings on HyperX share: at every switch a packet
// takes the channel of the least product of queue and hops left, among those that
// align it with its destination in a dimension and those that lead elsewhere in a
// dimension in which it is not aligned (deroutes, one hop more). Ties go to aligning
// hops, then at random. The members of the family differ in the dimensions and
// deroutes that they allow, and in virtual channels.
//
// Whether the last hop was a deroute follows from the port that a packet came in by:
// it still is not aligned in that dimension.
type deroutes struct {
	*hammingWalk
	rule    derouteRule
	sense   sensing
	classes int
	sets    [2*maxVCs + 2][maxVCs]uint32 // virtual channels of a class, by how many there are
}

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
	for vcs := 1; vcs < len(r.sets); vcs++ {
		for class := range min(classes, maxVCs) {
			r.sets[vcs][class] = oneVC(uint32(class), vcs)
			if set.SpreadVCs {
				r.sets[vcs][class] = classVCs(class, classes, vcs)
			}
		}
	}
	return r, checkVCs(name, classes, env)
}

// VCs implements [fabric.Routing].
func (r *deroutes) VCs() int { return r.classes }

// InjectionVCs implements [fabric.Routing].
func (r *deroutes) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

// IgnoresTerminals implements [TerminalBlind].
func (r *deroutes) IgnoresTerminals() bool { return true }

// ReadsOccupancy implements [fabric.OccupancyReader].
func (r *deroutes) ReadsOccupancy() bool { return r.sense != senseCredits }

// ReadsCredits implements [fabric.CreditReader].
func (r *deroutes) ReadsCredits() bool { return true }

// ReadsCrossed implements [fabric.CrossedReader].
func (r *deroutes) ReadsCrossed() bool { return r.sense == senseBoth }

// journey is a packet at a switch.
type journey struct {
	here, there []int32               // coordinates
	left        int                   // dimensions to align
	came        int                   // dimension that it came along, noDimension at its source
	open        [maxHammingDims]uint8 // the dimensions to align, the lowest first
}

// arrive looks at a packet that has come to a switch, and notes a deroute that lies
// behind it. Which dimensions are left is as good as random, so it is found without
// branches, and once for all that comes after.
func (r *deroutes) arrive(h *fabric.Head, j *journey) {
	j.here, j.there, j.came = r.place(h.Switch), r.place(r.home[h.Dst]), int(r.along[h.In])
	left, there := 0, j.there[:len(j.here)]
	for d, at := range j.here {
		j.open[left&(maxHammingDims-1)] = uint8(d)
		more := 0
		if at != there[d] {
			more = 1
		}
		left += more
	}
	j.left = left
	h.State |= derouteStart
	if r.rule == ruleDAL && j.came != noDimension && j.here[j.came] != there[j.came] {
		h.State |= 1 << (derouteMask + j.came)
	}
}

// elsewhere is coordinate number i of dimension d among those that are neither the
// packet's own nor its destination's.
func (j *journey) elsewhere(d uint8, i int) int {
	low, high := int(j.here[d]), int(j.there[d])
	if low > high {
		low, high = high, low
	}
	if i >= low {
		i++
	}
	if i >= high {
		i++
	}
	return i
}

// considered lists the dimensions that are looked at: those to align, or the lowest of
// them.
func (r *deroutes) considered(j *journey) []uint8 {
	if r.rule == ruleDimWAR {
		return j.open[:1]
	}
	return j.open[:j.left]
}

// mayDeroute tells whether a packet may be derouted in a dimension in which it is not
// aligned.
func (r *deroutes) mayDeroute(h *fabric.Head, j *journey, d int) bool {
	switch r.rule {
	case ruleOmniWAR:
		return d != j.came && r.classes-int(h.State&derouteHops)-1 >= j.left
	case ruleDAL:
		return h.State>>(derouteMask+d)&1 == 0
	}
	return d != j.came
}

// take is the hop by a port. It counts hops where these are numbered.
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

// least is the channel of the least weight so far.
type least struct {
	port   topology.PortID
	weight int
	equal  int // of so many one was drawn
}

// noneYet weighs more than any channel.
var noneYet = least{topology.NoPort, math.MaxInt, 0}

// offer looks at the cables to a switch, of which a packet has so many hops to make. Its
// arguments and its result stay in registers.
func (l least) offer(v *fabric.View, sense sensing, t trunk, hops int, random *sim.Stream) least {
	for p := t.port; p < t.port+topology.PortID(t.count); p++ {
		w := sense.queue(v, p) * hops
		if w > l.weight {
			continue
		}
		if w < l.weight {
			l.weight, l.equal = w, 0
		}
		if l.equal++; l.equal == 1 || random.IntN(l.equal) == 0 {
			l.port = p
		}
	}
	return l
}

// candidates lists the cables that a packet may leave by.
func (r *deroutes) candidates(h *fabric.Head, j *journey, visit func(t trunk, aligns bool)) {
	for _, d := range r.considered(j) {
		visit(r.trunk(h.Switch, int(d), j.there[d]), true)
		if r.mayDeroute(h, j, int(d)) {
			trunks := r.trunksAlong(h.Switch, int(d))
			for i := range len(trunks) - 2 {
				visit(trunks[j.elsewhere(d, i)], false)
			}
		}
	}
}

// Route implements [fabric.Routing].
func (r *deroutes) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	var j journey
	r.arrive(h, &j)
	if j.left == 0 {
		return fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: v.AllVCs()}
	}
	random := v.Random(h.Switch)
	aligning, derouting := noneYet, noneYet
	dims := r.considered(&j)
	for _, d := range dims {
		aligning = aligning.offer(v, r.sense, r.trunk(h.Switch, int(d), j.there[d]), j.left, random)
	}
	if aligning.weight == 0 { // no deroute is better
		return r.take(h, aligning.port, true, v.VCs())
	}
	for _, d := range dims {
		if r.mayDeroute(h, &j, int(d)) {
			trunks := r.trunksAlong(h.Switch, int(d))
			for i := range len(trunks) - 2 {
				derouting = derouting.offer(v, r.sense, trunks[j.elsewhere(d, i)], j.left+1, random)
			}
		}
	}
	if derouting.weight < aligning.weight {
		return r.take(h, derouting.port, false, v.VCs())
	}
	return r.take(h, aligning.port, true, v.VCs())
}

// Explore implements [fabric.Explorer].
func (r *deroutes) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	var j journey
	r.arrive(&h, &j)
	if j.left == 0 {
		yield(fabric.Hop{Port: r.graph.TerminalPort[h.Dst], VCs: allVCs(vcs)}, h.State, 1)
		return
	}
	r.candidates(&h, &j, func(t trunk, aligns bool) {
		for i := range t.count {
			head := h
			hop := r.take(&head, t.port+topology.PortID(i), aligns, vcs)
			yield(hop, head.State, 0)
		}
	})
}
