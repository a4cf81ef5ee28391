package param

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/weft-sim/weft/sim/lists"
)

// Need is what one form of a name asks of its environment, such as groups of a topology. The zero
// Need's form is for all environments that no other form is for.
type Need[E any] struct {
	What string           // for messages: "groups"
	Met  func(env E) bool // nil: always
}

// form is one constructor of a name.
type form[E, T any] struct {
	need     Need[E]
	doc      string
	config   reflect.Type // a pointer to the configuration
	defaults func() any   // a pointer to a fresh configuration, defaults filled in
	build    func(config any, env E) (T, error)
}

// RegisterFor is [Register] for environments that meet a need. A name may have several forms, each
// with a need and settings of its own: one algorithm on several families of networks. Users see one
// name with the settings of all; a key that several forms have must have one type and default. An
// environment that meets several needs gets the first in alphabetical order, and the form without a
// need if it meets none. A second form of the same need panics.
func RegisterFor[C, E, T any](r *Registry[E, T], need Need[E], name, doc string, defaults C, build func(config C, env E) (T, error)) {
	if name == "" || doc == "" || build == nil || reflect.TypeFor[C]().Kind() != reflect.Struct {
		panic(fmt.Sprintf("param: %s %q: want a name, a line of documentation, settings in a struct (these are a %T) and a constructor", r.kind, name, defaults))
	}
	e := r.entries[name]
	if e == nil {
		e = &entry[E, T]{}
		r.entries[name] = e
	}
	if slices.ContainsFunc(e.forms, func(f *form[E, T]) bool { return f.need.What == need.What }) {
		panic(fmt.Sprintf("param: %s %q registered twice", r.kind, name))
	}
	e.forms = append(e.forms, &form[E, T]{
		need: need, doc: doc, config: reflect.TypeFor[*C](),
		defaults: func() any { c := cloneConfig(defaults); return &c },
		build:    func(config any, env E) (T, error) { return build(*config.(*C), env) },
	})
	e.joining = sync.Once{} // what was joined had fewer forms
	slices.SortFunc(e.forms, func(a, b *form[E, T]) int {
		switch {
		case a.need.Met == nil:
			return 1
		case b.need.Met == nil:
			return -1
		}
		return strings.Compare(a.need.What, b.need.What)
	})
	if len(e.forms) > 1 { // most have one, whose settings are read where it is asked for
		if err := e.disagreement(); err != nil {
			panic(fmt.Sprintf("param: %s %q: %v", r.kind, name, err))
		}
	}
}

// EnvWithNeeds is implemented by environments that word the error of unmet needs of a name.
type EnvWithNeeds interface {
	Lacks(name string, needs []string) error
}

// formFor is the form of name that config configures, or else the one whose need env meets.
func (r *Registry[E, T]) formFor(name string, config any, env E) (*form[E, T], error) {
	e, ok := r.entries[name]
	if !ok {
		return nil, &UnknownNameError{r.kind, name, r.Names()}
	}
	typ, union := reflect.TypeOf(config), reflect.Type(nil)
	if len(e.forms) > 1 {
		union = reflect.TypeOf(e.config())
	}
	var needs []string
	known := false
	for _, f := range e.forms {
		if config != nil && typ != f.config && typ != union {
			continue
		}
		if known = true; f.need.Met == nil || f.need.Met(env) {
			return f, nil
		}
		needs = append(needs, f.need.What)
	}
	if !known {
		return nil, fmt.Errorf("param: %s %q is configured by %v, not %T", r.kind, name, e.configs(), config)
	}
	if env, ok := any(env).(EnvWithNeeds); ok {
		return nil, env.Lacks(name, needs)
	}
	return nil, fmt.Errorf("%s %q needs %s", r.kind, name, strings.Join(needs, " or "))
}

// Settings lists the keys of name in an environment: of the form whose need env meets.
func (r *Registry[E, T]) Settings(name string, env E) ([]string, error) {
	f, err := r.formFor(name, nil, env)
	if err != nil {
		return nil, err
	}
	return keysOf(f.defaults()), nil
}

// Skipper is implemented by what does not use all settings of its configuration in some cases.
type Skipper interface {
	// UnusedSettings lists their keys.
	UnusedSettings() []string
}

// Idler is implemented by what has settings that may be given but, beside others, change nothing.
type Idler interface{ IdleSettings() []IdleSetting }

// IdleSetting is such a setting, and why.
type IdleSetting struct{ Key, Because string }

// Unused lists the settings of name that built, built in env, does not use: other forms', and those
// that it skips.
func (r *Registry[E, T]) Unused(name string, env E, built T) []string {
	used, err := r.Settings(name, env)
	if err != nil {
		return nil
	}
	unused := slices.DeleteFunc(keysOf(r.entries[name].config()), func(key string) bool { return slices.Contains(used, key) })
	if s, ok := any(built).(Skipper); ok {
		unused = append(unused, s.UnusedSettings()...)
	}
	return unused
}

// configs lists the types of the configurations, for messages.
func (e *entry[E, T]) configs() string {
	return lists.Join(e.forms, " or ", func(f *form[E, T]) string { return f.config.String() })
}

// config is a fresh configuration: of the only form, or a struct of the settings of all.
func (e *entry[E, T]) config() any {
	if len(e.forms) == 1 {
		return e.forms[0].defaults()
	}
	e.joining.Do(func() { e.joined = e.join() })
	c := reflect.New(e.joined.Type())
	c.Elem().Set(e.joined)
	return c.Interface()
}

// join is a struct of the settings of all forms.
func (e *entry[E, T]) join() reflect.Value {
	var fields []reflect.StructField
	var values []reflect.Value
	at := map[string]int{} // by key
	for _, f := range e.forms {
		EachSetting(f.defaults(), func(field *Field, v reflect.Value) {
			key := field.Key
			i, seen := at[key]
			if !seen {
				at[key] = len(fields)
				fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Setting%d", len(fields)), Type: field.Type, Tag: field.Tag})
				values = append(values, v)
			} else if allowed(fields[i]) != allowed(field.StructField) { // each form checks its own bounds
				fields[i].Tag = reflect.StructTag(fmt.Sprintf("toml:%q doc:%q unit:%q", key, field.Tag.Get("doc"), field.Tag.Get("unit")))
			}
		})
	}
	c := reflect.New(reflect.StructOf(fields)).Elem()
	for i, v := range values {
		c.Field(i).Set(v)
	}
	return c
}

// disagreement reports a key that forms have with different types or defaults.
func (e *entry[E, T]) disagreement() (err error) {
	seen := map[string]reflect.Value{}
	for _, f := range e.forms {
		EachSetting(f.defaults(), func(field *Field, v reflect.Value) {
			key := field.Key
			if other, ok := seen[key]; ok && !reflect.DeepEqual(other.Interface(), v.Interface()) {
				err = fmt.Errorf("setting %q has default %s in one form and %s in another", key, formatValue(other), formatValue(v))
			}
			seen[key] = v
		})
	}
	return err
}

// describe joins the forms' documentation: differences are told with their need.
func (e *entry[E, T]) describe(name string) Description {
	d := Description{Name: name, Params: DescribeParams(e.config())}
	texts := make([]string, len(e.forms))
	byKey := make([]map[string]Param, len(e.forms))
	for i, f := range e.forms {
		texts[i] = f.doc
		byKey[i] = map[string]Param{}
		for _, p := range DescribeParams(f.defaults()) {
			byKey[i][p.Key] = p
		}
	}
	d.Doc = e.byNeed(texts)
	for i := range d.Params {
		p := &d.Params[i]
		for j := range texts {
			texts[j] = byKey[j][p.Key].Doc
		}
		p.Doc = e.byNeed(texts)
		for j := range texts {
			texts[j] = byKey[j][p.Key].Allowed
		}
		if p.Allowed == "" {
			p.Allowed = e.byNeed(texts)
		}
	}
	return d
}

// byNeed joins texts, one of each form, that differ; forms without one are left out.
func (e *entry[E, T]) byNeed(texts []string) string {
	var parts []string
	same := true
	for i, text := range texts {
		same = same && text == texts[0]
		switch {
		case text == "":
		case e.forms[i].need.Met == nil:
			parts = append(parts, "elsewhere: "+text)
		default:
			parts = append(parts, "with "+e.forms[i].need.What+": "+text)
		}
	}
	if same {
		return texts[0]
	}
	return strings.Join(parts, "; ")
}
