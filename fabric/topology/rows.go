package topology

import "slices"

// layRows builds the network of switches that have terminals each, joined as rows say
// (rows[s]: the neighbours of s, in any order; s stands in the row of each of them; as
// often as there are parallel cables). Ports: terminals, class 0, then cables in the
// order of the switches that they lead to, of the class that is given for s < t. The
// rows are sorted.
func layRows(rows [][]SwitchID, terminals int, classes []Class, class func(s, t SwitchID) ClassID) *Graph {
	b := NewBuilder(len(rows), classes...)
	for s := range SwitchID(len(rows)) {
		for range terminals {
			b.AddTerminal(s, 0)
		}
	}
	for s, row := range rows { // cables in the order (lower end, upper end) give every switch its neighbours in order
		slices.Sort(row)
		for _, t := range row {
			if SwitchID(s) < t {
				b.AddLink(SwitchID(s), t, class(SwitchID(s), t))
			}
		}
	}
	return b.Freeze()
}

// classes makes channel classes of latency 1: "terminal", then those named.
func classes(names ...string) []Class {
	all := []Class{{Name: "terminal", Latency: 1}}
	for _, name := range names {
		all = append(all, Class{Name: name, Latency: 1})
	}
	return all
}

// one is the class of all cables between switches where there is one only.
func one(_, _ SwitchID) ClassID { return 1 }

// connectedRows tells whether every switch can be reached from the first.
func connectedRows(rows [][]SwitchID) bool {
	seen := make([]bool, len(rows))
	stack := []SwitchID{0}
	seen[0] = true
	n := 0
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n++
		for _, t := range rows[s] {
			if !seen[t] {
				seen[t] = true
				stack = append(stack, t)
			}
		}
	}
	return n == len(rows)
}
