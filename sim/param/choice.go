package param

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Choice is a setting that names an entry of a registry, whose settings stand beside it, in the
// same table of a file:
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
	Own() any
	Names() []string
	Describe(name string) Description
	Kind() string
}

// Seeded is a configuration of what draws, when it is built, from the seed of its environment.
type Seeded interface{ Seeded() }

// SeedFor is the seed for a configuration: 0 if it is not [Seeded], so that runs of other seeds can
// share it.
func SeedFor(config any, seed uint64) uint64 {
	if _, ok := config.(Seeded); ok {
		return seed
	}
	return 0
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

// Own gives the choice an unset configuration of its own in place of one that others may share.
func (c *Choice[E, T]) Own() any {
	c.config = reflect.New(reflect.TypeOf(c.config).Elem()).Interface()
	return c.config
}

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

// DidYouMean is ` (did you mean "x"?)` for the candidate with the fewest edits from name, if few
// enough for a typing error, of equals one that begins with it; else "".
func DidYouMean(name string, candidates []string) string {
	best, bestDistance := "", max(1, len(name)/3)+1
	for _, c := range candidates {
		if max(len(name)-len(c), len(c)-len(name)) > bestDistance {
			continue // at least so many characters must be put in
		}
		begins := best != "" && strings.HasPrefix(c, name) && !strings.HasPrefix(best, name)
		if d := editDistance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance || begins && d == bestDistance {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// editDistance counts insertions, deletions, substitutions and swaps (optimal string alignment).
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

// Errors lists the errors that [errors.Join] has joined, in order, nested ones flattened; none for
// nil.
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

// Setting is a value for a setting, for [Registry.New].
type Setting struct {
	Key   string
	Value any
}

// Set gives setting key a value: of its type, or text with a unit ("20ns").
func Set(key string, value any) Setting { return Setting{key, value} }

// New constructs name in env with its defaults but for the given settings: for those who know the
// name but not the configuration's type. Settings that name lacks or does not use in env, and
// values that do not fit, are errors, joined, each a *ParamError.
func (r *Registry[E, T]) New(name string, env E, settings ...Setting) (T, error) {
	var zero T
	config, err := r.Config(name)
	if err != nil {
		return zero, err
	}
	var problems []error
	for _, s := range settings {
		if v, known := settingOf(config, s.Key); !known {
			problems = append(problems, &ParamError{s.Key, s.Value, fmt.Sprintf("a setting of %s %q: %s", r.kind, name, cmp.Or(strings.Join(keysOf(config), ", "), "it has none"))})
		} else if err := assign(v, s.Value); err != nil {
			problems = append(problems, &ParamError{s.Key, s.Value, err.Error()})
		}
	}
	if err := errors.Join(problems...); err != nil {
		return zero, err
	}
	built, err := r.Build(name, config, env)
	if err != nil {
		return zero, err
	}
	unused := r.Unused(name, env, built)
	for _, s := range settings {
		if slices.Contains(unused, s.Key) {
			problems = append(problems, &ParamError{s.Key, s.Value, fmt.Sprintf("it left out: %s %q does not use it here", r.kind, name)})
		}
	}
	if len(problems) > 0 {
		return zero, errors.Join(problems...)
	}
	return built, nil
}

// settingOf is the setting of a configuration, or of what it has chosen, with a key.
func settingOf(config any, key string) (found reflect.Value, known bool) {
	var chosen []any
	EachSetting(config, func(f *Field, v reflect.Value) {
		if f.Key == key {
			found, known = v, true
		} else if c, ok := v.Addr().Interface().(Chooser); ok {
			if c.Config() == nil && c.Choose(c.Name()) != nil {
				return
			}
			chosen = append(chosen, c.Config())
		}
	})
	for _, config := range chosen {
		if !known {
			found, known = settingOf(config, key)
		}
	}
	return found, known
}

// keysOf lists the settings of a configuration.
func keysOf(config any) (keys []string) {
	EachSetting(config, func(f *Field, _ reflect.Value) { keys = append(keys, f.Key) })
	return keys
}

// assign sets v to a value of its type, one that converts without loss, or text that it reads. The
// error says what is wanted.
func assign(v reflect.Value, value any) error {
	wanted := fmt.Errorf("a value of type %s", typeName(v))
	if c, ok := v.Addr().Interface().(Chooser); ok {
		if name, ok := value.(string); ok {
			return c.Choose(name)
		}
		return wanted
	}
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok { // no bare numbers where there are units
		if s, ok := value.(string); ok {
			return text.UnmarshalText([]byte(s))
		}
		if reflect.TypeOf(value) != v.Type() {
			return wanted
		}
	}
	if from := reflect.ValueOf(value); from.IsValid() && from.Type().AssignableTo(v.Type()) {
		v.Set(from)
	} else if !SetScalar(v, value) {
		return wanted
	}
	return nil
}

// SetScalar assigns a number, boolean or string if its type fits v exactly; integers are numbers,
// too.
func SetScalar(v reflect.Value, value any) bool {
	from := reflect.ValueOf(value)
	switch {
	case !from.IsValid():
		return false
	case from.Kind() == v.Kind() && (v.Kind() == reflect.Bool || v.Kind() == reflect.String):
		v.Set(from.Convert(v.Type()))
	case from.CanInt() && v.CanInt() && !v.OverflowInt(from.Int()):
		v.SetInt(from.Int())
	case from.CanInt() && v.CanUint() && from.Int() >= 0 && !v.OverflowUint(uint64(from.Int())):
		v.SetUint(uint64(from.Int()))
	case from.CanUint() && v.CanInt() && from.Uint() <= math.MaxInt64 && !v.OverflowInt(int64(from.Uint())):
		v.SetInt(int64(from.Uint()))
	case from.CanUint() && v.CanUint() && !v.OverflowUint(from.Uint()):
		v.SetUint(from.Uint())
	case from.CanInt() && v.CanFloat():
		v.SetFloat(float64(from.Int()))
	case from.CanFloat() && v.CanFloat():
		v.SetFloat(from.Float())
	default:
		return false
	}
	return true
}
