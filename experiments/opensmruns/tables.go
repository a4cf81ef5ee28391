package opensmruns

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/input"
)

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

// tableReader collects the problems of one file.
type tableReader struct {
	file     string
	line     int
	problems experiments.Problems
}

func (r *tableReader) problem(format string, args ...any) {
	if len(r.problems) < 20 {
		r.problems = append(r.problems, &experiments.Problem{At: r.file + ":" + strconv.Itoa(r.line), Message: fmt.Sprintf(format, args...)})
	}
}

// readText reads a file, compressed or not.
func readText(file string) (string, *tableReader) {
	r := &tableReader{file: file, line: 1}
	text, err := input.ReadInput(file, input.MaxInput)
	if err != nil {
		r.problem("cannot be read: %v", err)
	}
	return string(text), r
}

// readLFT reads forwarding tables as [opensm.Tables.WriteLFT] writes them.
func readLFT(file string) (*table, experiments.Problems) {
	text, r := readText(file)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return parseLFT(text, r), r.problems
}

func parseLFT(text string, r *tableReader) *table {
	t := &table{sum: sum(text)}
	r.line = 0
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		r.line++
		if !strings.HasSuffix(line, "\n") {
			r.problem("the file ends in the middle of a line")
		}
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		head, list, ok := strings.Cut(line, ":")
		names := strings.Fields(head)
		if !ok || len(names) != 2 {
			r.problem("want a switch's GUID and LID, a colon and its ports")
			continue
		}
		if _, err := strconv.ParseUint(names[0], 16, 64); err != nil {
			r.problem("%q is no GUID of 16 hexadecimal digits", names[0])
		}
		if seen[names[0]] {
			r.problem("switch %s again", names[0])
		}
		seen[names[0]] = true
		cells := strings.Fields(list)
		for i, c := range cells {
			if c == "-" {
				continue
			}
			if port, err := strconv.ParseUint(c, 10, 8); err != nil || port > 254 {
				r.problem("LID %d: port %q, want 0 to 254 or -", i+1, c)
			}
		}
		if len(t.rows) > 0 && len(cells) != len(t.rows[0].cells) {
			r.problem("%d LIDs, the lines before have %d", len(cells), len(t.rows[0].cells))
		}
		t.rows = append(t.rows, row{names[0], cells})
	}
	if len(t.rows) == 0 {
		r.problem("no forwarding table")
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

// readSL reads service levels as [opensm.Tables.WriteSL] writes them.
func readSL(file string) (*table, experiments.Problems) {
	text, r := readText(file)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return parseSL(text, r), r.problems
}

func parseSL(text string, r *tableReader) *table {
	t := &table{sum: sum(withoutComments(text))}
	r.line = 0
	for line := range strings.Lines(text) {
		r.line++
		if !strings.HasSuffix(line, "\n") {
			r.problem("the file ends in the middle of a line")
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if line[0] == '#' {
			if _, lids, ok := strings.Cut(line, "CA LID of:"); ok {
				t.columns = strings.Fields(lids)
			}
			continue
		}
		words := strings.Fields(line)
		if len(words) != 2 {
			r.problem("want a LID and a row of hexadecimal digits")
			continue
		}
		if lid, err := strconv.Atoi(words[0]); err != nil || lid < 1 {
			r.problem("%q is no LID", words[0])
		}
		if i := strings.IndexFunc(words[1], func(c rune) bool { return !strings.ContainsRune("0123456789abcdef-", c) }); i >= 0 {
			r.problem("service level %q in column %d: want a hexadecimal digit", words[1][i:i+1], i+1)
		}
		if len(words[1]) != len(t.columns) {
			r.problem("%d service levels, the header lists %d LIDs", len(words[1]), len(t.columns))
		}
		t.rows = append(t.rows, row{words[0], strings.Split(words[1], "")})
	}
	if len(t.rows) == 0 {
		r.problem("no service levels")
	}
	return t
}

// difference is the first cell in which two tables differ, and how many do.
type difference struct {
	cells     int
	of        string // whose row
	column    int
	own, peer string
	shape     string // why the tables cannot be compared, "" if they can
}

// compare finds the differences of weft's table from OpenSM's.
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
