package experiments

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
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
func (f *Folder) Verdicts() []verdict.Verdict { return f.File.Verdicts(f.Results, f.Tables) }

// CheckFolder tells whether a run may write to a result folder. One that holds
// an earlier run is left alone, unless the run resumes that or is forced to
// replace it. The error is a *FolderError.
func CheckFolder(dir string, resume, force bool) error {
	switch {
	case beingWritten(dir):
		return &FolderError{dir, "another weft process is computing in it: wait until it is done, or choose another folder with --out"}
	case resume || force:
	case results.Exists(filepath.Join(dir, manifestFile)):
		return &FolderError{dir, "holds the results of a finished run: replace them with --force, keep the points that have not changed with --resume, or choose another folder with --out"}
	case results.Exists(filepath.Join(dir, journalFile)):
		return &FolderError{dir, "holds the finished points of an interrupted run: go on with --resume, begin again with --force, or choose another folder with --out"}
	}
	return nil
}

// beingWritten tells whether another process has the journal of a result folder.
func beingWritten(dir string) bool {
	f, err := os.Open(filepath.Join(dir, journalFile))
	if err != nil {
		return false
	}
	defer f.Close() // and with it the lock
	return lockFile(f) != nil
}

// figures lists the pictures that a run's file asked for. The file may be of
// another version of weft, so nothing but their names is read from it.
func (m *Manifest) figures() []string {
	d, err := document.Parse(resolvedFile, m.Resolved)
	if err != nil {
		return nil
	}
	dec := &decoder{doc: d, unknown: map[string]string{}}
	var names []string
	for path, table := range d.Elements("plot", d.Root["plot"], "") {
		p := NewPlot()
		dec.table(path, only(table, "file", "x", "y", "formats"), &p)
		file := cmp.Or(p.File, figures.NameOf(p.Y, p.X))
		for _, format := range p.Formats {
			if (slices.Contains(PictureFormats, format) || format == figures.CSVFormat) && !strings.ContainsAny(file, `/\`) {
				names = append(names, figures.FileOf(file, format))
			}
		}
	}
	return names
}

// ChannelLoad is what a channel of a network carried in the window of a point, on
// all virtual channels together.
type ChannelLoad struct {
	From, To string
	Load     float64 // flits per cycle
}

// ChannelLoads reads links.csv: the loads of the channels by the index of the
// point, channels out of switch ports first, in port order, then those out of
// terminals. nil where the run did not record them. The error is a *FolderError.
func (f *Folder) ChannelLoads() (map[int][]ChannelLoad, error) {
	t := f.Tables["links"]
	if t == nil || len(t.Rows) == 0 {
		return nil, nil
	}
	loads, err := channelLoads(t)
	if err != nil {
		return nil, &FolderError{f.Dir, "links.csv: " + err.Error()}
	}
	return loads, nil
}

// channelLoads adds up the virtual channels of each channel.
func channelLoads(t *Table) (map[int][]ChannelLoad, error) {
	at, err := t.Places([]string{"point", "from", "to", "flits_per_cycle"})
	if err != nil {
		return nil, err
	}
	loads := map[int][]ChannelLoad{}
	for _, r := range t.Rows {
		point, err := strconv.Atoi(r[at[0]])
		if err != nil {
			return nil, fmt.Errorf("point %q: want a number", r[at[0]])
		}
		load, err := strconv.ParseFloat(r[at[3]], 64)
		if err != nil {
			return nil, fmt.Errorf("flits_per_cycle %q: want a number", r[at[3]])
		}
		list := loads[point]
		if n := len(list); n > 0 && list[n-1].From == r[at[1]] && list[n-1].To == r[at[2]] {
			list[n-1].Load += load
			continue
		}
		loads[point] = append(list, ChannelLoad{r[at[1]], r[at[2]], load})
	}
	return loads, nil
}

// Hottest finds the channel that carried the most of all points, the first of several,
// in the table links of a run. ok is false where there is none.
func Hottest(links *Table) (point int, channel ChannelLoad, ok bool) {
	loads, err := channelLoads(links)
	if err != nil {
		return 0, ChannelLoad{}, false
	}
	for _, p := range slices.Sorted(maps.Keys(loads)) {
		for _, c := range loads[p] {
			if !ok || c.Load > channel.Load {
				point, channel, ok = p, c, true
			}
		}
	}
	return point, channel, ok
}

// SeriesFolder holds a file for each point of what every channel carried in the
// intervals of the window: one row a channel, in the order of links.csv, with its ends
// and class, and one column an interval, FROM-TO in cycles, of flits.
const SeriesFolder = "series"

// LoadSeries is the load of the channels of a point over its window.
type LoadSeries struct {
	Ends     []int64 // of the intervals, in cycles from the start of the window
	Channels []ChannelSeries
}

// ChannelSeries is a channel's load in each interval.
type ChannelSeries struct {
	From, To string
	Flits    []float64 // per cycle
}

// Series reads the load of the channels of a point over time; nil if the run
// did not record it. The error is a *FolderError.
func (f *Folder) Series(point int) (*LoadSeries, error) {
	name := fmt.Sprintf("%s/%d.csv", SeriesFolder, point)
	if !f.Manifest.has(name) {
		return nil, nil
	}
	t, err := readFolderTable(f.Dir, name)
	if err != nil {
		return nil, err
	}
	s, err := parseSeries(t)
	if err != nil {
		return nil, &FolderError{f.Dir, name + ": " + err.Error()}
	}
	return s, nil
}

// parseSeries reads a file of [SeriesFolder].
func parseSeries(t *Table) (*LoadSeries, error) {
	const lead = 3
	s := &LoadSeries{}
	if len(t.Columns) <= lead {
		return nil, fmt.Errorf("%d columns; want from, to, class, and the intervals", len(t.Columns))
	}
	begin := int64(0)
	for _, name := range t.Columns[lead:] {
		from, to, _ := strings.Cut(name, "-")
		first, err := strconv.ParseInt(from, 10, 64)
		end, err2 := strconv.ParseInt(to, 10, 64)
		if err != nil || err2 != nil || first != begin || end <= begin {
			return nil, fmt.Errorf("column %q: want an interval that begins at %d", name, begin)
		}
		s.Ends = append(s.Ends, end)
		begin = end
	}
	for _, row := range t.Rows {
		c := ChannelSeries{From: row[0], To: row[1], Flits: make([]float64, len(s.Ends))}
		begin := int64(0)
		for i, end := range s.Ends {
			n, err := strconv.ParseUint(row[lead+i], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%q flits from %s to %s", row[lead+i], c.From, c.To)
			}
			c.Flits[i] = float64(n) / float64(end-begin)
			begin = end
		}
		s.Channels = append(s.Channels, c)
	}
	return s, nil
}
