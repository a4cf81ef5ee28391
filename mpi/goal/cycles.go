package goal

import (
	"errors"
	"fmt"
	"strings"
)

// checkCycles looks for operations that wait for themselves.
func (g *Schedule) checkCycles() error {
	needs := make([]int32, g.ops.len())
	var stack []int32
	for i, op := range g.ops.all {
		if needs[i] = op.needs; needs[i] == 0 {
			stack = append(stack, i)
		}
	}
	left := g.ops.len()
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		left--
		for _, d := range []*dependents{&g.onStart, &g.onDone} {
			for _, after := range d.of(i) {
				if needs[after]--; needs[after] == 0 {
					stack = append(stack, after)
				}
			}
		}
	}
	if left == 0 {
		return nil
	}
	return g.cycleError(needs)
}

// cycleError describes one cycle among the operations whose needs are not met.
func (g *Schedule) cycleError(needs []int32) error {
	// Every operation left waits for another one left: walking from any of
	// them to one that it waits for must come round.
	waitsFor := make(map[int32]int32)
	at := int32(-1)
	for i := range int32(g.ops.len()) {
		if needs[i] == 0 {
			continue
		}
		if at < 0 {
			at = i
		}
		for _, d := range []*dependents{&g.onStart, &g.onDone} {
			for _, after := range d.of(i) {
				if needs[after] > 0 {
					waitsFor[after] = i
				}
			}
		}
	}
	seen := map[int32]bool{}
	for !seen[at] {
		seen[at] = true
		at = waitsFor[at]
	}
	short := func(i int32) string { // place in the file or the rank
		if g.numbered {
			return fmt.Sprintf("operation %d", i-g.first[g.rankOf(i)])
		}
		return fmt.Sprintf("line %d", g.ops.at(i).line)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s: dependency cycle in rank %d: ", g.place(at), g.rankOf(at))
	for first := at; ; {
		fmt.Fprintf(&s, "%q (%s) requires ", g.ops.at(at).text(), short(at))
		if at = waitsFor[at]; at == first {
			s.WriteString(short(at))
			return errors.New(s.String())
		}
	}
}
