package experiments

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// applyQuick lays the [quick] table over the document.
func (d *document) applyQuick() {
	quick, _ := d.tree["quick"].(map[string]any)
	for _, s := range d.flatten("quick", quick, isSweepValue) {
		d.set(keyUnder("quick", s.key), s.value, d.originOf(s.key))
	}
}

// applySettings lays the --set options over the document in their order.
func (d *document) applySettings(settings []string) {
	for i, s := range settings {
		at := origin{option: "--set " + s, line: i + 1}
		key, value, err := ParseSetting(s)
		if err != nil {
			d.problems = append(d.problems, &Problem{At: at.String(), Message: err.Error(), order: at})
			continue
		}
		d.set(key, value, at)
	}
}

// ParseSetting splits KEY=VALUE. The value is read as TOML; what is not TOML
// is a string, alone or in a list, so that quotes are needed only where a string looks
// like something else.
func ParseSetting(s string) (key string, value any, err error) {
	key, text, ok := cutAssignment(s)
	names := splitKey(strings.TrimSpace(key))
	for i, name := range names {
		switch {
		case name == "" && len(names) > 1:
			return "", nil, errors.New("the key has an empty part")
		case !ok || name == "" || !strings.ContainsAny(key, `"'`) && strings.ContainsAny(name, " \t\n\"'[]"):
			return "", nil, errors.New("write KEY=VALUE with a dotted key, for example --set traffic.load=0.3")
		}
		names[i] = tomlKey(name)
	}
	key = strings.Join(names, ".")
	text = strings.TrimSpace(text)
	if _, _, deep := places("", "V = "+text); deep != nil {
		return "", nil, fmt.Errorf("the value is nested deeper than %d levels", maxDepth)
	}
	return key, settingValue(text), nil
}

// settingValue reads a value as TOML, or as a string. The words of a list need no quotes
// either: shells take those of ["nca", "min"] away.
func settingValue(text string) any {
	var wrapper struct{ V any }
	if _, err := toml.Decode("V = "+text, &wrapper); err == nil && !strings.ContainsAny(text, "\n") {
		return wrapper.V
	}
	inside, isList := strings.CutPrefix(text, "[")
	inside, closed := strings.CutSuffix(inside, "]")
	if !isList || !closed || strings.ContainsAny(inside, "[]{}\"'\n") {
		return text
	}
	var list []any
	for word := range strings.SplitSeq(inside, ",") {
		if word = strings.TrimSpace(word); word == "" {
			return text
		}
		list = append(list, settingValue(word))
	}
	return list
}

// cutAssignment divides KEY=VALUE at the first = outside quotes in the key.
func cutAssignment(s string) (key, text string, ok bool) {
	for i := 0; i < len(s); i++ {
		if i == 0 || s[i-1] == '.' {
			i += quotedEnd(s[i:])
		}
		if i < len(s) && s[i] == '=' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// set lays one setting over the document, as --set and [quick] do. A key that
// the file sweeps is pinned: its axis keeps that one value, so that the columns
// of the results stay. A key under "sweep." replaces or adds an axis.
func (d *document) set(key string, value any, at origin) {
	if axis, ok := strings.CutPrefix(key, "sweep."); ok && !strings.HasPrefix(axis, "lockstep") && !strings.HasPrefix(axis, "one_at_a_time") && !strings.HasPrefix(axis, "fork.") {
		axis = keyUnder("sweep", key)
		sweep, _ := d.tree["sweep"].(map[string]any)
		if sweep == nil {
			sweep = map[string]any{}
			d.tree["sweep"] = sweep
		}
		d.unsweep(sweep, axis)
		sweep[axis] = value
		d.note(key, at)
		return
	}
	if sweep, ok := d.tree["sweep"].(map[string]any); ok {
		if d.unsweep(sweep, key) {
			sweep[key] = []any{value}
			d.note("sweep."+key, at)
			return
		}
	}
	d.note(key, at)
	d.assign(key, value, key)
}

// assign gives a dotted key a value, making the tables on the way. Something else in the way
// is a problem of the key place.
func (d *document) assign(key string, value any, place string) {
	tree, segments := d.tree, splitKey(key)
	last := len(segments) - 1
	for i, segment := range segments[:last] {
		if _, ok := tree[segment]; !ok {
			tree[segment] = map[string]any{}
		}
		inner, ok := tree[segment].(map[string]any)
		if !ok {
			d.problem(place, "cannot be set: %s is not a table", joinNames(segments[:i+1]))
			return
		}
		tree = inner
	}
	tree[segments[last]] = value
}

func (d *document) note(key string, at origin) {
	key = unquoted(key)
	if _, known := d.origins[key]; !known {
		d.order = append(d.order, key)
	}
	d.origins[key] = at
}

// unsweep takes a key out of a sweep and its groups of lists and tells whether
// it was there. Groups that are left without lists do nothing: the others keep
// their numbers.
func (d *document) unsweep(sweep map[string]any, key string) bool {
	found := removeKey(sweep, key)
	for _, name := range []string{"lockstep", "one_at_a_time"} {
		groups, _ := tablesOf(sweep[name])
		left := 0
		for _, group := range groups {
			found = removeKey(group, key) || found
			left += len(group)
		}
		if left == 0 {
			delete(sweep, name)
		}
	}
	return found
}

// removeKey deletes a dotted key from a table whose keys may be dotted
// themselves ("traffic.load" = ...) or nested (traffic.load = ...), and tells
// whether it was there.
func removeKey(table map[string]any, key string) bool {
	found := false
	for name, value := range table {
		if keyUnder("", tomlKey(name)) == key {
			found = true
			delete(table, name)
			continue
		}
		rest, ok := strings.CutPrefix(key, keyUnder("", tomlKey(name))+".")
		inner, nested := value.(map[string]any)
		if ok && nested && !isSweepValue(inner) && removeKey(inner, rest) {
			found = true
			if len(inner) == 0 {
				delete(table, name)
			}
		}
	}
	return found
}
