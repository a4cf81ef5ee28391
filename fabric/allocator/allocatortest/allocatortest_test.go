package allocatortest

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// function is an allocator without a memory.
type function func(requests []allocator.Request, matches []int) []int

func (f function) Allocate(requests []allocator.Request, matches []int) []int {
	return f(requests, matches)
}

func (function) Archive(*snapshot.Archive) {}

// greedy takes requests in their order wherever their ports are free.
func greedy(requests []allocator.Request, matches []int) []int {
	var inputs, outputs [8]bool
	for k, r := range requests {
		if !inputs[r.Input] && !outputs[r.Output] {
			inputs[r.Input], outputs[r.Output] = true, true
			matches = append(matches, k)
		}
	}
	return matches
}

// The suite finds what breaks each of its rules.
func TestCheckFinds(t *testing.T) {
	env := allocator.Env{Ports: 3, VCs: 2, Iterations: 2}
	maximal := allocator.Traits{Maximal: true}
	waits := allocator.Traits{Wait: func(allocator.Env) int { return 6 }}
	first := func(_ []allocator.Request, matches []int) []int { return append(matches, 0) }
	for name, c := range map[string]struct {
		allocate function
		traits   allocator.Traits
		want     string
	}{
		"sound":            {greedy, maximal, ""},
		"nobody":           {func(_ []allocator.Request, matches []int) []int { return matches }, allocator.Traits{}, "nothing crosses"},
		"everybody":        {func(r []allocator.Request, matches []int) []int { return append(matches, 0, len(r)-1) }, allocator.Traits{}, "matched twice"},
		"not there":        {func(r []allocator.Request, matches []int) []int { return append(matches, len(r)) }, allocator.Traits{}, "is no request"},
		"overwrites":       {func(r []allocator.Request, matches []int) []int { return first(r, matches[:0]) }, allocator.Traits{}, "begin with what was given"},
		"one is enough":    {first, allocator.Traits{}, ""},
		"not maximal":      {first, maximal, "could cross"},
		"does not iterate": {first, allocator.Traits{Iterates: true}, "could cross"},
		"starves":          {greedy, waits, "are promised to do"},
		"forgets memory": {func(r []allocator.Request, matches []int) []int {
			kept = make([]int, len(r))
			return first(r, matches)
		}, allocator.Traits{}, "allocations of memory"},
	} {
		err := Check(func() allocator.Allocator { return c.allocate }, env, c.traits)
		simtest.ErrorIf(t, c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)),
			"%s: %v, want %q", name, err, c.want)
	}
}

var kept []int

// rotating takes one request, the next in turn, and does not say whose turn it is.
type rotating struct {
	function
	turn int
}

func (r *rotating) Allocate(requests []allocator.Request, matches []int) []int {
	r.turn++
	return append(matches, r.turn%len(requests))
}

// TestCheckFindsForgotten: an allocator that leaves something out of its snapshot.
func TestCheckFindsForgotten(t *testing.T) {
	err := Check(func() allocator.Allocator { return &rotating{} }, allocator.Env{Ports: 4, VCs: 1, Iterations: 1}, allocator.Traits{})
	simtest.ErrorIf(t, err == nil || !strings.Contains(err.Error(), "after a snapshot"), "%v, want matches that differ after a snapshot", err)
}
