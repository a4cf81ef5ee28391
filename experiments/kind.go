package experiments

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-sim/weft/experiments/results"
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
//	// replications. Units stand in the names.
//	type pingRow struct {
//		RoundTrip float64 `column:"round_trip_ns" doc:"from the request's birth to the answer's tail"`
//	}
//
//	func runPing(ctx context.Context, c *pingConfig, run *experiments.Run) (pingRow, error) { ... }
//
// A configuration may have methods that tell more of it: AllowDeadlock() *bool, the setting that
// --allow-deadlock makes true, where the network can deadlock;
// LoadBound(seed uint64) (float64, error), the highest load that its channels can carry,
// for figures and reports. Those of package experiments/network tell of its network.
//
// Rows hold int, int64, float64, bool and string; NaN is written as an empty
// cell.
type Kind[C, R any] struct {
	Name, Doc string
	// Tables are what Run may give to [Run.Table]; figures name them.
	Tables []FurtherTable
	// Silent, optional, lists dotted settings that ask for more output and change
	// nothing else, beside those that ask for a table and are true or a number: titles of
	// figures pass over them.
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
	// Check, optional, finds out before anything runs what is wrong with a
	// configuration beyond single settings, by building what is cheap to
	// build. Errors are *param.ParamError with dotted keys or wrapped by [At]
	// or [Under], joined; warnings do not stop a run.
	Check func(c *C, seed uint64) (warnings []Warning, err error)
	// Preflight, optional, examines a configuration that Check has passed
	// more closely, before a run and in weft check. Its errors, as those of
	// Check, forbid the run.
	Preflight func(c *C, p *Preflight) error
	// Run computes a point. It must depend on c, run.Seed and nothing else,
	// return soon after ctx ends, and not print.
	Run func(ctx context.Context, c *C, run *Run) (R, error)
	// Forks, optional, lets points of a sweep go on from a common warm-up, and the kind
	// write and read the state of a warm network: its Run calls [Run.Warm].
	Forks *Forks[C]
	// NoWarmup, of a kind without Forks, is why there is no warm-up that points could
	// share; "" where nobody would expect one.
	NoWarmup string
	// BeginsAgain is why a point that is killed begins again: "" if its Run keeps its
	// parts ([Run.Checkpoint]).
	BeginsAgain string
	// PointBeginsAgain, optional, is the same of a point of a kind that keeps others.
	PointBeginsAgain func(c *C) string
	// Revision goes up when results move for the same settings: points
	// computed by an older revision are stale.
	Revision int
}

// Warning is something that a user should know about a configuration that
// runs all the same.
type Warning struct {
	Key     string // dotted; what to change
	Message string
	Unset   bool // only where the file does not set the key
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

// AskedBy is the table of a kind in which a setting asks for it.
func (t FurtherTable) AskedBy(key string) FurtherTable {
	t.Asked = key
	return t
}

// named finds a table; nil: there is none of that name.
func named(tables []FurtherTable, name string) *FurtherTable {
	if i := slices.IndexFunc(tables, func(t FurtherTable) bool { return t.Name == name }); i >= 0 {
		return &tables[i]
	}
	return nil
}

// Column describes a column of a table of results.
type Column struct {
	Name, Doc string
}

// kind is a Kind without its types.
type kind struct {
	name, doc  string
	revision   int
	columns    []Column
	tables     []FurtherTable
	silent     []string
	restsOn    string
	defaults   func() any // pointer to a fresh configuration
	complete   func(config any, given func(key string) bool)
	check      func(config any, seed uint64) ([]Warning, error)
	preflight  func(config any, p *Preflight) error
	run        func(ctx context.Context, config any, run *Run) ([]string, error)
	forks      *forks // nil: it does not
	cold       string // why it does not
	again      string // why points begin again after a kill; "": they do not, but for those for which there is a reason of their own
	pointAgain func(config any) string
	someAgain  bool // it may have a reason
}

var kinds = map[string]*kind{}

// Register adds a kind. Registering a name twice, or a row with columns of
// other types than the documented ones, panics.
func Register[C, R any](k Kind[C, R]) {
	if _, taken := kinds[k.Name]; taken {
		panic(fmt.Sprintf("experiments: kind %q registered twice", k.Name))
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
	someAgain := k.PointBeginsAgain != nil
	if !someAgain {
		k.PointBeginsAgain = func(*C) string { return "" }
	}
	kinds[k.Name] = &kind{
		name: k.Name, doc: k.Doc, revision: k.Revision,
		columns:    columnsOf(reflect.TypeFor[R]()),
		tables:     k.Tables,
		forks:      k.Forks.untyped(),
		cold:       k.NoWarmup,
		again:      k.BeginsAgain,
		someAgain:  someAgain,
		pointAgain: func(config any) string { return k.PointBeginsAgain(config.(*C)) },
		silent:     k.Silent,
		restsOn:    k.RestsOn,
		defaults:   func() any { c := k.Defaults(); return &c },
		complete:   func(config any, given func(key string) bool) { k.Complete(config.(*C), given) },
		check:      func(config any, seed uint64) ([]Warning, error) { return k.Check(config.(*C), seed) },
		preflight:  func(config any, p *Preflight) error { return k.Preflight(config.(*C), p) },
		run: func(ctx context.Context, config any, run *Run) ([]string, error) {
			row, err := k.Run(ctx, config.(*C), run)
			for _, t := range run.tables {
				if named(k.Tables, t.Name) == nil {
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
		switch f.Type.Kind() {
		case reflect.Int, reflect.Int64, reflect.Float64, reflect.Bool, reflect.String:
		default:
			panic(fmt.Sprintf("experiments: column %s has type %v", name, f.Type))
		}
		columns = append(columns, Column{name, f.Tag.Get("doc")})
	}
	return columns
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

// settings describes the tables of a kind in their order.
func (k *kind) settings() []TableDescription {
	var tables []TableDescription
	for _, f := range fieldsOf(reflect.ValueOf(k.defaults()).Elem()).list {
		tables = append(tables, describeTable(f))
	}
	return tables
}

// Run is what a kind gets to compute one point, beside its configuration.
type Run struct {
	Seed    uint64 // of every random stream
	Threads int    // that the point may use; results must not depend on it

	// Replications is how many independent runs the row sums up; a kind that
	// replicates sets it. 0 counts as 1.
	Replications int

	tables   []*Output
	files    []Attachment
	onOne    string // why the point was simulated by one thread, where Threads are more
	events   atomic.Int64
	flitHops atomic.Int64
	live     *atomic.Int64 // events of the whole sweep so far, for the progress bar

	fork   *forking    // nil: none
	warmup *warmup     // of the point
	warm   *warmStates // of the execution
	hash   string      // of the point
	keep   Checkpoint  // where its snapshots are, and how often
	parts  int         // that have asked for theirs
	from   string      // the snapshot that it has gone on from last; "": none

	started time.Time // for progress only
	mu      sync.Mutex
	way     PointProgress
}

// OnOneThread notes why a point is simulated by one thread although it may use more.
func (r *Run) OnOneThread(why string) {
	if r.Threads > 1 {
		r.onOne = why
	}
}

// Advance tells how far the point has come: so many of a total, which may be 0 where
// it is not known, in a unit such as cycles or messages. Call it now and then.
func (r *Run) Advance(done, total int64, unit string) {
	r.advance(PointProgress{Done: done, Total: total, Unit: unit})
}

// AdvanceAtMost is Advance where the point may well end before the total.
func (r *Run) AdvanceAtMost(done, total int64, unit string) {
	r.advance(PointProgress{Done: done, Total: total, Unit: unit, AtMost: true})
}

func (r *Run) advance(w PointProgress) {
	r.mu.Lock()
	r.way = w
	r.mu.Unlock()
}

// state is how far the point has come, for those who watch.
func (r *Run) state(point int, name string) PointProgress {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.way
	w.Point, w.Name, w.Elapsed = point, name, time.Since(r.started)
	return w
}

// Count adds to the number of events processed and of flits that crossed a
// switch. Call it now and then while running: the progress bar and
// performance.csv read it.
func (r *Run) Count(events, flitHops int64) {
	r.events.Add(events)
	r.flitHops.Add(flitHops)
	if r.live != nil {
		r.live.Add(events)
	}
}

// Output is a further table of a point. All points of a file are written to
// one CSV file, with the point's number and swept keys in front.
type Output struct {
	Name    string // of the file: links gives links.csv
	Columns []string
	Rows    [][]string
}

// Table starts a further table such as links or histogram.
func (r *Run) Table(t FurtherTable) *Output {
	if slices.ContainsFunc(r.tables, func(o *Output) bool { return o.Name == t.Name }) {
		panic(fmt.Sprintf("experiments: table %q started twice", t.Name))
	}
	o := &Output{Name: t.Name}
	for _, c := range t.Columns {
		o.Columns = append(o.Columns, c.Name)
	}
	r.tables = append(r.tables, o)
	return o
}

// Attachment is a further file of a point, written to FOLDER/POINT.EXTENSION
// in the result folder.
type Attachment struct {
	Folder    string `json:"folder"`
	Extension string `json:"extension"`
	Content   string `json:"content"`
}

// path is the attachment's file in the result folder.
func (a *Attachment) path(point int) string {
	return fmt.Sprintf("%s/%d.%s", a.Folder, point, a.Extension)
}

// Attach keeps a further file of the point. It travels in the journal: keep it
// to some megabytes.
func (r *Run) Attach(folder, extension, content string) {
	r.files = append(r.files, Attachment{folder, extension, content})
}

// Add appends a row of int, int64, float64, bool or string.
func (o *Output) Add(values ...any) {
	if len(values) != len(o.Columns) {
		panic(fmt.Sprintf("experiments: a row of %d values in table %q of %d columns", len(values), o.Name, len(o.Columns)))
	}
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = results.FormatCell(v)
	}
	o.Rows = append(o.Rows, row)
}
