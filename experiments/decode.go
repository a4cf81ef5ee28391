package experiments

import (
	_ "embed"
	"encoding"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// decoder lays TOML values over typed configurations and collects everything
// that is wrong on the way.
type decoder struct {
	doc *document.Tree
	// unknown maps keys that nothing here knows to what to say about them. They are judged after
	// all points of a sweep are decoded: a parameter of one swept routing is unknown to the others.
	unknown map[string]string
	shared  *Shared // of the file; may be nil
	// later reads what waits for the clock: settings whose unit is cycles and that are given as
	// times, and what holds them.
	later []func(clock sim.Time)
	// lately has the tables of the point before as [readTable], by path; nil: every table is read.
	lately *sync.Map
}

// readTable is a table that was read without problems.
type readTable struct {
	values map[string]any // what the file says of it
	config reflect.Value  // a copy
}

// shareless tells whether copies of values of a type share nothing that changes once it is read but
// the configurations of choices.
func shareless(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice:
		return shareless(t.Elem())
	case reflect.Struct:
		known, ok := sharelessTypes.Load(t)
		if !ok {
			known = true
			for i := range t.NumField() {
				known = known.(bool) && shareless(t.Field(i).Type)
			}
			known = known.(bool) || reflect.PointerTo(t).Implements(reflect.TypeFor[param.Chooser]())
			sharelessTypes.Store(t, known)
		}
		return known.(bool)
	}
	return t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String
}

var sharelessTypes sync.Map // by [reflect.Type]: bool

// copied copies a table, with configurations of their own for its choices; false: it shares more.
func copied(to, from reflect.Value) bool {
	to.Set(from)
	all := shareless(to.Type())
	for f := range fieldsOf(to) {
		c, chooses := f.value.Addr().Interface().(param.Chooser)
		switch {
		case chooses && c.Config() != nil:
			of := reflect.ValueOf(c.Config()).Elem()
			all = all && copied(reflect.ValueOf(c.Own()).Elem(), of)
		case !chooses && f.value.Kind() == reflect.Struct:
			all = all && copied(f.value, f.value)
		}
	}
	return all
}

// table is read, or what it was at the point before if the file says the same.
func (d *decoder) table(path string, values map[string]any, config any) {
	into := reflect.ValueOf(config).Elem()
	if d.lately == nil || !shareless(into.Type()) {
		d.read(path, values, config)
		return
	}
	if before, ok := d.lately.Load(path); ok && sameValue(before.(readTable).values, values) {
		copied(into, before.(readTable).config)
		return
	}
	amiss := len(d.doc.Problems) + len(d.unknown) + len(d.later)
	if d.read(path, values, config); amiss == len(d.doc.Problems)+len(d.unknown)+len(d.later) {
		if kept := reflect.New(into.Type()).Elem(); copied(kept, into) {
			d.lately.Store(path, readTable{values, kept})
		}
	}
}

// sameValue is [reflect.DeepEqual] of TOML values, mostly without reflection: a sweep asks at each point.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameValue)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case string, bool, int64, float64:
		return a == b
	}
	return reflect.DeepEqual(a, b)
}

// read decodes values into config, a pointer to a struct whose fields have
// toml tags, and checks the result with [param.Validate].
func (d *decoder) read(path string, values map[string]any, config any) {
	before := len(d.later)
	parts := []any{config} // with what its choices have chosen
	unjudged := false      // of an unknown choice: its parameters cannot be judged
	var place func(f field, of interface{ give(string) })
	place = func(f field, of interface{ give(string) }) {
		raw, given := values[f.name]
		if given && of != nil {
			of.give(f.name)
		}
		if c, ok := f.value.Addr().Interface().(param.Chooser); ok {
			if in, ok := c.(interface {
				place(table, key string, shared *Shared)
				give(string)
			}); ok {
				in.place(path, f.name, d.shared)
				of = in
			}
			if d.choose(path, f, c, raw, given); c.Config() == nil {
				unjudged = true
				return
			}
			parts = append(parts, c.Config())
			for p := range fieldsOf(reflect.ValueOf(c.Config()).Elem()) {
				place(p, of)
			}
		} else if given {
			d.setting(document.Join(path, f.name), f, raw)
		} else if _, scalar := f.value.Addr().Interface().(encoding.TextUnmarshaler); !scalar && f.value.Kind() == reflect.Struct {
			d.table(document.Join(path, f.name), nil, f.value.Addr().Interface()) // its choices take their defaults
		}
	}
	for f := range fieldsOf(reflect.ValueOf(config).Elem()) {
		place(f, nil)
	}
	for name := range values { // in any order
		if !unjudged && !slices.ContainsFunc(parts, func(part any) bool { return param.Has(part, name) }) {
			d.unknown[document.Join(path, document.QuoteName(name))] = unknownKey(path, name, parts)
		}
	}
	check := func(sim.Time) { d.doc.ProblemsFrom(path, param.Validate(config)) }
	if len(d.later) > before {
		d.later = append(d.later, check)
	} else {
		check(0)
	}
}

func (d *decoder) choose(path string, f field, c param.Chooser, raw any, given bool) {
	key := document.Join(path, f.name)
	name := c.Name()
	if given {
		s, ok := raw.(string)
		if !ok {
			d.doc.Problem(key, "= %s: want a string, one of %s", document.Show(raw), strings.Join(c.Names(), ", "))
			return
		}
		name = s
	}
	if err := c.Choose(name); err != nil {
		d.doc.Problem(key, "= %q: unknown %s%s: known are %s", name, c.Kind(), param.DidYouMean(name, c.Names()), strings.Join(c.Names(), ", "))
	}
}

// unknownKey says that a table has no such key, and what it has.
func unknownKey(path, name string, parts []any) string {
	if gone := hasGone(document.Join(path, name)); gone != "" {
		return gone
	}
	what := "is not a key of this file"
	if path != "" {
		what = fmt.Sprintf("is not a key of [%s]", path)
	}
	var candidates []string
	for _, part := range parts {
		param.EachSetting(part, func(f *param.Field, _ reflect.Value) { candidates = append(candidates, f.Key) })
	}
	if len(candidates) == 0 {
		return what + "; it takes none"
	}
	slices.Sort(candidates)
	return fmt.Sprintf("%s%s: allowed are %s", what, param.DidYouMean(name, candidates), strings.Join(slices.Compact(candidates), ", "))
}

// setting decodes the value of a field. A time stands for the cycles that it takes, rounded
// up, where the unit is cycles: it is read when the clock is known.
func (d *decoder) setting(path string, f field, raw any) {
	text, isText := raw.(string)
	if !isText || !param.InCycles(f.tag) {
		d.value(path, f.value, raw)
		return
	}
	at, err := sim.ParseTime(text)
	if err != nil {
		d.doc.Problem(path, "= %s: want an integer, in cycles, or a time with its unit in quotes, for example \"2us\"", document.Show(raw))
		return
	}
	d.later = append(d.later, func(clock sim.Time) {
		cycles := int64(at / clock)
		if at%clock > 0 {
			cycles++
		}
		d.value(path, f.value, cycles)
	})
}

func (d *decoder) value(path string, v reflect.Value, raw any) {
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(path, text, raw)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.inner(path, raw, func(table map[string]any) { d.table(path, table, v.Addr().Interface()) })
	case reflect.Map:
		d.inner(path, raw, func(table map[string]any) { d.tables(path, table, v) })
	case reflect.Slice:
		d.list(path, v, raw)
	default:
		if s, ok := raw.(string); ok && input.HasControl(s) {
			d.doc.Problem(path, "= %s: holds a control character: of those only line ends and tabs may stand in a text", document.Show(raw))
			return
		}
		if x, ok := raw.(float64); ok && x == math.Trunc(x) && math.Abs(x) < 1<<53 && (v.CanInt() || v.CanUint()) {
			raw = int64(x) // 1e6
		}
		if x, _ := raw.(float64); math.IsNaN(x) || math.IsInf(x, 0) || !param.SetScalar(v, raw) {
			d.doc.Problem(path, "= %s: want %s%s", document.Show(raw), wanted(v), sweepHint(path, raw))
		}
	}
}

// wanted names the TOML type that a scalar field takes.
func wanted(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Bool:
		return "true or false"
	case v.Kind() == reflect.String:
		return "a string"
	case v.CanUint():
		return "an integer that is not negative"
	case v.CanInt():
		return "an integer"
	}
	return "a number"
}

// NumberOrWord is the type of a setting that takes an integer or a word, and reads both as text.
type NumberOrWord interface {
	encoding.TextUnmarshaler
	Wanted() string // what is allowed, for messages
}

// text decodes values with units.
func (d *decoder) text(path string, target encoding.TextUnmarshaler, raw any) {
	example := `a string`
	switch target.(type) {
	case *sim.Time:
		example = `a time with its unit in quotes, for example "10ns" (ps, ns, us, ms, s)`
	case *sim.Bytes:
		example = `a size with its unit in quotes, for example "64B" or "8KiB" (B, kB, MB, GB, KiB, MiB, GiB)`
	case *sim.Rate:
		example = `a data rate with its unit in quotes, for example "100Gb/s"`
	}
	if w, ok := target.(NumberOrWord); ok {
		example = w.Wanted()
		if n, ok := raw.(int64); ok {
			raw = strconv.FormatInt(n, 10)
		}
	}
	s, ok := raw.(string)
	if !ok {
		d.doc.Problem(path, "= %s: want %s%s", document.Show(raw), example, sweepHint(path, raw))
		return
	}
	if err := target.UnmarshalText([]byte(s)); err != nil {
		d.doc.Problem(path, "= %s", unitProblem(s, err, example))
	}
}

// unitProblem words the error of a value with a unit: the value once, and what is
// allowed unless the error says it.
func unitProblem(s string, err error, example string) string {
	message := err.Error()
	for _, what := range []string{"time ", "size ", "rate "} {
		message = strings.TrimPrefix(message, what)
	}
	if !strings.HasPrefix(message, strconv.Quote(s)) {
		message = strconv.Quote(s) + ": " + message
	}
	if strings.Contains(message, ": use ") || strings.Contains(message, ": write ") {
		return message
	}
	return message + "; want " + example
}

func (d *decoder) inner(path string, raw any, decode func(map[string]any)) {
	table, ok := raw.(map[string]any)
	if !ok {
		d.doc.Problem(path, "= %s: want a table, [%s]", document.Show(raw), path)
		return
	}
	decode(table)
}

// tables decodes a table of tables such as [channel.local], [channel.global].
func (d *decoder) tables(path string, table map[string]any, v reflect.Value) {
	v.Set(reflect.MakeMap(v.Type()))
	for _, name := range results.SortedKeys(table) {
		element, before := newElement(v.Type().Elem()), len(d.later)
		d.value(document.Join(path, document.QuoteName(name)), element, table[name])
		keep := func(sim.Time) { v.SetMapIndex(reflect.ValueOf(name), element) }
		if keep(0); len(d.later) > before {
			d.later = append(d.later, keep)
		}
	}
}

// Defaulter is a table of which a file may have several, as [NAME.ONE] or [[NAME]], if it
// has defaults or choices: Defaults, of its pointer, gives it those before it is read.
type Defaulter interface{ Defaults() }

// newElement is an element of a map or a list of a type, with its defaults.
func newElement(t reflect.Type) reflect.Value {
	element := reflect.New(t)
	if d, ok := element.Interface().(Defaulter); ok {
		d.Defaults()
	}
	for f := range fieldsOf(element.Elem()) {
		if c, ok := f.value.Addr().Interface().(param.Chooser); ok && c.Name() == "" {
			panic(fmt.Sprintf("experiments: setting %s of %v chooses from nothing: its method Defaults has to give it a registry", f.name, t))
		}
	}
	return element.Elem()
}

// list decodes an array; a single value may stand for an array of one.
func (d *decoder) list(path string, v reflect.Value, raw any) {
	elements, several := raw.([]any)
	if !several {
		elements = []any{raw}
	}
	if len(elements) == 0 {
		v.SetZero()
		return
	}
	list := reflect.MakeSlice(v.Type(), len(elements), len(elements))
	before := len(d.doc.Problems)
	for i, element := range elements {
		at := path
		if several {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		list.Index(i).Set(newElement(v.Type().Elem()))
		d.value(at, list.Index(i), element)
	}
	if len(d.doc.Problems) == before { // what is half read must not be judged
		v.Set(list)
	}
}

// sweepHint tells who wrote a list where one value belongs how to sweep it.
func sweepHint(path string, raw any) string {
	if _, isList := raw.([]any); isList && !strings.HasPrefix(path, "plot") && !strings.HasPrefix(path, "expect") {
		return fmt.Sprintf("; to sweep it write %q = %s under [sweep]", path, document.Show(raw))
	}
	return ""
}

type field struct {
	name  string
	tag   reflect.StructTag
	value reflect.Value
}

// fieldsOf ranges over the settings of a struct; other values have none.
func fieldsOf(v reflect.Value) iter.Seq[field] {
	return func(yield func(field) bool) {
		more := true
		param.EachSetting(v.Addr().Interface(), func(f *param.Field, value reflect.Value) {
			more = more && yield(field{f.Key, f.Tag, value})
		})
	}
}

//go:embed gone.toml
var goneText string

// gone is that file.
var gone = sync.OnceValue(func() (now map[string]string) {
	if _, err := toml.Decode(goneText, &now); err != nil {
		panic("experiments: gone.toml: " + err.Error())
	}
	return now
})

// hasGone says of a dotted key that files could have it once; "": they never could.
func hasGone(key string) string {
	now := gone()[key]
	if names := document.SplitKey(key); now == "" && len(names) > 2 {
		names[1] = "NAME"
		now = gone()[document.JoinNames(names)]
	}
	if now == "" {
		return ""
	}
	return fmt.Sprintf("has gone: %s; leave it out", now)
}
