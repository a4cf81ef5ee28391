package mpi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// StuckError says that a run ended with operations left over: ranks that wait for each other,
// receives or messages without a partner.
type StuckError struct {
	// Chain is the wait-for chain, a line a rank: each waits for the next, the last for a rank of
	// the chain (Cycle) or for something that never comes.
	Chain []string
	Cycle bool
	// Receives, Messages and Unreleased count what is left over: posted receives, messages sent but
	// not received, operations (or ranks) that never got ready.
	Receives, Messages int
	Unreleased         int64
}

// Error tells what is left over, and the chain of operations that wait for each other, a line each.
func (e *StuckError) Error() string {
	var s strings.Builder
	head := "the program cannot finish"
	if e.Cycle {
		head = "deadlock"
	}
	fmt.Fprintf(&s, "%s: %s without a message, %s without a receive", head, count(e.Receives, "receive"), count(e.Messages, "message"))
	if e.Unreleased > 0 {
		fmt.Fprintf(&s, ", %s never got ready", count(e.Unreleased, "more operation"))
	}
	for _, line := range e.Chain {
		s.WriteString("\n  " + line)
	}
	return s.String()
}

// waiting is an operation that is left over.
type waiting struct {
	Op
	rank  int32
	where string
	sent  bool // an eager send that is complete for its rank; its message is not received
}

// String names the operation and where it waits.
func (w waiting) String() string { return fmt.Sprintf("%s (%s)", w.Op, w.where) }

// newStuckError makes an error of what is left over, or nil if nothing is.
func newStuckError(left []waiting, unreleased int64) error {
	if len(left) == 0 && unreleased == 0 {
		return nil
	}
	e := &StuckError{Unreleased: unreleased}
	// An operation blocks its rank; a message left over blocks nobody.
	blocked := map[int32][]waiting{}
	unreceived := map[[2]int32]waiting{} // by receiver and sender
	for _, w := range left {
		switch {
		case w.Kind == Recv:
			e.Receives++
		case w.Kind == Send:
			e.Messages++
			unreceived[[2]int32{w.Peer, w.rank}] = w
		}
		if !w.sent {
			blocked[w.rank] = append(blocked[w.rank], w)
		}
	}
	ranks := slices.Sorted(maps.Keys(blocked))
	if cycle := findCycle(ranks, blocked, unreceived); cycle != nil {
		e.Cycle = true
		for i, w := range cycle {
			e.Chain = append(e.Chain, fmt.Sprintf("rank %d: %s waits for rank %d", w.rank, w, cycle[(i+1)%len(cycle)].rank))
		}
		return e
	}
	const shown = 8
	for _, r := range ranks {
		for _, w := range blocked[r] {
			if len(e.Chain) == shown {
				e.Chain = append(e.Chain, "...")
				return e
			}
			e.Chain = append(e.Chain, fmt.Sprintf("rank %d: %s", r, explain(w, blocked, unreceived)))
		}
	}
	for _, w := range left {
		if w.sent && len(e.Chain) < shown {
			e.Chain = append(e.Chain, fmt.Sprintf("rank %d: %s is never received", w.rank, w))
		}
	}
	return e
}

// stuck reports what is left when no events are, or nil.
func stuck(parts []*runtime, w Workload) error {
	first := parts[0]
	var left []waiting
	for r := range first.ranks {
		rt := first.of(int32(r))
		rt.match.items(&rt.ranks[r].posted, func(n int32) {
			node := &rt.match.nodes[n]
			op := Op{ID: node.item, Kind: Recv, Peer: node.source, Tag: node.tag, Size: rt.recvBytes[n]}
			left = append(left, waiting{Op: op, rank: int32(r), where: w.Where(int32(r), op.ID)})
		})
	}
	for r := range first.ranks {
		rt := first.of(int32(r))
		rt.match.items(&rt.ranks[r].early, func(n int32) {
			m := rt.messages.At(rt.match.nodes[n].item)
			left = append(left, waiting{
				Op:   Op{ID: m.sendID, Kind: Send, Peer: m.to, Tag: m.tag, Size: m.bytes},
				rank: m.from, where: w.Where(m.from, m.sendID), sent: m.open == 1,
			})
		})
	}
	return newStuckError(left, w.Unreleased())
}

// stuck reports what is left when the queue has run empty, or nil.
func (m *loggopsMachine) stuck() error {
	var left []waiting
	for i := range m.live {
		if op := &m.live[i]; op.rank >= 0 {
			left = append(left, waiting{Op: op.Op, rank: op.rank, where: m.work.Where(op.rank, op.ID), sent: op.Kind == Send && op.done})
		}
	}
	return newStuckError(left, m.work.Unreleased())
}

// findCycle looks for ranks that wait for each other, from the lowest. A receive that got a message
// from its source, though none that fits, does not count: the mismatch is the cause.
func findCycle(ranks []int32, blocked map[int32][]waiting, unreceived map[[2]int32]waiting) []waiting {
	const unseen, open, closed = 0, 1, 2
	state := map[int32]int{}
	var path []waiting
	var visit func(r int32) []waiting
	visit = func(r int32) []waiting {
		state[r] = open
		for _, w := range blocked[r] {
			if w.Peer == Any || len(blocked[w.Peer]) == 0 {
				continue
			}
			if _, mismatch := unreceived[[2]int32{w.rank, w.Peer}]; mismatch && w.Kind == Recv {
				continue
			}
			path = append(path, w)
			switch state[w.Peer] {
			case open:
				return path[slices.IndexFunc(path, func(p waiting) bool { return p.rank == w.Peer }):]
			case unseen:
				if c := visit(w.Peer); c != nil {
					return c
				}
			}
			path = path[:len(path)-1]
		}
		state[r] = closed
		return nil
	}
	for _, r := range ranks {
		if state[r] == unseen {
			if c := visit(r); c != nil {
				return c
			}
		}
	}
	return nil
}

// explain says why w waits.
func explain(w waiting, blocked map[int32][]waiting, unreceived map[[2]int32]waiting) string {
	s, misfit := unreceived[[2]int32{w.rank, w.Peer}]
	switch {
	case w.Kind == Send:
		return fmt.Sprintf("%s waits for a receive that rank %d never posts", w, w.Peer)
	case misfit:
		return fmt.Sprintf("%s does not fit the waiting %s of rank %d", w, s, s.rank)
	case w.Peer == Any:
		return fmt.Sprintf("%s waits for a message that nobody sends", w)
	case len(blocked[w.Peer]) > 0:
		return fmt.Sprintf("%s waits for rank %d", w, w.Peer)
	}
	return fmt.Sprintf("%s waits for a message that rank %d never sends", w, w.Peer)
}

// count writes a number of things.
func count[N int | int64](n N, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
