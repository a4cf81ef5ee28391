// Package engine runs experiment files: it computes their points side by side, in shares or as
// tasks of a cluster, keeps finished points safe in a journal, and writes and reads result folders.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
)

// Execution says how to run the points of a file.
type Execution struct {
	Dir     string // result folder; "" keeps everything in memory
	Jobs    int    // points side by side; 0: one a core
	Threads int    // threads of one point; 0: one
	Resume  bool   // keep the finished points that Dir's journal holds
	Force   bool   // replace what an earlier run left in Dir
	Shard   Shard  // compute this share only, and leave it to be merged
	// Shares are folders of such shares, of which Dir becomes what a run of the whole file
	// leaves: nothing is computed but what refinement adds. Points are known by all their
	// settings, so that the order of the folders, and how many there are, make no difference.
	Shares  []string
	Command []string // the command line, for the manifest
	Formats []string // of [results.TableFormats], in which Dir has results.csv and the further tables besides
	// SnapshotEvery is how often a point that takes longer keeps its state in Dir, for
	// Resume to go on from; 0: never.
	SnapshotEvery time.Duration
	Slurm         *Slurm // compute them as tasks of a cluster; nil: in this process
	Pool          *Pool  // shared with executions at the same time or before; nil: none
	// Progress, if set, is called from one goroutine at a time when a point
	// is done, and about ten times a second between.
	Progress func(Progress)
}

// Progress is how far a sweep has come.
type Progress struct {
	Points, Done, Failed, Reused int
	Events                       int64 // processed in this run so far
	Elapsed                      time.Duration
	Running                      []experiments.PointProgress // points that are being computed, by number; which a cluster computes is not known
}

// Failure is a point that could not be computed.
type Failure struct {
	Point  *experiments.Point
	Reason string
}

// Outcome is what a run leaves.
type Outcome struct {
	Results  *results.Table
	Tables   map[string]*results.Table // further tables by name
	Files    map[string]string         // further files of points, by their path in Dir
	Figures  []string                  // files of figures, by their path in Dir
	Empty    []string                  // figures without a point to draw, and why
	Failures []Failure                 // in point order
	Warnings []Failure                 // likewise, of points with a row
	Reused   int                       // points taken from the journal
	Kept     int                       // where the run was interrupted: points under way, kept as far as they are
	Points   int                       // with those that refinement has added
	Finished int                       // points with a row
	// OnOneThread counts the points that one thread simulated although there were
	// more, by the reason.
	OnOneThread map[string]int
}

// Execute computes the points of a file and draws its figures. The points that fail are listed in
// the outcome and do not stop the others. The error is [experiments.ErrInterrupted] if ctx ended
// first (finished points are then safe in the journal), an [*UnfinishedError] or a [*FolderError]
// before anything is written, or a failure to write or draw.
func Execute(ctx context.Context, f *experiments.File, e Execution) (*Outcome, error) {
	defer f.Forget() // many files may be at hand, each with large networks
	r := newRunner(f, e)
	found, failed, err := readShares(f, e.Shares)
	if err != nil {
		return nil, err
	}
	if e.Dir != "" {
		if err := r.open(); err != nil {
			return nil, err
		}
		defer r.journal.close()
	}
	r.reasons = failed
	if err := r.take(f.Points, found); err != nil {
		return nil, err
	}
	if e.Shard.Of > 0 {
		return r.executeShard(ctx)
	}
	return r.complete(ctx)
}

// complete computes what is missing and writes the folder.
func (r *runner) complete(ctx context.Context) (*Outcome, error) {
	r.compute(ctx)
	switch {
	case r.writeError != nil:
		r.leaveNothing()
		return nil, r.writeError
	case ctx.Err() != nil && (r.unrefined || r.left() > 0):
		return &Outcome{Points: len(r.points), Reused: r.reused, Finished: r.finished(), Kept: r.kept}, experiments.ErrInterrupted
	}
	outcome, err := r.finish(ctx)
	if errors.Is(err, experiments.ErrInterrupted) {
		return &Outcome{Points: len(r.points), Reused: r.reused, Finished: r.finished()}, experiments.ErrInterrupted
	}
	return outcome, err
}

// leaveNothing removes the journal of a run that failed before any point was
// finished, and the folder if that was all.
func (r *runner) leaveNothing() {
	if r.journal != nil && len(r.records) == 0 {
		_ = os.Remove(filepath.Join(r.execution.Dir, journalFile))
		_ = os.Remove(r.execution.Dir) // if it is empty
	}
}

// runner is the state of one execution.
type runner struct {
	file      *experiments.File
	execution Execution
	started   time.Time
	journal   *journal
	live      atomic.Int64

	mu         sync.Mutex
	points     []*experiments.Point                    // of the file, and those that refinement has added
	unrefined  bool                                    // interrupted before refinement was through
	records    map[string]*experiments.Record          // finished points by hash
	spare      map[string]*experiments.Record          // records of the journal whose points are not, or not yet, among points
	reasons    map[string]string                       // failed points by hash
	running    map[*experiments.Point]*experiments.Run // nil before the first
	reused     int                                     // points whose record the journal had
	kept       int                                     // points that were under way when the run was interrupted, and go on from there
	writeError error
}

func newRunner(f *experiments.File, e Execution) *runner {
	r := &runner{file: f, execution: e, started: time.Now(), points: slices.Clone(f.Points), records: map[string]*experiments.Record{}, reasons: map[string]string{}}
	r.execution.Pool = cmp.Or(e.Pool, NewPool(r.jobs()))
	return r
}

// left counts the points that have neither a record nor failed.
func (r *runner) left() int { return len(r.points) - r.finished() - len(r.failures()) }

// failures lists the points that have failed, and have no record of another run.
func (r *runner) failures() (all []Failure) {
	for _, p := range r.points {
		if why, failed := r.reasons[p.Hash]; failed && r.records[p.Hash] == nil {
			all = append(all, Failure{p, why})
		}
	}
	return all
}

// finished counts the points that have a record.
func (r *runner) finished() int {
	return len(lists.Filter(r.points, func(p *experiments.Point) bool { return r.records[p.Hash] != nil }))
}

// compute runs what has no record yet, step by step of refinement.
func (r *runner) compute(ctx context.Context) {
	for points := r.points; len(points) > 0; points = r.extend() {
		r.computeAll(ctx, points)
		if r.writeError != nil || ctx.Err() != nil {
			r.unrefined = r.file.Refines()
			return
		}
	}
}

// extend adds the points of one step of refinement to the run's points and returns the new ones.
func (r *runner) extend() []*experiments.Point {
	first := len(r.points)
	for _, a := range r.file.Refinement(r.points, r.records) {
		p, err := r.file.Refined(a, len(r.points))
		if err != nil {
			r.reasons[p.Hash] = err.Error()
		} else if rec := r.spare[p.Hash]; rec != nil {
			r.records[p.Hash] = rec
		}
		r.points = append(r.points, p)
	}
	return r.points[first:]
}

// computeAll runs the points that have no record yet on as many workers as there are jobs.
func (r *runner) computeAll(ctx context.Context, points []*experiments.Point) {
	var todo []*experiments.Point
	queued := map[string]bool{}
	for _, p := range points {
		_, failed := r.reasons[p.Hash]
		switch {
		case r.records[p.Hash] != nil:
			r.reused++
		case !failed && !queued[p.Hash]:
			queued[p.Hash] = true
			todo = append(todo, p)
		}
	}
	if r.execution.Slurm != nil {
		if len(todo) > 0 {
			stop := r.tick()
			err := r.slurm(ctx, todo)
			stop()
			r.writeError = cmp.Or(r.writeError, err)
		}
		r.report()
		return
	}
	work := make(chan *experiments.Point)
	var workers sync.WaitGroup
	for range min(r.jobs(), len(todo)) {
		workers.Go(func() {
			for p := range work {
				r.one(ctx, p)
			}
		})
	}
	stop := r.tick()
	for _, p := range todo {
		select {
		case work <- p:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(work)
	workers.Wait()
	stop()
	r.report()
}

// jobs is the number of points computed side by side.
func (r *runner) jobs() int {
	if r.execution.Jobs > 0 {
		return r.execution.Jobs
	}
	return runtime.GOMAXPROCS(0)
}

// tick reports progress between points; the function it returns ends that.
func (r *runner) tick() (stop func()) {
	if r.execution.Progress == nil {
		return func() {}
	}
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				r.report()
			case <-done:
				return
			}
		}
	})
	return func() { close(done); ended.Wait() }
}

func (r *runner) report() {
	if r.execution.Progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	failed := len(r.failures())
	var running []experiments.PointProgress
	for _, p := range r.points {
		if run := r.running[p]; run != nil {
			running = append(running, run.Progress())
		}
	}
	r.execution.Progress(Progress{
		Running: running,
		Points:  len(r.points), Done: r.finished() + failed, Failed: failed, Reused: r.reused,
		Events: r.live.Load(), Elapsed: time.Since(r.started),
	})
}

// one computes a point and keeps its record.
func (r *runner) one(ctx context.Context, p *experiments.Point) {
	pool := r.execution.Pool
	pool.places <- struct{}{}
	defer func() { <-pool.places }()
	known := pool.find(r.file, p)
	r.mu.Lock()
	full := r.writeError != nil // a point could not be kept: no further one begins
	if known != nil && !full {
		_ = r.keep(known) // which remembers the error
	}
	r.mu.Unlock()
	if ctx.Err() != nil || full || known != nil {
		return
	}
	run := r.file.NewRun(p, experiments.Circumstances{
		Threads: r.execution.Threads, Live: &r.live,
		Dir: r.execution.Dir, SnapshotEvery: r.execution.SnapshotEvery,
	})
	r.mu.Lock()
	if r.running == nil {
		r.running = map[*experiments.Point]*experiments.Run{}
	}
	r.running[p] = run
	r.mu.Unlock()
	finished, kept, err := run.Compute(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept {
		r.kept++
	}
	delete(r.running, p)
	if err != nil {
		if ctx.Err() == nil {
			r.reasons[p.Hash] = err.Error()
		}
		return
	}
	if r.keep(finished) == nil {
		run.Forget()
		pool.finished.Store(finished.Hash, finished)
	}
}

// keep puts a finished point into the journal, and counts it as finished.
func (r *runner) keep(finished *experiments.Record) error {
	if r.journal != nil {
		if err := r.journal.append(finished); err != nil {
			r.writeError = cmp.Or(r.writeError, fmt.Errorf("cannot keep a finished point: %w", err))
			return r.writeError
		}
	}
	r.records[finished.Hash] = finished
	return nil
}

// Pool is what executions share: they compute so many points at a time in all, so that one
// that has few points left makes room for the next, and a point of several is computed once.
type Pool struct {
	places   chan struct{}
	finished sync.Map // *experiments.Record by hash
}

// NewPool is a pool of so many points at a time.
func NewPool(jobs int) *Pool { return &Pool{places: make(chan struct{}, jobs)} }

// find is what a point of a file has come to in another execution; nil if in none.
func (p *Pool) find(f *experiments.File, point *experiments.Point) *experiments.Record {
	rec, known := p.finished.Load(point.Hash)
	if !known || !rec.(*experiments.Record).Fits(f) {
		return nil
	}
	return rec.(*experiments.Record)
}
