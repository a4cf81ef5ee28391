package experiments

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Choice is a setting whose value names an entry of a registry. The parameters
// of the entry stand beside it in the same table:
//
//	[topology]
//	type = "dragonfly"   # the Choice
//	p = 4                # parameters of the dragonfly
//
// Declare one in a table's struct as
//
//	Type experiments.Choice[struct{}, topology.Topology] `toml:"type" doc:"..."`
//
// and give it a registry and a default with [Choose].
type Choice[E, T any] struct {
	param.Choice[E, T]
	table  string   // dotted name of the table, for errors
	key    string   // of the choice in its table
	given  []string // parameters that the file sets
	shared *Shared
}

// Choose is a Choice from registry with the default name.
func Choose[E, T any](registry *param.Registry[E, T], name string) Choice[E, T] {
	return Choice[E, T]{Choice: param.Choose(registry, name)}
}

// Build constructs the chosen entry. Errors carry dotted keys.
func (c *Choice[E, T]) Build(env E) (T, error) {
	built, err := c.Choice.Build(env)
	if err != nil {
		var zero T
		return zero, document.Under(c.table, document.Join(c.table, c.blamed()), err)
	}
	if c.shared != nil {
		unused := c.Registry().Unused(c.Name(), env, built)
		for f := range fieldsOf(reflect.ValueOf(c.Config()).Elem()) {
			c.shared.note(document.Join(c.table, f.name), !slices.Contains(unused, f.name), slices.Contains(c.given, f.name))
		}
	}
	return built, nil
}

// blamed is the key of the table that errors without a key are about: the one
// that names a file, if there is one, otherwise the choice.
func (c *Choice[E, T]) blamed() string {
	if r, ok := readerOf(c.Config()); ok {
		for f := range fieldsOf(reflect.ValueOf(c.Config()).Elem()) {
			if f.value.Kind() == reflect.String && slices.Contains(r.Files(), f.value.String()) {
				return f.name
			}
		}
	}
	return c.key
}

// BuildShared is Build for what is costly to build and read-only afterwards:
// points of a file with the same choice and parameters get the same value.
func (c *Choice[E, T]) BuildShared(env E) (T, error) { return c.BuildNamed(env, c.Fingerprint()) }

// BuildNamed is BuildShared of a choice whose fingerprint is at hand.
func (c *Choice[E, T]) BuildNamed(env E, fingerprint string) (T, error) {
	return Share(c.shared, fmt.Sprintf("%s\n%v", fingerprint, env), func() (T, error) { return c.Build(env) })
}

// Shared is what the points of the choice's file share; nil where there is no file.
func (c *Choice[E, T]) Shared() *Shared { return c.shared }

// Fingerprint names the choice with all its parameters, and what the files hold that these name.
func (c *Choice[E, T]) Fingerprint() string {
	text, _ := Latest(c.shared, document.Join(c.table, c.key)+" "+c.Name(), c.Config(), c.fingerprint)
	return text
}

func (c *Choice[E, T]) fingerprint() (string, error) {
	var key strings.Builder
	fmt.Fprintf(&key, "%s %s", c.Kind(), c.Name())
	for f := range fieldsOf(reflect.ValueOf(c.Config()).Elem()) {
		for _, s := range appendResolved(nil, f.name, f.value) {
			fmt.Fprintf(&key, "\n%s = %s", s.Key, document.Format(s.Value))
		}
	}
	if r, ok := readerOf(c.Config()); ok {
		for _, path := range r.Files() {
			fmt.Fprintf(&key, "\ncontent = %s", c.shared.digest(path))
		}
	}
	return key.String(), nil
}

// place tells a choice where it stands in a file, and what the points of that share.
func (c *Choice[E, T]) place(table, key string, shared *Shared) {
	c.table, c.key, c.given, c.shared = table, key, nil, shared
}

// give notes a parameter that the file sets.
func (c *Choice[E, T]) give(parameter string) { c.given = append(c.given, parameter) }

// Draws tells whether a choice of a configuration draws from the seed when it is built.
func Draws(config any) (drawn bool) {
	eachPart(config, func(part any) {
		_, is := part.(param.Seeded)
		drawn = drawn || is
	})
	return drawn
}

// readerOf tells whether a table, or the configuration of a choice, names files: by methods of
// its own, or by the tag file:"read" of settings that hold paths.
func readerOf(config any) (r topology.PathConfig, ok bool) {
	if r, ok = config.(topology.PathConfig); ok {
		return r, true
	}
	var paths taggedPaths
	for v := range param.Read(config) {
		paths = append(paths, v)
	}
	return paths, len(paths) > 0
}

// taggedPaths are settings that hold paths; empty ones name no file.
type taggedPaths []reflect.Value

func (t taggedPaths) RelativeTo(dir string) {
	for _, v := range t {
		v.SetString(input.In(dir, v.String()))
	}
}

func (t taggedPaths) Files() []string {
	return lists.Filter(lists.Map(t, reflect.Value.String), func(file string) bool { return file != "" })
}
