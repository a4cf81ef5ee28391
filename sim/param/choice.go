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

// Nearest returns the candidate that differs from name by the fewest edits, if
// those are few enough for a typing error; otherwise "".
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", max(1, len(name)/3)+1
	for _, c := range candidates {
		if max(len(name)-len(c), len(c)-len(name)) >= bestDistance {
			continue // at least so many characters must be put in
		}
		if d := editDistance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean is ` (did you mean "x"?)` if [Nearest] finds one, otherwise "".
func DidYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// editDistance counts insertions, deletions, substitutions and swaps of
// neighbours (optimal string alignment).
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Errors lists the errors that [errors.Join] has joined, in order, those of joined errors
// within them in their place; none for nil.
func Errors(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, Errors(e)...)
	}
	return all
}
