package experiments

import (
	"fmt"
	"maps"
	"sort"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/results"
)

// Keys are written as in TOML: names joined by dots, quoted where they hold anything
// but letters, digits, - and _, as in fault."rack 1".fraction. A name may have the
// index of an element of an array behind it: plot[0].x.

// join appends a key to another; names of users go through [tomlKey] first.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// splitKey lists the names of a key. Names that need quotes and have none are taken
// as they are, up to the next dot.
func splitKey(key string) []string {
	var names []string
	for {
		name, rest := firstName(key)
		names = append(names, name)
		if rest == "" {
			return names
		}
		key = rest[1:]
	}
}

// firstName is the first name of a key without its quotes, and the rest from the
// dot on.
func firstName(key string) (name, rest string) {
	if end := quotedEnd(key); end > 0 && (end == len(key) || key[end] == '.') {
		if key[0] == '\'' {
			return key[1 : end-1], key[end:]
		}
		if name, err := strconv.Unquote(key[:end]); err == nil {
			return name, key[end:]
		}
	}
	end := strings.IndexByte(key, '.')
	if end < 0 {
		end = len(key)
	}
	return key[:end], key[end:]
}

// quotedEnd is the length of the quoted name that a key begins with, 0 if it begins
// with none.
func quotedEnd(key string) int {
	if key == "" || key[0] != '"' && key[0] != '\'' {
		return 0
	}
	for i := 1; i < len(key); i++ {
		switch key[i] {
		case '\\':
			if key[0] == '"' {
				i++
			}
		case key[0]:
			return i + 1
		}
	}
	return 0
}

// joinNames makes a key of names.
func joinNames(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = tomlKey(name)
	}
	return strings.Join(quoted, ".")
}

// keyUnder is the part of a key below path, where files have keys that stand for
// others: sweep."traffic.load" is about traffic.load, and so is sweep.traffic.load.
func keyUnder(path, key string) string {
	names := splitKey(strings.TrimPrefix(key, path+"."))
	return joinNames(append(splitKey(names[0]), names[1:]...))
}

// parent cuts the last name or index off a key.
func parent(key string) string {
	cut := 0
	for i := 0; i < len(key); i++ {
		if i == 0 || key[i-1] == '.' {
			if end := quotedEnd(key[i:]); end > 0 {
				i += end - 1
				continue
			}
		}
		if key[i] == '.' || key[i] == '[' {
			cut = i
		}
	}
	return key[:cut]
}

// unquoted is a key without its quotes, by which its place in the file is kept:
// places do not tell "traffic.load" from traffic.load.
func unquoted(key string) string {
	if !strings.ContainsAny(key, `"'`) {
		return key
	}
	return strings.Join(splitKey(key), ".")
}

// own is the value of a dotted key outside of [sweep] and [quick]; nil: there is none.
func (d *document) own(key string) any {
	value := any(d.tree)
	for _, name := range splitKey(key) {
		table, _ := value.(map[string]any)
		value = table[name]
	}
	return value
}

// has tells whether a dotted key without quotes is set.
func (d *document) has(key string) bool { return d.own(key) != nil }

// setting is one leaf of a table.
type setting struct {
	key   string // dotted, from the root
	value any
}

// flatten lists the leaves of a table in the order of the file. leaf tells
// which tables count as leaves.
func (d *document) flatten(path string, table map[string]any, leaf func(map[string]any) bool) []setting {
	all := leaves(nil, path, table, leaf)
	rank := make(map[string]int, len(d.order))
	for i, key := range d.order {
		rank[key] = i
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := rank[unquoted(all[i].key)], rank[unquoted(all[j].key)]
		return a < b || a == b && all[i].key < all[j].key
	})
	return all
}

// leaves appends the leaves of a table in any order.
func leaves(all []setting, path string, table map[string]any, leaf func(map[string]any) bool) []setting {
	for name, value := range table {
		key := join(path, tomlKey(name))
		if inner, ok := value.(map[string]any); ok && !leaf(inner) {
			all = leaves(all, key, inner, leaf)
		} else {
			all = append(all, setting{key, value})
		}
	}
	return all
}

// clone copies the tree as deep as tables go; values are never changed in
// place.
func cloneTable(table map[string]any) map[string]any {
	c := maps.Clone(table)
	for name, value := range c {
		if inner, ok := value.(map[string]any); ok {
			c[name] = cloneTable(inner)
		}
	}
	return c
}

// tablesOf returns an array of tables, or a single table as an array of one.
func tablesOf(value any) ([]map[string]any, bool) {
	switch v := value.(type) {
	case nil:
		return nil, true
	case []map[string]any:
		return v, true
	case map[string]any:
		return []map[string]any{v}, true
	case []any: // an inline array of inline tables
		var all []map[string]any
		for _, element := range v {
			table, ok := element.(map[string]any)
			if !ok {
				return nil, false
			}
			all = append(all, table)
		}
		return all, true
	}
	return nil, false
}

// tomlValue writes a value as TOML.
func tomlValue(value any) string {
	switch x := value.(type) {
	case string:
		return quoteTOML(x)
	case float64:
		s := strconv.FormatFloat(x, 'g', -1, 64)
		if !strings.ContainsAny(s, ".eEn") {
			s += ".0"
		}
		return s
	case []any:
		parts := make([]string, len(x))
		for i, element := range x {
			parts[i] = tomlValue(element)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []map[string]any:
		list := make([]any, len(x))
		for i, element := range x {
			list[i] = element
		}
		return tomlValue(list)
	case map[string]any:
		parts := make([]string, 0, len(x))
		for _, name := range results.SortedKeys(x) {
			parts = append(parts, tomlKey(name)+" = "+tomlValue(x[name]))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case fmt.Stringer: // a number with names for some values
		if s := x.String(); strings.Trim(s, "0123456789") != "" {
			return quoteTOML(s)
		}
	}
	return fmt.Sprint(value)
}

// tomlKey writes one segment of a key, quoted where it must be.
func tomlKey(name string) string {
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return quoteTOML(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}

// quoteTOML writes a basic string.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
