package opensmruns

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/input"
)

// Run is a line of the index: what OpenSM made of a fabric with some options.
type Run struct {
	Fabric, Variant string
	Engine          string
	Options         string // lines of opensm.conf, joined by " ; "
	Refused         bool
	LFT             string // first digits of the table's SHA-256
	Entries         int    // of the table
	Levels          string // service levels in use, hexadecimal digits
	SL              string // first digits of the SHA-256 of the levels' rows
	SL2VL           string
	SameAs          string // variant whose table is the same
	Reason          string // of the refusal
	Random          bool   // a second run had other service levels
	at              string // file:line
}

// Folder is a folder of runs.
type Folder struct {
	Runs     []Run
	path     string
	name     string // for messages
	problems experiments.Problems
	// Files with problems, each read once.
	checked map[string]bool
}

// columns of the index, each needed.
var columns = []string{"fabric", "variant", "engine", "options", "status", "engine_used", "lft_sha256", "lft_entries",
	"SLs_used", "sl_sha256", "sl2vl", "same_as", "reason_if_refused", "second_run"}

// plainName is a name that can be one of a file.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}$`)

// ReadFolder reads the index of a folder and checks the tables that it has against
// the index. The error is of type experiments.Problems and holds everything that is
// wrong, each with file and line.
func ReadFolder(path string) (*Folder, error) {
	f := &Folder{path: path, name: path, checked: map[string]bool{}}
	file := f.file("index.tsv")
	text, err := input.ReadInput(file, input.MaxInput)
	if err != nil {
		return nil, experiments.Problems{{At: file, Message: fmt.Sprintf("cannot be read: %v; want a table of runs, see weft reproduce --help", err)}}
	}
	f.readIndex(file, string(text))
	for _, r := range f.Runs {
		f.checkFiles(&r)
	}
	if len(f.Runs) == 0 && len(f.problems) == 0 {
		f.problem(file, "holds no runs")
	}
	if len(f.problems) > 0 {
		return nil, f.problems
	}
	return f, nil
}

func (f *Folder) problem(at, format string, args ...any) {
	f.problems = append(f.problems, &experiments.Problem{At: at, Message: fmt.Sprintf(format, args...)})
}

// file is the path of a file in the folder.
func (f *Folder) file(parts ...string) string {
	return filepath.Join(append([]string{f.path}, parts...)...)
}

func (f *Folder) readIndex(file, text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	column := map[string]int{}
	for i, name := range strings.Split(strings.TrimRight(lines[0], "\r"), "\t") {
		column[name] = i
	}
	for _, name := range columns {
		if _, there := column[name]; !there {
			f.problem(file+":1", "no column %s: want a table separated by tabs with the columns %s", name, strings.Join(columns, ", "))
		}
	}
	if len(f.problems) > 0 {
		return
	}
	seen := map[string]string{}
	for i, line := range lines[1:] {
		at := file + ":" + strconv.Itoa(i+2)
		if line = strings.TrimRight(line, "\r"); line == "" {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) < len(column) {
			f.problem(at, "%d cells, want %d: the line is cut", len(cells), len(column))
			continue
		}
		cell := func(name string) string {
			if c := cells[column[name]]; c != "-" {
				return c
			}
			return ""
		}
		r := Run{Fabric: cell("fabric"), Variant: cell("variant"), Engine: cell("engine"), Options: cell("options"),
			LFT: cell("lft_sha256"), Levels: cell("SLs_used"), SL: cell("sl_sha256"), SL2VL: cell("sl2vl"), SameAs: cell("same_as"),
			Reason: cell("reason_if_refused"), Random: strings.Contains(cell("second_run"), "DIFFERS"), at: at}
		if !plainName.MatchString(r.Fabric) || !plainName.MatchString(r.Variant) {
			f.problem(at, "fabric %q, variant %q: want names of letters, digits and _.+-", r.Fabric, r.Variant)
			continue
		}
		if first, twice := seen[r.Fabric+"/"+r.Variant]; twice {
			f.problem(at, "%s/%s again: it is in %s, too", r.Fabric, r.Variant, first)
			continue
		}
		seen[r.Fabric+"/"+r.Variant] = at
		f.readRow(&r, cell("status"), cell("engine_used"), cell("lft_entries"))
	}
}

// hash is how the index gives one.
var hash = regexp.MustCompile(`^[0-9a-f]{16}$`)

// readRow takes what needs a check.
func (f *Folder) readRow(r *Run, status, used, entries string) {
	before := len(f.problems)
	switch {
	case status == "ok" && used != r.Engine:
		f.problem(r.at, "status ok, but engine %q and engine_used %q differ", r.Engine, used)
	case status == "refused":
		r.Refused = true
	case status != "ok":
		f.problem(r.at, "status %q: want ok or refused", status)
	}
	n, err := strconv.Atoi(entries)
	if err != nil || n < 0 {
		f.problem(r.at, "lft_entries %q: want a number", entries)
	}
	r.Entries = n
	if !r.Refused && !hash.MatchString(r.LFT) {
		f.problem(r.at, "lft_sha256 %q: want 16 hexadecimal digits", r.LFT)
	}
	if r.SL != "" && !hash.MatchString(r.SL) {
		f.problem(r.at, "sl_sha256 %q: want 16 hexadecimal digits", r.SL)
	}
	if len(f.problems) == before {
		f.Runs = append(f.Runs, *r)
	}
}

// find is the path of a file, plain or compressed; "" if there is none.
func find(path string) string {
	for _, ending := range []string{"", ".gz", ".zst"} {
		if info, err := os.Stat(path + ending); err == nil && !info.IsDir() {
			return path + ending
		}
	}
	return ""
}

// net is the path of a fabric, "" if there is none.
func (f *Folder) net(fabric string) string {
	if path := find(f.file("nets", fabric+".net")); path != "" {
		return path
	}
	beside, err := filepath.Glob(f.file("..", "opensm", "real", fabric+"-*.txt"))
	if err != nil || len(beside) == 0 {
		return ""
	}
	return slices.Min(beside)
}

// kept is the path of a file of a run, or of the run that its table is the same as;
// "" where it was not kept.
func (f *Folder) kept(r *Run, ending string) string {
	if path := find(f.file("runs", r.Fabric, r.Variant+ending)); path != "" || r.SameAs == "" || ending != ".lft" {
		return path
	}
	return find(f.file("runs", r.Fabric, r.SameAs+ending))
}

// checkFiles compares what was kept of a run with the index.
func (f *Folder) checkFiles(r *Run) {
	if f.net(r.Fabric) == "" {
		if file := f.file("nets", r.Fabric+".net"); !f.checked[file] {
			f.checked[file] = true
			f.problem(file, "is not there, nor compressed; %s needs it", r.at)
		}
	}
	if r.Refused {
		return
	}
	if path := f.kept(r, ".lft"); path != "" {
		t, problems := readLFT(path)
		if f.problems = append(f.problems, problems...); len(problems) == 0 && (t.sum != r.LFT || t.entries() != r.Entries) {
			f.problem(r.at, "%s has %d entries and SHA-256 %s, the index says %d and %s", path, t.entries(), t.sum, r.Entries, r.LFT)
		}
	}
	if path := f.kept(r, ".sl"); path != "" {
		t, problems := readSL(path)
		if f.problems = append(f.problems, problems...); len(problems) == 0 && t.sum != r.SL {
			f.problem(r.at, "%s has rows of SHA-256 %s, the index says %s", path, t.sum, r.SL)
		}
	}
}
