package topology

// Forms are closed forms beyond [Facts] that some families have, derived in the
// generator's documentation and held to [Measure] by the conformance suite. 0 means
// that there is none.
type Forms struct {
	// Degree is the least and the largest number of ports to other switches, of all
	// switches.
	Degree [2]int
	// MeanDistance is the mean number of switch-switch cables on a shortest path, over
	// pairs of different switches that have terminals.
	MeanDistance float64
	// UniformCapacity is the most that all terminals can send at once, in flits a cycle
	// and terminal, if destinations are drawn evenly from all terminals, the sender among
	// them, paths are shortest and spread perfectly, and a channel carries a flit a
	// cycle. Families that have it know of a narrower place than the sum of all channels
	// ([Metrics].UniformCapacity).
	UniformCapacity float64
	// BisectionAtLeast bounds the number of cables between two halves of the switches
	// from below.
	BisectionAtLeast float64
}

// Formed is the capability of families with closed forms beyond their facts.
type Formed interface {
	Topology
	Forms() Forms
}
