package experiments

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/weft-sim/weft/sim/input"
)

// Folder is a finished result folder, read back.
type Folder struct {
	Dir      string
	Manifest Manifest
	File     *File             // from the resolved settings
	Results  *Table            // results.csv
	Tables   map[string]*Table // further tables of the kind, by name
	Failures *Table            // points without a row; nil if there are none
}

// FindFolders lists the result folders in and below dir in alphabetical order:
// finished ones, which have a manifest, and those of interrupted runs, which
// have only a journal. A dir without either is a *FolderError.
func FindFolders(dir string) (finished, interrupted []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
		case entry.Name() == manifestFile:
			finished = append(finished, filepath.Dir(path))
		case entry.Name() == journalFile && !exists(filepath.Join(filepath.Dir(path), manifestFile)):
			interrupted = append(interrupted, filepath.Dir(path))
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, nil, &FolderError{dir, "cannot be read: " + reason(err)}
	case len(finished)+len(interrupted) == 0:
		return nil, nil, &FolderError{dir, "holds no results: there is no " + manifestFile + " in it or below"}
	}
	return finished, interrupted, nil
}

// ReadFolder reads a finished result folder. The error is a *FolderError.
func ReadFolder(dir string) (*Folder, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, &FolderError{dir, err.Error()}
	}
	f := &Folder{Dir: dir, Manifest: *m, Tables: map[string]*Table{}}
	f.File, err = Load(filepath.Join(dir, resolvedFile), m.Resolved, Options{finished: true})
	if err != nil {
		return nil, &FolderError{dir, fmt.Sprintf("its settings, of weft %s, are not valid in this version: %v; run the experiment again", m.Weft, err)}
	}
	if f.Results, err = readFolderTable(dir, resultsFile); err != nil {
		return nil, err
	}
	if err := f.File.replay(f.Results); err != nil {
		return nil, &FolderError{dir, resultsFile + ": " + err.Error()}
	}
	for _, name := range m.Tables {
		if f.Tables[name], err = readFolderTable(dir, filepath.Base(name)+".csv"); err != nil {
			return nil, err
		}
	}
	if m.Failed > 0 {
		if f.Failures, err = readFolderTable(dir, failuresFile); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// readFolderTable reads a table of a result folder.
func readFolderTable(dir, name string) (*Table, error) {
	in, err := input.OpenInput(filepath.Join(dir, name), input.MaxInput)
	if err != nil {
		return nil, &FolderError{dir, name + " cannot be read: " + err.Error()}
	}
	defer in.Close()
	t, err := ReadTable(name, in)
	if err != nil {
		return nil, &FolderError{dir, err.Error()}
	}
	return t, nil
}

// Verdicts judges the expectations of the folder's file.
func (f *Folder) Verdicts() []Verdict { return f.File.Verdicts(f.Results, f.Tables) }
