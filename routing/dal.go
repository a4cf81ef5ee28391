package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// DALConfig holds the settings of routing "dal".
type DALConfig struct {
	Channels string `toml:"channels" doc:"virtual channels: numbered, one for each hop; or escape, adaptive ones and dimension order on the lowest one to escape to, decided again until the packet goes on" choices:"numbered|escape"`
	DerouteSettings
}

func init() {
	Register("dal", "DAL: dimensionally adaptive, load balanced, on HyperX: any order of dimensions, at most one deroute in each", Use{On: AllToAll},
		DALConfig{"numbered", DerouteSettings{"credits", false}}, newDAL)
}

// newDAL makes DAL, Dimensionally-Adaptive, Load-balanced routing (Ahn, Binkert, Davis, McLaren and
// Schreiber, SC 2009): see [deroutes] for the choice. A packet takes its dimensions in
// any order and may be derouted once in each.
//
// Deadlock: with channels = "numbered" the class rises at every hop, of which there are
// at most 2n in n dimensions. With "escape" virtual channel 0 is dimension order from
// wherever a packet is, the others are adaptive: two virtual channels (Duato; see
// [dalEscape]).
//
// The text of the paper was not at hand: this is after its abstract and the
// description in the atlas's reference data. The weight of a channel is queue times
// hops left, as for the other routings of the family.
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

// UnusedSettings implements [param.Skipper]: such routings read credits only, and use
// all virtual channels.
func (r *dalEscape) UnusedSettings() []string { return []string{"sensing", "spread_vcs"} }

// EscapeVCs implements [fabric.EscapeRouting].
func (r *dalEscape) EscapeVCs(int) uint32 { return 1 }

// Route implements [fabric.Routing].
func (r *dalEscape) Route(v *fabric.View, h *fabric.Head) fabric.Hop { return r.decide(v, h, false) }

// Reroute implements [fabric.EscapeRouting].
func (r *dalEscape) Reroute(v *fabric.View, h *fabric.Head) fabric.Hop { return r.decide(v, h, true) }

// decide takes the channel of the least weight, of those with room if asked for.
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

// Explore implements [fabric.Explorer].
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
