package reference

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/param"
)

// object is a JSON object; encoding/json sorts its members.
type object = map[string]any

// Schema is the JSON Schema (draft 7) of experiment files, for editors of TOML: keys
// with their documentation, types, bounds and names, made from the declarations that
// read the files.
//
// It accepts every file that weft accepts, and finds fewer problems than weft check:
// bounds of times and sizes, and what settings come to together, are beyond a schema.
func Schema() ([]byte, error) {
	kinds := experiments.DescribeKinds()
	shared := &definitions{byID: object{}, ids: map[string]string{}}
	tables := map[string][]any{} // references to the tables of a name
	docs := map[string]string{}
	var branches []any
	names := []any{}
	for _, k := range kinds {
		names = append(names, k.Name)
		properties := object{}
		conditions := []any{}
		for _, t := range k.Tables {
			reference := shared.refer(k.Name+"."+t.Name, tableSchema(&t))
			properties[t.Name] = reference
			if !slices.ContainsFunc(tables[t.Name], func(other any) bool { return other.(object)["$ref"] == reference["$ref"] }) {
				tables[t.Name] = append(tables[t.Name], reference)
			}
			docs[t.Name] = t.Doc
			for _, c := range t.Choices {
				swept := shared.refer("sweeps."+t.Name+"."+c.Key, sweeps(t.Name, c.Key))
				entries := []any{}
				for _, e := range c.Entries {
					entries = append(entries, foreign(&t, c, e, swept))
				}
				conditions = append(conditions, shared.refer(k.Name+"."+t.Name+"."+c.Key, object{"allOf": entries}))
			}
		}
		allowed := []any{}
		for _, p := range experiments.HeaderParams() {
			allowed = append(allowed, p.Key)
		}
		for _, name := range append(sortedNames(properties), "sweep", "plot", "expect", "quick") {
			allowed = append(allowed, name)
		}
		branch := object{
			"if":   object{"properties": object{"kind": object{"const": k.Name}}, "required": []any{"kind"}},
			"then": object{"properties": properties, "propertyNames": object{"enum": allowed}, "allOf": append(conditions, true)},
		}
		if k.Name == defaultKind {
			branch["if"] = object{"properties": object{"kind": object{"const": k.Name}}} // without a kind, too
		}
		branches = append(branches, branch)
	}
	properties := object{}
	for _, p := range experiments.HeaderParams() {
		properties[p.Key] = settingSchema(p)
	}
	properties["kind"].(object)["enum"] = names
	for name, references := range tables {
		properties[name] = object{"description": docs[name], "anyOf": references}
	}
	properties["sweep"] = sweepSchema(kinds)
	properties["quick"] = object{"type": "object", "description": docOf("quick")}
	plot := fixedSchema("plot", experiments.PlotTables()...)
	reference := fixedSchema("plot.reference")
	for _, cell := range []string{"x", "panel"} {
		delete(reference["properties"].(object)[cell].(object), "type") // numbers, too
	}
	plot["properties"].(object)["reference"] = arrayOf(reference)
	properties["plot"] = arrayOf(plot)
	properties["expect"] = arrayOf(fixedSchema("expect", experiments.ExpectTables()...))
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
func compact(part object) string {
	text, err := json.Marshal(part)
	if err != nil {
		panic("reference: " + err.Error()) // maps of strings, numbers and lists
	}
	return string(text)
}

// defaultKind is the kind of files that name none.
var defaultKind = strings.Trim(experiments.HeaderParams()[1].Default, `"`)

func sortedNames(o object) []string {
	var names []string
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func docOf(table string) string {
	for _, t := range fixedTables {
		if t.name == table {
			return t.doc
		}
	}
	panic("reference: no table " + table)
}

func arrayOf(element object) object { return object{"type": "array", "items": element} }

// tableSchema is the schema of a table, or of a table of tables of its kind.
func tableSchema(t *experiments.TableDescription) object {
	properties := object{}
	own := map[string]bool{}
	for _, p := range t.Params {
		properties[p.Key] = settingSchema(p)
		own[p.Key] = true
	}
	forms := map[string][]object{}
	for _, c := range t.Choices {
		entries := []any{}
		for _, e := range c.Entries {
			entries = append(entries, e.Name)
		}
		if choice, here := properties[c.Key].(object); here {
			delete(choice, "pattern")
			choice["type"], choice["enum"] = "string", entries
		}
		for _, e := range c.Entries {
			for _, p := range e.Params {
				s := settingSchema(p)
				s["description"] = fmt.Sprintf("%s %s: %s", c.Registry, e.Name, s["description"])
				forms[p.Key] = append(forms[p.Key], s)
			}
		}
	}
	for key, all := range forms {
		if !own[key] {
			properties[key] = oneOfForms(all)
		}
	}
	table := object{"type": "object", "description": t.Doc, "properties": properties, "additionalProperties": false}
	if t.Names != "" {
		return object{"type": "object", "description": t.Doc, "additionalProperties": table}
	}
	return table
}

// oneOfForms joins the schemas that a key has with several entries.
func oneOfForms(all []object) object {
	var different []any
	var seen []string
	for _, s := range all {
		if text := compact(s); !slices.Contains(seen, text) {
			seen = append(seen, text)
			different = append(different, s)
		}
	}
	if len(different) == 1 {
		return different[0].(object)
	}
	return object{"anyOf": different}
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

// foreign forbids, where choice c of a table is entry e and is not swept, the settings
// that belong to other entries of it only; swept is met where it is swept.
func foreign(t *experiments.TableDescription, c experiments.ChoiceDescription, e param.Description, swept object) object {
	known := map[string]bool{}
	note := func(params []param.Param) {
		for _, p := range params {
			known[p.Key] = true
		}
	}
	note(t.Params)
	note(e.Params)
	for _, other := range t.Choices {
		for _, entry := range other.Entries {
			if other.Key != c.Key {
				note(entry.Params)
			}
		}
	}
	forbidden := object{}
	for _, entry := range c.Entries {
		for _, p := range entry.Params {
			if !known[p.Key] {
				forbidden[p.Key] = false
			}
		}
	}
	return object{
		"if": object{"required": []any{t.Name}, "properties": object{
			t.Name:  object{"properties": object{c.Key: object{"const": e.Name}}, "required": []any{c.Key}},
			"sweep": object{"not": swept},
		}},
		"then": object{"properties": object{t.Name: object{"properties": forbidden}}},
	}
}

// fixedSchema is the schema of [[plot]] or [[expect]], and of their keys that hold
// selections of rows.
func fixedSchema(table string, selections ...string) object {
	properties := object{}
	for _, t := range fixedTables {
		if t.name == table {
			for _, p := range t.params() {
				properties[p.Key] = settingSchema(p)
			}
		}
	}
	for _, name := range selections {
		properties[name] = object{"type": "object", "description": "cells by column"}
	}
	return object{"type": "object", "description": docOf(table), "properties": properties, "additionalProperties": false}
}

// settingSchema is the schema of a setting.
func settingSchema(p param.Param) object {
	if element, ok := strings.CutPrefix(p.Type, "list of "); ok {
		one := p
		one.Type, one.Default = element, ""
		s := settingSchema(one)
		list := object{"anyOf": []any{s, arrayOf(without(s, "description"))}, "description": s["description"]}
		delete(s, "description")
		return list
	}
	s := object{}
	var about []string
	if p.Doc != "" {
		about = append(about, p.Doc)
	}
	if p.Unit != "" {
		about = append(about, "unit: "+p.Unit)
	}
	if p.Allowed != "" {
		about = append(about, "allowed: "+p.Allowed)
	}
	if p.Default != "" && p.Default != `""` && p.Default != "[]" {
		about = append(about, "default: "+p.Default)
	}
	s["description"] = strings.Join(about, "; ")
	switch p.Type {
	case "boolean", "string":
		s["type"] = p.Type
	case "integer", "number":
		s["type"] = p.Type
		bound(s, "minimum", p.Min)
		bound(s, "maximum", p.Max)
		if strings.HasPrefix(p.Default, `"`) { // a number with names for some values
			delete(s, "minimum")
			delete(s, "maximum")
			s["type"] = []any{p.Type, "string"}
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
		panic(fmt.Sprintf("reference: setting %s has type %q, which has no schema", p.Key, p.Type))
	}
	if p.Choices != nil {
		names := []any{}
		for _, name := range p.Choices {
			names = append(names, name)
		}
		s["enum"] = names
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

func without(o object, name string) object {
	c := object{}
	for key, value := range o {
		if key != name {
			c[key] = value
		}
	}
	return c
}

// sweepSchema is the schema of [sweep]: dotted keys of all kinds, with lists and
// ranges, and tables of further keys.
func sweepSchema(kinds []experiments.KindDescription) object {
	forms := map[string][]object{}
	for _, k := range kinds {
		for _, t := range k.Tables {
			if t.Names != "" {
				continue // names of users
			}
			for _, p := range t.Params {
				forms[t.Name+"."+p.Key] = append(forms[t.Name+"."+p.Key], object{"description": p.Doc})
			}
			for _, c := range t.Choices {
				for _, e := range c.Entries {
					for _, p := range e.Params {
						forms[t.Name+"."+p.Key] = append(forms[t.Name+"."+p.Key], object{"description": p.Doc})
					}
				}
			}
		}
	}
	values := object{"type": "array", "minItems": 1}
	numbers := object{"type": "number"}
	steps := object{
		"type": "object", "required": []any{"from", "to", "step"}, "additionalProperties": false,
		"properties": object{"from": numbers, "to": numbers, "step": numbers},
	}
	properties := object{}
	for key, all := range forms {
		properties[key] = object{"description": all[0]["description"], "anyOf": []any{values, steps}}
	}
	properties["lockstep"] = object{"description": docOf("sweep.lockstep"), "type": []any{"object", "array"}}
	properties["one_at_a_time"] = object{"description": docOf("sweep.one_at_a_time"), "type": []any{"object", "array"}}
	properties["fork"] = object{
		"description": docOf("sweep.fork"), "type": "object", "additionalProperties": false, "required": []any{"warmup", "settle"},
		"properties": object{"warmup": object{"type": "object"}, "settle": object{"type": "string"}},
	}
	properties["refine"] = object{"description": docOf("sweep.refine"), "type": "object"}
	return object{
		"type": "object", "description": docOf("sweep"), "properties": properties,
		"additionalProperties": object{"type": []any{"array", "object"}},
	}
}
