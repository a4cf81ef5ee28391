package experiments

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Cache is a folder of what is costly to compute and depends on settings and input files
// alone, such as certificates and channel loads, for runs to come. An entry is named by
// the digest of what it depends on: the build of weft, settings, what files hold. Results
// are the same with a cache and without.
//
// Several processes may use a folder at a time: entries are written to a temporary name
// and renamed.
type Cache struct {
	Dir   string
	Limit int64 // bytes, beyond which the entries that were not used for longest are removed
	// Least is what an entry must have taken to compute, to be kept.
	Least time.Duration
	// Warn is told of entries that are damaged, and once of a folder that cannot be
	// written.
	Warn func(message string)

	once sync.Once
}

// Of what the command keeps: 256 MiB, of what took a tenth of a second.
const (
	DefaultCacheLimit = 256 << 20
	DefaultCacheLeast = 100 * time.Millisecond
)

const cacheSuffix = ".weft-cache"

// Cached is [Shared.Get] of what is worth keeping for later runs: if the file's cache has it,
// it is read from there. T is encoded by encoding/gob. key must name all that it depends on
// but the build of weft.
func Cached[T any](s *Shared, key string, compute func() (T, error)) (T, error) {
	value, err := s.Get(key, func() (any, error) {
		if s == nil || s.cache == nil {
			return compute()
		}
		c := s.cache
		var kept T
		if c.load(key, &kept) {
			return kept, nil
		}
		start := time.Now()
		value, err := compute()
		if err == nil && time.Since(start) >= c.Least {
			c.store(key, &value)
		}
		return value, err
	})
	if err != nil {
		var none T
		return none, err
	}
	return value.(T), nil
}

// path is the file of an entry.
func (c *Cache) path(key string) string {
	digest := sha256.Sum256([]byte(build() + "\n" + key))
	return filepath.Join(c.Dir, hex.EncodeToString(digest[:])+cacheSuffix)
}

// load reads an entry; ok is false where there is none that is whole.
func (c *Cache) load(key string, value any) (ok bool) {
	path := c.path(key)
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	file, err := snapshot.Decode(text, build(), input.Memory()/2)
	if err == nil {
		var content []byte
		if content, err = file.Find(key, nil); err == nil {
			err = gob.NewDecoder(bytes.NewReader(content)).Decode(value)
		}
	}
	if err == nil {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // it has been used
		return true
	}
	c.warn(fmt.Sprintf("%s: %v; not used", path, err))
	_ = os.Remove(path)
	return false
}

// store writes an entry and makes room for it.
func (c *Cache) store(key string, value any) {
	var content bytes.Buffer
	if err := gob.NewEncoder(&content).Encode(value); err != nil {
		panic("experiments: cache: " + err.Error())
	}
	text := (&snapshot.File{Build: build(), States: []snapshot.State{{Key: key, Data: content.Bytes()}}}).Encode()
	if int64(len(text)) > c.Limit {
		return
	}
	err := os.MkdirAll(c.Dir, 0o777)
	if err == nil {
		err = WriteFile(c.path(key), text)
	}
	if err != nil {
		c.once.Do(func() { c.warn(fmt.Sprintf("%s: nothing is kept for later runs: %v", c.Dir, err)) })
		return
	}
	c.evict()
}

// evict removes the entries that were not used for longest until the rest are within
// the limit. What others remove at the same time is no error.
func (c *Cache) evict() {
	files, err := os.ReadDir(c.Dir)
	if err != nil {
		return
	}
	var entries []fs.FileInfo // by which the last use is known
	total := int64(0)
	for _, f := range files {
		if info, err := f.Info(); err == nil && strings.HasSuffix(f.Name(), cacheSuffix) {
			entries = append(entries, info)
			total += info.Size()
		}
	}
	slices.SortFunc(entries, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, e := range entries {
		if total <= c.Limit {
			return
		}
		if os.Remove(filepath.Join(c.Dir, e.Name())) == nil {
			total -= e.Size()
		}
	}
}

func (c *Cache) warn(message string) {
	if c.Warn != nil {
		c.Warn(message)
	}
}

// keptFolder is where a result folder has the snapshots of points that are being
// computed.
const keptFolder = "snapshots"

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

// Checkpoint is the snapshot of the next part of the point: the first call is about the first
// part, such as a replication, and so on. Call it for all of them, in the same order each
// time.
func (r *Run) Checkpoint() *Checkpoint {
	r.parts++
	return r.keeping(fmt.Sprintf("%s.%d", r.hash, r.parts-1))
}

// WarmCheckpoint is the snapshot of the warm-up that [Run.Warm] has computed for a part.
func (r *Run) WarmCheckpoint(w Warmup) *Checkpoint {
	return r.keeping("warm-" + r.warmup.partKey(w))
}

func (r *Run) keeping(name string) *Checkpoint {
	if r.keep.dir == "" || r.keep.every <= 0 {
		return nil
	}
	k := r.keep
	k.name, k.began, k.from = name, time.Now(), &r.from
	return &k
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
		f.Close()
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

func (k *Checkpoint) file() string { return keptFolder + "/" + k.name + ".weft" }

// forgetKept removes the snapshots of a point that is finished.
func (r *runner) forgetKept(p *Point) {
	if r.execution.Dir == "" {
		return
	}
	dir := filepath.Join(r.execution.Dir, keptFolder)
	entries, err := os.ReadDir(dir)
	if err != nil || results.InsideOnly(r.execution.Dir, keptFolder) != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), p.Hash+".") {
			_ = os.Remove(filepath.Join(dir, e.Name())) // it hurts nobody if it stays
		}
	}
}

// removeKept removes all snapshots of a result folder.
func removeKept(dir string) { _ = os.RemoveAll(filepath.Join(dir, keptFolder)) }

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
