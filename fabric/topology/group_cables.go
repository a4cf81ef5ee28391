package topology

// groupCables are the global cables of networks of groups: each group has the same
// number of global ports, which an arrangement deals to the other groups (see
// [Dragonfly] for arrangements, rounds and closed forms).
type groupCables struct {
	groups, ports int // ports of a group
	arrangement   string
}

// each visits every cable once: port j of a group leads to port back of group to, a
// greater one.
func (c groupCables) each(visit func(group, j, to, back int)) {
	full, rest := c.rounds()
	lists := [2][][]int{c.roundTargets(c.groups - 1), c.roundTargets(rest)}
	var position [2][]int32 // of to in from's list, at from*groups+to
	for k, list := range lists {
		position[k] = make([]int32, c.groups*c.groups)
		for from, targets := range list {
			for i, to := range targets {
				position[k][from*c.groups+to] = int32(i)
			}
		}
	}
	for group := range c.groups {
		for start := 0; start < c.ports; start += c.groups - 1 {
			k := 0
			if start/(c.groups-1) == full {
				k = 1
			}
			for i, to := range lists[k][group] {
				if group < to {
					visit(group, start+i, to, start+int(position[k][to*c.groups+group]))
				}
			}
		}
	}
}

// rounds gives the number of full rounds and the cables that each group has in
// the last, partial one.
func (c groupCables) rounds() (full, rest int) {
	full, rest = c.ports/(c.groups-1), c.ports%(c.groups-1)
	if rest%2 == 1 && c.groups%2 == 1 {
		rest--
	}
	return full, rest
}

// links is the number of cables.
func (c groupCables) links() int {
	full, rest := c.rounds()
	return c.groups * (full*(c.groups-1) + rest) / 2
}

// bisection is the number of cables between halves of an even number of groups,
// halved in order.
func (c groupCables) bisection() int {
	full, rest := c.rounds()
	half := c.groups / 2
	cut := full * half * half
	for distance := 1; distance <= rest/2; distance++ {
		cut += 2 * distance
	}
	if rest%2 == 1 {
		cut += half
	}
	return cut
}

// roundTargets lists for each group the groups that n ports of a round lead
// to, in port order.
func (c groupCables) roundTargets(n int) [][]int {
	reached := func(distance int) bool { // n < groups-1: the shortest distances, and groups/2 if n is odd
		nearer := min(distance, c.groups-distance)
		return nearer <= n/2 || n%2 == 1 && 2*distance == c.groups
	}
	lists := make([][]int, c.groups)
	for from := range lists {
		for j := range c.groups - 1 {
			var to int
			switch {
			case c.arrangement == "relative":
				to = (from + j + 1) % c.groups
			case c.arrangement == "circulant" && j%2 == 0:
				to = (from + j/2 + 1) % c.groups
			case c.arrangement == "circulant":
				to = (from + c.groups - (j+1)/2) % c.groups
			case j < from:
				to = j
			default:
				to = j + 1
			}
			if reached((to - from + c.groups) % c.groups) {
				lists[from] = append(lists[from], to)
			}
		}
	}
	return lists
}
