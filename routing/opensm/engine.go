package opensm

import (
	"fmt"
	"slices"
	"strings"
)

// Engine is one of OpenSM's unicast routing engines.
type Engine struct {
	Name string
	Doc  string // one sentence
	// Source is where the algorithm was published, or OpenSM's own file.
	Source string
	// Levels tells that the engine assigns service levels.
	Levels bool
	// Route makes the tables of a subnet, or a [*Refusal].
	Route func(s *Subnet, o *Options) (*Tables, error)
}

// Refusal says that OpenSM's engine does not route a network, with the messages
// that OpenSM logs.
type Refusal struct {
	Engine string
	Reason string
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s refuses: %s", r.Engine, r.Reason) }

// registry holds the engines that init functions add.
var registry = map[string]Engine{}

func register(e Engine) {
	if _, twice := registry[e.Name]; twice {
		panic("opensm: engine " + e.Name + " is registered twice")
	}
	registry[e.Name] = e
	registerRouting(e)
}

// Engines lists the names of the engines in alphabetical order.
func Engines() []string {
	var names []string
	for name := range registry {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// EngineOf finds an engine by name.
func EngineOf(name string) (Engine, error) {
	e, known := registry[name]
	if !known {
		return Engine{}, fmt.Errorf("no routing engine %q: want %s", name, strings.Join(Engines(), ", "))
	}
	return e, nil
}
