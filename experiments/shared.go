package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/weft-sim/weft/sim/input"
)

// Shared keeps what the points of a file share, and which parameters
// something built has made use of.
type Shared struct {
	cache       *Cache // nil: nothing is kept for later runs
	entries     sync.Map
	used, given sync.Map // by dotted key: bool
}

// note says whether something built uses a parameter, and whether the file sets it.
func (s *Shared) note(key string, used, given bool) {
	s.used.LoadOrStore(key, false)
	if used {
		s.used.Store(key, true)
	}
	if given {
		s.given.Store(key, true)
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

// forget lets go of everything; what is asked for again is built again.
func (s *Shared) forget() { s.entries.Clear() }

// digest is the SHA-256 of what a file holds, decompressed, read once for all
// points.
func (s *Shared) digest(path string) string {
	d, _ := s.Get("digest "+path, func() (any, error) {
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
	return d.(string)
}

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
