package catalogue

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// object is a JSON object; encoding/json sorts its members.
type object = map[string]any

// Schema is the JSON Schema (draft 7) of experiment files, for editors of TOML: keys with their
// documentation, types, bounds and names, made from the declarations that read the files.
//
// It accepts every file that weft accepts, and finds fewer problems than weft check:
// bounds of times and sizes, and what settings come to together, are beyond a schema.
func Schema() ([]byte, error) {
	properties, header := object{}, []string{}
	for _, s := range Settings() {
		if s.Table == "" {
			properties[s.Key] = settingSchema(s.Param)
			header = append(header, s.Key)
		}
	}
	kind := properties["kind"].(object)
	kind["enum"] = experiments.KindNames()

	shared := &definitions{byID: object{}, ids: map[string]string{}}
	variants := map[string][]any{} // references to the tables of a name
	branches, conditions, ofKind := []any{}, []any{}, object{}
	all := slices.DeleteFunc(tables(), func(t table) bool { return t.kind == "" || t.within() != "" })
	for i, t := range all {
		reference := shared.refer(t.kind+"."+t.Name, t.schema())
		ofKind[t.Name] = reference
		if !slices.ContainsFunc(variants[t.Name], func(other any) bool { return maps.Equal(other.(object), reference) }) {
			variants[t.Name] = append(variants[t.Name], reference)
		}
		properties[t.Name] = object{"description": t.Doc, "anyOf": variants[t.Name]}
		for _, c := range t.Choices {
			swept := shared.refer("sweeps."+t.Name+"."+c.Key, sweeps(t.Name, c.Key))
			entries := lists.Map(c.Entries, func(e param.Description) any { return t.foreign(c.Key, e.Name, swept) })
			conditions = append(conditions, shared.refer(t.kind+"."+t.Name+"."+c.Key, object{"allOf": entries}))
		}
		if i+1 < len(all) && all[i+1].kind == t.kind {
			continue
		}
		condition := object{"properties": object{"kind": object{"const": t.kind}}, "required": []any{"kind"}}
		if t.kind == experiments.DefaultKind {
			delete(condition, "required") // without a kind, too
		}
		names := slices.Concat(header, slices.Sorted(maps.Keys(ofKind)), []string{"sweep", "plot", "expect", "quick"})
		branches = append(branches, object{"if": condition, "then": object{"properties": ofKind, "propertyNames": object{"enum": names}, "allOf": append(conditions, true)}})
		conditions, ofKind = []any{}, object{}
	}
	properties["sweep"] = sweepSchema()
	properties["quick"] = object{"type": "object", "description": common("quick").Doc}
	plot, reference := fixedSchema("plot"), fixedSchema("plot.reference")
	for _, cell := range []string{"x", "panel"} {
		delete(reference["properties"].(object)[cell].(object), "type") // numbers, too
	}
	plot["properties"].(object)["reference"] = arrayOf(reference)
	properties["plot"] = arrayOf(plot)
	properties["expect"] = arrayOf(fixedSchema("expect"))
	text, err := json.MarshalIndent(object{
		"$schema":              "http://json-schema.org/draft-07/schema#",
		"title":                "weft experiment",
		"type":                 "object",
		"properties":           properties,
		"additionalProperties": false,
		"allOf":                branches,
		"definitions":          shared.byID,
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return append(text, '\n'), nil
}

// definitions are the parts of a schema that it refers to; equal ones are one.
type definitions struct {
	byID object
	ids  map[string]string // by content
}

// refer defines a part, unless it is there, and returns the reference to it.
func (d *definitions) refer(id string, part object) object {
	content := compact(part)
	if other, known := d.ids[content]; known {
		id = other
	} else {
		d.ids[content], d.byID[id] = id, part
	}
	return object{"$ref": "#/definitions/" + id}
}

// compact is a part of a schema as text.
func compact(part any) string {
	text, err := json.Marshal(part)
	if err != nil {
		panic("catalogue: " + err.Error()) // maps of strings, numbers and lists
	}
	return string(text)
}

func arrayOf(element any) object { return object{"type": "array", "items": element} }

// schema is the schema of a table, or of a table of tables of its kind.
func (t *table) schema() object {
	properties := object{}
	forms := map[string][]any{} // of keys that entries bring along
	for _, s := range t.settings() {
		part := settingSchema(s.Param)
		if s.Own {
			if s.Names != nil {
				delete(part, "pattern")
				part["type"], part["enum"] = "string", s.Names
			}
			properties[s.Key] = part
			continue
		}
		part["description"] = fmt.Sprintf("%s %s: %s", s.Registry, s.Entry, part["description"])
		if !slices.ContainsFunc(forms[s.Key], func(other any) bool { return compact(other) == compact(part) }) {
			forms[s.Key] = append(forms[s.Key], part)
		}
	}
	for key, all := range forms {
		switch {
		case properties[key] != nil: // the table's own
		case len(all) == 1:
			properties[key] = all[0]
		default:
			properties[key] = object{"anyOf": all}
		}
	}
	for _, inner := range tables() {
		if inner.kind == t.kind && inner.within() == t.Name {
			properties[strings.TrimPrefix(inner.Name, t.Name+".")] = inner.schema()
		}
	}
	one := object{"type": "object", "description": t.Doc, "properties": properties, "additionalProperties": false}
	if t.Names != "" {
		return object{"type": "object", "description": t.Doc, "additionalProperties": one}
	}
	return one
}

// sweeps is met by a [sweep] in which a key stands in any of its forms: dotted, nested,
// alone, in lockstep with others, or one at a time.
func sweeps(table, key string) object {
	here := []any{
		object{"type": "object", "required": []any{table + "." + key}},
		object{"type": "object", "required": []any{table}, "properties": object{table: object{"type": "object", "required": []any{key}}}},
	}
	groups := object{"anyOf": append([]any{object{"type": "array", "contains": object{"anyOf": here}}}, here...)}
	all := here
	for _, group := range []string{"lockstep", "one_at_a_time"} {
		all = append(all, object{"type": "object", "required": []any{group}, "properties": object{group: groups}})
	}
	return object{"anyOf": all}
}

// foreign forbids, where a choice of the table is an entry and is not swept, the settings
// that belong to other entries of it only; swept is met where it is swept.
func (t *table) foreign(choice, entry string, swept object) object {
	forbidden := object{}
	settings := t.settings()
	for _, s := range settings {
		forbidden[s.Key] = false
	}
	for _, s := range settings {
		if s.Choice != choice || s.Entry == entry {
			delete(forbidden, s.Key)
		}
	}
	return object{
		"if": object{"required": []any{t.Name}, "properties": object{
			t.Name:  object{"properties": object{choice: object{"const": entry}}, "required": []any{choice}},
			"sweep": object{"not": swept},
		}},
		"then": object{"properties": object{t.Name: object{"properties": forbidden}}},
	}
}

// fixedSchema is the schema of a table that does not belong to a kind.
func fixedSchema(name string) object {
	t := common(name)
	one := t.schema()
	for _, key := range t.Selections {
		one["properties"].(object)[key] = object{"type": "object", "description": "cells by column"}
	}
	return one
}

func settingSchema(p param.Param) object {
	if element, ok := strings.CutPrefix(p.Type, "list of "); ok {
		p.Type, p.Default = element, ""
		one := settingSchema(p)
		doc := one["description"]
		delete(one, "description")
		return object{"anyOf": []any{one, arrayOf(one)}, "description": doc}
	}
	about := fact(nil, "", p.Doc)
	about = fact(about, "unit:", p.Unit)
	about = fact(about, "allowed:", p.Allowed)
	if p.Default != `""` && p.Default != "[]" {
		about = fact(about, "default:", p.Default)
	}
	s := object{"description": strings.TrimSpace(strings.Join(about, "; "))}
	switch p.Type {
	case "boolean", "string":
		s["type"] = p.Type
	case "integer", "number":
		s["type"] = p.Type
		if strings.HasPrefix(p.Default, `"`) { // a number with names for some values
			s["type"] = []any{p.Type, "string"}
		} else {
			bound(s, "minimum", p.Min)
			bound(s, "maximum", p.Max)
		}
		if p.Unit == param.Cycles { // minimum and maximum are of numbers, pattern is of strings
			s["type"], s["pattern"] = []any{p.Type, "string"}, patterns["time"]
		}
	case "time", "size", "rate":
		s["type"], s["pattern"] = "string", patterns[p.Type]
	case "name":
		s["type"] = "string"
	case "table":
		s["type"] = "object"
	default:
		panic(fmt.Sprintf("catalogue: setting %s has type %q, which has no schema", p.Key, p.Type))
	}
	if p.Choices != nil {
		s["enum"] = p.Choices
	}
	return s
}

// patterns of values with units; weft says which units there are.
var patterns = map[string]string{
	"time": `^\s*-?[0-9.]+\s*(ps|ns|us|µs|ms|s)\s*$`,
	"size": `^\s*[0-9.]+\s*([kKMG]?B|[KMG]iB)?\s*$`,
	"rate": `^\s*[0-9.]+\s*[kKMGT]?[bB]/s\s*$`,
}

func bound(s object, name, text string) {
	if x, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(x) < 1<<53 {
		s[name] = json.Number(text)
	}
}

// sweepSchema is the schema of [sweep]: dotted keys of all kinds, with lists and
// ranges, and tables of further keys.
func sweepSchema() object {
	numbers := object{"type": "number"}
	values := []any{object{"type": "array", "minItems": 1}, object{
		"type": "object", "required": []any{"from", "to", "step"}, "additionalProperties": false,
		"properties": object{"from": numbers, "to": numbers, "step": numbers},
	}}
	properties := object{}
	for _, s := range Settings() {
		if _, known := properties[s.Path()]; s.Kind != "" && !s.ByUser && !known {
			properties[s.Path()] = object{"description": s.Doc, "anyOf": values}
		}
	}
	further := func(name string, part object) {
		part["description"] = common("sweep." + name).Doc
		properties[name] = part
	}
	further("lockstep", object{"type": []any{"object", "array"}})
	further("one_at_a_time", object{"type": []any{"object", "array"}})
	further("refine", object{"type": "object"})
	return object{
		"type": "object", "description": common("sweep").Doc, "properties": properties,
		"additionalProperties": object{"type": []any{"array", "object"}},
	}
}
