package param

import (
	"fmt"
	"strings"
)

// Choice is a setting whose value names an entry of a registry. The settings of the entry
// stand beside it, in the same table of a file:
//
//	[switch]
//	allocator  = "matrix"   # the Choice
//	iterations = 2          # of the table
//
// [Choose] gives it its registry and a default.
type Choice[E, T any] struct {
	registry *Registry[E, T]
	name     string
	config   any // of the registry's type for name; nil: the defaults
}

// Chooser is a pointer to a Choice of any registry.
type Chooser interface {
	Name() string
	Choose(name string) error
	Config() any
	Names() []string
	Describe(name string) Description
	Kind() string
}

// Choose is a Choice from registry of a name, which is looked up when it is built.
func Choose[E, T any](registry *Registry[E, T], name string) Choice[E, T] {
	return Choice[E, T]{registry: registry, name: name}
}

// Name is the chosen entry.
func (c *Choice[E, T]) Name() string { return c.name }

// String is Name, so that descriptions show it as a default.
func (c Choice[E, T]) String() string { return c.name }

// Choose makes another entry the chosen one, with its defaults.
func (c *Choice[E, T]) Choose(name string) error {
	config, err := c.registry.Config(name)
	if err == nil {
		c.name, c.config = name, config
	}
	return err
}

// UnmarshalText is Choose.
func (c *Choice[E, T]) UnmarshalText(name []byte) error {
	err := c.Choose(string(name))
	if err != nil {
		err = fmt.Errorf("%q: unknown %s: known are %s", name, c.Kind(), strings.Join(c.Names(), ", "))
	}
	return err
}

// Config is a pointer to the chosen entry's configuration; nil until Choose has been called.
func (c *Choice[E, T]) Config() any { return c.config }

// Registry is what is chosen from.
func (c *Choice[E, T]) Registry() *Registry[E, T] { return c.registry }

// Build constructs the chosen entry.
func (c *Choice[E, T]) Build(env E) (T, error) {
	if c.config == nil {
		return c.registry.New(c.name, env)
	}
	return c.registry.Build(c.name, c.config, env)
}

// Names lists what can be chosen.
func (c *Choice[E, T]) Names() []string { return c.registry.Names() }

// Kind is the registry's.
func (c *Choice[E, T]) Kind() string { return c.registry.Kind() }

// Describe documents an entry that can be chosen.
func (c *Choice[E, T]) Describe(name string) Description {
	d, err := c.registry.Describe(name)
	if err != nil {
		panic("param: " + err.Error())
	}
	return d
}
