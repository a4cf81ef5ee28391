package experiments

import (
	"fmt"
	"maps"
	"slices"
	"sort"
)

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

// sortedKeys lists the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// elements ranges over an array of tables with the dotted key of each.
func (d *document) elements(name string) func(yield func(string, map[string]any) bool) {
	return func(yield func(string, map[string]any) bool) {
		tables, ok := tablesOf(d.tree[name])
		if !ok {
			d.fault(name, "= %s: want tables, [[%s]]", show(d.tree[name]), name)
		}
		for i, table := range tables {
			if !yield(fmt.Sprintf("%s[%d]", name, i), table) {
				return
			}
		}
	}
}

func without(table map[string]any, names ...string) map[string]any {
	rest := map[string]any{}
	for name, value := range table {
		if !slices.Contains(names, name) {
			rest[name] = value
		}
	}
	return rest
}
