package experiments

import (
	"cmp"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"iter"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// resolve lists every setting of a configuration with the value that it has
// come to, defaults included, in the order of the declarations.
func resolve(config any) []document.Setting {
	all := make([]document.Setting, 0, 128)
	for f := range fieldsOf(reflect.ValueOf(config).Elem()) {
		all = appendResolved(all, f.name, f.value)
	}
	return all
}

func appendResolved(all []document.Setting, path string, v reflect.Value) []document.Setting {
	if c, ok := v.Addr().Interface().(param.Chooser); ok {
		all = append(all, document.Setting{Key: path, Value: c.Name()})
		if c.Config() != nil {
			for f := range fieldsOf(reflect.ValueOf(c.Config()).Elem()) {
				all = appendResolved(all, document.Join(document.Parent(path), f.name), f.value)
			}
		}
		return all
	}
	if text, ok := v.Addr().Interface().(encoding.TextMarshaler); ok {
		b, err := text.MarshalText()
		if err != nil || v.IsZero() && reflect.New(v.Type()).Interface().(encoding.TextUnmarshaler).UnmarshalText(b) != nil {
			return all // not set: a zero rate has no text
		}
		return append(all, document.Setting{Key: path, Value: string(b)})
	}
	switch v.Kind() {
	case reflect.Struct:
		for f := range fieldsOf(v) {
			all = appendResolved(all, document.Join(path, f.name), f.value)
		}
	case reflect.Map:
		for _, element := range elementsOf(v) {
			all = appendResolved(all, document.Join(path, document.QuoteName(element.name)), element.value)
		}
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			one := appendResolved(nil, "", v.Index(i))
			if len(one) == 1 && one[0].Key == "" {
				list[i] = one[0].Value
			}
		}
		all = append(all, document.Setting{Key: path, Value: list})
	default:
		all = append(all, document.Setting{Key: path, Value: v.Interface()})
	}
	return all
}

// elementsOf lists copies of the elements of a map by name, in order.
func elementsOf(v reflect.Value) (all []field) {
	all = make([]field, 0, v.Len())
	for entry := v.MapRange(); entry.Next(); {
		element := reflect.New(v.Type().Elem()).Elem()
		element.SetIterValue(entry)
		all = append(all, field{name: entry.Key().String(), value: element})
	}
	slices.SortFunc(all, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return all
}

// settings are those of a point, as far as they differ from those of another.
type settings struct {
	like []*listedTable // of the first point with the same keys
	own  []ownValue
}

type ownValue struct {
	at    int // among those of like
	value any
}

// all ranges over them in the order of their declaration.
func (l settings) all() iter.Seq2[int, document.Setting] {
	return func(yield func(int, document.Setting) bool) {
		own, i := l.own, 0
		for _, t := range l.like {
			for _, s := range t.settings {
				if len(own) > 0 && own[0].at == i {
					s.Value, own = own[0].value, own[1:]
				}
				if !yield(i, s) {
					return
				}
				i++
			}
		}
	}
}

// listedTable is what a table of a point has come to.
type listedTable struct {
	table    any // a pointer to it
	settings []document.Setting
	text     []byte // of hashPoint
}

func (t *listedTable) sameKeys(as *listedTable) bool {
	return t == as || slices.EqualFunc(t.settings, as.settings, func(a, b document.Setting) bool { return a.Key == b.Key })
}

// partsOf ranges over the tables of a configuration, and of several in place of one over each.
func partsOf(config any) iter.Seq[field] {
	return func(yield func(field) bool) {
		for table := range fieldsOf(reflect.ValueOf(config).Elem()) {
			parts := []field{table}
			if table.value.Kind() == reflect.Map {
				parts = elementsOf(table.value)
				for i := range parts {
					parts[i].name = document.Join(table.name, document.QuoteName(parts[i].name))
				}
			}
			for _, part := range parts {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// listed is [resolve] of a configuration that nothing changes any more. A table that has come to
// what it was at the point before is not listed again.
func (f *File) listed(config any) []*listedTable {
	var all []*listedTable
	for table := range partsOf(config) {
		before, _ := f.tables.Load(table.name)
		t, _ := before.(*listedTable)
		if at := table.value.Addr().Interface(); t == nil || !reflect.DeepEqual(t.table, at) {
			var like listedTable
			if t != nil {
				like = *t
			}
			list := appendResolved(make([]document.Setting, 0, len(like.settings)), table.name, table.value)
			t = &listedTable{at, list, hashed(make([]byte, 0, len(like.text)+16), list)}
			f.tables.Store(table.name, t)
		}
		all = append(all, t)
	}
	return all
}

// kept are settings beside those of the points that were decoded before.
func (f *File) kept(all []*listedTable) (l settings) {
	f.listing.Lock()
	at := slices.IndexFunc(f.lists, func(of []*listedTable) bool { return slices.EqualFunc(of, all, (*listedTable).sameKeys) })
	if at < 0 {
		at, f.lists = len(f.lists), append(f.lists, all)
	}
	l.like = f.lists[at]
	f.listing.Unlock()
	n := 0
	for i, t := range all {
		for j, s := range t.settings {
			if t != l.like[i] && !reflect.DeepEqual(s.Value, l.like[i].settings[j].Value) {
				l.own = append(l.own, ownValue{n + j, s.Value})
			}
		}
		n += len(t.settings)
	}
	return l
}

// hashPoint names a point by everything that its results depend on.
func hashPoint(k *kind, version string, seed uint64, settings [][]byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "weft %s\nkind %s revision %d\nseed %d\n", version, k.name, k.revision, seed)
	for _, of := range settings {
		h.Write(of)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// hashed appends the settings of a point as hashPoint takes them.
func hashed(text []byte, settings []document.Setting) []byte {
	for _, s := range settings {
		text = append(append(append(append(text, s.Key...), " = "...), document.Format(s.Value)...), '\n')
	}
	return text
}

// Fingerprint names a configuration by a digest of all its settings, for [Share].
func (s *Shared) Fingerprint(config any) string {
	all, of := sha256.New(), reflect.TypeOf(config).String()
	for part := range partsOf(config) {
		digest, _ := Latest(s, of+part.name, part.value.Addr().Interface(), func() ([sha256.Size]byte, error) {
			return sha256.Sum256(hashed(nil, appendResolved(nil, part.name, part.value))), nil
		})
		all.Write(digest[:])
	}
	return hex.EncodeToString(all.Sum(nil))
}

// Resolved is the file with everything spelt out: defaults, --set and [quick]
// applied. Running it gives the same results.
func (f *File) Resolved() string { return f.resolved(f.inputs) }

// ResolvedIn is Resolved for a file in another folder: the paths of its input files
// stay as they are given, and what they are relative to is stated.
func (f *File) ResolvedIn(dir string) string {
	inputs := f.inputs
	if f.readsFiles() {
		inputs = f.inputFolder()
		if absolute, err := filepath.Abs(dir); err == nil {
			if relative, err := filepath.Rel(absolute, inputs); err == nil {
				inputs = relative
			}
		}
		inputs = filepath.ToSlash(inputs)
	}
	return f.resolved(inputs)
}

func (f *File) resolved(inputs string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s%s from %s.\n", document.ResolvedBy, Version(), f.Name)
	for _, line := range f.doc.Comment {
		b.WriteString(strings.TrimSpace("# "+line) + "\n")
	}
	fmt.Fprintf(&b, "title = %s\nkind = %s\nseed = %d\n", document.Format(f.rawTitle), document.Format(f.kind.name), f.Seed)
	if inputs != "" {
		fmt.Fprintf(&b, "inputs = %s\n", document.Format(inputs))
	}
	if f.Beside {
		b.WriteString("beside = true\n")
	}
	table := ""
	for _, s := range f.baseSettings() {
		if p := document.Parent(s.Key); p != table {
			table = p
			fmt.Fprintf(&b, "\n[%s]\n", table)
		}
		fmt.Fprintf(&b, "%s = %s\n", s.Key[len(table)+1:], document.Format(s.Value))
	}
	if sweep, ok := f.doc.Root["sweep"].(map[string]any); ok && len(f.keys) > 0 {
		b.WriteString("\n[sweep]\n")
		first := slices.IndexFunc(f.sweep, func(a axis) bool { return len(a.keys) > 1 })
		if first < 0 {
			first = len(f.sweep)
		}
		for _, a := range f.sweep[:first] {
			fmt.Fprintf(&b, "%s = %s\n", document.Format(a.keys[0]), document.Format(column(a, 0)))
		}
		together := f.sweep[first:] // in their order, of which the last varies fastest
		header := "[[sweep.lockstep]]"
		if _, single := sweep["lockstep"].(map[string]any); single && len(together) == 1 {
			header = "[sweep.lockstep]"
		}
		for _, a := range together {
			fmt.Fprintf(&b, "\n%s\n", header)
			for i, key := range a.keys {
				fmt.Fprintf(&b, "%s = %s\n", document.Format(key), document.Format(column(a, i)))
			}
		}
		if r := f.refine; r != nil {
			fmt.Fprintf(&b, "\n[sweep.refine]\n%s = %s\n", document.Format(r.key), document.Format(r.value(r.spacing)))
		}
	}
	for _, name := range []string{"plot", "expect"} {
		i := 0
		for _, table := range f.doc.Elements(name, f.doc.Root[name], "") {
			fmt.Fprintf(&b, "\n[[%s]]\n", name)
			for _, key := range results.SortedKeys(table) {
				value := table[key]
				if name == "plot" {
					if text, has := f.Plots[i].Raw[key]; has {
						value = text
					}
				}
				fmt.Fprintf(&b, "%s = %s\n", document.QuoteName(key), document.Format(value))
			}
			i++
		}
	}
	return b.String()
}

// column lists the values that one key of an axis takes.
func column(a axis, i int) []any { return lists.Map(a.values, func(v []any) any { return v[i] }) }

// baseSettings is what all points of the file share: the settings of the first
// point without the swept keys and, where a swept choice brings its own
// parameters, without those that the file does not give.
func (f *File) baseSettings() []document.Setting {
	given := map[string]bool{}
	var all []document.Setting
	for _, s := range f.doc.Flatten("", f.kindTables, func(map[string]any) bool { return false }) {
		given[s.Key] = true
		all = append(all, s)
	}
	all = slices.DeleteFunc(all, func(s document.Setting) bool { return slices.Contains(f.keys, s.Key) })
	times := map[string]int{} // in how many points a setting has come to a value
	rank := map[string]int{}  // tables and keys as the kind declares them; a key that only some points know comes where the first of them has it
	for _, p := range f.Points {
		for i, s := range p.settings.all() {
			times[s.Key+" = "+document.Format(s.Value)]++
			for _, key := range []string{document.Parent(s.Key), s.Key} {
				if _, known := rank[key]; !known {
					rank[key] = i
				}
			}
		}
	}
	for _, s := range f.Points[0].settings.all() {
		shared := times[s.Key+" = "+document.Format(s.Value)] == len(f.Points)
		if !given[s.Key] && !slices.Contains(f.keys, s.Key) && shared && !f.shared.idle(s.Key) {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b document.Setting) int {
		return cmp.Or(rank[document.Parent(a.Key)]-rank[document.Parent(b.Key)], strings.Compare(document.Parent(a.Key), document.Parent(b.Key)), rank[a.Key]-rank[b.Key])
	})
	return all
}
