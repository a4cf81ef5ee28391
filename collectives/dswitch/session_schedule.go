package dswitch

import (
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// Route finds the path from processor x to y != x that x can compute from the wiring (Podlazov 2012,
// section 3): the port c_1 of x's own splitter, and in route the ports (c_2, ..., c_k, B), all from
// 0, len(route) = k. Of several paths (equal elements of different groups, or sigma > 1) it takes
// the first without a failed part; ok is false if there is none. Cost: at most m steps a stage on a
// sound network.
//
// The packets of one permutation of the processors never meet, whatever paths they take: at both
// ends each of the m inner switches sees at most one packet for each of its ports, a partial
// permutation again, and so on down to the spine.
func (n *SessionNetwork) Route(x, y int, route []uint8) (port int, ok bool) {
	digits := make([]uint8, n.k+1)
	ok = n.innerRoute(n.k, 0, x, y, digits)
	copy(route, digits[1:])
	return int(digits[0]), ok
}

// innerRoute finds the way from port u to port v of copy in of PK_r. digits (len r+1) receives a
// port for each splitter and then the spine switch's.
func (n *SessionNetwork) innerRoute(r, in, u, v int, digits []uint8) bool {
	if r == 0 {
		digits[0] = uint8(v)
		return !n.faults.switchDead(in)
	}
	stage, design := n.k-r, n.sw.Design()
	from, to := in*n.sw.Level(r)+u, in*n.sw.Level(r)+v
	if n.faults.unitDead(stage, from) || n.faults.unitDead(stage, to) {
		return false
	}
	target := n.sw.Element(r, v)
	for i := range n.m {
		c, pu := n.sw.Port(r, u, i)
		j, meets := design.Port(c, target)
		if !meets || n.faults.cableDead(stage, from*n.m+i) || n.faults.cableDead(stage, to*n.m+j) {
			continue
		}
		_, pv := n.sw.Port(r, v, j)
		digits[0] = uint8(i)
		if n.innerRoute(r-1, in*design.Points()+c, pu, pv, digits[1:]) {
			return true
		}
	}
	return false
}

// relative turns B in a route through a processor's port, a port of a spine switch (direct
// addressing), into what the switch has to add to its input port to get there (indirect
// addressing). That input port has the number of the last splitter's port, c_k.
func (n *SessionNetwork) relative(port int, route []uint8) {
	if n.k > 1 {
		port = int(route[n.k-2])
	}
	b := &route[n.k-1]
	*b = uint8((int(*b) - port + n.m) % n.m)
}

// permutations is a schedule of a packet a processor and session; to is as in [SessionSchedule].
func permutations(n *SessionNetwork, sessions int, indirect bool, to func(t, x int) int) *SessionSchedule {
	return &SessionSchedule{Sessions: sessions, Indirect: indirect, to: to, Fill: func(t int, h *Headers) {
		route := make([]uint8, n.k)
		for x := range n.Processors() {
			y := to(t, x)
			if y == x {
				continue
			}
			port, ok := n.Route(x, y, route)
			if !ok {
				continue
			}
			if indirect {
				n.relative(port, route)
			}
			copy(h.Packet(x, port), route)
		}
	}}
}

// newCyclic is the all-to-all as R_k - 1 cyclic permutations: in session t processor x sends to x +
// t + 1 (Podlazov 2012, section 2).
func newCyclic(n *SessionNetwork, indirect bool) *SessionSchedule {
	R := n.Processors()
	return permutations(n, R-1, indirect, func(t, x int) int { return (x + t + 1) % R })
}

// newAccelerated is the m-fold faster form: the cyclic permutations of the ports of every inner switch
// PK_(k-1) run side by side, so that R_(k-1) - 1 sessions do (m-1 with one cascade). A processor sends
// m different packets in a session, or the same one m times. Routes come from the wiring, so that no
// two packets ever meet.
func newAccelerated(n *SessionNetwork, indirect bool) *SessionSchedule {
	R := n.sw.Level(n.k - 1)
	plugged := slices.Repeat([]int32{-1}, n.sw.Design().Points()*R) // processor*m+port at port u of copy c, at c*R+u; -1: none
	for x := range n.Processors() {
		for j := range n.m {
			c, u := n.sw.Port(n.k, x, j)
			plugged[c*R+u] = int32(x*n.m + j)
		}
	}
	return &SessionSchedule{Sessions: R - 1, Indirect: indirect, Fill: func(t int, h *Headers) {
		route := make([]uint8, n.k)
		for at, from := range plugged {
			c, u := at/R, at%R
			v := (u + t + 1) % R
			if from < 0 || plugged[c*R+v] < 0 || !n.innerRoute(n.k-1, c, u, v, route) {
				continue
			}
			x, j := int(from)/n.m, int(from)%n.m
			if indirect {
				n.relative(j, route)
			}
			copy(h.Packet(x, j), route)
		}
	}}
}

// digitVariant is a form of the schedule by digits.
type digitVariant uint8

const (
	// digitsPrinted takes the text at its word: spine switches use a_k, as
	// the last splitters do, so that a_1 steers nothing. With k > 1 each
	// inner input then reaches only m of the m^2 routes.
	digitsPrinted   digitVariant = iota
	digitsCorrected              // spine switches use a_1
	// digitsShort leaves out the sessions in which spine switches return every packet on its port
	// (a_1 = m-2).
	digitsShort
)

// newDigits is the all-to-all of m^k sessions (Podlazov 2012, section 2). The number of a
// session, from 1 and less 1, is a_k*m^(k-1) + ... + a_2*m + a_1. Every processor sends its packet
// through all its m ports. The splitters of stage r, 2 <= r <= k, pass what they get to port a_r + 1,
// and a spine switch what came on port j to port (a + 1 + j) mod m + 1, where a is a_1 (see
// digitVariant); ports count from 1, as in the paper. Section 3 adds j to the ports of splitters,
// too: they receive on one port only, so that these are the same sessions in another order.
//
// Theorem 2 says that this serves all pairs. It does for one cascade and for two: in a session all
// splitters of the last stage use the same port, so that each spine switch gets one packet. With
// three, two packets may come down to one joiner of stage 2, which drops one of them. The proof
// (lemma 2) takes them for copies of one packet; they are of different processors, and the loser may
// have no other path.
//
// Where PK_2 consists of whole groups (R_2 = N(m-1)) they do not meet: the joiner of an element of
// group g has the ports g*m + 1 to g*m + m, one in each of its m copies of PK_1, and the packets of
// a session leave the PK_1 by ports that differ by multiples of m. With a partial group (R_2 =
// N(m-1) + 1) the last port of a PK_1 breaks this order, and so does a fourth cascade: 84 of 1,190
// pairs of PK_3(35, 3, 1|9) are never served. [newAccelerated] serves all pairs, in fewer sessions.
func newDigits(n *SessionNetwork, variant digitVariant, indirect bool) *SessionSchedule {
	first := n.m // values of a_1
	if variant == digitsShort {
		first--
	}
	return &SessionSchedule{Sessions: first * topology.Power(n.m, n.k-1), Indirect: indirect, Fill: func(t int, h *Headers) {
		digits := make([]int, n.k+1) // digits[r] = a_r
		digits[1], t = t%first, t/first
		for r := 2; r <= n.k; r++ {
			digits[r], t = t%n.m, t/n.m
		}
		steer := digits[1]
		if variant == digitsPrinted {
			steer = digits[n.k]
		}
		if variant == digitsShort && steer >= n.m-2 {
			steer++
		}
		offset := (steer + 2) % n.m // from port 0: ((a+1+j+1) mod m)
		for x := range n.Processors() {
			for j := range n.m {
				route := h.Packet(x, j)
				last := j // the port on which the spine switch will receive
				for i := range n.k - 1 {
					last = digits[i+2]
					route[i] = uint8(last)
				}
				b := offset
				if !indirect {
					b = (offset + last) % n.m
				}
				route[n.k-1] = uint8(b)
			}
		}
	}}
}

// newSigma is the all-to-all on PCC(N, m, sigma) with sigma > 1 in ceil((N-1)/m) =
// ceil((m-1)/sigma) sessions, fewer than which m packets a processor and session cannot do. The
// paper's outlook expects this saving from sigma permutations at a time; the construction is ours. In
// a design developed from the difference set D a packet that enters a switch at port i and leaves at
// port j goes from x to x + D[i] - D[j], so that one table of port pairs (i, j) for all switches serves
// every processor alike: each difference once, no i and no j twice in a session.
// ok is false if [sigmaSessions] finds none.
func newSigma(n *SessionNetwork) (schedule *SessionSchedule, ok bool) {
	output, ok := sigmaSessions(n.sw.Design())
	return &SessionSchedule{Sessions: len(output), Fill: func(t int, h *Headers) {
		for x := range n.Processors() {
			for i, j := range output[t] {
				if j >= 0 {
					h.Packet(x, i)[0] = uint8(j)
				}
			}
		}
	}}, ok
}

// sigmaSessions packs the differences of the design into sessions, by search: always the difference with
// the fewest places left, its places in order. output has, per session and input port, the output port,
// or -1. ok is false if the least number of sessions is not enough or the search takes more than a
// million steps.
func sigmaSessions(d *topology.Design) (output [][]int, ok bool) {
	m, n := d.Size(), d.Points()
	type pair struct{ i, j int }
	pairs := make([][]pair, n) // per difference (as the point reached from 0)
	for i := range m {
		for j := range m {
			if g := d.Point(d.Block(0, i), j); g != 0 {
				pairs[g] = append(pairs[g], pair{i, j})
			}
		}
	}
	output = make([][]int, (n-2+m)/m)
	taken := make([][]bool, len(output)) // output ports in use
	for t := range output {
		output[t], taken[t] = slices.Repeat([]int{-1}, m), make([]bool, m)
	}
	placed, steps := make([]bool, n), 0
	var search func(left int) bool
	search = func(left int) bool {
		if left == 0 {
			return true
		}
		if steps++; steps > 1_000_000 {
			return false
		}
		best, fewest := 0, len(output)*m*m
		for g := 1; g < n; g++ {
			if placed[g] {
				continue
			}
			places := 0
			for t := range output {
				for _, p := range pairs[g] {
					if output[t][p.i] < 0 && !taken[t][p.j] {
						places++
					}
				}
			}
			if places < fewest {
				best, fewest = g, places
			}
		}
		placed[best] = true
		for t := range output {
			for _, p := range pairs[best] {
				if output[t][p.i] >= 0 || taken[t][p.j] {
					continue
				}
				output[t][p.i], taken[t][p.j] = p.j, true
				if search(left - 1) {
					return true
				}
				output[t][p.i], taken[t][p.j] = -1, false
			}
		}
		placed[best] = false
		return false
	}
	return output, search(n - 1)
}
