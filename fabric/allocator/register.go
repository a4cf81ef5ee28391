package allocator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/sim/param"
)

// Registry holds every allocator that experiment files can name.
var Registry = param.NewRegistry[Env, Allocator]("allocator")

// Traits are what an allocator needs and promises; package allocatortest checks the
// promises. The zero Traits promise that some request crosses in every step.
type Traits struct {
	// Iterates tells that it repeats its choice [Env].Iterations times in a step,
	// among the ports not matched yet: it then matches as many requests as it has
	// iterations, or its matching is maximal.
	Iterates bool
	// Ages tells that it reads [Request].Born.
	Ages bool
	// Queues tells that it reads [Request].Queued. It does not go with packets as the unit,
	// where no flits are counted.
	Queues bool
	// Maximal promises that no request is left whose input and output are both free.
	Maximal bool
	// Wait is the most steps that a request takes to cross, that one included, if all
	// requests are repeated until they cross and those that follow have younger
	// packets. 0, or a nil function: no promise.
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

// TraitsOf are those of a registered allocator.
func TraitsOf(name string) Traits { return traits[name] }

// Check tells whether allocator name exists and takes so many iterations. Errors
// are of type *param.ParamError, of the keys allocator and iterations.
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

// product is the bound on waiting of allocators that serve an input's virtual
// channels in turn, and at each output the inputs.
func product(env Env) int { return env.Ports * env.VCs }
