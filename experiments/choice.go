package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Choice is a setting whose value names an entry of a registry. The parameters
// of the entry stand beside it in the same table:
//
//	[topology]
//	type = "dragonfly"   # the Choice
//	p = 4                # parameters of the dragonfly
//
// Declare one in a table's struct as
//
//	Type experiments.Choice[struct{}, topology.Topology] `toml:"type" doc:"..."`
//
// and give it a registry and a default with [Choose].
type Choice[E, T any] struct {
	param.Choice[E, T]
	table  string   // dotted name of the table, for errors
	key    string   // of the choice in its table
	given  []string // parameters that the file sets
	shared *Shared
}

// Choose is a Choice from registry with the default name.
func Choose[E, T any](registry *param.Registry[E, T], name string) Choice[E, T] {
	return Choice[E, T]{Choice: param.Choose(registry, name)}
}

// Build constructs the chosen entry. Errors carry dotted keys.
func (c *Choice[E, T]) Build(env E) (T, error) {
	built, err := c.Choice.Build(env)
	if err != nil {
		var zero T
		return zero, document.Under(c.table, document.Join(c.table, c.blamed()), err)
	}
	if c.shared != nil {
		unused := c.Registry().Unused(c.Name(), env, built)
		for _, key := range fieldsOf(reflect.ValueOf(c.Config()).Elem()).names {
			c.shared.note(document.Join(c.table, key), !slices.Contains(unused, key), slices.Contains(c.given, key))
		}
	}
	return built, nil
}

// blamed is the key of the table that errors without a key are about: the one
// that names a file, if there is one, otherwise the choice.
func (c *Choice[E, T]) blamed() string {
	if r, ok := readerOf(c.Config()); ok {
		for _, f := range fieldsOf(reflect.ValueOf(c.Config()).Elem()).list {
			if f.value.Kind() == reflect.String && slices.Contains(r.Files(), f.value.String()) {
				return f.name
			}
		}
	}
	return c.key
}

// BuildShared is Build for what is costly to build and read-only afterwards:
// points of a file with the same choice and parameters get the same value.
func (c *Choice[E, T]) BuildShared(env E) (T, error) {
	value, err := c.shared.Get(fmt.Sprintf("%s\n%v", c.Fingerprint(), env), func() (any, error) { return c.Build(env) })
	if err != nil {
		var zero T
		return zero, err
	}
	return value.(T), nil
}

// Shared is what the points of the choice's file share; nil where there is no file.
func (c *Choice[E, T]) Shared() *Shared { return c.shared }

// Fingerprint names the choice with all its parameters, and what the files hold that
// these name.
func (c *Choice[E, T]) Fingerprint() string {
	var key strings.Builder
	fmt.Fprintf(&key, "%s %s", c.Kind(), c.Name())
	for _, f := range fieldsOf(reflect.ValueOf(c.Config()).Elem()).list {
		for _, s := range appendResolved(nil, f.name, f.value) {
			fmt.Fprintf(&key, "\n%s = %s", s.Key, document.Format(s.Value))
		}
	}
	if r, ok := readerOf(c.Config()); ok {
		for _, path := range r.Files() {
			fmt.Fprintf(&key, "\ncontent = %s", c.shared.digest(path))
		}
	}
	return key.String()
}

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

// Forget lets go of what the file's points share, such as large networks; what is asked for
// again is built again.
func (f *File) Forget() { f.shared.forget() }

// forget lets go of everything; what is asked for again is built again.
func (s *Shared) forget() { s.entries.Clear() }

// place tells a choice where it stands in a file, and what the points of that share.
func (c *Choice[E, T]) place(table, key string, shared *Shared) {
	c.table, c.key, c.given, c.shared = table, key, nil, shared
}

// give notes a parameter that the file sets.
func (c *Choice[E, T]) give(parameter string) { c.given = append(c.given, parameter) }

// readerOf tells whether a configuration of a registry names files: by methods of
// its own, or by the tag file:"read" of settings that hold paths.
func readerOf(config any) (r topology.PathConfig, ok bool) {
	if r, ok = config.(topology.PathConfig); ok {
		return r, true
	}
	var paths taggedPaths
	param.EachSetting(config, func(f reflect.StructField, v reflect.Value) {
		if f.Tag.Get("file") == "read" {
			paths = append(paths, v)
		}
	})
	return paths, len(paths) > 0
}

// taggedPaths are settings that hold paths; empty ones name no file.
type taggedPaths []reflect.Value

func (t taggedPaths) RelativeTo(dir string) {
	for _, v := range t {
		if path := v.String(); path != "" && !filepath.IsAbs(path) {
			v.SetString(filepath.Join(dir, path))
		}
	}
}

func (t taggedPaths) Files() []string {
	var files []string
	for _, v := range t {
		if v.String() != "" {
			files = append(files, v.String())
		}
	}
	return files
}

// fileReaders finds the choices of a point's configuration that read files.
func fileReaders(config any) []topology.PathConfig {
	var found []topology.PathConfig
	var search func(v reflect.Value)
	search = func(v reflect.Value) {
		if c, ok := v.Addr().Interface().(param.Chooser); ok {
			if r, ok := readerOf(c.Config()); ok {
				found = append(found, r)
			}
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			for _, f := range fieldsOf(v).list {
				search(f.value)
			}
		case reflect.Map:
			for _, element := range elementsOf(v) {
				search(element.value)
			}
		}
	}
	search(reflect.ValueOf(config).Elem())
	return found
}

// locateInputs makes the paths of a point's configuration start at the folder
// of the experiment file, and returns the digests of the files: results depend
// on what they hold. Files that cannot be read have none; building the point
// says what is wrong.
func (f *File) locateInputs(config any) []document.Setting {
	dir := f.inputFolder()
	var digests []document.Setting
	for _, r := range fileReaders(config) {
		r.RelativeTo(dir)
		for _, path := range r.Files() {
			digests = append(digests, document.Setting{Key: "content", Value: f.shared.digest(path)})
		}
	}
	return digests
}

// inputFolder is where relative paths of input files start.
func (f *File) inputFolder() string {
	dir := f.inputs
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(f.Name), filepath.FromSlash(dir))
	}
	if absolute, err := filepath.Abs(dir); err == nil {
		return absolute
	}
	return dir
}

// readsFiles tells whether a point or a figure reads files.
func (f *File) readsFiles() bool {
	if slices.ContainsFunc(f.Plots, func(p PlotConfig) bool {
		return slices.ContainsFunc(p.References, func(r ReferenceConfig) bool { return r.File != "" })
	}) {
		return true
	}
	return slices.ContainsFunc(f.Points, func(p *Point) bool {
		return slices.ContainsFunc(fileReaders(p.config), func(r topology.PathConfig) bool { return len(r.Files()) > 0 })
	})
}

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
