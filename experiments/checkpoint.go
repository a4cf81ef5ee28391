package experiments

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/snapshot"
)

// SnapshotFolder is where a result folder has the snapshots of points that are being computed.
const SnapshotFolder = "snapshots"

// Checkpoint is the last snapshot of a part of a point that takes long: what the part goes on
// from when the process has been killed and the run is resumed.
type Checkpoint struct {
	dir   string
	name  string // of the file, without its extension
	every time.Duration
	end   *ending   // of the point
	began time.Time // when the last snapshot was written, or the part began
	long  bool      // one has been written
	took  time.Duration
	from  *string // the file that the point has gone on from last; "": none
}

// Open is the last snapshot, to be read to its end; nil: there is none. One that is damaged,
// or of another build, counts as none: the part begins again.
func (k *Checkpoint) Open() *snapshot.Archive {
	if k == nil {
		return nil
	}
	path := filepath.Join(k.dir, k.file())
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	state, err := snapshot.Open(f, build(), k.name, input.Memory()/2)
	if err != nil {
		return nil
	}
	k.long, *k.from = true, path
	return state
}

// SaveTo is called now and then while the part is computed; state writes it. A snapshot is
// kept every so often, of parts that took so long for one that it is not lost when
// they are done, and of those that are told to end, if there is time for it.
func (k *Checkpoint) SaveTo(done bool, state func(*snapshot.Archive) error) error {
	switch {
	case k == nil:
		return nil
	case k.end.told():
		return k.end.last(k.took, func() error { return k.write(state) })
	case time.Since(k.began) < k.every && !(done && k.long):
		return nil
	}
	return k.write(state)
}

// errTooLate says that a point may not write any more.
var errTooLate = errors.New("too late")

func (k *Checkpoint) write(state func(*snapshot.Archive) error) error {
	start := time.Now()
	var failed error // of the state, not of the file
	err := results.StreamInside(k.dir, k.file(), func(f *os.File) error {
		err := snapshot.Write(f, build(), k.name, func(a *snapshot.Archive) error {
			failed = state(a)
			return failed
		})
		if k.end.over.Load() {
			failed = errTooLate
		}
		return cmp.Or(failed, err)
	})
	switch {
	case failed == errTooLate:
		return nil
	case failed != nil:
		return failed
	case err != nil:
		return err
	}
	k.began, k.long, k.took = time.Now(), true, time.Since(start)
	runtime.GC() // otherwise what writing has left adds up to half of the live memory
	return nil
}

func (k *Checkpoint) file() string { return SnapshotFolder + "/" + k.name + ".weft" }

// ending is what a point may still do when it is told to end.
type ending struct {
	told   func() bool   // it is
	most   time.Duration // for its last snapshot
	saving sync.Mutex    // while its last snapshot is written
	over   atomic.Bool   // it may do nothing any more
	kept   atomic.Bool   // the last snapshot has been written
}

// lastSnapshotTime is how long the last snapshot of a point may take, beyond the grace
// before which it must have begun: one that takes longer is left out.
const lastSnapshotTime = 500 * time.Millisecond

// last writes the last snapshot, unless it is too late, or the one before took too long.
func (e *ending) last(before time.Duration, write func() error) error {
	e.saving.Lock()
	defer e.saving.Unlock()
	if e.over.Load() || before > e.most {
		return nil
	}
	err := write()
	e.kept.Store(err == nil && !e.over.Load())
	return err
}

// wait lets a point that has been told to end finish the snapshot that it writes, if it
// does, and tells whether it has one. Nothing is written afterwards.
func (e *ending) wait() (kept bool) {
	for late := time.Now().Add(e.most); !e.saving.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			e.over.Store(true)
			return false
		}
	}
	e.over.Store(true)
	e.saving.Unlock()
	return e.kept.Load()
}

// ErrInterrupted says that something was stopped before it was done.
var ErrInterrupted = errors.New("interrupted")

// interruptGrace is how long work may go on when it has been told to end: what is
// short or nearly done is not lost, and people do not notice.
const interruptGrace = 200 * time.Millisecond

// Interruptible returns what f does, or [ErrInterrupted] some moments after ctx ends:
// then f, which may be deep in building a network or waiting for a pipe, is left to
// itself.
// What f returns is lost, and the processor's time goes on being used until it
// returns or the process ends. f must not write anything, nor read what its caller
// changes afterwards.
func Interruptible[T any](ctx context.Context, f func() (T, error)) (T, error) {
	return interruptible(ctx, interruptGrace, f)
}

func interruptible[T any](ctx context.Context, grace time.Duration, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(grace):
		var nothing T
		return nothing, ErrInterrupted
	}
}

// BeginsAgain is why a point begins again when it is killed; "": it goes on from its last snapshot.
func (f *File) BeginsAgain(p *Point) string { return cmp.Or(f.kind.again, f.kind.pointAgain(p.config)) }
