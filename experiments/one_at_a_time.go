package experiments

import (
	"fmt"
)

// oneAtATime reads [[sweep.one_at_a_time]]: one axis whose first step has every
// key at the file's own value, and whose other steps depart from it by one table
// each, value by value. The keys of a table depart together. It is the usual
// sensitivity analysis, with 1 + the sum of the lists' lengths steps in place of
// their product.
func (d *document) oneAtATime(sweep map[string]any) (axis, bool) {
	const path = "sweep.one_at_a_time"
	tables, ok := tablesOf(sweep["one_at_a_time"])
	if !ok {
		d.problem(path, "= %s: want tables of lists", show(sweep["one_at_a_time"]))
		return axis{}, false
	}
	all := axis{values: [][]any{nil}}
	var groups []axis
	for i, table := range tables {
		if len(table) == 0 { // its keys are pinned
			continue
		}
		at := path
		if _, single := sweep["one_at_a_time"].(map[string]any); !single {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		group, good := d.lockstep(at, table)
		ok = ok && good
		for j, key := range group.keys {
			base, set := d.own(key)
			if !set {
				d.problem(group.places[j], "departs from a value that the file does not give: set %s outside of [sweep]", key)
				ok = false
			}
			all.values[0] = append(all.values[0], base)
		}
		all.keys = append(all.keys, group.keys...)
		all.places = append(all.places, group.places...)
		groups = append(groups, group)
	}
	first := 0
	for _, group := range groups {
		for _, values := range group.values {
			step := append([]any(nil), all.values[0]...)
			copy(step[first:], values)
			all.values = append(all.values, step)
		}
		first += len(group.keys)
	}
	return all, ok && len(all.keys) > 0
}

// own looks a dotted key up outside of [sweep] and [quick].
func (d *document) own(key string) (any, bool) {
	table := d.tree
	segments := splitKey(key)
	for _, segment := range segments[:len(segments)-1] {
		inner, ok := table[segment].(map[string]any)
		if !ok {
			return nil, false
		}
		table = inner
	}
	value, ok := table[segments[len(segments)-1]]
	return value, ok
}
