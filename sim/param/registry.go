// Package param holds the registries of models by name, and their settings: structs whose tags give
// key, unit, bounds and documentation. Everything that experiment files can name is registered
// here; their reference, their checks and the errors of wrong values are made from the tags.
package param

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
)

// Registry holds the named constructors of one kind of thing (topologies, routings, patterns, ...),
// filled by init functions and read-only afterwards. E is a constructor's environment, such as the
// topology; T is what it makes.
type Registry[E, T any] struct {
	kind    string
	entries map[string]*entry[E, T]
	nothing bool
}

type entry[E, T any] struct {
	forms   []*form[E, T] // by need; one without a need is the last
	joining sync.Once
	joined  reflect.Value // the settings of several forms, with their defaults
}

// NewRegistry makes an empty registry; kind names its things in messages ("topology").
func NewRegistry[E, T any](kind string) *Registry[E, T] {
	return &Registry[E, T]{kind: kind, entries: map[string]*entry[E, T]{}}
}

// Register adds a constructor under name. doc is one line. defaults is the configuration that a
// user's keys are laid over; its fields are described by struct tags:
//
//	toml:"p"            the key; fields without one are not configurable
//	doc:"..."           one line for weft list and the reference
//	unit:"flits"        the unit of a bare number
//	min:"1" max:"64"    inclusive bounds of a number
//	choices:"a|b|c"     allowed values of a string
//	file:"read"         a string is the path of a file that is read, or empty
//
// A configuration with a method Validate() error is asked after the tags are. Registering a name
// twice panics; [RegisterFor] gives a name several forms.
func Register[C, E, T any](r *Registry[E, T], name, doc string, defaults C, build func(config C, env E) (T, error)) {
	RegisterFor(r, Need[E]{}, name, doc, defaults, build)
}

// OrNil lets constructors return nil without an error: there is nothing of the kind.
func (r *Registry[E, T]) OrNil() *Registry[E, T] {
	r.nothing = true
	return r
}

// cloneConfig copies a configuration: decoding into its slices or maps must not change the
// defaults.
func cloneConfig[C any](c C) C {
	v := reflect.ValueOf(&c).Elem()
	if v.Kind() != reflect.Struct {
		return c
	}
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Slice && f.CanSet() && !f.IsNil() {
			f.Set(reflect.AppendSlice(reflect.MakeSlice(f.Type(), 0, f.Len()), f))
		}
	}
	return c
}

// Kind is the singular name of what the registry holds.
func (r *Registry[E, T]) Kind() string { return r.kind }

// Names lists the registered names in alphabetical order.
func (r *Registry[E, T]) Names() []string { return slices.Sorted(maps.Keys(r.entries)) }

// UnknownNameError reports a name that is not registered.
type UnknownNameError struct {
	Kind, Name string
	Known      []string
}

func (e *UnknownNameError) Error() string {
	return fmt.Sprintf("unknown %s %q%s: known are %s", e.Kind, e.Name, DidYouMean(e.Name, e.Known), strings.Join(e.Known, ", "))
}

// Config returns a pointer to a fresh default configuration of name, for decoding user input into.
// With several forms it has the settings of all.
func (r *Registry[E, T]) Config(name string) (any, error) {
	e, ok := r.entries[name]
	if !ok {
		return nil, &UnknownNameError{r.kind, name, r.Names()}
	}
	return e.config(), nil
}

// Build constructs name from a configuration that [Registry.Config] returned, after checking it with
// [Validate]. Of several forms it takes the one whose need env meets, and leaves alone the settings
// of the others. Errors about single settings are *ParamError, possibly joined.
func (r *Registry[E, T]) Build(name string, config any, env E) (T, error) {
	var zero T
	f, err := r.formFor(name, config, env)
	if err != nil {
		return zero, err
	}
	if reflect.TypeOf(config) != f.config {
		values := map[string]reflect.Value{} // config has at least the form's settings
		EachSetting(config, func(field *Field, v reflect.Value) { values[field.Key] = v })
		config = f.defaults()
		EachSetting(config, func(field *Field, v reflect.Value) { v.Set(values[field.Key]) })
	}
	if err := Validate(config); err != nil {
		return zero, err
	}
	built, err := f.build(config, env)
	if err == nil && any(built) == nil && !r.nothing {
		err = fmt.Errorf("%s %q is nil: its constructor returned neither a value nor an error", r.kind, name)
	}
	return built, err
}

// Make is Config, then set, then Build: for tests and code that composes by hand. C must be the
// configuration of name, or of one of its forms.
func Make[C, E, T any](r *Registry[E, T], name string, env E, set func(*C)) (T, error) {
	var zero T
	e, ok := r.entries[name]
	if !ok {
		return zero, &UnknownNameError{r.kind, name, r.Names()}
	}
	for _, f := range e.forms {
		if c, ok := f.defaults().(*C); ok {
			if set != nil {
				set(c)
			}
			return r.Build(name, c, env)
		}
	}
	return zero, fmt.Errorf("param: %s %q is configured by %v, not %T", r.kind, name, e.configs(), (*C)(nil))
}

// Description is what users see of a registered thing.
type Description struct {
	Name, Doc string
	Params    []Param
}

// Param describes one setting of a configuration.
type Param struct {
	Key, Type, Unit, Default, Doc, Allowed string

	Min, Max string   // inclusive bounds of a number, as their tags have them; "": none
	Choices  []string // allowed values of a string; nil: all
}

// Describe returns the name, documentation and settings of an entry.
func (r *Registry[E, T]) Describe(name string) (Description, error) {
	e, ok := r.entries[name]
	if !ok {
		return Description{}, &UnknownNameError{r.kind, name, r.Names()}
	}
	return e.describe(name), nil
}

// DescribeParams lists the settings of a pointer to a configuration, with present values as
// defaults, by the tags of [Register].
func DescribeParams(config any) []Param {
	var params []Param
	EachSetting(config, func(f *Field, v reflect.Value) {
		params = append(params, Param{
			Key:     f.Key,
			Type:    typeName(v),
			Unit:    f.Tag.Get("unit"),
			Default: formatValue(v),
			Doc:     f.Tag.Get("doc"),
			Allowed: allowed(f.StructField),
			Min:     f.Tag.Get("min"),
			Max:     f.Tag.Get("max"),
			Choices: f.choices,
		})
	})
	return params
}

// EachSetting visits the settings of a pointer to a configuration: fields with a toml tag, and
// those of embedded structs in place.
func EachSetting(config any, visit func(field *Field, value reflect.Value)) {
	v := reflect.ValueOf(config)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return
	}
	list := settingsOf(v.Type())
	for i := range list {
		value := v
		for _, at := range list[i].index {
			value = value.Field(at)
		}
		visit(&list[i], value)
	}
}

// Read ranges over the settings of a pointer to a configuration whose values are paths of files.
func Read(config any) iter.Seq[reflect.Value] {
	return func(yield func(reflect.Value) bool) {
		v := reflect.ValueOf(config)
		if v.Kind() != reflect.Pointer {
			return
		}
		list := settingsOf(v.Type().Elem())
		for i := range list {
			if list[i].Reads && !yield(v.Elem().FieldByIndex(list[i].index)) {
				return
			}
		}
	}
}

// Has tells whether a pointer to a configuration struct has a setting.
func Has(config any, key string) bool {
	list := settingsOf(reflect.TypeOf(config).Elem())
	for i := range list {
		if list[i].Key == key {
			return true
		}
	}
	return false
}

// Field is a setting of a struct type: what its tags say, read once.
type Field struct {
	reflect.StructField
	Key      string // tag toml
	Reads    bool   // tag file: its value is the path of a file
	index    []int  // finds it, within embedded structs, too
	chooses  bool   // it is a [Chooser]
	choices  []string
	min, max *float64 // nil: no bound
}

// settingFields has the settings of each struct type that was asked for, by [reflect.Type].
var settingFields sync.Map

// settingsOf lists the settings of a type, none of one that is no struct.
func settingsOf(t reflect.Type) []Field {
	if t.Kind() != reflect.Struct {
		return nil
	}
	if known, ok := settingFields.Load(t); ok {
		return known.([]Field)
	}
	var list []Field
	for i := range t.NumField() {
		f := t.Field(i)
		switch name := f.Tag.Get("toml"); {
		case f.Anonymous && name == "":
			for _, inner := range settingsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				list = append(list, inner)
			}
		case name == "" || name == "-":
		case !f.IsExported() || slices.ContainsFunc(list, func(other Field) bool { return other.Key == name }):
			panic(fmt.Sprintf("param: setting %q of %v: want an exported field, and no second of that key", name, t))
		default:
			list = append(list, Field{f, name, f.Tag.Get("file") == "read", []int{i}, reflect.PointerTo(f.Type).Implements(reflect.TypeFor[Chooser]()), choices(f), bound(f, "min"), bound(f, "max")})
		}
	}
	settingFields.Store(t, list)
	return list
}

func typeName(v reflect.Value) string {
	if v.CanAddr() {
		if _, ok := v.Addr().Interface().(Chooser); ok {
			return "name"
		}
	}
	switch v.Interface().(type) {
	case sim.Time:
		return "time"
	case sim.Bytes:
		return "size"
	case sim.Rate:
		return "rate"
	}
	switch v.Kind() {
	case reflect.Slice:
		return "list of " + typeName(reflect.New(v.Type().Elem()).Elem())
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Struct, reflect.Map:
		return "table"
	}
	return "integer"
}

func formatValue(v reflect.Value) string {
	if v.Kind() == reflect.Slice {
		return "[" + strings.Join(lists.Make(v.Len(), func(i int) string { return formatValue(v.Index(i)) }), ", ") + "]"
	}
	switch x := v.Interface().(type) {
	case fmt.Stringer:
		return strconv.Quote(x.String())
	case string:
		return strconv.Quote(x)
	default:
		return fmt.Sprint(x)
	}
}

// InCycles tells by a setting's tag whether it counts cycles: experiment files may then give a
// time.
func InCycles(tag reflect.StructTag) bool { return tag.Get("unit") == Cycles }

// Cycles is the unit of settings that count cycles of the flit clock.
const Cycles = "cycles"

// choices lists the allowed values of a string; nil if all are.
func choices(f reflect.StructField) []string {
	if c := f.Tag.Get("choices"); c != "" {
		return strings.Split(c, "|")
	}
	return nil
}

func allowed(f reflect.StructField) string {
	if names := choices(f); names != nil {
		names[0] = cmp.Or(names[0], `""`)
		return strings.Join(names, ", ")
	}
	lo, hi := f.Tag.Get("min"), f.Tag.Get("max")
	switch {
	case lo != "" && hi != "":
		return lo + " to " + hi
	case lo != "":
		return "at least " + lo
	case hi != "":
		return "at most " + hi
	}
	return ""
}

// ParamError says what is allowed for setting Key in place of Value. A file's reader adds the key's
// place.
type ParamError struct {
	Key   string
	Value any
	Want  string
}

func (e *ParamError) Error() string { return fmt.Sprintf("%s = %v: want %s", e.Key, e.Value, e.Want) }

// Misuse is a broken contract of a registered model, such as a routing or a terminal's program.
// What runs the model panics with this, since a run cannot go on.
type Misuse struct {
	Of  string // table, or key, of experiment files that names it: routing, program, pattern
	By  any    // the model
	Did string // what it has done, and what it must do
}

func (m *Misuse) Error() string { return fmt.Sprintf("%s %T %s", m.Of, m.By, m.Did) }

// Validate checks a pointer to a configuration against its tags (min, max, choices) and then by its
// own Validate method. All problems are joined, each a *ParamError.
func Validate(config any) error {
	var problems, chosen []error
	all := reflect.ValueOf(config).Elem()
	list := settingsOf(all.Type())
	for i := range list {
		s, v := &list[i], all.FieldByIndex(list[i].index)
		if !s.chooses {
			problems = append(problems, s.check(v)...)
		} else if c := v.Addr().Interface().(Chooser); c.Config() != nil {
			chosen = append(chosen, Validate(c.Config()))
		}
	}
	if len(problems) == 0 {
		if c, ok := config.(interface{ Validate() error }); ok {
			problems = []error{c.Validate()}
		}
	}
	return errors.Join(append(problems, chosen...)...)
}

// check holds a value against the tags.
func (s *Field) check(v reflect.Value) (problems []error) {
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			for _, err := range s.check(v.Index(i)) {
				p := err.(*ParamError)
				p.Key = fmt.Sprintf("%s[%d]", s.Key, i)
				problems = append(problems, p)
			}
		}
		return problems
	}
	wrong := s.choices != nil && v.Kind() == reflect.String && !slices.Contains(s.choices, v.String())
	var x float64
	switch {
	case v.CanInt():
		x = float64(v.Int())
	case v.CanUint():
		x = float64(v.Uint())
	case v.CanFloat():
		x = v.Float()
	}
	if wrong || s.min != nil && !(x >= *s.min) || s.max != nil && !(x <= *s.max) { // NaN fails both
		problems = append(problems, &ParamError{s.Key, strings.Trim(formatValue(v), "\n"), allowed(s.StructField)})
	}
	return problems
}

// bound reads a min or max tag of a number, or a list's, in the type's unit; nil: there is none.
func bound(f reflect.StructField, tag string) *float64 {
	text, of := f.Tag.Get(tag), f.Type
	for of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if text == "" {
		return nil
	}
	var x float64
	var err error
	to := reflect.New(of)
	if quantity, ok := to.Interface().(encoding.TextUnmarshaler); ok && to.Elem().CanInt() {
		err = quantity.UnmarshalText([]byte(text))
		x = float64(to.Elem().Int())
	} else {
		x, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		panic(fmt.Sprintf("param: tag %s:%q of %s: %v", tag, text, f.Name, err))
	}
	return &x
}
