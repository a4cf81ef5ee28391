package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
)

// Names of the files in a result folder.
const (
	resultsFile     = results.File
	performanceFile = experiments.PerformanceTable + ".csv"
	failuresFile    = "failures.csv"
	manifestFile    = "manifest.json"
	resolvedFile    = "resolved.toml"
	journalFile     = "journal"
)

// FolderError says that a result folder cannot be used, before anything has been computed.
type FolderError struct{ Dir, Reason string }

func (e *FolderError) Error() string { return fmt.Sprintf("result folder %s: %s", e.Dir, e.Reason) }

// MakeFolder makes a result folder if need be. The error is a *FolderError.
func MakeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return &FolderError{dir, "cannot be made: " + results.Reason(err)}
	}
	return nil
}

// open prepares the result folder: takes over the journal if points are to be
// kept, and removes what an earlier run left otherwise.
func (r *runner) open() error {
	dir := r.execution.Dir
	if err := MakeFolder(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, journalFile)
	if err := CheckFolder(dir, r.execution.Resume, r.execution.Force); err != nil {
		return err
	}
	j, records, err := openJournal(path, r.execution.Resume, r.file)
	if err != nil {
		return &FolderError{dir, "cannot be written to: " + results.Reason(err)}
	}
	r.journal, r.records = j, records
	results.RemoveTemporary(dir)
	// The manifest goes first: without it a folder counts as unfinished.
	old := []string{manifestFile, resultsFile, performanceFile, failuresFile, resolvedFile, shardFile}
	if m, err := readManifest(dir); err == nil {
		for _, name := range append([]string{"results"}, m.Tables...) {
			for _, format := range append([]string{"csv"}, m.Formats...) {
				if slices.Contains(results.TableFormats, format) {
					old = append(old, filepath.Base(name)+"."+format)
				}
			}
		}
		for _, name := range append(slices.Clone(m.Files), experiments.PictureNames(resolvedFile, m.Resolved)...) {
			if path := filepath.FromSlash(name); filepath.IsLocal(path) {
				old = append(old, path)
			}
		}
	}
	for _, name := range old {
		if results.InsideOnly(dir, filepath.Dir(name)) != nil {
			continue // not written by weft: it follows no link
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			j.close()
			if !r.execution.Resume {
				_ = os.Remove(path) // it was not there before, or is of no use
			}
			return &FolderError{dir, name + " cannot be replaced: " + results.Reason(err)}
		}
		if filepath.Dir(name) != "." {
			_ = os.Remove(filepath.Join(dir, filepath.Dir(name))) // if it is empty
		}
	}
	if !r.execution.Resume {
		_ = os.RemoveAll(filepath.Join(dir, slurmFolder)) // of tasks that have failed
		_ = os.RemoveAll(filepath.Join(dir, experiments.SnapshotFolder))
	}
	wanted := lists.Set(r.file.Points, func(p *experiments.Point) string { return p.Hash })
	r.spare = map[string]*experiments.Record{}
	for hash, rec := range r.records {
		if !wanted[hash] { // stale, the file has changed since; or refinement adds it again
			r.spare[hash] = rec
			delete(r.records, hash)
		}
	}
	return nil
}

// finish puts the tables together in point order and writes the result folder.
func (r *runner) finish(ctx context.Context) (*Outcome, error) {
	f := r.file
	outcome := &Outcome{
		Results: &results.Table{Columns: f.ColumnNames()},
		Tables:  map[string]*results.Table{},
		Files:   map[string]string{}, OnOneThread: map[string]int{},
		Reused: r.reused, Points: len(r.points), Finished: r.finished(),
	}
	performance := &results.Table{Columns: append([]string{"point"}, experiments.PerformanceColumns...)}
	for _, p := range r.points {
		rec := r.records[p.Hash]
		if rec == nil {
			outcome.Failures = append(outcome.Failures, Failure{p, r.reasons[p.Hash]})
			continue
		}
		lead := f.Lead(p)
		if name := outcome.unlike(rec, len(lead)); name != "" {
			outcome.Failures = append(outcome.Failures, Failure{p, fmt.Sprintf("its table %q has other columns than that of the points before", name)})
			outcome.Finished--
			continue
		}
		row := append(slices.Clone(lead), strconv.Itoa(rec.Replications))
		outcome.Results.Rows = append(outcome.Results.Rows, append(row, rec.Cells...))
		performance.Rows = append(performance.Rows, []string{
			lead[0], strconv.FormatInt(rec.Events, 10), strconv.FormatInt(rec.FlitHops, 10),
			strconv.FormatFloat(rec.WallSeconds, 'f', 3, 64), strconv.FormatInt(rec.PeakBytes>>20, 10),
		})
		outcome.Warnings = append(outcome.Warnings, lists.Map(rec.Warnings, func(warning string) Failure { return Failure{p, warning} })...)
		if rec.OnOneThread != "" {
			outcome.OnOneThread[rec.OnOneThread]++
		}
		for _, o := range rec.Tables {
			outcome.add(f, lead, o)
		}
		for i := range rec.Files {
			outcome.Files[rec.Files[i].Path(p.Index)] = rec.Files[i].Content
		}
	}
	if r.execution.Dir == "" {
		return outcome, nil
	}
	_ = os.RemoveAll(filepath.Join(r.execution.Dir, experiments.SnapshotFolder))
	return outcome, r.write(ctx, outcome, performance)
}

// unlike names a table of a point whose columns differ from earlier points' columns;
// lead is the number of columns in front.
func (o *Outcome) unlike(rec *experiments.Record, lead int) string {
	for _, part := range rec.Tables {
		if t := o.Tables[part.Name]; t != nil && !slices.Equal(t.Columns[lead:], part.Columns) {
			return part.Name
		}
	}
	return ""
}

// add appends a point's rows of a further table.
func (o *Outcome) add(f *experiments.File, lead []string, part *experiments.Output) {
	t := o.Tables[part.Name]
	if t == nil {
		t = &results.Table{Columns: append(slices.Clone(f.ColumnNames()[:len(lead)]), part.Columns...)}
		o.Tables[part.Name] = t
	}
	t.Rows = append(t.Rows, lists.Map(part.Rows, func(row []string) []string { return append(slices.Clone(lead), row...) })...)
}

// write fills the result folder. Each file appears complete or not at all; the
// manifest comes last, after the figures, so that a folder with a manifest is
// whole. Figures that cannot be drawn do not stop the rest; those that cannot be written leave it
// without.
func (r *runner) write(ctx context.Context, o *Outcome, performance *results.Table) error {
	dir := r.execution.Dir
	tables := maps.Clone(o.Tables)
	tables[figures.ResultsTable] = o.Results
	for _, name := range results.SortedKeys(tables) {
		if err := writeTable(dir, name, tables[name], append([]string{"csv"}, r.formats()...)); err != nil {
			return err
		}
	}
	ofRun := map[string]*results.Table{experiments.PerformanceTable: performance}
	if len(o.Failures) > 0 {
		ofRun[experiments.FailuresTable] = failureTable(r.file, o.Failures)
	}
	for _, name := range results.SortedKeys(ofRun) {
		if err := writeTable(dir, name, ofRun[name], []string{"csv"}); err != nil {
			return err
		}
	}
	for _, name := range results.SortedKeys(o.Files) {
		if err := results.WriteInside(dir, name, []byte(o.Files[name])); err != nil {
			return err
		}
	}
	if err := results.WriteInside(dir, resolvedFile, []byte(r.file.ResolvedIn(dir))); err != nil {
		return err
	}
	var undrawn error
	drawn := maps.Clone(o.Tables)
	maps.Copy(drawn, ofRun)
	if o.Figures, o.Empty, undrawn = r.file.Draw(ctx, o.Results, drawn, dir); ctx.Err() != nil && errors.Is(undrawn, experiments.ErrInterrupted) {
		return experiments.ErrInterrupted
	}
	if missing := (*results.WriteError)(nil); errors.As(undrawn, &missing) {
		return undrawn
	}
	return errors.Join(undrawn, writeJSON(dir, manifestFile, r.manifest(o)))
}

// formats lists the forms of tables beside CSV that were asked for.
func (r *runner) formats() []string {
	return slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(r.execution.Formats))), func(s string) bool { return s == "csv" })
}

// writeJSON writes a value into a file of a result folder.
func writeJSON(dir, name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return results.WriteInside(dir, name, append(text, '\n'))
}

// writeTable writes a table of a result folder in some of [results.TableFormats].
func writeTable(dir, name string, t *results.Table, formats []string) error {
	for _, format := range formats {
		text, err := t.Encode(format)
		if err != nil {
			return err
		}
		if err := results.WriteInside(dir, name+"."+format, text); err != nil {
			return err
		}
	}
	return nil
}

func failureTable(f *experiments.File, failures []Failure) *results.Table {
	t := &results.Table{Columns: append(append([]string{"point"}, f.SweptKeys()...), "reason")}
	for _, x := range failures {
		row := append([]string{strconv.Itoa(x.Point.Index)}, x.Point.Swept...)
		t.Rows = append(t.Rows, append(row, x.Reason))
	}
	return t
}

// Manifest is the provenance of a result folder.
type Manifest struct {
	Weft    string   `json:"weft"`
	File    string   `json:"file"`
	Command []string `json:"command,omitempty"` // the command line, with the options that were given as --NAME=VALUE
	Set     []string `json:"set,omitempty"`     // what --set and --seed have laid over the file, KEY=VALUE
	Quick   bool     `json:"quick,omitempty"`   // the file's [quick] table was applied
	Title   string   `json:"title"`
	Kind    string   `json:"kind"`
	Hash    string   `json:"hash"`  // of the resolved configurations of all points
	Seeds   []uint64 `json:"seeds"` // of the points, without repetition
	Points  int      `json:"points"`
	Failed  int      `json:"failed"`
	Reused  int      `json:"reused"`
	Jobs    int      `json:"jobs"`
	Threads int      `json:"threads"`
	Tables  []string `json:"tables"`                 // CSV files of the kind beside results.csv, without extension
	Files   []string `json:"files,omitempty"`        // further files of points, such as traces/0.txt
	Cyclic  []string `json:"can_deadlock,omitempty"` // networks that can deadlock and were allowed to, each with a cycle of channels
	// OnOneThread counts the points that one thread simulated although Threads are
	// more, by the reason.
	OnOneThread map[string]int `json:"on_one_thread,omitempty"`
	Formats     []string       `json:"formats,omitempty"` // other forms of these and of results.csv, such as jsonl
	// Bounds are the highest loads that the channels can carry, proven, of the first
	// point of each variant of a load sweep, by its index, as far as they are known.
	Bounds   map[int]float64 `json:"bounds,omitempty"`
	Started  time.Time       `json:"started"`
	Finished time.Time       `json:"finished"`
	Host     HostFacts       `json:"host"`
	Resolved string          `json:"resolved"` // the content of resolved.toml
}

// readManifest reads the manifest of a result folder. The error says what is wrong with the file.
func readManifest(dir string) (*Manifest, error) {
	text, err := input.ReadRegular(filepath.Join(dir, manifestFile), input.MaxInput)
	if err != nil {
		return nil, errors.New(manifestFile + " cannot be read: " + err.Error())
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, errors.New(manifestFile + " is damaged: " + err.Error())
	}
	return m, nil
}

// HostFacts describes the machine that computed a result folder.
type HostFacts struct {
	Name string `json:"name"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
}

func (r *runner) manifest(o *Outcome) Manifest {
	f := r.file
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var seeds []uint64
	for _, p := range r.points {
		seeds = results.AddNew(seeds, p.Seed)
	}
	return Manifest{
		Weft: experiments.Version(), File: f.Name, Command: r.execution.Command, Set: f.Set, Quick: f.Quick, Title: f.Title, Kind: f.Kind(), Hash: hashOf(r.points), Seeds: seeds,
		Points: len(r.points), Failed: len(o.Failures), Reused: o.Reused,
		Jobs: r.jobs(), Threads: max(r.execution.Threads, 1), OnOneThread: o.OnOneThread,
		Tables:  results.SortedKeys(o.Tables),
		Formats: r.formats(),
		Files:   results.SortedKeys(o.Files),
		Cyclic:  f.Cyclic,
		Bounds:  r.bounds(o.Results),
		Started: r.started.UTC(), Finished: time.Now().UTC(),
		Host:     HostFacts{host, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()},
		Resolved: f.ResolvedIn(r.execution.Dir),
	}
}

// bounds computes the bounds of a load sweep. Cost: little, the channel loads of the run are kept.
func (r *runner) bounds(results *results.Table) map[int]float64 {
	all := map[int]float64{}
	for _, k := range results.Knees() {
		if bound := r.file.LoadBound(r.points[k.Point]); bound > 0 {
			all[k.Point] = bound
		}
	}
	return all
}

// hashOf names the resolved configurations of some points.
func hashOf(points []*experiments.Point) string {
	h := sha256.New()
	for _, p := range points {
		fmt.Fprintln(h, p.Hash)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
