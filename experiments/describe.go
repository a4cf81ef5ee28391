package experiments

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/fabric/core"
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
		d := KindDescription{Name: name, Doc: k.doc, Tables: k.settings(), Columns: k.columns, BeginsAgain: k.again, SomeBeginAgain: k.someAgain}
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

// CommonTables documents what files of every kind may hold: keys outside tables, as a
// table without a name, and the tables that do not belong to a kind.
func CommonTables() []TableDescription {
	table := func(name, doc string, config any) TableDescription {
		t := TableDescription{Name: name, Doc: doc, Repeated: config != nil}
		if t.Repeated {
			t.Params, t.Selections = param.DescribeParams(config), tablesIn(config)
		}
		return t
	}
	plot := NewPlot()
	return []TableDescription{
		{Doc: "these stand at the top of a file", Params: param.DescribeParams(defaultHeader())},
		table("plot", "a figure that is drawn when the points are done; may be repeated, as [[plot]]", &plot),
		table("plot.reference", "numbers from elsewhere, such as measurements, beside those of a figure; may be repeated, as [[plot.reference]]", &ReferenceConfig{Axis: "y"}),
		table("expect", "a row of the papers' targets and how its value follows from the results; may be repeated, as [[expect]]", &ExpectConfig{Table: figures.ResultsTable}),
		table("sweep", "dotted keys with a list each, or a range { from, to, step }: every combination is a point", nil),
		table("sweep.lockstep", "lists of equal length whose values are taken together, step by step", nil),
		table("sweep.one_at_a_time", "lists whose values are points in which all other keys keep the values that the file gives; keys of one table depart together; may be repeated", nil),
		table("sweep.fork", "lets points go on from a common warm-up: warmup, a table of the settings of the warm-up, and settle, the time in which the network becomes used to those of a point", nil),
		table("sweep.refine", "a key and a spacing: points are added by bisection where the network ceases to be steady", nil),
		table("quick", "dotted keys that --quick lays over the file: a variant that takes seconds", nil),
	}
}

// tablesIn lists the maps of a pointer to a struct that the decoder leaves to others.
func tablesIn(config any) (names []string) {
	t := reflect.TypeOf(config).Elem()
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("toml") == "-" && f.Type.Kind() == reflect.Map {
			names = append(names, strings.ToLower(f.Name))
		}
	}
	return names
}

func init() { figures.LabelSettings(everySetting) }

// everySetting ranges over the settings of all kinds and of what they can choose.
func everySetting(yield func(key string, p param.Param) bool) {
	for _, k := range DescribeKinds() {
		for _, t := range k.Tables {
			for _, p := range t.all() {
				if !yield(t.Header()+"."+p.Key, p) {
					return
				}
			}
		}
	}
}

// FurtherDescription documents a further table of results.
type FurtherDescription struct {
	Doc     string
	Columns []Column // behind the point, its swept keys and its seed
}

// FurtherColumns documents the further table of that name, of a kind.
func FurtherColumns(kind, name string) (FurtherDescription, bool) {
	d, ok := furtherTables[kind+" "+name]
	if !ok {
		d, ok = furtherTables[name]
	}
	return d, ok
}

// DescribeTable documents a further table, in the file of the kind that writes it.
// Kinds that write tables of the same name share its columns, but one whose table is documented
// as "KIND NAME". Documenting a name twice
// panics.
func DescribeTable(name string, d FurtherDescription) {
	if _, taken := furtherTables[name]; taken {
		panic("experiments: table " + name + " documented twice")
	}
	furtherTables[name] = d
}

// CommandTable is a table that a command writes beside no results.
type CommandTable struct {
	Command, File string
	FurtherDescription
}

var commandTables []CommandTable

// DescribeCommandTable documents a table of a command.
func DescribeCommandTable(command, file string, d FurtherDescription) {
	commandTables = append(commandTables, CommandTable{command, file, d})
}

// CommandTables lists the documented tables of commands, by command and file.
func CommandTables() []CommandTable {
	return slices.SortedFunc(slices.Values(commandTables), func(a, b CommandTable) int {
		return cmp.Or(strings.Compare(a.Command, b.Command), strings.Compare(a.File, b.File))
	})
}

// furtherTables documents what kinds give to [Run.Table]. A test makes the kinds write
// them all and finds columns that are missing here.
var furtherTables = map[string]FurtherDescription{
	"links": {"what every channel carried in the window, by virtual channel", []Column{
		{Name: "from", Doc: "port or terminal that the channel leads out of"},
		{Name: "to", Doc: "port or terminal that it leads to"},
		{Name: "class", Doc: "class of the channel, as the topology names it"},
		{Name: "vc", Doc: "virtual channel, from 0"},
		{Name: "flits", Doc: "flits that the switch handed to it in the window; with a speedup a few of them may wait in its output queue at the end, and some that waited at the start are not counted"},
		{Name: "flits_per_cycle", Doc: "the same by the length of the window: 1 is all that a channel carries, so that a full one shows 1, or a little more where its output queue has grown"},
	}},
	"global_channels": {"load of the channels between groups", []Column{
		{Name: "group", Doc: "group that the channel leads out of"},
		{Name: "offset", Doc: "groups from there to the one that it leads to, modulo their number"},
		{Name: "role", Doc: "minimal: to the next group; beside: another channel of a switch that has such a one; other"},
		{Name: "flits_per_cycle", Doc: "flits by the length of the window"},
	}},
	"histogram": {"distribution of packet latency", []Column{
		{Name: "latency_from_ns", Doc: "lower end of the bin"},
		{Name: "latency_to_ns", Doc: "upper end of the bin, which is not in it"},
		{Name: "packets", Doc: "measured packets in the bin"},
	}},
	"fairness": {"how evenly terminals are served", []Column{
		{Name: "direction", Doc: "sent or received"},
		{Name: "jain_index", Doc: "Jain's index of fairness: 1 if all terminals have the same, k/n if k of n have everything"},
		{Name: "mean_flits_per_cycle", Doc: "mean over the terminals"},
		{Name: "min_flits_per_cycle", Doc: "of the terminal with the least"},
		{Name: "min_terminal", Doc: "its name"},
		{Name: "max_flits_per_cycle", Doc: "of the terminal with the most"},
		{Name: "max_terminal", Doc: "its name"},
	}},
	"search": {"loads that the search for saturation has tried", []Column{
		{Name: "step", Doc: "number of the run, from 0"},
		{Name: "offered_load", Doc: "flits per terminal and cycle that were tried"},
		{Name: "accepted_load", Doc: "flits per terminal and cycle delivered"},
		{Name: "latency_mean_ns", Doc: "mean packet latency"},
		{Name: "window_cycles", Doc: "length of the window"},
		{Name: "state", Doc: "verdict on the run: steady, saturated or undecided"},
		{Name: "state_reason", Doc: "what the verdict follows from"},
	}},
	"program": {"times that terminal programs have noted, such as round trips", []Column{
		{Name: "measure", Doc: "what was timed"},
		{Name: "count", Doc: "how often"},
		{Name: "mean_ns", Doc: "mean"}, {Name: "p50_ns", Doc: "median"}, {Name: "p95_ns", Doc: "95th percentile"}, {Name: "p99_ns", Doc: "99th percentile"}, {Name: "max_ns", Doc: "largest"},
	}},
	"samples": {"values that terminal programs have noted, such as windows, and how often something has happened", []Column{
		{Name: "measure", Doc: "what was noted"},
		{Name: "unit", Doc: "of the values"},
		{Name: "count", Doc: "how often"},
		{Name: "mean", Doc: "mean value"}, {Name: "p50", Doc: "median"}, {Name: "p95", Doc: "95th percentile"}, {Name: "p99", Doc: "99th percentile"}, {Name: "max", Doc: "largest"},
	}},
	"blame": {"parts of the latency of measured packets", append(append([]Column{
		{Name: "scope", Doc: "all; packets: sent minimally or not; switch: a switch with all its channels; channel"},
		{Name: "from", Doc: "port, terminal or switch; with scope packets minimal or non-minimal"},
		{Name: "to", Doc: "port or terminal that the channel leads to"},
		{Name: "channel_class", Doc: "class of the channel"},
		{Name: "packets", Doc: "measured packets that the means are over"},
	}, partColumns()...), []Column{
		{Name: "total_ns", Doc: "sum of the parts: with scope all, the mean latency"},
		{Name: "root_share", Doc: "share of all waiting in the network that has its root at the channel"},
	}...)},
	"congestion": {"channels with the largest root_share, as trees of the channels that they stall", []Column{
		{Name: "tree", Doc: "number of the tree, from the largest share on"},
		{Name: "depth", Doc: "0: the root; 1: stalled by it; and so on"},
		{Name: "from", Doc: "port or terminal that the channel leads out of"},
		{Name: "to", Doc: "port or terminal that it leads to"},
		{Name: "channel_class", Doc: "class of the channel"},
		{Name: "share", Doc: "share of all waiting that passes through the channel on its way to the root"},
	}},
	"ranks": {"when every rank was done", []Column{
		{Name: "rank", Doc: "number of the rank, from 0"},
		{Name: "finish_ns", Doc: "time at which its program ended"},
	}},
	"colours": {"trees that share an entry of the forwarding tables", []Column{
		{Name: "colour", Doc: "number of the entry, the same in all switches"},
		{Name: "trees", Doc: "trees that have it"},
		{Name: "groups", Doc: "groups on these trees"},
		{Name: "largest_tree_groups", Doc: "groups of the tree with the most"},
	}},
	"efi": {"edge forwarding index (EFI, groups over one cable) of the cables between switches", []Column{
		{Name: "groups", Doc: "groups over a cable"},
		{Name: "cables", Doc: "cables that have so many"},
	}},
	"timing": {"run time of the multicast engine, which differs from run to run", []Column{
		{Name: "groups", Doc: "groups routed"},
		{Name: "run_time_s", Doc: "time for all"},
		{Name: "time_per_group_ms", Doc: "mean time of one"},
	}},
	"groups": {"latency of every multicast group", []Column{
		{Name: "group", Doc: "number of the group, from 0"},
		{Name: "members", Doc: "terminals in it"},
		{Name: "messages", Doc: "messages measured"},
		{Name: "latency_mean_ns", Doc: "mean from the post of a message until the last member has it"},
		{Name: "latency_p50_ns", Doc: "median of it"},
		{Name: "latency_p99_ns", Doc: "99th percentile of it"},
		{Name: "latency_max_ns", Doc: "the largest"},
	}},
}

// partColumns documents the parts of the latency (docs/blame.md).
func partColumns() []Column {
	doc := map[string]string{
		"source_queue":      "at its terminal, until the head enters the channel",
		"route":             "route computation",
		"vc_allocation":     "waiting for a virtual channel, and the stage itself",
		"switch_allocation": "switch allocation, waiting for it, and the crossbar",
		"credit_stall":      "no buffer free at the far end of the channel",
		"serialisation":     "flits in front, of the packet itself and of others on their way out",
		"ejection":          "waiting for the channel to the destination",
		"wire":              "latencies of the channels",
	}
	var columns []Column
	for _, name := range core.PartNames {
		columns = append(columns, Column{Name: name + "_ns", Doc: "mean part of the latency: " + doc[name]})
	}
	return columns
}
