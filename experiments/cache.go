package experiments

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
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
	// Warn is told of entries that are damaged, and once of a folder that cannot be written.
	Warn func(message string)

	once sync.Once
}

// Of what the command keeps: 256 MiB, of what took a tenth of a second.
const (
	DefaultCacheLimit = 256 << 20
	DefaultCacheLeast = 100 * time.Millisecond
)

const cacheSuffix = ".weft-cache"

// path is the file of an entry.
func (c *Cache) path(key string) string {
	digest := sha256.Sum256([]byte(build() + "\n" + key))
	return filepath.Join(c.Dir, hex.EncodeToString(digest[:])+cacheSuffix)
}

// readEntry reads an entry of a cache; ok is false where there is none that is whole.
func readEntry[T any](c *Cache, key string, value *T) (ok bool) {
	path := c.path(key)
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	entry, err := snapshot.Open(file, build(), key, input.Memory()/2)
	if err == nil {
		snapshot.Value(entry, value)
		err = entry.End()
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

// errLarge says that an entry is larger than all may be together.
var errLarge = errors.New("larger than the limit of the cache")

// writeEntry writes an entry of a cache and makes room for it.
func writeEntry[T any](c *Cache, key string, value *T) {
	err := results.StreamInside(c.Dir, filepath.Base(c.path(key)), func(f *os.File) error {
		err := snapshot.Write(f, build(), key, func(a *snapshot.Archive) error { snapshot.Value(a, value); return nil })
		if info, unknown := f.Stat(); unknown == nil && info.Size() > c.Limit {
			err = errLarge
		}
		return err
	})
	switch {
	case errors.Is(err, errLarge):
	case err != nil:
		c.once.Do(func() { c.warn(fmt.Sprintf("%s: nothing is kept for later runs: %v", c.Dir, err)) })
	default:
		c.evict()
	}
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

// Shared keeps what the points of a file share, and which parameters
// something built has made use of.
type Shared struct {
	cache       *Cache // nil: nothing is kept for later runs
	entries     sync.Map
	used, given sync.Map // by dotted key: bool
	lately      sync.Map // by name: what Latest keeps
}

// note says whether something built uses a parameter, and whether the file sets it.
func (s *Shared) note(key string, used, given bool) {
	if before, known := s.used.Load(key); !known || used && !before.(bool) { // a sweep asks at each point: mostly there is nothing new
		s.used.LoadOrStore(key, false)
		if used {
			s.used.Store(key, true)
		}
	}
	if given {
		s.given.LoadOrStore(key, true)
	}
}

// idle tells whether nothing built makes use of a parameter.
func (s *Shared) idle(key string) bool {
	used, known := s.used.Load(key)
	return known && !used.(bool)
}

// unused lists the parameters that the file sets and nothing built uses.
func (s *Shared) unused() []string {
	var keys []string
	s.given.Range(func(key, _ any) bool {
		if s.idle(key.(string)) {
			keys = append(keys, key.(string))
		}
		return true
	})
	slices.Sort(keys)
	return keys
}

type sharedBuild struct {
	once  sync.Once
	value any
	err   error
}

// Get builds what key names, once for all that ask; its error too is kept. Where nothing
// is shared, s being nil, every call builds.
func (s *Shared) Get(key string, build func() (any, error)) (any, error) {
	if s == nil {
		return build()
	}
	entry, _ := s.entries.LoadOrStore(key, &sharedBuild{})
	b := entry.(*sharedBuild)
	b.once.Do(func() { b.value, b.err = build() })
	return b.value, b.err
}

// Share is [Shared.Get] of a type.
func Share[T any](s *Shared, key string, build func() (T, error)) (T, error) {
	value, err := s.Get(key, func() (any, error) { return build() })
	x, _ := value.(T) // an interface may be nil
	return x, err
}

// Latest is [Share] of what is large or cheap: under a name, only what was asked for last is kept, and
// what it was built of: a text, or a pointer to a struct, of which a copy is kept. What slices and
// maps hold there must not change in place.
func Latest[T any](s *Shared, name string, of any, build func() (T, error)) (T, error) {
	type kept struct {
		of    any
		value T
	}
	if s == nil {
		return build()
	}
	if before, _ := s.lately.Load(name); before != nil && reflect.DeepEqual(before.(*kept).of, of) {
		return before.(*kept).value, nil
	}
	value, err := build()
	if err != nil {
		return value, err
	}
	if v := reflect.ValueOf(of); v.Kind() == reflect.Pointer {
		own := reflect.New(v.Type().Elem())
		own.Elem().Set(v.Elem())
		of = own.Interface()
	}
	s.lately.Store(name, &kept{of, value})
	return value, nil
}

// forget lets go of everything; what is asked for again is built again.
func (s *Shared) forget() {
	s.entries.Clear()
	s.lately.Clear()
}

// digest is the SHA-256 of what a file holds, decompressed, read once for all points.
func (s *Shared) digest(path string) string {
	d, _ := Share(s, "digest "+path, func() (string, error) {
		in, err := input.OpenInput(path, input.MaxStream)
		if err != nil {
			return "", nil
		}
		defer in.Close()
		hash := sha256.New()
		if _, err := io.Copy(hash, in); err != nil {
			return "", nil
		}
		return hex.EncodeToString(hash.Sum(nil)), nil
	})
	return d
}

// Cached is [Shared.Get] of what is worth keeping for later runs: if the file's cache has it,
// it is read from there. T is archived by [snapshot.Value]. key must name all that it depends on
// but the build of weft.
func Cached[T any](s *Shared, key string, compute func() (T, error)) (T, error) {
	return Share(s, key, func() (T, error) {
		if s == nil || s.cache == nil {
			return compute()
		}
		c := s.cache
		var kept T
		if readEntry(c, key, &kept) {
			return kept, nil
		}
		start := time.Now()
		value, err := compute()
		if err == nil && time.Since(start) >= c.Least {
			writeEntry(c, key, &value)
		}
		return value, err
	})
}
