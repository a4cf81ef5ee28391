// Package allocator holds the switch allocators that experiment files can name: in each step of a
// switch core, an allocator chooses which flits cross. A new one is one file. docs/model.md says
// how the switch uses them; package allocatortest holds them to their promises.
package allocator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Env is the switch that an allocator is made for.
type Env struct {
	Ports, VCs int // at least 1 each
	// Iterations is how often an iterating allocator matches what is left in a step; at least 1.
	Iterations int
	// Switch is the switch's number and Seed the run's seed: an allocator that draws has, and
	// archives, a stream sim.NewStream(Seed, "its name", Switch).
	Switch int
	Seed   uint64
}

// Request is the wish of the flit at the front of a queue to cross the switch in this step. Ports
// and virtual channels count from 0.
type Request struct {
	Input, VC, Output uint16
	// Born is the cycle of the flit's packet's birth; 0 unless registered with [Traits].Ages.
	Born int64
	// Queued is the flits in that queue, this one included; 0 unless registered with
	// [Traits].Queues.
	Queued int32
}

// Allocator chooses for one switch. It keeps state between steps, such as round-robin pointers.
type Allocator interface {
	// Allocate appends to matches the indices of the requests that cross in this step, no two of
	// one input or of one output. Requests are in ascending order of input and virtual channel, at
	// most one of each queue, and there is at least one. A request that is not chosen comes again
	// in the next step, unless its flit loses its credit or its room meanwhile. Allocate is called
	// only in steps with requests, and must not allocate memory.
	Allocate(requests []Request, matches []int) []int
	// Archive writes what it remembers, or reads it into an allocator of the same Env.
	Archive(a *snapshot.Archive)
}

// matched notes which ports are matched in a step.
type matched struct{ inputs, outputs []bool }

func newMatched(ports int) matched { return matched{make([]bool, ports), make([]bool, ports)} }

// free tells whether a request's input and output both are.
func (m *matched) free(r *Request) bool { return !m.inputs[r.Input] && !m.outputs[r.Output] }

func (m *matched) take(r *Request) { m.inputs[r.Input], m.outputs[r.Output] = true, true }

// release frees the ports of the matches of a step.
func (m *matched) release(requests []Request, matches []int) {
	for _, k := range matches {
		m.inputs[requests[k].Input], m.outputs[requests[k].Output] = false, false
	}
}

// ahead is how far position is in front of a round-robin pointer on a ring of size n; a pointer n
// means 0.
func ahead(position, pointer uint16, n int) int {
	if position < pointer {
		return int(position) - int(pointer) + n
	}
	return int(position) - int(pointer)
}

// Registry holds every allocator that experiment files can name.
var Registry = param.NewRegistry[Env, Allocator]("allocator")

// Traits are what an allocator needs and promises; package allocatortest checks them. The zero
// Traits promise that some request crosses in every step.
type Traits struct {
	// Iterates: it repeats its choice [Env].Iterations times in a step, among ports not matched
	// yet, so that it matches at least as many requests as iterations, or maximally.
	Iterates bool
	// Ages tells that it reads [Request].Born.
	Ages bool
	// Queues tells that it reads [Request].Queued. Packets as the unit lack it: no flits are
	// counted.
	Queues bool
	// Maximal promises that no request is left whose input and output are both free.
	Maximal bool
	// Wait is the most steps that a request takes to cross, if all are repeated until they cross
	// and later ones have younger packets. 0, or nil: no promise.
	Wait func(Env) int
}

// traits belongs to the registry.
var traits = map[string]Traits{}

// Choice is a setting that names an allocator, whose settings stand beside it.
type Choice = param.Choice[Env, Allocator]

// Named is the choice of an allocator with its defaults.
func Named(name string) Choice { return param.Choose(Registry, name) }

// Register adds an allocator under name; [param.Register] has the tags of its settings.
func Register[C any](name, doc string, of Traits, defaults C, build func(C, Env) Allocator) {
	param.Register(Registry, name, doc, defaults, func(c C, env Env) (Allocator, error) { return build(c, env), nil })
	traits[name] = of
}

// TraitsOf returns the traits of a registered allocator.
func TraitsOf(name string) Traits { return traits[name] }

// Check tells whether allocator name exists and takes so many iterations. Errors are
// *param.ParamError of keys allocator and iterations.
func Check(name string, iterations int) error {
	names := Registry.Names()
	if !slices.Contains(names, name) {
		want := strings.Join(names, ", ") + param.DidYouMean(name, names)
		return &param.ParamError{Key: "allocator", Value: fmt.Sprintf("%q", name), Want: want}
	}
	if iterations != 1 && !traits[name].Iterates {
		names = slices.DeleteFunc(names, func(name string) bool { return !traits[name].Iterates })
		return &param.ParamError{Key: "iterations", Value: iterations, Want: fmt.Sprintf("1: allocator %q does not iterate; those that do: %s", name, strings.Join(names, ", "))}
	}
	return nil
}

// product bounds waiting if an input's virtual channels are served in turn, and an output's inputs.
func product(env Env) int { return env.Ports * env.VCs }
