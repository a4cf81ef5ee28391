package engine

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/input"
)

// Folder is a finished result folder, read back.
type Folder struct {
	Dir      string
	Manifest Manifest
	File     *experiments.File         // from the resolved settings
	Results  *results.Table            // results.csv
	Tables   map[string]*results.Table // further tables of the kind, by name
	Failures *results.Table            // points without a row; nil if there are none
}

// FindFolders lists the result folders in and below dir in alphabetical order:
// folders of finished runs, which have a manifest, and of interrupted runs, which
// have only a journal. A dir without either is a *FolderError.
func FindFolders(dir string) (finished, interrupted []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
		case entry.Name() == manifestFile:
			finished = append(finished, filepath.Dir(path))
		case entry.Name() == journalFile && !results.Exists(filepath.Join(filepath.Dir(path), manifestFile)):
			interrupted = append(interrupted, filepath.Dir(path))
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, nil, &FolderError{dir, "cannot be read: " + results.Reason(err)}
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
	f := &Folder{Dir: dir, Manifest: *m, Tables: map[string]*results.Table{}}
	f.File, err = experiments.LoadFinished(filepath.Join(dir, resolvedFile), m.Resolved)
	if err != nil {
		return nil, &FolderError{dir, fmt.Sprintf("its settings, of weft %s, are not valid in this version: %v; run the experiment again", m.Weft, err)}
	}
	if f.Results, err = readFolderTable(dir, resultsFile); err != nil {
		return nil, err
	}
	if err := f.File.Replay(f.Results); err != nil {
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

func readFolderTable(dir, name string) (*results.Table, error) {
	in, err := input.OpenRegular(filepath.Join(dir, name), input.MaxInput)
	if err != nil {
		return nil, &FolderError{dir, name + " cannot be read: " + err.Error()}
	}
	defer in.Close()
	t, err := results.ReadTable(name, in)
	if err != nil {
		return nil, &FolderError{dir, err.Error()}
	}
	return t, nil
}

// Verdicts judges the expectations of the folder's file.
func (f *Folder) Verdicts() []verdict.Verdict { return f.File.Verdicts(f.Results, f.Tables) }

// CheckFolder tells whether a run may write to a result folder. One that holds an earlier run is
// left alone, unless the run resumes that or is forced to replace it. The error is a *FolderError.
func CheckFolder(dir string, resume, force bool) error {
	switch {
	case beingWritten(dir):
		return &FolderError{dir, "another weft process is computing in it: wait until it is done, or choose another folder with --out"}
	case resume || force:
	case results.Exists(filepath.Join(dir, manifestFile)):
		return &FolderError{dir, "holds the results of a finished run: replace them with --force, keep the points that have not changed with --resume, or choose another folder with --out"}
	case results.Exists(filepath.Join(dir, journalFile)):
		return &FolderError{dir, "holds the finished points of an interrupted run: go on with --resume, begin again with --force, or choose another folder with --out"}
	case results.Exists(filepath.Join(dir, resultsFile)):
		return &FolderError{dir, "holds a " + resultsFile + " of no run here (there is no " + manifestFile + "): move it, replace it with --force, or choose another folder with --out"}
	}
	return nil
}

// beingWritten tells whether another process has the journal of a result folder.
func beingWritten(dir string) bool {
	journal := filepath.Join(dir, journalFile)
	if info, err := os.Stat(journal); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(journal)
	if err != nil {
		return false
	}
	defer f.Close() // and with it the lock
	return experiments.LockFile(f) != nil
}

// PlotSource is what a figure of the folder's file is drawn from.
func (f *Folder) PlotSource(p *figures.PlotConfig) (*figures.PlotSource, error) {
	tables := map[string]*results.Table{experiments.FailuresTable: f.Failures}
	maps.Copy(tables, f.Tables)
	if p.Table == experiments.PerformanceTable {
		t, err := readFolderTable(f.Dir, performanceFile)
		if err != nil {
			return nil, err
		}
		tables[experiments.PerformanceTable] = t
	}
	return f.File.PlotSource(p, f.Results, tables)
}

// FinishedPoints are the points of a file that the run in a folder has finished, by hash: none
// without a journal that can be read.
func FinishedPoints(f *experiments.File, dir string) map[string]*experiments.Record {
	text, _ := input.ReadRegular(filepath.Join(dir, journalFile), largestJournal()) // Execute says why it cannot
	finished, _ := readJournal(text, f)
	return finished
}

// ChannelLoads reads links.csv ([results.ChannelLoads]); nil where the run did not record
// it. The error is a *FolderError.
func (f *Folder) ChannelLoads() (map[int][]results.ChannelLoad, error) {
	t := f.Tables[results.LinksName]
	if t == nil || len(t.Rows) == 0 {
		return nil, nil
	}
	loads, err := results.ChannelLoads(t)
	if err != nil {
		return nil, &FolderError{f.Dir, "links.csv: " + err.Error()}
	}
	return loads, nil
}

// Series reads the load of the channels of a point over time; nil if the run
// did not record it. The error is a *FolderError.
func (f *Folder) Series(point int) (*results.LoadSeries, error) {
	name := fmt.Sprintf("%s/%d.csv", results.SeriesFolder, point)
	if !slices.Contains(f.Manifest.Files, name) {
		return nil, nil
	}
	t, err := readFolderTable(f.Dir, name)
	if err != nil {
		return nil, err
	}
	s, err := results.ParseSeries(t)
	if err != nil {
		return nil, &FolderError{f.Dir, name + ": " + err.Error()}
	}
	return s, nil
}
