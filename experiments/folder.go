package experiments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	f := &Folder{Dir: dir, Tables: map[string]*Table{}}
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return nil, &FolderError{dir, manifestFile + " cannot be read: " + reason(err)}
	}
	if err := json.Unmarshal(text, &f.Manifest); err != nil {
		return nil, &FolderError{dir, manifestFile + " is damaged: " + err.Error()}
	}
	f.File, err = Load(filepath.Join(dir, resolvedFile), f.Manifest.Resolved, Options{})
	if err != nil {
		return nil, &FolderError{dir, fmt.Sprintf("its settings, of weft %s, are not valid in this version: %v; run the experiment again", f.Manifest.Weft, err)}
	}
	entries, err := os.ReadDir(dir) // in alphabetical order
	if err != nil {
		return nil, &FolderError{dir, "cannot be read: " + reason(err)}
	}
	for _, entry := range entries {
		if entry.IsDir() || filepath.Ext(entry.Name()) != ".csv" {
			continue
		}
		name := filepath.Join(dir, entry.Name())
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, &FolderError{dir, filepath.Base(name) + " cannot be read: " + reason(err)}
		}
		t, err := ReadTable(name, bytes.NewReader(text))
		if err != nil {
			return nil, &FolderError{dir, err.Error()}
		}
		switch base := filepath.Base(name); base {
		case resultsFile:
			f.Results = t
		case failuresFile:
			f.Failures = t
		case performanceFile:
		default:
			f.Tables[strings.TrimSuffix(base, ".csv")] = t
		}
	}
	if f.Results == nil {
		return nil, &FolderError{dir, "has no " + resultsFile}
	}
	return f, nil
}

// Verdicts judges the expectations of the folder's file.
func (f *Folder) Verdicts() []Verdict { return f.File.Verdicts(f.Results, f.Tables) }
