package dswitch

// accessBound is a lower bound on the ordered pairs of processors that a schedule leaves unserved,
// whatever rule joiners and spine switches have for the one packet that they let through where
// several meet, even one that knows the whole schedule.
//
// Proof. Follow every packet as if none were dropped. A slot is a session together with an inner
// joiner, or with an output port of a spine switch; it lets one packet through. Of any one stage,
// each pair that is served has a slot to itself, one that a packet of the pair passes. So the pairs
// served are no more than the largest matching of pairs with the slots that their packets would
// pass, and those beyond it are lost; the bound is the largest of these numbers over the stages.
//
// A joiner leads down to one processor only: there is a matching for each destination by itself.
// Packets that run into failed parts or come back to their sender serve no pair. First-stage
// joiners, which take packets on all ports at once unless SingleAccess is set, are left out, which
// only lowers the bound.
//
// Cost: a step for each packet and stage, and for each stage and destination a matching of its
// sources with their packets by augmenting paths (Kuhn 1955), at most sources times packets.
func (n *SessionNetwork) accessBound(schedule SessionSchedule) int {
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

// slots lists what the packets of every pair would pass: [stage][source*R +
// destination], 1 <= stage <= k.
func (n *SessionNetwork) slots(schedule SessionSchedule) [][][]int {
	R := n.Processors()
	h := Headers{k: n.k, m: n.m, digits: make([]uint8, R*n.m*n.k)}
	slots := make([][][]int, n.k+1)
	for stage := 1; stage <= n.k; stage++ {
		slots[stage] = make([][]int, R*R)
	}
	passed := make([]int32, n.k+1)
	for t := range schedule.Sessions() {
		h.Clear()
		schedule.Fill(t, &h)
		for x := range R {
			for j := range n.m {
				d, ok := n.follow(&h, x, j, schedule.Indirect(), passed)
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

// slot numbers the joiner of a stage, or the output port of the spine, in session
// t.
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

// largestMatching gives as many rows as possible a slot each from their lists, no
// slot twice: the row of every slot that is given.
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
