package experiments

import (
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// KindDescription documents a kind of experiment: its tables of settings, the
// columns of results.csv that are its own, and the further tables that it writes.
type KindDescription struct {
	Name, Doc string
	Tables    []TableDescription
	Columns   []Column
	Further   []FurtherTable
	// BeginsAgain is why a point that is killed begins again; "": it goes on, unless
	// [File.BeginsAgain] has a reason.
	BeginsAgain string
}

// FurtherTable is a CSV file that a kind writes beside results.csv.
type FurtherTable struct {
	Name  string // without extension
	Asked string // the setting that asks for it; "": always written, or never by a setting of its own
}

// DescribeKinds documents all kinds, in alphabetical order.
func DescribeKinds() []KindDescription {
	var all []KindDescription
	for _, name := range KindNames() {
		k := kinds[name]
		d := KindDescription{Name: name, Doc: k.doc, Tables: k.settings(), Columns: k.columns, BeginsAgain: k.again}
		for _, table := range k.tables {
			d.Further = append(d.Further, FurtherTable{table, k.asked[table]})
		}
		all = append(all, d)
	}
	return all
}

// TableDescription documents a table of an experiment file.
type TableDescription struct {
	Name, Doc string
	Names     string // what names the tables where there are several, [channel.CLASS]; "": one
	Params    []param.Param
	Choices   []ChoiceDescription
}

// Header is the name of the table in a file: "traffic", or "channel.CLASS".
func (t *TableDescription) Header() string {
	if t.Names == "" {
		return t.Name
	}
	return t.Name + "." + t.Names
}

// ChoiceDescription documents a key whose value brings parameters of its own.
type ChoiceDescription struct {
	Key, Registry, Default string
	Entries                []param.Description
}

// describeTable documents the struct behind a table.
func describeTable(f field) TableDescription {
	t := TableDescription{Name: f.name, Doc: f.tag.Get("doc")}
	v := f.value
	if v.Kind() == reflect.Map {
		t.Names = f.tag.Get("names")
		v = newElement(v.Type().Elem())
	}
	t.Params = param.DescribeParams(v.Addr().Interface())
	t.choices(v, map[string]bool{})
	return t
}

// choices documents the choices among the settings of a struct, and those of what can be
// chosen.
func (t *TableDescription) choices(v reflect.Value, known map[string]bool) {
	for _, inner := range fieldsOf(v).list {
		c, ok := inner.value.Addr().Interface().(param.Chooser)
		if !ok || known[inner.name] {
			continue
		}
		known[inner.name] = true
		choice := ChoiceDescription{Key: inner.name, Registry: c.Kind(), Default: c.Name()}
		for _, name := range c.Names() {
			choice.Entries = append(choice.Entries, c.Describe(name))
		}
		t.Choices = append(t.Choices, choice)
		for _, name := range c.Names() {
			if c.Choose(name) == nil {
				t.choices(reflect.ValueOf(c.Config()).Elem(), known)
			}
		}
	}
}

// HeaderParams describes the keys of a file outside all tables.
func HeaderParams() []param.Param {
	return param.DescribeParams(defaultHeader())
}

// PlotParams describes the keys of [[plot]].
func PlotParams() []param.Param {
	plot := NewPlot()
	return param.DescribeParams(&plot)
}

// ReferenceParams describes the keys of [[plot.reference]].
func ReferenceParams() []param.Param { return param.DescribeParams(&ReferenceConfig{Axis: "y"}) }

// ExpectParams describes the keys of [[expect]].
func ExpectParams() []param.Param {
	return param.DescribeParams(&ExpectConfig{Table: resultsTable})
}

// PlotTables names the keys of [[plot]] that hold tables of columns and cells.
func PlotTables() []string { return tablesIn(PlotConfig{}) }

// ExpectTables names the keys of [[expect]] that hold such tables.
func ExpectTables() []string { return tablesIn(ExpectConfig{}) }

// tablesIn lists the maps of a struct that the decoder leaves to others.
func tablesIn(config any) (names []string) {
	t := reflect.TypeOf(config)
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("toml") == "-" && f.Type.Kind() == reflect.Map {
			names = append(names, strings.ToLower(f.Name))
		}
	}
	return names
}

// EmbeddedKeys lists the dotted keys that a file that comes with weft sets or
// sweeps, in the order of the file.
func EmbeddedKeys(name string) []string {
	text, err := embedded.ReadFile(name)
	if err != nil {
		return nil
	}
	d, err := parseDocument(name, string(text))
	if err != nil {
		return nil
	}
	var keys []string
	for _, key := range d.order {
		for _, lead := range []string{"quick.", "sweep.lockstep.", "sweep."} {
			key = strings.TrimPrefix(key, lead)
		}
		key = strings.ReplaceAll(key, `"`, "")
		if strings.Contains(key, ".") && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// KindOf is the kind of an experiment file, or of one that comes with weft; "" where
// there is no such file, or it is no TOML.
func KindOf(name string) string {
	text, err := input.ReadInput(name, input.MaxSettings)
	if err != nil {
		if text, err = embedded.ReadFile(embeddedName(name)); err != nil {
			return ""
		}
	}
	d, err := parseDocument(name, string(text))
	if err != nil {
		return ""
	}
	if kind, given := d.tree["kind"].(string); given {
		return kind
	}
	return defaultKind
}
