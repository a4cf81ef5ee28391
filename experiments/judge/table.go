package judge

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
)

// Table is a CSV table that is read row by row, with columns by name.
type Table struct {
	At      string // the file, in messages
	reader  *csv.Reader
	columns map[string]int
	width   int
	row     []string
	Line    int // of the row
	faults  document.Problems
}

// OpenTable reads the header of a table in a folder of that name, with cells separated by a comma or a tab. The
// table is nil where there is no such file, or none that can be read; else the problem may be of
// columns that it lacks.
func OpenTable(folder fs.FS, name, file string, separator rune, wanted ...string) (*Table, *document.Problem) {
	at := path.Join(name, file)
	text, err := ReadFile(folder, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, &document.Problem{At: at, Message: "cannot be read: " + err.Error()}
	}
	t := &Table{At: at, reader: csv.NewReader(input.Text(strings.NewReader(text))), columns: map[string]int{}, Line: 1}
	t.reader.Comma, t.reader.LazyQuotes = separator, separator == '\t'
	t.reader.FieldsPerRecord = -1 // Next says which rows are cut
	header, err := t.reader.Read()
	list := strings.Join(wanted, ", ")
	switch {
	case errors.Is(err, io.EOF):
		return t, &document.Problem{At: at, Message: "an empty file; want a table with the columns " + list}
	case err != nil:
		return nil, &document.Problem{At: at, Message: "not a CSV table: " + err.Error()}
	}
	t.width = len(header)
	for i, name := range header {
		t.columns[strings.TrimSpace(name)] = i
	}
	if missing := t.Missing(wanted...); len(missing) > 0 {
		return t, t.Problem("has no column %s; want %s", strings.Join(missing, ", "), list)
	}
	return t, nil
}

// EachRow reads a table as [OpenTable] does, with cells separated by a comma, and calls do for each row. It
// returns what cannot be read and what do finds wrong; there is false where there is no such file.
func EachRow(folder fs.FS, name, file string, do func(t *Table), wanted ...string) (faults document.Problems, there bool) {
	t, problem := OpenTable(folder, name, file, ',', wanted...)
	switch {
	case problem != nil:
		return document.Problems{problem}, true
	case t == nil:
		return nil, false
	}
	for problem := range t.Rows {
		if problem != nil {
			faults = append(faults, problem)
			continue
		}
		do(t)
		faults = append(faults, t.Faults()...)
	}
	return faults, true
}

// Number is a number of the row from 0 to most; any other cell is found wrong.
func (t *Table) Number(column string, most float64) float64 {
	x, err := strconv.ParseFloat(t.Cell(column), 64)
	if err != nil || !(x >= 0 && x <= most) {
		t.Wrong(column, fmt.Sprintf("a number from 0 to %g", most))
	}
	return x
}

// Whole is a whole number of the row from 0 to most; any other cell is found wrong.
func (t *Table) Whole(column string, most int) int {
	x, err := strconv.Atoi(t.Cell(column))
	if err != nil || x < 0 || x > most {
		t.Wrong(column, fmt.Sprintf("a whole number from 0 to %d", most))
	}
	return x
}

// Wrong finds a cell of the row wrong, in place of which something else is wanted.
func (t *Table) Wrong(column, want string) {
	t.faults = append(t.faults, t.Problem("%s = %q: want %s", column, t.Cell(column), want))
}

// Good tells whether nothing of the row was found wrong.
func (t *Table) Good() bool { return len(t.faults) == 0 }

// Faults are what was found wrong since the last call.
func (t *Table) Faults() (faults document.Problems) {
	faults, t.faults = t.faults, nil
	return faults
}

// Problem is a problem of the row.
func (t *Table) Problem(format string, args ...any) *document.Problem {
	return &document.Problem{At: fmt.Sprintf("%s:%d", t.At, t.Line), Message: fmt.Sprintf(format, args...)}
}

// Missing are the columns that the table has not got, of those named.
func (t *Table) Missing(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), t.Has)
}

// Has tells whether there is a column.
func (t *Table) Has(name string) bool {
	_, there := t.columns[name]
	return there
}

// Rows reads row by row. The problem says why a row cannot be read, nil if it can: the rows
// after it can be, as a rule.
func (t *Table) Rows(yield func(problem *document.Problem) bool) {
	for {
		row, err := t.reader.Read()
		var problem *document.Problem
		var parse *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.As(err, &parse):
			t.Line, t.row = parse.StartLine, nil
			problem = t.Problem("not a row of a CSV table: %v", parse.Err)
		case err != nil: // no more can be read
			t.Line, t.row = t.Line+1, nil
			yield(t.Problem("%v", err))
			return
		default:
			t.Line, _ = t.reader.FieldPos(0)
			if t.row = row; len(row) != t.width {
				problem = t.Problem("%d cells, want %d: the line is cut, or of another table", len(row), t.width)
			}
		}
		if !yield(problem) {
			return
		}
	}
}

// Cell is a cell of the row, without blanks around it; "" where the row or the table has none.
func (t *Table) Cell(name string) string {
	if i, there := t.columns[name]; there && i < len(t.row) {
		return strings.TrimSpace(t.row[i])
	}
	return ""
}

// Cells lists the present row's cells of some columns.
func (t *Table) Cells(names ...string) []string { return lists.Map(names, t.Cell) }

// largestFile bounds what is read of a file, unpacked.
const largestFile = 64 << 20

// ReadFile is the text of a file of a folder, compressed or not. The error does not name the file.
func ReadFile(folder fs.FS, file string) (string, error) {
	info, err := fs.Stat(folder, file)
	var at *fs.PathError
	switch {
	case errors.As(err, &at):
		return "", at.Err
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("it is no regular file")
	}
	content, err := input.ReadInputIn(folder, file, largestFile)
	return string(content), err
}
