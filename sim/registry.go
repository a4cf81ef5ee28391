package sim

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Registry holds the named constructors of one kind of thing (topologies,
// routings, patterns, ...). E is what a constructor needs beyond its
// configuration (nothing for topologies, the topology for routings); T is what
// it makes. A registry is filled by init functions and read-only afterwards.
type Registry[E, T any] struct {
	kind    string
	entries map[string]*entry[E, T]
}

type entry[E, T any] struct {
	doc      string
	defaults func() any // a pointer to a fresh configuration, defaults filled in
	build    func(config any, env E) (T, error)
}

// NewRegistry makes an empty registry; kind names its things in messages
// ("topology").
func NewRegistry[E, T any](kind string) *Registry[E, T] {
	return &Registry[E, T]{kind: kind, entries: map[string]*entry[E, T]{}}
}

// Register adds a constructor under name. doc is one line. defaults is the
// configuration that a user's keys are laid over; its fields are described by
// struct tags:
//
//	toml:"p"            the key; fields without one are not configurable
//	doc:"..."           one line for weft list and the reference
//	unit:"flits"        the unit of a bare number
//	min:"1" max:"64"    inclusive bounds of a number
//	choices:"a|b|c"     allowed values of a string
//
// A configuration with a method Validate() error is asked after the tags are.
// Registering a name twice panics.
func Register[C, E, T any](r *Registry[E, T], name, doc string, defaults C, build func(config C, env E) (T, error)) {
	if _, taken := r.entries[name]; taken {
		panic(fmt.Sprintf("sim: %s %q registered twice", r.kind, name))
	}
	r.entries[name] = &entry[E, T]{
		doc:      doc,
		defaults: func() any { c := cloneConfig(defaults); return &c },
		build:    func(config any, env E) (T, error) { return build(*config.(*C), env) },
	}
}

// cloneConfig copies a configuration so that decoding into a slice or map of
// one instance cannot change the defaults.
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
func (r *Registry[E, T]) Names() []string {
	names := make([]string, 0, len(r.entries))
	for n := range r.entries {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// UnknownNameError reports a name that is not registered.
type UnknownNameError struct {
	Kind, Name string
	Known      []string
}

func (e *UnknownNameError) Error() string {
	s := fmt.Sprintf("unknown %s %q", e.Kind, e.Name)
	if near := Nearest(e.Name, e.Known); near != "" {
		s += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return s + ": known are " + strings.Join(e.Known, ", ")
}

// Config returns a pointer to a fresh configuration of name with its defaults,
// for decoding user input into.
func (r *Registry[E, T]) Config(name string) (any, error) {
	e, ok := r.entries[name]
	if !ok {
		return nil, &UnknownNameError{r.kind, name, r.Names()}
	}
	return e.defaults(), nil
}

// Build constructs name from a configuration that [Registry.Config] returned,
// after checking it with [Validate]. Errors about single settings are
// *ParamError, possibly joined.
func (r *Registry[E, T]) Build(name string, config any, env E) (T, error) {
	var zero T
	e, ok := r.entries[name]
	if !ok {
		return zero, &UnknownNameError{r.kind, name, r.Names()}
	}
	if err := Validate(config); err != nil {
		return zero, err
	}
	return e.build(config, env)
}

// Make is Config, then set, then Build: the short way for tests and for code
// that composes by hand. C must be the registered configuration's type.
func Make[C, E, T any](r *Registry[E, T], name string, env E, set func(*C)) (T, error) {
	var zero T
	c, err := r.Config(name)
	if err != nil {
		return zero, err
	}
	typed, ok := c.(*C)
	if !ok {
		return zero, fmt.Errorf("sim: %s %q is configured by %T, not %T", r.kind, name, c, typed)
	}
	if set != nil {
		set(typed)
	}
	return r.Build(name, c, env)
}

// Description is what users see of a registered thing.
type Description struct {
	Name, Doc string
	Params    []Param
}

// Param describes one setting of a configuration.
type Param struct {
	Key, Type, Unit, Default, Doc, Allowed string
}

// Describe returns the name, documentation and settings of an entry.
func (r *Registry[E, T]) Describe(name string) (Description, error) {
	e, ok := r.entries[name]
	if !ok {
		return Description{}, &UnknownNameError{r.kind, name, r.Names()}
	}
	return Description{Name: name, Doc: e.doc, Params: DescribeParams(e.defaults())}, nil
}

// DescribeParams lists the settings of a pointer to a configuration struct
// with its present values as defaults, by reflection over the tags of
// [Register].
func DescribeParams(config any) []Param {
	var params []Param
	eachField(config, func(f reflect.StructField, v reflect.Value) {
		params = append(params, Param{
			Key:     f.Tag.Get("toml"),
			Type:    typeName(v),
			Unit:    f.Tag.Get("unit"),
			Default: formatValue(v),
			Doc:     f.Tag.Get("doc"),
			Allowed: allowed(f),
		})
	})
	return params
}

func eachField(config any, visit func(reflect.StructField, reflect.Value)) {
	v := reflect.ValueOf(config)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	eachFieldOf(v, visit)
}

// eachFieldOf visits the fields of a struct, those of embedded structs in
// their place.
func eachFieldOf(v reflect.Value, visit func(reflect.StructField, reflect.Value)) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous && f.Tag.Get("toml") == "" {
			eachFieldOf(v.Field(i), visit)
		} else if f.IsExported() && f.Tag.Get("toml") != "" && f.Tag.Get("toml") != "-" {
			visit(f, v.Field(i))
		}
	}
}

func typeName(v reflect.Value) string {
	switch v.Interface().(type) {
	case Time:
		return "time"
	case Bytes:
		return "size"
	case Rate:
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
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = formatValue(v.Index(i))
		}
		return "[" + strings.Join(parts, ", ") + "]"
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

func allowed(f reflect.StructField) string {
	if c := f.Tag.Get("choices"); c != "" {
		names := strings.Split(c, "|")
		if names[0] == "" {
			names[0] = `""`
		}
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

// ParamError says that the setting Key has the value Value and what is
// allowed. Whoever knows where the key stands in a file adds that.
type ParamError struct {
	Key   string
	Value any
	Want  string
}

func (e *ParamError) Error() string { return fmt.Sprintf("%s = %v: want %s", e.Key, e.Value, e.Want) }

// Validate checks a pointer to a configuration against its tags (min, max,
// choices) and, if those hold, its own Validate method. All faults are
// returned together, each a *ParamError.
func Validate(config any) error {
	var faults []error
	eachField(config, func(f reflect.StructField, v reflect.Value) {
		faults = append(faults, checkTags(f, v)...)
	})
	if len(faults) == 0 {
		if c, ok := config.(interface{ Validate() error }); ok {
			return c.Validate()
		}
	}
	return errors.Join(faults...)
}

func checkTags(f reflect.StructField, v reflect.Value) []error {
	key := f.Tag.Get("toml")
	if v.Kind() == reflect.Slice {
		var faults []error
		for i := range v.Len() {
			for _, err := range checkTags(f, v.Index(i)) {
				p := err.(*ParamError)
				p.Key = fmt.Sprintf("%s[%d]", key, i)
				faults = append(faults, p)
			}
		}
		return faults
	}
	var faults []error
	fault := func() { faults = append(faults, &ParamError{key, strings.Trim(formatValue(v), "\n"), allowed(f)}) }
	if c := f.Tag.Get("choices"); c != "" && v.Kind() == reflect.String && !slices.Contains(strings.Split(c, "|"), v.String()) {
		fault()
	}
	var x float64
	switch {
	case v.CanInt():
		x = float64(v.Int())
	case v.CanUint():
		x = float64(v.Uint())
	case v.CanFloat():
		x = v.Float()
	default:
		return faults
	}
	lo, hi := bound(f, v, "min"), bound(f, v, "max")
	if lo != nil && !(x >= *lo) || hi != nil && !(x <= *hi) { // NaN fails both
		fault()
	}
	return faults
}

// bound reads a min or max tag, in the unit of the field's type.
func bound(f reflect.StructField, v reflect.Value, tag string) *float64 {
	s := f.Tag.Get(tag)
	if s == "" {
		return nil
	}
	var x float64
	var err error
	switch v.Interface().(type) {
	case Time:
		var t Time
		t, err = ParseTime(s)
		x = float64(t)
	case Bytes:
		var b Bytes
		b, err = ParseBytes(s)
		x = float64(b)
	case Rate:
		var r Rate
		r, err = ParseRate(s)
		x = float64(r)
	default:
		x, err = strconv.ParseFloat(s, 64)
	}
	if err != nil {
		panic(fmt.Sprintf("sim: tag %s:%q of %s: %v", tag, s, f.Name, err))
	}
	return &x
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
