package experiments

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

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
	warnings []string
	events   atomic.Int64
	flitHops atomic.Int64
	live     *atomic.Int64 // events of the whole sweep so far, for the progress bar

	point *Point
	file  *File
	keep  Checkpoint // where its snapshots are, and how often
	parts int        // that have asked for theirs
	from  string     // the snapshot that it has gone on from last; "": none

	grace   time.Duration // from when it is told to end until it is left alone
	started time.Time     // for progress only
	mu      sync.Mutex
	way     PointProgress
}

// SeedOf is the seed of replication i: the point's own for the first, so that a single one is the
// point itself.
func (r *Run) SeedOf(i int) uint64 {
	if i == 0 {
		return r.Seed
	}
	stream := sim.NewStream(r.Seed, "replication", i)
	return stream.Uint64()
}

// OnOneThread notes why a point is simulated by one thread although it may use more.
func (r *Run) OnOneThread(why string) {
	if r.Threads > 1 {
		r.onOne = why
	}
}

// Warn notes what the reader of the point's row should know, such as what its run could not tell.
func (r *Run) Warn(message string) { r.warnings = append(r.warnings, message) }

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

// Progress is how far the point has come, for those who watch.
func (r *Run) Progress() PointProgress {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.way
	w.Point, w.Name, w.Elapsed = r.point.Index, r.file.Describe(r.point), time.Since(r.started)
	return w
}

// Count adds to the number of events processed and of flits that crossed a switch. Call it now and
// then while running: the progress bar and performance.csv read it.
func (r *Run) Count(events, flitHops int64) {
	r.events.Add(events)
	r.flitHops.Add(flitHops)
	if r.live != nil {
		r.live.Add(events)
	}
}

// CountEvents returns what a simulation calls with the number of its events so far: it counts them,
// behind the events of earlier simulations of the point, and tells whether ctx has ended.
func (r *Run) CountEvents(ctx context.Context, before int64) func(events int64) (stop bool) {
	counted := int64(0)
	return func(events int64) bool {
		r.Count(events-counted, 0)
		counted = events
		r.Advance(before+events, 0, "events")
		return ctx.Err() != nil
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
func (r *Run) Table(t *FurtherTable) *Output {
	if slices.ContainsFunc(r.tables, func(o *Output) bool { return o.Name == t.Name }) {
		panic(fmt.Sprintf("experiments: table %q started twice", t.Name))
	}
	o := &Output{Name: t.Name}
	o.Columns = append(o.Columns, lists.Map(t.Columns, func(c Column) string { return c.Name })...)
	r.tables = append(r.tables, o)
	return o
}

// Attachment is a further file of a point, written to FOLDER/POINT.EXTENSION in the result folder.
type Attachment struct {
	Folder    string `json:"folder"`
	Extension string `json:"extension"`
	Content   string `json:"content"`
}

// Path is the attachment's file in the result folder.
func (a *Attachment) Path(point int) string {
	return fmt.Sprintf("%s/%d.%s", a.Folder, point, a.Extension)
}

// Attach keeps a further file of the point. It travels in the journal: keep it to some megabytes.
func (r *Run) Attach(folder, extension, content string) {
	r.files = append(r.files, Attachment{folder, extension, content})
}

// Checkpoint is the snapshot of the next part of the point: the first call is about the first part,
// such as a replication, and so on. Call it for all of them, in the same order each time.
func (r *Run) Checkpoint() *Checkpoint {
	r.parts++
	if r.keep.dir == "" || r.keep.every <= 0 {
		return nil
	}
	k := r.keep
	k.name, k.began, k.from = fmt.Sprintf("%s.%d", r.point.Hash, r.parts-1), time.Now(), &r.from
	return &k
}

// Forget removes the snapshots of the point, which is finished.
func (r *Run) Forget() {
	if r.keep.dir == "" {
		return
	}
	dir := filepath.Join(r.keep.dir, SnapshotFolder)
	entries, err := os.ReadDir(dir)
	if err != nil || results.InsideOnly(r.keep.dir, SnapshotFolder) != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), r.point.Hash+".") {
			_ = os.Remove(filepath.Join(dir, e.Name())) // it hurts nobody if it stays
		}
	}
}

// Add appends a row of int, int64, float64, bool or string.
func (o *Output) Add(values ...any) {
	if len(values) != len(o.Columns) {
		panic(fmt.Sprintf("experiments: a row of %d values in table %q of %d columns", len(values), o.Name, len(o.Columns)))
	}
	row := lists.Map(values, results.FormatCell)
	o.Rows = append(o.Rows, row)
}

// PointProgress is how far a point has come.
type PointProgress struct {
	Point       int    // its number
	Name        string // its swept settings, as [File.Describe] has them
	Done, Total int64  // in Unit; Total 0: not known
	Unit        string
	AtMost      bool // it may end before Total
	Elapsed     time.Duration
}

// Circumstances are those in which a point is computed. Its results do not depend on them.
type Circumstances struct {
	Threads int           // of the point; 0: one
	Live    *atomic.Int64 // to which its events are added while it runs; nil: nobody watches
	// Dir is the result folder in which the point keeps its state every SnapshotEvery;
	// "" or 0: it does not.
	Dir           string
	SnapshotEvery time.Duration
}

// Grace, which only tests change, is how long a point may go on when it is told to end, until it
// has kept its state; then it is left alone. 0: some tenths of a second.
var Grace time.Duration

// NewRun prepares the computation of a point.
func (f *File) NewRun(p *Point, c Circumstances) *Run {
	return &Run{
		Seed: p.Seed, Threads: max(c.Threads, 1), live: c.Live, file: f, point: p,
		keep: Checkpoint{dir: c.Dir, every: c.SnapshotEvery, end: &ending{most: cmp.Or(Grace, lastSnapshotTime)}}, grace: cmp.Or(Grace, interruptGrace), started: time.Now(),
	}
}

// Compute computes the point, once, and its record. kept tells of one that was interrupted
// whether it goes on from a snapshot that it has written when it is resumed. A broken
// invariant is the error of the point. When ctx ends the point is told to end, and is left
// alone soon afterwards, whatever it is doing.
func (r *Run) Compute(ctx context.Context) (finished *Record, kept bool, err error) {
	r.keep.end.told = func() bool { return ctx.Err() != nil }
	cells, err := interruptible(ctx, r.grace, func() (cells []string, err error) {
		defer func() {
			switch broken := recover().(type) {
			case nil:
			case *param.Misuse:
				err = r.point.blame(broken)
			default:
				err = fmt.Errorf("internal error, please report it: %v\n%s", broken, debug.Stack())
				if r.from != "" {
					err = fmt.Errorf("went on from %s, and broke; with --resume it begins again\n%w", r.from, err)
				}
			}
		}()
		return r.file.kind.run(ctx, r.point.config, r)
	})
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // a kind that came back early may have stopped half-way
	}
	kept = ctx.Err() != nil && r.keep.end.wait()
	if err != nil {
		return nil, kept, err
	}
	return &Record{
		Hash: r.point.Hash, Replications: max(r.Replications, 1), Cells: cells, Tables: r.tables, Files: r.files, OnOneThread: r.onOne, Warnings: r.warnings,
		Events: r.events.Load(), FlitHops: r.flitHops.Load(),
		WallSeconds: time.Since(r.started).Seconds(), PeakBytes: peakMemory(),
	}, kept, nil
}

// blame names, as the file does, what breaks its contract.
func (p *Point) blame(m *param.Misuse) error {
	var names []any
	for _, s := range p.settings.all() {
		if s.Key == m.Of+".type" || strings.HasSuffix(s.Key, "."+m.Of) {
			names = append(names, s.Value)
		}
	}
	if len(names) != 1 { // which of them, their type tells
		return m
	}
	return fmt.Errorf("%s %q %s", m.Of, names[0], m.Did)
}

// Record is a finished point: what the journal of a result folder keeps of it, and what a
// worker on another machine sends back.
type Record struct {
	Hash         string       `json:"hash"`
	Replications int          `json:"replications"`
	Cells        []string     `json:"cells"`
	Tables       []*Output    `json:"tables,omitempty"`
	Files        []Attachment `json:"files,omitempty"`
	Events       int64        `json:"events"`
	FlitHops     int64        `json:"flit_hops"`
	WallSeconds  float64      `json:"wall_seconds"`
	PeakBytes    int64        `json:"peak_bytes"`
	OnOneThread  string       `json:"on_one_thread,omitempty"` // why, where there were more threads
	Warnings     []string     `json:"warnings,omitempty"`
}

// Fits tells whether a record can be of the file's kind. A journal may come from anywhere: a
// record that does not fit counts as torn, its point as not finished.
func (r *Record) Fits(f *File) bool {
	seen := map[string]bool{}
	for _, t := range r.Tables {
		if t == nil || seen[t.Name] || f.kind.tables.Named(t.Name) == nil {
			return false
		}
		seen[t.Name] = true
		for _, row := range t.Rows {
			if len(row) != len(t.Columns) {
				return false
			}
		}
	}
	for _, a := range r.Files {
		if !plainName(a.Folder) || !plainName(a.Extension) {
			return false
		}
	}
	return len(r.Cells) == len(f.kind.columns)
}

// plainName tells whether a name is made of small letters and underscores, so that
// it leads nowhere.
func plainName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") == ""
}
