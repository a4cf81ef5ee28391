package opensmruns

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
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
	// Faults are the problems of its line in the index and of its files: it cannot be repeated
	// or compared then.
	Faults document.Problems
	at     string // file:line
}

func (r *Run) fault(at, format string, args ...any) {
	r.Faults = append(r.Faults, &document.Problem{At: at, Message: fmt.Sprintf(format, args...)})
}

// Folder is a folder of runs.
type Folder struct {
	Runs []Run
	path string
}

// columns of the index, each needed.
var columns = []string{"fabric", "variant", "engine", "options", "status", "engine_used", "lft_sha256", "lft_entries",
	"SLs_used", "sl_sha256", "sl2vl", "same_as", "reason_if_refused", "second_run"}

// plainName is a name that can be one of a file.
var plainName = input.Pattern(`^[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}$`)

// ReadFolder reads the index of a folder and checks the tables that it has against
// the index. Runs with problems have them as their Faults. The error is of type
// document.Problems, each with file and line: there is no index, or nothing in it.
func ReadFolder(path string) (*Folder, error) {
	f := &Folder{path: path}
	if err := f.readIndex(os.DirFS(path)); err != nil {
		return nil, err
	}
	for i := range f.Runs {
		f.checkFiles(&f.Runs[i])
	}
	return f, nil
}

// file is the path of a file in the folder.
func (f *Folder) file(parts ...string) string {
	return filepath.Join(append([]string{f.path}, parts...)...)
}

// readIndex reads the lines of the index; the error is one of its header.
func (f *Folder) readIndex(folder fs.FS) error {
	t, problem := judge.OpenTable(folder, f.path, "index.tsv", '\t', columns...)
	if problem != nil {
		return document.Problems{problem}
	}
	if t == nil {
		return document.Problems{{At: f.file("index.tsv"), Message: "cannot be read: no such file or directory; want a table of runs, see weft reproduce --help"}}
	}
	cell := func(name string) string {
		if text := t.Cell(name); text != "-" {
			return text
		}
		return ""
	}
	seen := map[string]string{}
	for cut := range t.Rows {
		r := Run{Fabric: cell("fabric"), Variant: cell("variant"), Engine: cell("engine"), Options: cell("options"),
			LFT: cell("lft_sha256"), Levels: cell("SLs_used"), SL: cell("sl_sha256"), SL2VL: cell("sl2vl"), SameAs: cell("same_as"),
			Reason: cell("reason_if_refused"), Random: strings.Contains(cell("second_run"), "DIFFERS"), at: fmt.Sprintf("%s:%d", t.At, t.Line)}
		first, twice := seen[r.Fabric+"/"+r.Variant]
		switch {
		case cut != nil:
			r.Faults = document.Problems{cut}
		case !plainName().MatchString(r.Fabric) || !plainName().MatchString(r.Variant):
			r.fault(r.at, "fabric %q, variant %q: want names of letters, digits and _.+-", r.Fabric, r.Variant)
		case r.SameAs != "" && !plainName().MatchString(r.SameAs):
			r.fault(r.at, "same_as %q: want a name of letters, digits and _.+-", r.SameAs)
		case twice:
			r.fault(r.at, "%s/%s again: it is in %s, too", r.Fabric, r.Variant, first)
		default:
			seen[r.Fabric+"/"+r.Variant] = r.at
			r.check(cell("status"), cell("engine_used"), cell("lft_entries"))
		}
		f.Runs = append(f.Runs, r)
	}
	return nil
}

// hash is how the index gives one.
var hash = input.Pattern(`^[0-9a-f]{16}$`)

// check takes what needs a check.
func (r *Run) check(status, used, entries string) {
	switch {
	case status == "ok" && used != r.Engine:
		r.fault(r.at, "status ok, but engine %q and engine_used %q differ", r.Engine, used)
	case status == "refused":
		r.Refused = true
	case status != "ok":
		r.fault(r.at, "status %q: want ok or refused", status)
	}
	n, err := strconv.Atoi(entries)
	if err != nil || n < 0 {
		r.fault(r.at, "lft_entries %q: want a number", entries)
	}
	r.Entries = n
	if !r.Refused && !hash().MatchString(r.LFT) {
		r.fault(r.at, "lft_sha256 %q: want 16 hexadecimal digits", r.LFT)
	}
	if r.SL != "" && !hash().MatchString(r.SL) {
		r.fault(r.at, "sl_sha256 %q: want 16 hexadecimal digits", r.SL)
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

// checkFiles compares what was kept of a run with the index; not the table of another run that
// its own is the same as, which the index alone can stand for.
func (f *Folder) checkFiles(r *Run) {
	if len(r.Faults) > 0 { // names, too, perhaps
		return
	}
	if f.net(r.Fabric) == "" {
		r.fault(f.file("nets", r.Fabric+".net"), "is not there, nor compressed: no run of the fabric can be repeated")
	}
	if r.Refused {
		return
	}
	if path := find(f.file("runs", r.Fabric, r.Variant+".lft")); path != "" {
		t, problems := readLFT(path)
		if r.Faults = append(r.Faults, problems...); len(problems) == 0 && (t.sum != r.LFT || t.entries() != r.Entries) {
			r.fault(r.at, "%s has %d entries and SHA-256 %s, the index says %d and %s", path, t.entries(), t.sum, r.Entries, r.LFT)
		}
	}
	if path := f.kept(r, ".sl"); path != "" {
		t, problems := readSL(path)
		if r.Faults = append(r.Faults, problems...); len(problems) == 0 && t.sum != r.SL {
			r.fault(r.at, "%s has rows of SHA-256 %s, the index says %s", path, t.sum, r.SL)
		}
	}
}
