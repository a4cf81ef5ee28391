package judge

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// Table is a CSV table that is read row by row, with columns by name.
type Table struct {
	reader  *csv.Reader
	columns map[string]int
	width   int
	row     []string
	Line    int // of the row
}

// Open reads the header of a table. The error is [io.EOF] for an empty file.
func Open(text string) (*Table, error) {
	t := &Table{reader: csv.NewReader(input.Text(strings.NewReader(text))), columns: map[string]int{}, Line: 1}
	t.reader.FieldsPerRecord = -1 // Next says which rows are cut
	header, err := t.reader.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("not a CSV table: %w", err)
	}
	t.width = len(header)
	for i, name := range header {
		t.columns[strings.TrimSpace(name)] = i
	}
	return t, nil
}

// Missing are the columns that the table has not got, of those named.
func (t *Table) Missing(names ...string) (missing []string) {
	for _, name := range names {
		if !t.Has(name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// Has tells whether there is a column.
func (t *Table) Has(name string) bool {
	_, there := t.columns[name]
	return there
}

// Next reads a row; false at the end. problem says why the row cannot be read, "" if it
// can: the rows after it can be, as a rule.
func (t *Table) Next() (problem string, ok bool) {
	row, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return "", false
	}
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		t.Line, t.row = parse.StartLine, nil
		return "not a row of a CSV table: " + parse.Err.Error(), true
	}
	if err != nil {
		t.Line, t.row = t.Line+1, nil
		t.reader = csv.NewReader(strings.NewReader("")) // no more can be read
		return err.Error(), true
	}
	t.Line, _ = t.reader.FieldPos(0)
	if t.row = row; len(row) != t.width {
		return fmt.Sprintf("%d cells, want %d: the line is cut, or of another table", len(row), t.width), true
	}
	return "", true
}

// Cell is a cell of the row, without blanks around it; "" where the row or the table has none.
func (t *Table) Cell(name string) string {
	if i, there := t.columns[name]; there && i < len(t.row) {
		return strings.TrimSpace(t.row[i])
	}
	return ""
}
