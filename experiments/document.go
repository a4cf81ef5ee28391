package experiments

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/sim/input"
)

// document is an experiment file as written: a tree of TOML values and where
// each of its keys stands.
type document struct {
	name    string
	tree    map[string]any
	origins map[string]origin
	swept   map[string]origin // of keys that a sweep sets, before origins
	order   []string          // keys in the order of the file
	comment []string          // lines at the top of the file
	faults  Faults
}

// parseDocument reads TOML. name stands in messages. Errors of syntax are
// returned as the only fault: TOML's parser stops at the first.
func parseDocument(name, text string) (*document, error) {
	if err := input.CheckUTF8([]byte(text[:min(len(text), 2)])); err != nil {
		return nil, Faults{{At: name, Message: err.Error(), order: origin{file: name}}}
	}
	if err := checkDepth(name, text); err != nil {
		return nil, err
	}
	d := &document{name: name, tree: map[string]any{}, comment: leadingComment(text)}
	if _, err := toml.Decode(text, &d.tree); err != nil {
		at := origin{file: name}
		message := err.Error()
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			before := text[:min(max(syntax.Position.Start, 0), len(text))]
			at.line = 1 + strings.Count(before, "\n")
			at.column = len(before) - strings.LastIndexByte(before, '\n')
			message = "not valid TOML: " + syntax.Message
			if syntax.Message == "" {
				message = "not valid TOML: " + trimPosition(syntax.Error())
			}
		}
		return nil, Faults{{At: at.String(), Message: message, order: at}}
	}
	d.origins, d.order = places(name, text)
	return d, nil
}

// resolvedBy begins the first line of resolved files.
const resolvedBy = "Resolved by weft "

// leadingComment is the comment at the top of a file, line by line without its
// marks: where authors state the question. A resolved file carries that of the
// file that it stands for.
func leadingComment(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		comment, is := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !is {
			break
		}
		lines = append(lines, strings.TrimSpace(comment))
	}
	if len(lines) > 0 && strings.HasPrefix(lines[0], resolvedBy) {
		lines = lines[1:]
	}
	return lines
}

// trimPosition takes the "toml: line 1 (last key "x"): " off a message of the
// TOML library, whose facts the caller states in weft's own form.
func trimPosition(message string) string {
	message = strings.TrimPrefix(message, "toml: ")
	if strings.HasPrefix(message, "line ") {
		if _, rest, ok := strings.Cut(message, ": "); ok {
			return rest
		}
	}
	return message
}

// fault records something wrong with a dotted key.
func (d *document) fault(key, format string, args ...any) {
	at := d.originOf(key)
	d.faults = append(d.faults, &Fault{At: at.String(), Key: brief(key), Message: fmt.Sprintf(format, args...), order: at})
}

// originOf is where a key was set, or else where its table begins.
func (d *document) originOf(key string) origin {
	for k := unquoted(key); k != ""; k = parent(k) {
		if o, ok := d.swept[k]; ok {
			return o
		}
		if o, ok := d.origins[k]; ok {
			return o
		}
	}
	return origin{file: d.name}
}

// set lays one setting over the document, as --set and [quick] do. A key that
// the file sweeps is pinned: its axis keeps that one value, so that the columns
// of the results stay. A key under "sweep." replaces or adds an axis.
func (d *document) set(key string, value any, at origin) {
	if axis, ok := strings.CutPrefix(key, "sweep."); ok && !strings.HasPrefix(axis, "lockstep") && !strings.HasPrefix(axis, "one_at_a_time") {
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
	if inside, err := setKey(d.tree, key, value); err != nil {
		d.fault(key, "cannot be set: %s is not a table", inside)
	}
}

var errNotTable = errors.New("not a table")

// setKey assigns a dotted key, making the tables on the way. If something else
// is in the way, its key is returned with errNotTable.
func setKey(tree map[string]any, key string, value any) (inside string, err error) {
	segments := splitKey(key)
	last := len(segments) - 1
	for i, segment := range segments[:last] {
		if _, ok := tree[segment]; !ok {
			tree[segment] = map[string]any{}
		}
		inner, ok := tree[segment].(map[string]any)
		if !ok {
			return joinNames(segments[:i+1]), errNotTable
		}
		tree = inner
	}
	tree[segments[last]] = value
	return "", nil
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

// ParseSetting splits KEY=VALUE. The value is read as TOML; what is not TOML
// is a string, so that quotes are needed only where a string looks like
// something else.
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
	if err := checkDepth("", text); err != nil {
		return "", nil, fmt.Errorf("the value is nested deeper than %d levels", maxDepth)
	}
	var wrapper struct{ V any }
	if _, err := toml.Decode("V = "+text, &wrapper); err != nil || strings.ContainsAny(text, "\n") {
		return key, text, nil
	}
	return key, wrapper.V, nil
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

// applySettings lays the --set options over the document in their order.
func (d *document) applySettings(settings []string) {
	for i, s := range settings {
		at := origin{option: "--set " + s, line: i + 1}
		key, value, err := ParseSetting(s)
		if err != nil {
			d.faults = append(d.faults, &Fault{At: at.String(), Message: err.Error(), order: at})
			continue
		}
		d.set(key, value, at)
	}
}

// applyQuick lays the [quick] table over the document.
func (d *document) applyQuick() {
	quick, _ := d.tree["quick"].(map[string]any)
	for _, s := range d.flatten("quick", quick, isSweepValue) {
		d.set(keyUnder("quick", s.key), s.value, d.originOf(s.key))
	}
}

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
