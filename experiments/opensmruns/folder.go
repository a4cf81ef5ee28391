package opensmruns

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/weft-sim/weft/sim/param"
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

// sum is the first 16 digits of a text's SHA-256.
func sum(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:8])
}

// withoutComments drops lines that begin with #.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line[0] != '#' {
			b.WriteString(line)
		}
	}
	return b.String()
}

// row is a line of a table: who it is of, and its cells.
type row struct {
	of    string
	cells []string
}

// table is a file of forwarding tables or service levels.
type table struct {
	rows    []row
	columns []string // of service levels: LIDs
	sum     string
}

// openTable reads a file, compressed or not: its text, and that line by line.
func openTable(file string) (string, *input.Lines) {
	text, err := input.ReadInput(file, input.MaxInput)
	in := input.NewLines(bytes.NewReader(text), file)
	if err != nil {
		in.ProblemAt(1, "cannot be read: %v", err)
	}
	return string(text), in
}

// problemsOf lists the problems of a file, which name their places.
func problemsOf(err error) (list document.Problems) {
	for _, e := range param.Errors(err) {
		list = append(list, &document.Problem{Message: e.Error()})
	}
	return list
}

// readTable reads a file by parseLFT or parseSL; its checksum is of rows, as in the index.
func readTable(file string, parse func(in *input.Lines) *table, rows func(text string) string) (*table, document.Problems) {
	text, in := openTable(file)
	if in.Any() {
		return nil, problemsOf(in.Err())
	}
	t := parse(in)
	t.sum = sum(rows(text))
	return t, problemsOf(in.Finish())
}

// readLFT reads a file of forwarding tables; the index has the sum of all its lines.
func readLFT(file string) (*table, document.Problems) {
	return readTable(file, parseLFT, func(text string) string { return text })
}

// readSL reads a file of service levels; the index has the sum without comments.
func readSL(file string) (*table, document.Problems) {
	return readTable(file, parseSL, withoutComments)
}

// parseTable reads a table line by line, and of a comment the LIDs of its columns.
func parseTable(in *input.Lines, line func(t *table)) *table {
	t := &table{}
	for in.Next() {
		if in.Cut {
			in.Problem("the file ends in the middle of a line")
		}
		if _, lids, ok := strings.Cut(in.Text, "CA LID of:"); ok && in.Text[0] == '#' {
			t.columns = strings.Fields(lids)
		}
		if in.Text != "" && in.Text[0] != '#' {
			line(t)
		}
	}
	return t
}

// parseLFT reads forwarding tables as [opensm.Tables.WriteLFT] writes them.
func parseLFT(in *input.Lines) *table {
	seen := map[string]bool{}
	t := parseTable(in, func(t *table) {
		head, list, ok := strings.Cut(in.Text, ":")
		names := strings.Fields(head)
		if !ok || len(names) != 2 {
			in.Problem("want a switch's GUID and LID, a colon and its ports")
			return
		}
		if _, err := strconv.ParseUint(names[0], 16, 64); err != nil {
			in.Problem("%q is no GUID of 16 hexadecimal digits", names[0])
		}
		if seen[names[0]] {
			in.Problem("switch %s again", names[0])
		}
		seen[names[0]] = true
		cells := strings.Fields(list)
		for i, c := range cells {
			if port, err := strconv.ParseUint(c, 10, 8); c != "-" && (err != nil || port > 254) {
				in.Problem("LID %d: port %q, want 0 to 254 or -", i+1, c)
			}
		}
		if len(t.rows) > 0 && len(cells) != len(t.rows[0].cells) {
			in.Problem("%d LIDs, the lines before have %d", len(cells), len(t.rows[0].cells))
		}
		t.rows = append(t.rows, row{names[0], cells})
	})
	if len(t.rows) == 0 {
		in.Problem("no forwarding table")
	}
	return t
}

// entries counts the cells that are set.
func (t *table) entries() int {
	n := 0
	for _, row := range t.rows {
		for _, c := range row.cells {
			if c != "-" {
				n++
			}
		}
	}
	return n
}

// parseSL reads service levels as [opensm.Tables.WriteSL] writes them.
func parseSL(in *input.Lines) *table {
	t := parseTable(in, func(t *table) {
		words := strings.Fields(in.Text)
		if len(words) != 2 {
			in.Problem("want a LID and a row of hexadecimal digits")
			return
		}
		if lid, err := strconv.Atoi(words[0]); err != nil || lid < 1 {
			in.Problem("%q is no LID", words[0])
		}
		if i := strings.IndexFunc(words[1], func(c rune) bool { return !strings.ContainsRune("0123456789abcdef-", c) }); i >= 0 {
			in.Problem("service level %q in column %d: want a hexadecimal digit", words[1][i:i+1], i+1)
		}
		if len(words[1]) != len(t.columns) {
			in.Problem("%d service levels, the header lists %d LIDs", len(words[1]), len(t.columns))
		}
		t.rows = append(t.rows, row{words[0], strings.Split(words[1], "")})
	})
	if t.columns == nil {
		in.Problem("no line that begins with # and lists the destinations, \"... CA LID of: 1 5 7 ...\"")
	}
	return t
}

// of are the rows and columns of a table of service levels that another has, in its order;
// unknown says which of these there is none of.
func (t *table) of(other *table) (some *table, unknown string) {
	rows, columns := map[string]row{}, map[string]int{}
	for _, r := range t.rows {
		rows[r.of] = r
	}
	for i, lid := range t.columns {
		columns[lid] = i
	}
	some = &table{columns: other.columns}
	for _, wanted := range other.rows {
		mine, there := rows[wanted.of]
		if !there {
			return nil, "LID " + wanted.of + " is of no host"
		}
		r := row{of: wanted.of}
		for _, lid := range other.columns {
			i, there := columns[lid]
			if !there {
				return nil, "LID " + lid + " is of no host"
			}
			r.cells = append(r.cells, mine.cells[i])
		}
		some.rows = append(some.rows, r)
	}
	return some, ""
}

// difference is the first cell in which two tables differ, and how many do.
type difference struct {
	cells     int
	of        string // whose row
	column    int
	own, peer string
	shape     string // why the tables cannot be compared, "" if they can
}

func compare(own, peer *table) difference {
	var d difference
	if len(own.rows) != len(peer.rows) {
		d.shape = fmt.Sprintf("%d rows, OpenSM has %d", len(own.rows), len(peer.rows))
		return d
	}
	for i, r := range own.rows {
		p := peer.rows[i]
		if r.of != p.of || len(r.cells) != len(p.cells) {
			d.shape = fmt.Sprintf("row %d is of %s with %d columns, OpenSM's of %s with %d", i+1, r.of, len(r.cells), p.of, len(p.cells))
			return d
		}
		for c := range r.cells {
			if r.cells[c] != p.cells[c] {
				if d.cells == 0 {
					d.of, d.column, d.own, d.peer = r.of, c, r.cells[c], p.cells[c]
				}
				d.cells++
			}
		}
	}
	return d
}
