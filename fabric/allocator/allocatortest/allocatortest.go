// Package allocatortest is the conformance suite of switch allocators: they choose matchings of the
// requests as large as promised, no request waits longer than promised, and a snapshot changes
// nothing. It is for weft's own allocators and for others:
//
//	func TestMine(t *testing.T) { allocatortest.Conform(t, "mine") }
package allocatortest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Conform holds allocator name to the contract of [allocator.Allocator] and to its traits, on
// switches of 1 to 70 ports and 1 to 4 virtual channels, with 1, 2 and as many iterations as ports,
// if it iterates.
func Conform(t *testing.T, name string) {
	traits := allocator.TraitsOf(name)
	for _, ports := range []int{1, 2, 3, 4, 7, 16, 70} {
		for _, vcs := range []int{1, 2, 3, 4} {
			for _, iterations := range []int{1, 2, ports} {
				if iterations != 1 && !traits.Iterates {
					continue
				}
				env := allocator.Env{Ports: ports, VCs: vcs, Iterations: iterations}
				build := func() allocator.Allocator {
					a, err := allocator.Registry.New(name, env)
					simtest.Check(t, err)
					return a
				}
				if err := Check(build, env, traits); err != nil {
					t.Errorf("%+v: %v", env, err)
				}
			}
		}
	}
}

// Check holds the allocators that build makes for env to traits, and tells the first violation. It
// simulates a switch whose queues have requests that are repeated until they cross, under several
// kinds of load, for some hundred steps or several longest waits.
func Check(build func() allocator.Allocator, env allocator.Env, traits allocator.Traits) error {
	for _, l := range loads {
		s := newQueues(env, traits, l)
		if err := s.run(build(), build()); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return checkMemory(build(), env)
}

// load says what queues ask for.
type load struct {
	name string
	rest int // steps until a queue's next request: below this, drawn; 1: none
	// output is what a queue asks for after so many requests.
	output func(r *sim.Stream, env allocator.Env, input, vc, count int) int
}

var loads = []load{
	{"uniform, always", 1, func(r *sim.Stream, env allocator.Env, _, _, _ int) int { return r.IntN(env.Ports) }},
	{"uniform, sometimes", 6, func(r *sim.Stream, env allocator.Env, _, _, _ int) int { return r.IntN(env.Ports) }},
	{"all to one output", 1, func(_ *sim.Stream, env allocator.Env, _, _, _ int) int { return env.Ports / 2 }},
	{"an output for each virtual channel", 1, func(_ *sim.Stream, env allocator.Env, _, vc, _ int) int { return vc % env.Ports }},
	{"two outputs, sometimes", 3, func(r *sim.Stream, env allocator.Env, _, _, _ int) int { return r.IntN(min(2, env.Ports)) }},
	{"round", 1, func(_ *sim.Stream, env allocator.Env, input, vc, count int) int {
		return (input + vc + count) % env.Ports
	}},
}

// queues are the queues in front of a switch.
type queues struct {
	env    allocator.Env
	traits allocator.Traits
	load   load
	stream sim.Stream
	since  []int // by queue: step of its request's first appearance; in the future: none until then
	output []uint16
	count  []int
}

func newQueues(env allocator.Env, traits allocator.Traits, l load) *queues {
	n := env.Ports * env.VCs
	q := &queues{env: env, traits: traits, load: l, stream: sim.NewStream(1, "allocators", 0), since: make([]int, n), output: make([]uint16, n), count: make([]int, n)}
	for k := range n {
		q.next(k, -1)
	}
	return q
}

// next draws a queue's request after one that has crossed in a step.
func (q *queues) next(k, step int) {
	q.since[k] = step + 1 + q.stream.IntN(q.load.rest)
	q.output[k] = uint16(q.load.output(&q.stream, q.env, k/q.env.VCs, k%q.env.VCs, q.count[k]))
	q.count[k]++
}

// snapshotAt is the step before which another allocator takes over what one remembers.
const snapshotAt = 150

// run puts requests to a; other, which is new, has to choose alike from snapshotAt on.
func (q *queues) run(a, other allocator.Allocator) error {
	wait := 0
	if q.traits.Wait != nil {
		wait = q.traits.Wait(q.env)
	}
	var requests []allocator.Request
	var of, matches []int
	taken := false
	for step := range max(300, 4*wait) {
		requests, of = requests[:0], of[:0]
		for k, since := range q.since {
			if since > step {
				continue
			}
			if waited := step - since; wait > 0 && waited >= wait {
				return fmt.Errorf("input %d, virtual channel %d asks for output %d for the %dth time, %d are promised to do", k/q.env.VCs, k%q.env.VCs, q.output[k], waited+1, wait)
			}
			r := allocator.Request{Input: uint16(k / q.env.VCs), VC: uint16(k % q.env.VCs), Output: q.output[k]}
			if q.traits.Ages {
				r.Born = int64(since)
			}
			if q.traits.Queues {
				r.Queued = int32(1 + step - since) // one more comes in every step
			}
			requests, of = append(requests, r), append(of, k)
		}
		if len(requests) == 0 {
			continue
		}
		if !taken && step >= snapshotAt {
			taken = true
			w := snapshot.Writer()
			a.Archive(w)
			r := snapshot.Reader(w.Bytes())
			if other.Archive(r); r.End() != nil {
				return fmt.Errorf("what it remembers cannot be read: %w", r.End())
			}
		}
		// Matches are appended to what is there.
		matches = a.Allocate(requests, append(matches[:0], -1))
		if len(matches) == 0 || matches[0] != -1 {
			return fmt.Errorf("step %d: matches %v do not begin with what was given", step, matches)
		}
		matches = matches[1:]
		if step >= snapshotAt {
			if alike := other.Allocate(requests, nil); !slices.Equal(alike, matches) {
				return fmt.Errorf("step %d: requests %v, matches %v, and %v after a snapshot", step, requests, matches, alike)
			}
		}
		if err := q.check(requests, matches); err != nil {
			return fmt.Errorf("step %d: requests %v, matches %v: %w", step, requests, matches, err)
		}
		for _, k := range matches {
			q.next(of[k], step)
		}
	}
	return nil
}

// check holds the matches of a step to the contract.
func (q *queues) check(requests []allocator.Request, matches []int) error {
	inputs, outputs := make([]bool, q.env.Ports), make([]bool, q.env.Ports)
	for _, k := range matches {
		if k < 0 || k >= len(requests) {
			return fmt.Errorf("%d is no request", k)
		}
		r := requests[k]
		if inputs[r.Input] || outputs[r.Output] {
			return fmt.Errorf("input %d or output %d is matched twice", r.Input, r.Output)
		}
		inputs[r.Input], outputs[r.Output] = true, true
	}
	if len(matches) == 0 {
		return fmt.Errorf("nothing crosses")
	}
	if !q.traits.Maximal && (!q.traits.Iterates || len(matches) >= q.env.Iterations) {
		return nil
	}
	for _, r := range requests {
		if !inputs[r.Input] && !outputs[r.Output] {
			return fmt.Errorf("input %d could cross to output %d", r.Input, r.Output)
		}
	}
	return nil
}

// checkMemory lets an allocator match all queues for some steps, without allocating memory.
func checkMemory(a allocator.Allocator, env allocator.Env) error {
	q := newQueues(env, allocator.Traits{}, loads[0])
	var requests []allocator.Request
	for k := range q.since {
		requests = append(requests, allocator.Request{Input: uint16(k / env.VCs), VC: uint16(k % env.VCs), Output: q.output[k], Born: int64(len(q.since) - k)})
	}
	matches := make([]int, 0, len(requests))
	if n := testing.AllocsPerRun(20, func() { a.Allocate(requests, matches) }); n > 0 {
		return fmt.Errorf("%v allocations of memory in a step", n)
	}
	return nil
}
