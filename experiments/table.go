package experiments

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Table is a table of results in memory: what a CSV file holds.
type Table struct {
	Columns []string
	Rows    [][]string // as long as Columns each
}

// ReadTable reads CSV with a header line.
func ReadTable(name string, r io.Reader) (*Table, error) {
	rows, err := csv.NewReader(input.Text(r)).ReadAll()
	if errors.Is(err, input.ErrUTF16) {
		return nil, fmt.Errorf("%s: %w", name, input.ErrUTF16)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: not a CSV table: %w", name, err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: an empty file; want a CSV table with a header line", name)
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = plainCell(cell)
		}
	}
	return &Table{Columns: rows[0], Rows: rows[1:]}, nil
}

// ReadTableFile reads a CSV file, which may be compressed (see [input.OpenInput]).
func ReadTableFile(name string) (*Table, error) {
	in, err := input.OpenInput(name, input.MaxInput)
	if results := filepath.Join(name, resultsFile); err != nil && exists(results) {
		return nil, fmt.Errorf("%s: %w: its table is %s", name, err, results)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer in.Close()
	return ReadTable(name, in)
}

// Write writes the table as CSV. A cell that a spreadsheet would take for a formula
// gets an apostrophe in front, which [ReadTable] takes away: names come from files
// of other programs.
func (t *Table) Write(w io.Writer) error {
	c := csv.NewWriter(w)
	safe := make([]string, len(t.Columns))
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		safe = safe[:0]
		for _, cell := range row {
			safe = append(safe, safeCell(cell))
		}
		if err := c.Write(safe); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// WriteFile writes the table as a CSV file, and makes its folder.
func (t *Table) WriteFile(path string) error {
	var b bytes.Buffer
	if err := t.Write(&b); err != nil {
		return err
	}
	return WriteBelow(path, b.Bytes())
}

// WriteAligned writes the table for reading.
func (t *Table) WriteAligned(w io.Writer) error {
	a := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		fmt.Fprintln(a, strings.Join(row, "\t"))
	}
	return a.Flush()
}

// computed tells whether a spreadsheet would compute a cell: it begins with =, +, -
// or @, which a tab or a carriage return may precede, and is no number.
func computed(cell string) bool {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return false
	}
	_, err := strconv.ParseFloat(cell, 64)
	return err != nil
}

// safeCell marks formulas, and what looks like one that is marked already.
func safeCell(cell string) string {
	if computed(strings.TrimLeft(cell, "'")) {
		return "'" + cell
	}
	return cell
}

// plainCell undoes safeCell.
func plainCell(cell string) string {
	if rest, marked := strings.CutPrefix(cell, "'"); marked && computed(strings.TrimLeft(rest, "'")) {
		return rest
	}
	return cell
}

// Column is the index of a column. The error lists the columns that there are.
func (t *Table) Column(name string) (int, error) {
	if i := slices.Index(t.Columns, name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("no column %q%s: there are %s", name, param.DidYouMean(name, t.Columns), strings.Join(t.Columns, ", "))
}

// places are the indices of some columns.
func (t *Table) places(names []string) ([]int, error) {
	at := make([]int, len(names))
	for i, name := range names {
		var err error
		if at[i], err = t.Column(name); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// pick lists some cells of a row.
func pick(row []string, at []int) []string {
	cells := make([]string, len(at))
	for i, j := range at {
		cells[i] = row[j]
	}
	return cells
}

// grouped parts a list by a key of its elements, in the order of first appearance.
func grouped[T any, K comparable](list []T, key func(T) K) (groups [][]T) {
	place := map[K]int{}
	for _, x := range list {
		k := key(x)
		at, known := place[k]
		if !known {
			at = len(groups)
			place[k], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], x)
	}
	return groups
}

// indices are 0 to n-1.
func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// addNew appends what a list does not have.
func addNew[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// intervalColumn is the column with the half-width of the 95 % confidence
// interval of a mean, such as latency_ci95_ns of latency_mean_ns and elapsed_ci95_s
// of elapsed_s; empty if there is none.
func (t *Table) intervalColumn(metric string) string {
	last := strings.LastIndexByte(metric, '_') + 1
	for _, ci := range []string{strings.Replace(metric, "_mean_", "_ci95_", 1), metric[:last] + "ci95_" + metric[last:]} {
		if ci != metric && slices.Contains(t.Columns, ci) {
			return ci
		}
	}
	return ""
}

// number reads a cell: a number, or a swept setting with its unit, which counts
// in bytes, nanoseconds or bits per second. Empty cells and text are NaN.
func number(cell string) float64 {
	if x, err := strconv.ParseFloat(cell, 64); err == nil {
		return x
	}
	if x, err := sim.ParseBytes(cell); err == nil {
		return float64(x)
	}
	if x, err := sim.ParseTime(cell); err == nil {
		return x.Nanoseconds()
	}
	if x, err := sim.ParseRate(cell); err == nil {
		return float64(x)
	}
	return math.NaN()
}

// sameCell compares cells as numbers where both are, so that 0.30 in a file
// selects a load of 0.3.
func sameCell(a, b string) bool {
	if a == b {
		return true
	}
	x, y := number(a), number(b)
	return math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))
}

// Where returns the rows whose cells equal those of selection (column to
// cell), as a table of the same columns.
func (t *Table) Where(selection map[string]string) (*Table, error) {
	index := map[string]int{}
	for _, name := range sortedKeys(selection) {
		i, err := t.Column(name)
		if err != nil {
			return nil, err
		}
		index[name] = i
	}
	some := &Table{Columns: t.Columns}
	for _, row := range t.Rows {
		matches := true
		for name, i := range index {
			matches = matches && sameCell(row[i], selection[name])
		}
		if matches {
			some.Rows = append(some.Rows, row)
		}
	}
	return some, nil
}

// unmet says why no row is as a selection asks: a column never holds the value, or no row
// holds all of them.
func (t *Table) unmet(selection map[string]string) error {
	const most = 20
	for _, name := range sortedKeys(selection) {
		held, err := t.distinct([]string{name})
		if err != nil {
			return err
		}
		var values []string
		for _, cells := range held {
			values = append(values, cells[0])
		}
		if slices.ContainsFunc(values, func(v string) bool { return sameCell(v, selection[name]) }) {
			continue
		}
		more := ""
		if len(values) > most {
			more = fmt.Sprintf(" and %d more", len(values)-most)
		}
		return fmt.Errorf("no row has %s = %s%s: there are %s%s", name, selection[name], param.DidYouMean(selection[name], values), strings.Join(values[:min(most, len(values))], ", "), more)
	}
	return fmt.Errorf("no row has %s together", describeSelection(selection))
}

// Numbers is a column as numbers; empty cells are NaN.
func (t *Table) Numbers(name string) ([]float64, error) {
	i, err := t.Column(name)
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(t.Rows))
	for j, row := range t.Rows {
		values[j] = number(row[i])
	}
	return values, nil
}

// TableFormats are the forms in which tables of results can be written.
var TableFormats = []string{"csv", "jsonl"}

// Encode is the table in one of [TableFormats].
func (t *Table) Encode(format string) ([]byte, error) {
	var b bytes.Buffer
	switch format {
	case "csv":
		err := t.Write(&b)
		return b.Bytes(), err
	case "jsonl":
		err := t.WriteJSONLines(&b)
		return b.Bytes(), err
	}
	return nil, fmt.Errorf("no format %q of tables", format)
}

// WriteJSONLines writes one JSON object a row, its members in the order of the
// columns. Cells that are numbers or booleans in JSON's own spelling become
// such, empty ones null, all others strings.
func (t *Table) WriteJSONLines(w io.Writer) error {
	var b bytes.Buffer
	for _, row := range t.Rows {
		for i, cell := range row {
			name, err := json.Marshal(t.Columns[i])
			if err != nil {
				return fmt.Errorf("column %q: %w", t.Columns[i], err)
			}
			value, err := jsonCell(cell)
			if err != nil {
				return fmt.Errorf("cell %q: %w", cell, err)
			}
			b.WriteByte("{,"[min(i, 1)])
			b.Write(name)
			b.WriteByte(':')
			b.Write(value)
		}
		b.WriteString("}\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// jsonCell is a cell as a JSON value.
func jsonCell(cell string) ([]byte, error) {
	switch {
	case cell == "":
		return []byte("null"), nil
	case cell == "true" || cell == "false":
		return []byte(cell), nil
	case (cell[0] == '-' || cell[0] >= '0' && cell[0] <= '9') && json.Valid([]byte(cell)):
		return []byte(cell), nil
	}
	return json.Marshal(cell)
}
