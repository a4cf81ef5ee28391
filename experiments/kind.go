package experiments

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
)

// Kind is a kind of experiment. To add one, write one file that registers it:
//
//	func init() {
//		experiments.Register(experiments.Kind[pingConfig, pingRow]{
//			Name:     "ping",
//			Doc:      "round trip between two terminals",
//			Defaults: func() pingConfig { return pingConfig{Topology: defaultTopology(), Ping: pingTable{Size: 64}} },
//			Check:    checkPing,
//			Run:      runPing,
//		})
//	}
//
//	// The tables that the file may have; their fields are described by the
//	// tags of param.Register. A table that names an entry of a registry has a
//	// Choice.
//	type pingConfig struct {
//		Topology topologyTable `toml:"topology"`
//		Ping     pingTable     `toml:"ping"`
//	}
//
//	type pingTable struct {
//		Size sim.Bytes `toml:"size" doc:"payload of the request" min:"1B"`
//	}
//
//	// The columns of results.csv that follow point, swept keys, seed and
//	// replications. Units stand in the names. Of columns tagged best, "highest NAME" or
//	// "lowest NAME", reports and weft compare --best say which variant has it.
//	type pingRow struct {
//		RoundTrip float64 `column:"round_trip_ns" doc:"from the request's birth to the answer's tail" best:"lowest round trip"`
//	}
//
//	func runPing(ctx context.Context, c *pingConfig, run *experiments.Run) (pingRow, error) { ... }
//
// A configuration may have methods that tell more of it: AllowDeadlock() *bool, the setting that
// --allow-deadlock makes true, where the network can deadlock;
// LoadBound(seed uint64) (float64, error), the highest load that its channels can carry,
// for figures and reports. Those of package experiments/network tell of its network.
//
// Rows hold int, int64, float64, bool and string; NaN is written as an empty cell.
type Kind[C, R any] struct {
	Name, Doc string
	// Tables are what Run may give to [Run.Table]; figures name them.
	Tables Tables
	// Silent, optional, lists dotted settings that ask for more output and change nothing else,
	// beside those that ask for a table and are true or a number: titles of figures pass over them.
	Silent []string
	// RestsOn, optional, is what rows of papers that are judged by the kind rest on, one of
	// RestsOnNames; "": Simulated.
	RestsOn string
	// Defaults makes a fresh configuration: a struct with one struct (or map
	// of structs, for tables such as [channel.local]) a table.
	Defaults func() C
	// Complete, optional, sets what follows from other settings and is not given:
	// given tells whether the file, its sweep or an option states a dotted setting.
	// What is wrong with the configuration is left to Check.
	Complete func(c *C, given func(key string) bool)
	// Check, optional, finds out before anything runs what is wrong with a configuration beyond
	// single settings, by building what is cheap to build. Errors are *param.ParamError with dotted
	// keys or wrapped by [At] or [Under], joined; warnings do not stop a run.
	Check func(c *C, seed uint64) (warnings []Warning, err error)
	// Preflight, optional, examines a configuration that Check has passed more closely, before a
	// run and in weft check. Its errors, as those of Check, forbid the run.
	Preflight func(c *C, p *Preflight) error
	// Draws, optional, tells whether Check or Preflight may find other things with another seed;
	// without it they may. [Draws] is the answer where only choices draw.
	Draws func(c *C) bool
	// Run computes a point. It must depend on c, run.Seed and nothing else,
	// return soon after ctx ends, and not print.
	Run func(ctx context.Context, c *C, run *Run) (R, error)
	// BeginsAgain is why a point that is killed begins again: "" if its Run keeps its
	// parts ([Run.Checkpoint]).
	BeginsAgain string
	// PointBeginsAgain, optional, is the same of a point of a kind that keeps others.
	PointBeginsAgain func(c *C) string
	// Revision goes up when results move for the same settings: points
	// computed by an older revision are stale.
	Revision int
}

// Warning is something that a user should know about a configuration that runs all the same.
type Warning struct {
	Key     string // dotted; what to change
	Message string
	Unset   bool // only where the file does not set the key
	// Idle: only where the file gives the keys, as of an [Idle], whose Because the message is, other values than their
	// defaults, and no point makes use of them.
	Idle  bool
	Where string // as of a [Note]; kinds leave it empty
}

// FurtherTable is a CSV file that a kind writes beside results.csv.
type FurtherTable struct {
	Name    string // without extension
	Doc     string
	Columns []Column // behind the point, its swept keys and its seed
	// Asked is the dotted setting that asks for it: where it is false, 0 or empty, the kind
	// does not write the table; "": always written, or never by a setting of its own.
	Asked string
}

// Tables are those of a kind.
type Tables []FurtherTable

// ReadTables reads descriptions of tables: of each a line "NAME, SETTING: what it holds", without the setting where none
// asks for it, and behind it a line "  COLUMN: what it holds" for every column, or "  COLUMN" where the name says it. A line
// "NAME" stands for the table of shared with that name.
func ReadTables(text string, shared Tables) (all Tables) {
	for line := range strings.Lines(text) {
		name, doc, described := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case strings.HasPrefix(line, " "):
			t := &all[len(all)-1]
			t.Columns = append(t.Columns, Column{Name: name, Doc: doc})
		case described:
			name, asked, _ := strings.Cut(name, ", ")
			all = append(all, FurtherTable{Name: name, Doc: doc, Asked: asked})
		default:
			all = append(all, *shared.Named(name))
		}
	}
	return all
}

// Named finds a table; nil: there is none of that name.
func (tables Tables) Named(name string) *FurtherTable {
	if i := slices.IndexFunc(tables, func(t FurtherTable) bool { return t.Name == name }); i >= 0 {
		return &tables[i]
	}
	return nil
}

// deadlockSetting is implemented by the configurations of kinds whose networks
// can deadlock: fabric.allow_deadlock of the file.
type deadlockSetting interface {
	AllowDeadlock() *bool
}

// Column describes a column of a table of results.
type Column struct {
	Name, Doc string
	words     bool // of a row: no numbers
}

// kind is a Kind without its types.
type kind struct {
	name, doc  string
	revision   int
	columns    []Column
	goals      []results.Goal
	tables     Tables
	silent     []string
	restsOn    string
	defaults   func() any // pointer to a fresh configuration
	complete   func(config any, given func(key string) bool)
	check      func(config any, seed uint64) ([]Warning, error)
	preflight  func(config any, p *Preflight) error
	draws      func(config any) bool
	run        func(ctx context.Context, config any, run *Run) ([]string, error)
	again      string // why points begin again after a kill; "": they do not, but for those for which there is a reason of their own
	pointAgain func(config any) string
	someAgain  bool // it may have a reason
	once       sync.Once
	listed     []TableDescription // see known
}

var kinds = map[string]*kind{}

// Register adds a kind. Registering a name twice, or a row with columns of
// other types than the documented ones, panics.
func Register[C, R any](k Kind[C, R]) {
	if _, taken := kinds[k.Name]; taken || k.Name == "" || k.Doc == "" || k.Defaults == nil || k.Run == nil {
		panic(fmt.Sprintf("experiments: kind %q: want a name that is not registered yet, Doc, Defaults and Run", k.Name))
	}
	if k.Complete == nil {
		k.Complete = func(*C, func(string) bool) {}
	}
	if k.Check == nil {
		k.Check = func(*C, uint64) ([]Warning, error) { return nil, nil }
	}
	if k.Preflight == nil {
		k.Preflight = func(*C, *Preflight) error { return nil }
	}
	if k.Draws == nil {
		k.Draws = func(*C) bool { return true }
	}
	someAgain := k.PointBeginsAgain != nil
	if !someAgain {
		k.PointBeginsAgain = func(*C) string { return "" }
	}
	kinds[k.Name] = &kind{
		name: k.Name, doc: k.Doc, revision: k.Revision,
		columns:    columnsOf(reflect.TypeFor[R]()),
		goals:      goalsOf(reflect.TypeFor[R](), k.RestsOn == verdict.Formula),
		tables:     k.Tables,
		again:      k.BeginsAgain,
		someAgain:  someAgain,
		pointAgain: func(config any) string { return k.PointBeginsAgain(config.(*C)) },
		silent:     k.Silent,
		restsOn:    k.RestsOn,
		defaults:   func() any { c := k.Defaults(); return &c },
		complete:   func(config any, given func(key string) bool) { k.Complete(config.(*C), given) },
		check:      func(config any, seed uint64) ([]Warning, error) { return k.Check(config.(*C), seed) },
		preflight:  func(config any, p *Preflight) error { return k.Preflight(config.(*C), p) },
		draws:      func(config any) bool { return k.Draws(config.(*C)) },
		run: func(ctx context.Context, config any, run *Run) ([]string, error) {
			row, err := k.Run(ctx, config.(*C), run)
			for _, t := range run.tables {
				if k.Tables.Named(t.Name) == nil {
					panic(fmt.Sprintf("experiments: kind %q does not list its table %q", k.Name, t.Name))
				}
			}
			if err != nil {
				return nil, err
			}
			return cellsOf(reflect.ValueOf(row)), nil
		},
	}
}

// KindNames lists the registered kinds in alphabetical order.
func KindNames() []string { return results.SortedKeys(kinds) }

// columnsOf reads the column tags of a row type.
func columnsOf(row reflect.Type) []Column {
	var columns []Column
	for i := range row.NumField() {
		f := row.Field(i)
		name := f.Tag.Get("column")
		if name == "" {
			continue
		}
		words := false
		switch f.Type.Kind() {
		case reflect.Int, reflect.Int64, reflect.Float64:
		case reflect.Bool, reflect.String:
			words = true
		default:
			panic(fmt.Sprintf("experiments: column %s has type %v", name, f.Type))
		}
		columns = append(columns, Column{name, f.Tag.Get("doc"), words})
	}
	return columns
}

// goalsOf reads the columns by which a row type says that variants are ranked.
func goalsOf(row reflect.Type, exact bool) (goals []results.Goal) {
	for i := range row.NumField() {
		tag := row.Field(i).Tag
		if text := tag.Get("best"); text != "" {
			which, name, _ := strings.Cut(text, " ")
			if name == "" || which != "highest" && which != "lowest" {
				panic(fmt.Sprintf("experiments: column %s has best:%q: want highest NAME or lowest NAME", tag.Get("column"), text))
			}
			goals = append(goals, results.Goal{Column: tag.Get("column"), Name: name, Most: which == "highest", Exact: exact})
		}
	}
	return goals
}

// Goals are the columns, as far as they hold numbers, by which variants are ranked in the
// kind of experiment that a table has most columns of.
func Goals(t *results.Table) []results.Goal {
	var of *kind
	most := 0
	for _, name := range KindNames() {
		n := 0
		for _, c := range kinds[name].columns {
			if slices.Contains(t.Columns, c.Name) {
				n++
			}
		}
		if n > most {
			of, most = kinds[name], n
		}
	}
	if of == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(of.goals), func(g results.Goal) bool {
		values, err := t.Numbers(g.Column)
		return err != nil || !slices.ContainsFunc(values, func(x float64) bool { return x == x })
	})
}

// cellsOf formats a row in the order of columnsOf.
func cellsOf(row reflect.Value) []string {
	var cells []string
	for i := range row.NumField() {
		if row.Type().Field(i).Tag.Get("column") != "" {
			cells = append(cells, results.FormatCell(row.Field(i).Interface()))
		}
	}
	return cells
}
