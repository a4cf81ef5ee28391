package allocator

// iterated repeats one round of an allocator among the ports not matched yet.
type iterated struct {
	matched
	iterations int
	// round appends matches among the requests whose ports are free, and takes their
	// ports. Only what is matched in the first round of a step changes the state of
	// arbiters between ports: a port that loses in the first round then keeps its
	// turn.
	round func(requests []Request, matches []int, first bool) []int
}

func newIterated(env Env) iterated { return iterated{newMatched(env.Ports), env.Iterations, nil} }

// Allocate implements [Allocator].
func (a *iterated) Allocate(requests []Request, matches []int) []int {
	from := len(matches)
	for i := range a.iterations {
		before := len(matches)
		if matches = a.round(requests, matches, i == 0); len(matches) == before {
			break
		}
	}
	a.release(requests, matches[from:])
	return matches
}
