package experiments

import (
	"cmp"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/param"
)

// resolve lists every setting of a configuration with the value that it has
// come to, defaults included, in the order of the declarations.
func resolve(config any) []setting {
	var all []setting
	for _, f := range fieldsOf(reflect.ValueOf(config).Elem()).list {
		all = appendResolved(all, f.name, f.value)
	}
	return all
}

func appendResolved(all []setting, path string, v reflect.Value) []setting {
	if c, ok := v.Addr().Interface().(param.Chooser); ok {
		all = append(all, setting{path, c.Name()})
		if c.Config() != nil {
			for _, f := range fieldsOf(reflect.ValueOf(c.Config()).Elem()).list {
				all = appendResolved(all, join(parent(path), f.name), f.value)
			}
		}
		return all
	}
	if text, ok := v.Interface().(encoding.TextMarshaler); ok {
		b, err := text.MarshalText()
		if err != nil || v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(b) != nil {
			return all // not set: a zero rate has no text
		}
		return append(all, setting{path, string(b)})
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range fieldsOf(v).list {
			all = appendResolved(all, join(path, f.name), f.value)
		}
	case reflect.Map:
		for _, element := range elementsOf(v) {
			all = appendResolved(all, join(path, tomlKey(element.name)), element.value)
		}
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			one := appendResolved(nil, "", v.Index(i))
			if len(one) == 1 && one[0].key == "" {
				list[i] = one[0].value
			}
		}
		all = append(all, setting{path, list})
	default:
		all = append(all, setting{path, v.Interface()})
	}
	return all
}

// elementsOf lists copies of the elements of a map by name, in order.
func elementsOf(v reflect.Value) (all []field) {
	for _, key := range v.MapKeys() {
		element := reflect.New(v.Type().Elem()).Elem()
		element.Set(v.MapIndex(key))
		all = append(all, field{name: key.String(), value: element})
	}
	slices.SortFunc(all, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return all
}

// hashPoint names a point by everything that its results depend on.
func hashPoint(k *kind, version string, seed uint64, settings []setting) string {
	h := sha256.New()
	fmt.Fprintf(h, "weft %s\nkind %s revision %d\nseed %d\n", version, k.name, k.revision, seed)
	for _, s := range settings {
		fmt.Fprintf(h, "%s = %s\n", s.key, tomlValue(s.value))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Resolved is the file with everything spelt out: defaults, --set and [quick]
// applied. Running it gives the same results.
func (f *File) Resolved() string { return f.resolved(f.inputs) }

// resolvedIn is Resolved for a file in another folder: the paths of its input files
// stay as they are given, and what they are relative to is stated.
func (f *File) resolvedIn(dir string) string {
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
	fmt.Fprintf(&b, "# %s%s from %s.\n", resolvedBy, Version(), f.Name)
	for _, line := range f.doc.comment {
		b.WriteString(strings.TrimSpace("# "+line) + "\n")
	}
	fmt.Fprintf(&b, "title = %s\nkind = %s\nseed = %d\n", tomlValue(f.rawTitle), tomlValue(f.kind.name), f.Seed)
	if inputs != "" {
		fmt.Fprintf(&b, "inputs = %s\n", tomlValue(inputs))
	}
	if f.Beside {
		b.WriteString("beside = true\n")
	}
	table := ""
	for _, s := range f.baseSettings() {
		if p := parent(s.key); p != table {
			table = p
			fmt.Fprintf(&b, "\n[%s]\n", table)
		}
		fmt.Fprintf(&b, "%s = %s\n", s.key[len(table)+1:], tomlValue(s.value))
	}
	if sweep, ok := f.doc.tree["sweep"].(map[string]any); ok && len(f.keys) > 0 {
		b.WriteString("\n[sweep]\n")
		first := slices.IndexFunc(f.sweep, func(a axis) bool { return len(a.keys) > 1 })
		if first < 0 {
			first = len(f.sweep)
		}
		for _, a := range f.sweep[:first] {
			fmt.Fprintf(&b, "%s = %s\n", tomlValue(a.keys[0]), tomlValue(column(a, 0)))
		}
		together := f.sweep[first:] // in their order, of which the last varies fastest
		header := "[[sweep.lockstep]]"
		if _, single := sweep["lockstep"].(map[string]any); single && len(together) == 1 {
			header = "[sweep.lockstep]"
		}
		for _, a := range together {
			fmt.Fprintf(&b, "\n%s\n", header)
			for i, key := range a.keys {
				fmt.Fprintf(&b, "%s = %s\n", tomlValue(key), tomlValue(column(a, i)))
			}
		}
		if r := f.refine; r != nil {
			fmt.Fprintf(&b, "\n[sweep.refine]\n%s = %s\n", tomlValue(r.key), tomlValue(r.value(r.spacing)))
		}
	}
	if f.fork != nil {
		b.WriteString(f.resolvedFork())
	}
	for _, name := range []string{"plot", "expect"} {
		i := 0
		for _, table := range f.doc.elements(name, f.doc.tree[name], "") {
			fmt.Fprintf(&b, "\n[[%s]]\n", name)
			for _, key := range results.SortedKeys(table) {
				value := table[key]
				if name == "plot" && key == "title" {
					value = f.Plots[i].RawTitle
				}
				fmt.Fprintf(&b, "%s = %s\n", tomlKey(key), tomlValue(value))
			}
			i++
		}
	}
	return b.String()
}

// column lists the values that one key of an axis takes.
func column(a axis, i int) []any {
	values := make([]any, len(a.values))
	for j, v := range a.values {
		values[j] = v[i]
	}
	return values
}

// baseSettings is what all points of the file share: the settings of the first
// point without the swept keys and, where a swept choice brings its own
// parameters, without those that the file does not give.
func (f *File) baseSettings() []setting {
	given := map[string]bool{}
	var all []setting
	for _, s := range f.doc.flatten("", without(f.doc.tree, append(slices.Clone(headerKeys), headerTables...)...), func(map[string]any) bool { return false }) {
		given[s.key] = true
		all = append(all, s)
	}
	all = slices.DeleteFunc(all, func(s setting) bool { return slices.Contains(f.keys, s.key) })
	shared := f.sharedSettings()
	for _, s := range f.Points[0].settings {
		if !given[s.key] && !slices.Contains(f.keys, s.key) && shared[s.key] && !f.shared.idle(s.key) {
			all = append(all, s)
		}
	}
	rank := f.settingRanks()
	slices.SortStableFunc(all, func(a, b setting) int {
		return cmp.Or(rank[parent(a.key)]-rank[parent(b.key)], strings.Compare(parent(a.key), parent(b.key)), rank[a.key]-rank[b.key])
	})
	return all
}

// settingRanks orders tables and keys as the kind declares them; a key that
// only some points know comes where the first of them has it.
func (f *File) settingRanks() map[string]int {
	rank := map[string]int{}
	for _, p := range f.Points {
		for i, s := range p.settings {
			for _, key := range []string{parent(s.key), s.key} {
				if _, known := rank[key]; !known {
					rank[key] = i
				}
			}
		}
	}
	return rank
}

// sharedSettings is the set of settings that have come to the same value in
// every point.
func (f *File) sharedSettings() map[string]bool {
	times := map[string]int{} // by key and value
	for _, p := range f.Points {
		for _, s := range p.settings {
			times[s.key+" = "+tomlValue(s.value)]++
		}
	}
	shared := map[string]bool{}
	for _, s := range f.Points[0].settings {
		shared[s.key] = times[s.key+" = "+tomlValue(s.value)] == len(f.Points)
	}
	return shared
}
