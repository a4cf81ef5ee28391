package experiments

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-sim/weft/experiments/results"
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
func (r *Run) Table(name string, columns ...string) *Output {
	if slices.ContainsFunc(r.tables, func(o *Output) bool { return o.Name == name }) {
		panic(fmt.Sprintf("experiments: table %q started twice", name))
	}
	o := &Output{Name: name, Columns: columns}
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
