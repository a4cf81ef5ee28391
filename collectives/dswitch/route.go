package dswitch

// Route finds the path from processor x to y != x that x can compute by
// itself from the wiring (Podlazov 2012, section 3): the port c_1 of x's own
// splitter, and in route the ports (c_2, ..., c_k, B), all from 0, len(route)
// = k. Where several paths exist (equal elements of different groups, or
// sigma > 1) it takes the first that has no failed part; ok is false if there
// is none. Cost: at most m steps a stage on a sound network.
//
// Whatever path each source takes, the packets of one permutation of the
// processors never meet: the two ends' m inner switches each see at most one
// packet for each of their ports, a partial permutation again, down to the
// spine switches, each of which gets at most one packet for each output.
func (n *SessionNetwork) Route(x, y int, route []uint8) (port int, ok bool) {
	digits := make([]uint8, n.k+1)
	ok = n.innerRoute(n.k, 0, x, y, digits)
	copy(route, digits[1:])
	return int(digits[0]), ok
}

// innerRoute finds the way from port u to port v of copy in of PK_r. digits, len
// r+1, receives a port for each splitter and, at the end, that of the spine
// switch.
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

// relative turns B, a port of a spine switch (direct addressing), into what the
// switch has to add to its input port to get there (indirect addressing). That
// input port has the number of the last splitter's port, c_k.
func relative(b, last uint8, m int) uint8 { return uint8((int(b) - int(last) + m) % m) }

// permutations is a schedule of one packet a processor and session.
type permutations struct {
	n        *SessionNetwork
	sessions int
	// to is the destination of x in session t; x itself: nothing is sent.
	to       func(t, x int) int
	indirect bool
}

func (p *permutations) Sessions() int  { return p.sessions }
func (p *permutations) Indirect() bool { return p.indirect }

func (p *permutations) Fill(t int, h *Headers) {
	route := make([]uint8, p.n.k)
	for x := range p.n.Processors() {
		y := p.to(t, x)
		if y == x {
			continue
		}
		port, ok := p.n.Route(x, y, route)
		if !ok {
			continue
		}
		if p.indirect {
			last := uint8(port)
			if p.n.k > 1 {
				last = route[p.n.k-2]
			}
			route[p.n.k-1] = relative(route[p.n.k-1], last, p.n.m)
		}
		copy(h.Packet(x, port), route)
	}
}

// newCyclic is the all-to-all as R_k - 1 cyclic permutations: in session t
// processor x sends to x + t + 1 (Podlazov 2012, section 2, first paragraph).
func newCyclic(n *SessionNetwork, indirect bool) *permutations {
	R := n.Processors()
	return &permutations{n, R - 1, func(t, x int) int { return (x + t + 1) % R }, indirect}
}

// accelerated is the m-fold faster form: the cyclic permutations of the ports
// of every inner switch PK_(k-1) run side by side, so that R_(k-1) - 1
// sessions do (m-1 with one cascade). Each processor sends m different
// packets in a session, or the same one m times. Routes come from the wiring,
// so that no two packets ever meet.
type accelerated struct {
	n        *SessionNetwork
	indirect bool
	// plugged[c*R_(k-1)+u] is processor*m+port at port u of copy c, or -1.
	plugged []int32
}

func newAccelerated(n *SessionNetwork, indirect bool) *accelerated {
	a := &accelerated{n: n, indirect: indirect, plugged: make([]int32, n.sw.Design().Points()*n.sw.Level(n.k-1))}
	fill(a.plugged, -1)
	for x := range n.Processors() {
		for j := range n.m {
			c, u := n.sw.Port(n.k, x, j)
			a.plugged[c*n.sw.Level(n.k-1)+u] = int32(x*n.m + j)
		}
	}
	return a
}

func (a *accelerated) Sessions() int  { return a.n.sw.Level(a.n.k-1) - 1 }
func (a *accelerated) Indirect() bool { return a.indirect }

func (a *accelerated) Fill(t int, h *Headers) {
	k, m, R := a.n.k, a.n.m, a.n.sw.Level(a.n.k-1)
	route := make([]uint8, k)
	for at, from := range a.plugged {
		c, u := at/R, at%R
		v := (u + t + 1) % R
		if from < 0 || a.plugged[c*R+v] < 0 || !a.n.innerRoute(k-1, c, u, v, route) {
			continue
		}
		x, j := int(from)/m, int(from)%m
		if a.indirect {
			last := uint8(j)
			if k > 1 {
				last = route[k-2]
			}
			route[k-1] = relative(route[k-1], last, m)
		}
		copy(h.Packet(x, j), route)
	}
}
