package experiments

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/lists"
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
	// [File.BeginsAgain] has a reason, which SomeBeginAgain says.
	BeginsAgain    string
	SomeBeginAgain bool
}

// DescribeKinds documents all kinds, in alphabetical order.
func DescribeKinds() []KindDescription {
	var all []KindDescription
	for _, name := range KindNames() {
		k := kinds[name]
		all = append(all, KindDescription{name, k.doc, k.settings(), k.columns, k.tables, k.again, k.someAgain})
	}
	return all
}

// TableDescription documents a table of an experiment file.
type TableDescription struct {
	Name, Doc string // a table in another one has the name of that before its own, as transport.nscc
	Names     string // what names the tables where there are several, [channel.CLASS]; "": one
	Params    []param.Param
	Choices   []ChoiceDescription
	// Of tables of every kind:
	Repeated   bool     // a file may have several, as [[NAME]]
	Selections []string // keys that hold tables of columns and cells
}

// Header is the name of the table in a file: "traffic", or "channel.CLASS".
func (t *TableDescription) Header() string {
	if t.Names == "" {
		return t.Name
	}
	return t.Name + "." + t.Names
}

// all lists the settings of the table and of what it can choose.
func (t *TableDescription) all() []param.Param {
	all := slices.Clone(t.Params)
	for _, choice := range t.Choices {
		for _, e := range choice.Entries {
			all = append(all, e.Params...)
		}
	}
	return all
}

// settings describes the tables of a kind in their order, worked out once.
func (k *kind) settings() []TableDescription {
	k.once.Do(func() {
		for f := range fieldsOf(reflect.ValueOf(k.defaults()).Elem()) {
			k.listed = append(k.listed, describeTables(f)...)
		}
	})
	return k.listed
}

// describeTables documents the struct behind a table, and those behind the tables in it, [table.inner].
func describeTables(f field) []TableDescription {
	t, v := TableDescription{Name: f.name, Doc: f.tag.Get("doc")}, f.value
	if v.Kind() == reflect.Map {
		t.Names = f.tag.Get("names")
		v = newElement(v.Type().Elem())
	}
	t.Params = param.DescribeParams(v.Addr().Interface())
	t.choices(v, map[string]bool{})
	tables := []TableDescription{t}
	if f.value.Kind() == reflect.Map {
		return tables
	}
	for inner := range fieldsOf(f.value) {
		at := slices.IndexFunc(t.Params, func(p param.Param) bool { return p.Key == inner.name && p.Type == "table" })
		if at < 0 || inner.value.Kind() != reflect.Struct {
			continue
		}
		tables[0].Params = slices.Delete(tables[0].Params, at, at+1)
		t = tables[0]
		inner.name = document.Join(f.name, inner.name)
		tables = append(tables, describeTables(inner)...)
	}
	return tables
}

// ChoiceDescription documents a key whose value brings parameters of its own.
type ChoiceDescription struct {
	Key, Registry, Default string
	Entries                []param.Description
}

// choices documents the choices among the settings of a struct, and among the settings of what can be
// chosen.
func (t *TableDescription) choices(v reflect.Value, known map[string]bool) {
	for inner := range fieldsOf(v) {
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

// CommonTables documents what files of every kind may hold: keys outside tables, as a
// table without a name, and the tables that do not belong to a kind.
func CommonTables() []TableDescription {
	table := func(name, doc string, config any) TableDescription {
		t := TableDescription{Name: name, Doc: doc, Repeated: config != nil}
		if t.Repeated {
			t.Params = param.DescribeParams(config)
			for f := range reflect.TypeOf(config).Elem().Fields() { // maps that the decoder leaves to others
				if f.Tag.Get("toml") == "-" && f.Type.Kind() == reflect.Map {
					t.Selections = append(t.Selections, strings.ToLower(f.Name))
				}
			}
		}
		return t
	}
	plot := figures.NewPlot()
	return []TableDescription{
		{Doc: "these stand at the top of a file", Params: param.DescribeParams(defaultHeader())},
		table("plot", "a figure that is drawn when the points are done; may be repeated, as [[plot]]", &plot),
		table("plot.reference", "numbers from elsewhere, such as measurements, beside those of a figure; may be repeated, as [[plot.reference]]", &figures.ReferenceConfig{Axis: "y"}),
		table("expect", "a row of the papers' targets and how its value follows from the results; may be repeated, as [[expect]]", &verdict.Expect{Table: figures.ResultsTable}),
		table("sweep", "dotted keys with a list each, or a range { from, to, step }: every combination is a point", nil),
		table("sweep.lockstep", "lists of equal length whose values are taken together, step by step", nil),
		table("sweep.one_at_a_time", "lists whose values are points in which all other keys keep the values that the file gives; keys of one table depart together; may be repeated", nil),
		table("sweep.refine", "a key and a spacing: points are added by bisection where the network ceases to be steady", nil),
		table("quick", "dotted keys that --quick lays over the file: a variant that takes seconds", nil),
	}
}

func init() { figures.LabelSettings(settingsCalled) }

// settingsCalled lists the settings with this dotted key, of all kinds and of what they can choose.
func settingsCalled(key string) (called []param.Param) {
	top, _, _ := strings.Cut(key, ".")
	for _, kind := range KindNames() {
		for f := range fieldsOf(reflect.ValueOf(kinds[kind].defaults()).Elem()) {
			if f.name != top {
				continue
			}
			for _, t := range describeTables(f) {
				called = append(called, lists.Filter(t.all(), func(p param.Param) bool { return t.Header()+"."+p.Key == key })...)
			}
		}
	}
	return called
}

// CommandTable is a table that a command writes beside no results.
type CommandTable struct {
	Command string
	FurtherTable
}

var commandTables []CommandTable

// DescribeCommandTable documents a table of a command, by the name of its file.
func DescribeCommandTable(command string, t FurtherTable) {
	commandTables = append(commandTables, CommandTable{command, t})
}

// CommandTables lists the documented tables of commands, by command and file.
func CommandTables() []CommandTable {
	return slices.SortedFunc(slices.Values(commandTables), func(a, b CommandTable) int {
		return cmp.Or(strings.Compare(a.Command, b.Command), strings.Compare(a.Name, b.Name))
	})
}
