// Package dswitch holds the sessions of the distributed full switch (Podlazov 2012):
// all-to-all exchanges and permutations on PK_k(R_k, m, 1 | m^(k-1)), stage by stage,
// with multiple access, faults and self-routing.
package dswitch

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// SessionNetwork is the cycle-level model of a distributed full switch (Podlazov, Control Sciences
// 6, 2012; wired as [topology.DistributedSwitch]). In a session all processors start
// their packets of F flits in the same cycle; a packet carries its route in its header, and nothing
// is buffered on the way: through a splitter of each of the k stages, a switch of the spine, and a
// joiner of each stage, a cycle a flit in each.
//
//	           stage 1     stage 2           spine
//	processor  splitter -> splitter -> ... -> m x m
//	           joiner   <- joiner   <- ... <- switch
//
// Splitter/joiners of the first stage work on all m ports at once (the paper's ROK*, figure 2a)
// unless SingleAccess is set; all others let one packet a session through to the processor's side,
// from the lowest port that has one, and drop the rest (multiple access, figure 2b). Of two packets
// for one output port of a spine switch the one from the higher port is dropped: a conflict.
type SessionNetwork struct {
	SingleAccess bool // of the first stage, too: one-packet splitter/joiners

	sw   *topology.DistributedSwitch
	k, m int
	// A unit is a splitter and the joiner beside it; stages count from 0 here.
	// up[s][unit*m+j] is where port j of a unit of stage s leads:
	// to a unit of stage s+1, or from the last stage to spine port switch*m+i.
	up [][]int32
	// down[s][unit] is the port unit*m+j of stage s-1 below a unit of stage s, -1 if nothing is
	// plugged in; down[k][switch*m+i] is for spine ports.
	down [][]int32
	// processor[s][unit] is the only processor that can use a unit, by cables alone; -1: none.
	processor [][]int32
	faults    *sessionFaults
}

// NewSessionNetwork lays out the stages of s.
func NewSessionNetwork(s *topology.DistributedSwitch) *SessionNetwork {
	k, m := s.Cascades(), s.Radix()
	n := &SessionNetwork{sw: s, k: k, m: m, up: make([][]int32, k), down: make([][]int32, k+1), processor: make([][]int32, k)}
	for stage := range k {
		units := s.Units(stage + 1)
		below := s.Copies(0) * m
		if stage+1 < k {
			below = s.Units(stage + 2)
		}
		n.up[stage] = make([]int32, units*m)
		n.down[stage+1] = slices.Repeat([]int32{-1}, below)
		n.processor[stage] = make([]int32, units)
		for u := range units {
			n.processor[stage][u] = int32(u)
			if stage > 0 {
				n.processor[stage][u] = -1
				if p := n.down[stage][u]; p >= 0 {
					n.processor[stage][u] = n.processor[stage-1][p/int32(m)]
				}
			}
			for j := range m {
				to, port := s.Up(stage+1, u, j)
				if stage+1 == k {
					to = to*m + port
				}
				n.up[stage][u*m+j] = int32(to)
				n.down[stage+1][to] = int32(u*m + j)
			}
		}
	}
	return n
}

// Processors is R_k.
func (n *SessionNetwork) Processors() int { return n.sw.Level(n.k) }

// Headers holds the routes of the packets of one session. A processor may
// send one packet through each of its m ports; the paper's broadcast address
// c_1 = 0 is the same packet, with the same header, on all of them.
type Headers struct {
	k, m int
	// digits[(processor*m+port)*k+i]: for i < k-1 the output port c_(i+2) of
	// the splitter of stage i+2, for i = k-1 the output port B of the spine
	// switch; all from 0. noPacket in the first place: nothing is sent.
	digits []uint8
}

const noPacket = 0xff

func (n *SessionNetwork) headers() Headers {
	return Headers{k: n.k, m: n.m, digits: make([]uint8, n.Processors()*n.m*n.k)}
}

// Clear removes all packets.
func (h *Headers) Clear() {
	for i := 0; i < len(h.digits); i += h.k {
		h.digits[i] = noPacket
	}
}

// Packet makes processor x send through its port j and returns the route (c_2, ..., c_k, B) to fill
// in.
func (h *Headers) Packet(x, j int) []uint8 {
	at := (x*h.m + j) * h.k
	return h.digits[at : at+h.k]
}

// Sends tells whether processor x sends through its port j.
func (h *Headers) Sends(x, j int) bool { return h.digits[(x*h.m+j)*h.k] != noPacket }

// SessionSchedule is a sequence of sessions: who sends what through which ports.
type SessionSchedule struct {
	Sessions int // their number
	// Indirect: the B of headers is added to the port on which the spine switch receives the
	// packet, modulo m; otherwise it is the output port.
	Indirect bool
	// Fill writes the routes of session t, 0 <= t < Sessions, into a cleared h.
	Fill func(t int, h *Headers)
	// to is the destination of x in session t, x if nothing is sent; nil if processors send several
	// packets a session.
	to func(t, x int) int
}

// SessionOptions set the timing of a run.
type SessionOptions struct {
	PacketFlits int  // length F of a packet
	Drain       bool // a session waits until the network is empty; otherwise one follows every F cycles
	// Received, if set, is called for each foreign packet that arrives, in the order of arrival.
	Received func(session, source, destination int)
	// Stop, if set, is asked before each session; once it is true the run ends without an outcome.
	Stop func() bool
}

// Heard tells whether destination received a packet from source.
func (o *SessionsRow) Heard(destination, source int) bool { return o.got[destination].has(source) }

// Run plays the sessions flit by flit. Cost: a step for each register and cycle, and a bit for each
// pair of processors.
func (n *SessionNetwork) Run(schedule *SessionSchedule, o SessionOptions) *SessionsRow {
	if o.PacketFlits < 1 {
		panic(fmt.Sprintf("collectives: session packets of %d flits", o.PacketFlits))
	}
	r := newSessionRun(n, schedule, o)
	for r.now <= r.last && !r.stopped {
		r.cycle()
	}
	return r.finish()
}

// accessBound is a lower bound on the ordered pairs of processors that a schedule leaves unserved,
// whatever rule joiners and spine switches have for the one packet that they let through, even one
// that knows the whole schedule.
//
// Proof. Follow every packet as if none were dropped. A slot is a session together with an inner
// joiner, or with an output port of a spine switch; it lets one packet through. In any stage, each
// pair served has a slot to itself that a packet of the pair passes. So at most as many pairs are
// served as in the largest matching of pairs with the slots that their packets would pass; the
// bound is the most pairs beyond it over the stages.
//
// A joiner leads down to one processor only: there is a matching for each destination by itself.
// Packets that run into failed parts or come back to their sender serve no pair. First-stage
// joiners, which take packets on all ports at once unless SingleAccess is set, are left out, which
// only lowers the bound.
//
// Cost: a step for each packet and stage, and for each stage and destination a matching of its
// sources with their packets by augmenting paths (Kuhn 1955), at most sources times packets.
func (n *SessionNetwork) accessBound(schedule *SessionSchedule) int {
	R, slots := n.Processors(), n.slots(schedule)
	most := 0
	for stage := 1; stage <= n.k; stage++ {
		lost := 0
		for d := range R {
			var wanted [][]int
			for x := range R {
				if s := slots[stage][x*R+d]; len(s) > 0 {
					wanted = append(wanted, s)
				}
			}
			lost += len(wanted) - len(largestMatching(wanted))
		}
		most = max(most, lost)
	}
	return most
}

// slots lists what each pair's packets would pass: [stage][source*R + destination], 1 <= stage <=
// k.
func (n *SessionNetwork) slots(schedule *SessionSchedule) [][][]int {
	R := n.Processors()
	h := n.headers()
	slots := make([][][]int, n.k+1)
	for stage := 1; stage <= n.k; stage++ {
		slots[stage] = make([][]int, R*R)
	}
	passed := make([]int32, n.k+1)
	for t := range schedule.Sessions {
		h.Clear()
		schedule.Fill(t, &h)
		for x := range R {
			for j := range n.m {
				d, ok := n.follow(&h, x, j, schedule.Indirect, passed)
				if !ok || d == x {
					continue
				}
				for stage := 1; stage <= n.k; stage++ {
					slots[stage][x*R+d] = append(slots[stage][x*R+d], n.slot(t, stage, passed))
				}
			}
		}
	}
	return slots
}

// slot numbers the joiner of a stage, or the output port of the spine, in session t.
func (n *SessionNetwork) slot(t, stage int, passed []int32) int {
	return t*len(n.down[stage]) + int(passed[stage])
}

// follow takes the packet that processor x sends through its port j to where its
// header leads, without regard to other packets. passed[s] is the joiner of stage
// s that it passes on its way down, 1 <= s < k, and passed[k] the output port of
// the spine; ok is false if it is not sent or does not arrive.
func (n *SessionNetwork) follow(h *Headers, x, j int, indirect bool, passed []int32) (destination int, ok bool) {
	if !h.Sends(x, j) || n.faults.unitDead(0, x) || n.faults.cableDead(0, x*n.m+j) {
		return 0, false
	}
	route := h.Packet(x, j)
	at := int(n.up[0][x*n.m+j])
	for s := 1; s < n.k; s++ {
		port := at*n.m + int(route[s-1])
		if n.faults.unitDead(s, at) || n.faults.cableDead(s, port) {
			return 0, false
		}
		at = int(n.up[s][port])
	}
	out := int(route[n.k-1])
	if indirect {
		out += at % n.m
	}
	out = at - at%n.m + out%n.m
	if n.faults.switchDead(at / n.m) {
		return 0, false
	}
	passed[n.k] = int32(out)
	to := int(n.down[n.k][out])
	for s := n.k - 1; s >= 0; s-- {
		if to < 0 || n.faults.cableDead(s, to) || n.faults.unitDead(s, to/n.m) {
			return 0, false // unplugged, or failed
		}
		at = to / n.m
		if s > 0 {
			passed[s] = int32(at)
			to = int(n.down[s][at])
		}
	}
	return at, true
}

// largestMatching gives as many rows as possible a slot from their lists, none twice: each such
// slot's row.
func largestMatching(wanted [][]int) map[int]int {
	owner := map[int]int{}
	var augment func(row int, tried map[int]bool) bool
	augment = func(row int, tried map[int]bool) bool {
		for _, slot := range wanted[row] {
			if tried[slot] {
				continue
			}
			tried[slot] = true
			if other, taken := owner[slot]; !taken || augment(other, tried) {
				owner[slot] = row
				return true
			}
		}
		return false
	}
	for row := range wanted {
		augment(row, map[int]bool{})
	}
	return owner
}
