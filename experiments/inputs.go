package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// fileReader is a configuration that names files to read.
type fileReader interface {
	// RelativeTo makes relative paths start at dir.
	RelativeTo(dir string)
	// Files are the paths.
	Files() []string
}

// readerOf tells whether a configuration of a registry names files: by methods of
// its own, or by the tag file:"read" of settings that hold paths.
func readerOf(config any) (r fileReader, ok bool) {
	if r, ok = config.(fileReader); ok {
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
func fileReaders(config any) []fileReader {
	var found []fileReader
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
func (f *File) locateInputs(config any) []setting {
	dir := f.inputFolder()
	var digests []setting
	for _, r := range fileReaders(config) {
		r.RelativeTo(dir)
		for _, path := range r.Files() {
			digests = append(digests, setting{"content", f.shared.digest(path)})
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
		return slices.ContainsFunc(fileReaders(p.config), func(r fileReader) bool { return len(r.Files()) > 0 })
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
