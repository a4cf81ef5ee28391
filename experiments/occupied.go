package experiments

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CheckFolder tells whether a run may write to a result folder. One that holds
// an earlier run is left alone, unless the run resumes that or is forced to
// replace it. The error is a *FolderError.
func CheckFolder(dir string, resume, force bool) error {
	switch {
	case resume || force:
	case exists(filepath.Join(dir, manifestFile)):
		return &FolderError{dir, "holds the results of a finished run: replace them with --force, keep the points that have not changed with --resume, or choose another folder with --out"}
	case exists(filepath.Join(dir, journalFile)):
		return &FolderError{dir, "holds the finished points of an interrupted run: go on with --resume, begin again with --force, or choose another folder with --out"}
	}
	return nil
}

// open prepares the result folder: takes over the journal if points are to be
// kept, and removes what an earlier run left otherwise.
func (r *runner) open() error {
	dir := r.execution.Dir
	if err := CheckFolder(dir, r.execution.Resume, r.execution.Force); err != nil {
		return err
	}
	if err := MakeFolder(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, journalFile)
	j, records, err := openJournal(path, r.execution.Resume)
	if err != nil {
		return &FolderError{dir, "cannot be written to: " + reason(err)}
	}
	r.journal, r.records = j, records
	for _, name := range leftBy(dir) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			j.close()
			if !r.execution.Resume {
				_ = os.Remove(path) // it was not there before, or is of no use
			}
			return &FolderError{dir, name + " cannot be replaced: " + reason(err)}
		}
		if filepath.Dir(name) != "." {
			_ = os.Remove(filepath.Join(dir, filepath.Dir(name))) // if it is empty
		}
	}
	if !r.execution.Resume {
		if err := os.RemoveAll(filepath.Join(dir, slurmFolder)); err != nil {
			j.close()
			return &FolderError{dir, slurmFolder + " cannot be removed: " + reason(err)}
		}
	}
	wanted := map[string]bool{}
	for _, p := range r.file.Points {
		wanted[p.Hash] = true
	}
	r.spare = map[string]*record{}
	for hash, rec := range r.records {
		if !wanted[hash] { // stale, the file has changed since; or refinement adds it again
			r.spare[hash] = rec
			delete(r.records, hash)
		}
	}
	return nil
}

// leftBy lists what an earlier run has written to a folder beside its journal:
// names relative to it, within it. The manifest comes first: without it a
// folder counts as unfinished.
func leftBy(dir string) []string {
	old := []string{manifestFile, resultsFile, performanceFile, failuresFile, resolvedFile}
	m, err := readManifest(dir)
	if err != nil {
		return old
	}
	for _, name := range m.Tables {
		old = append(old, filepath.Base(name)+".csv")
	}
	for _, name := range append(slices.Clone(m.Files), m.figures()...) {
		if path := filepath.FromSlash(name); filepath.IsLocal(path) {
			old = append(old, path)
		}
	}
	return old
}

// figures lists the pictures that a run's file asked for. The file may be of
// another version of weft, so nothing but their names is read from it.
func (m *Manifest) figures() []string {
	d, err := parseDocument(resolvedFile, m.Resolved)
	if err != nil {
		return nil
	}
	var names []string
	for _, table := range d.elements("plot") {
		file, _ := table["file"].(string)
		if file == "" {
			x, _ := table["x"].(string)
			file = figureName(textsOf(table["y"]), x)
		}
		formats := textsOf(table["formats"])
		if len(formats) == 0 {
			formats = defaultFormats()
		}
		for _, format := range formats {
			if slices.Contains(PictureFormats, format) && !strings.ContainsAny(file, `/\`) {
				names = append(names, file+"."+format)
			}
		}
	}
	return names
}

// textsOf reads a string or a list of strings.
func textsOf(raw any) []string {
	list, isList := raw.([]any)
	if !isList {
		list = []any{raw}
	}
	var texts []string
	for _, one := range list {
		if text, ok := one.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}
