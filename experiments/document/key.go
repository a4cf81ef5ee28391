package document

import (
	"fmt"
	"iter"
	"maps"
	"sort"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
)

// Keys are written as in TOML: names joined by dots, quoted where they hold anything
// but letters, digits, - and _, as in fault."rack 1".fraction. A name may have the
// index of an element of an array behind it: plot[0].x.

// Join appends a key to another; names of users go through [QuoteName] first.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// SplitKey lists the names of a key. Names that need quotes and have none are taken
// as they are, up to the next dot.
func SplitKey(key string) []string {
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

// firstName is the first name of a key without its quotes, and the rest from the dot on.
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

// quotedEnd is the length of the quoted name that a key begins with, 0 if it begins with none.
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

// JoinNames makes a key of names.
func JoinNames(names []string) string { return lists.Join(names, ".", QuoteName) }

// KeyUnder is the part of a key below path, where files have keys that stand for
// others: sweep."traffic.load" is about traffic.load, and so is sweep.traffic.load.
func KeyUnder(path, key string) string {
	names := SplitKey(strings.TrimPrefix(key, path+"."))
	return JoinNames(append(SplitKey(names[0]), names[1:]...))
}

// Parent cuts the last name or index off a key.
func Parent(key string) string {
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

// Unquoted is a key without its quotes, by which its place in the file is kept:
// places do not tell "traffic.load" from traffic.load.
func Unquoted(key string) string {
	if !strings.ContainsAny(key, `"'`) {
		return key
	}
	return strings.Join(SplitKey(key), ".")
}

// Own is the value of a dotted key outside of [sweep] and [quick]; nil: there is none.
func (d *Tree) Own(key string) any {
	table := d.Root
	for {
		name, rest := firstName(key)
		if rest == "" {
			return table[name]
		}
		table, _ = table[name].(map[string]any)
		key = rest[1:]
	}
}

// Has tells whether a dotted key without quotes is set.
func (d *Tree) Has(key string) bool { return d.Own(key) != nil }

// Setting is one leaf of a table.
type Setting struct {
	Key   string // dotted, from the root
	Value any
}

// Flatten lists the leaves of a table in the order of the file. leaf tells
// which tables count as leaves.
func (d *Tree) Flatten(path string, table map[string]any, leaf func(map[string]any) bool) []Setting {
	all := leaves(nil, path, table, leaf)
	rank := make(map[string]int, len(d.Order))
	for i, key := range d.Order {
		rank[key] = i
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := rank[Unquoted(all[i].Key)], rank[Unquoted(all[j].Key)]
		return a < b || a == b && all[i].Key < all[j].Key
	})
	return all
}

// leaves appends the leaves of a table in any order.
func leaves(all []Setting, path string, table map[string]any, leaf func(map[string]any) bool) []Setting {
	for name, value := range table {
		key := Join(path, QuoteName(name))
		if inner, ok := value.(map[string]any); ok && !leaf(inner) {
			all = leaves(all, key, inner, leaf)
		} else {
			all = append(all, Setting{key, value})
		}
	}
	return all
}

// Clone copies the tree as deep as tables go; values are never changed in place.
func Clone(table map[string]any) map[string]any {
	c := maps.Clone(table)
	for name, value := range c {
		if inner, ok := value.(map[string]any); ok {
			c[name] = Clone(inner)
		}
	}
	return c
}

// Tables returns an array of tables, or a single table as an array of one.
func Tables(value any) ([]map[string]any, bool) {
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

// Format writes a value as TOML.
func Format(value any) string {
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
		return "[" + lists.Join(x, ", ", Format) + "]"
	case []map[string]any:
		return Format(lists.Map(x, func(element map[string]any) any { return element }))
	case map[string]any:
		return "{ " + lists.Join(results.SortedKeys(x), ", ", func(name string) string { return QuoteName(name) + " = " + Format(x[name]) }) + " }"
	case fmt.Stringer: // a number with names for some values
		if s := x.String(); strings.Trim(s, "0123456789") != "" {
			return quoteTOML(s)
		}
	}
	return fmt.Sprint(value)
}

// QuoteName writes one segment of a key, quoted where it must be.
func QuoteName(name string) string {
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

// IsSweepValue tells ranges from tables of further keys.
func IsSweepValue(table map[string]any) bool {
	for _, name := range []string{"from", "to", "step"} {
		if v, ok := table[name]; ok {
			if _, nested := v.(map[string]any); !nested {
				return true
			}
		}
	}
	return len(table) == 0
}

// Elements ranges over an array of tables with the dotted key of each; something else is a
// problem, with what is wanted.
func (d *Tree) Elements(path string, raw any, want string) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		tables, ok := Tables(raw)
		if !ok {
			d.Problem(path, "= %s: want %s", Show(raw), want)
		}
		for i, table := range tables {
			if !yield(fmt.Sprintf("%s[%d]", path, i), table) {
				return
			}
		}
	}
}
