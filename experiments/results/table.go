package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Table is a table of results in memory: what a CSV file holds.
type Table struct {
	Columns []string
	Rows    [][]string // as long as Columns each
}

// File is the name of the table of results in a result folder.
const File = "results.csv"

// Exists tells whether there is something of a name.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ReadTable reads CSV with a header line.
func ReadTable(name string, r io.Reader) (*Table, error) {
	in := csv.NewReader(input.Text(r))
	in.TrimLeadingSpace = true // as people write tables; Write quotes cells that begin with some
	rows, err := in.ReadAll()
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

// ReadTableFile reads a CSV file, packed or not (see [input.OpenInput]), or a result folder's.
func ReadTableFile(name string) (*Table, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, File)
	}
	in, err := input.OpenInput(name, input.MaxInput)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer in.Close()
	return ReadTable(name, in)
}

// Write writes the table as CSV. Cells that a spreadsheet would take for formulas (names come from
// other programs' files) get an apostrophe, which [ReadTable] takes away.
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
	text, err := t.Encode("csv")
	if err != nil {
		return err
	}
	return WriteBelow(path, text)
}

// WriteAligned writes the table for reading.
func (t *Table) WriteAligned(w io.Writer) error {
	a := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		fmt.Fprintln(a, strings.Join(row, "\t"))
	}
	return a.Flush()
}

// computed tells whether a spreadsheet would compute a cell: =, +, - or @ at its beginning, behind
// a tab or carriage return or not, and no number.
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
	switch i := slices.Index(t.Columns, name); {
	case i >= 0 && slices.Contains(t.Columns[i+1:], name):
		return 0, fmt.Errorf("two columns are called %q", name)
	case i >= 0:
		return i, nil
	}
	return 0, fmt.Errorf("no column %q%s: there are %s", name, param.DidYouMean(name, t.Columns), strings.Join(t.Columns, ", "))
}

// Places are the indices of some columns.
func (t *Table) Places(names []string) ([]int, error) {
	at := make([]int, len(names))
	for i, name := range names {
		var err error
		if at[i], err = t.Column(name); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// Pick lists some cells of a row.
func Pick(row []string, at []int) []string {
	return lists.Map(at, func(j int) string { return row[j] })
}

// KeyOf is some cells of a row as one text, which is the same for 0.30 and 0.3.
func KeyOf(row []string, at ...int) (key string) {
	for _, i := range at {
		key += CanonicalCell(row[i]) + "\x00"
	}
	return key
}

// Cell is the cell of row i in a column; "" if there is none.
func (t *Table) Cell(i int, column string) string {
	if at := slices.Index(t.Columns, column); at >= 0 {
		return t.Rows[i][at]
	}
	return ""
}

// IndexList writes ascending numbers as Slurm does: 0-4,7.
func IndexList[N int | int32](numbers []N) string {
	var parts []string
	for _, run := range Grouped(Indices(len(numbers)), func(i int) int { return int(numbers[i]) - i }) {
		part := fmt.Sprint(numbers[run[0]])
		if len(run) > 1 {
			part += fmt.Sprint("-", numbers[run[len(run)-1]])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// Grouped parts a list by a key of its elements, in the order of first appearance.
func Grouped[T any, K comparable](list []T, key func(T) K) (groups [][]T) {
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

// Indices are 0 to n-1.
func Indices(n int) []int { return lists.Make(n, func(i int) int { return i }) }

// AddNew appends what a list does not have.
func AddNew[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// intervalColumn is the column with the half-width of a metric's 95 % confidence interval:
// latency_ci95_ns of latency_mean_ns, elapsed_ci95_s of elapsed_s, slowdown_max_ci95 of
// slowdown_max, accepted_ci95 of accepted_load; else empty.
func (t *Table) intervalColumn(metric string) string {
	last := strings.LastIndexByte(metric, '_') + 1
	for _, ci := range []string{
		strings.Replace(metric, "_mean_", "_ci95_", 1), metric[:last] + "ci95_" + metric[last:],
		metric + "_ci95", strings.TrimSuffix(metric, "_load") + "_ci95",
	} {
		if ci != metric && slices.Contains(t.Columns, ci) {
			return ci
		}
	}
	return ""
}

// HalfWidths is half of the 95 % confidence interval of each cell of a column, in its unit, or NaN.
func (t *Table) HalfWidths(metric string) ([]float64, error) {
	if ci := t.intervalColumn(metric); ci != "" {
		return t.Numbers(ci)
	}
	return slices.Repeat([]float64{math.NaN()}, len(t.Rows)), nil
}

// Number reads a cell: a number, or a swept setting with unit, in bytes, nanoseconds or bits per
// second; else NaN.
func Number(cell string) float64 {
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

// SameCell compares cells as numbers where both are, so that 0.30 in a file selects a load of 0.3;
// whole ones, such as seeds, in all digits.
func SameCell(a, b string) bool {
	x, err := strconv.ParseInt(a, 10, 64)
	y, err2 := strconv.ParseInt(b, 10, 64)
	if err == nil && err2 == nil {
		return x == y
	}
	return a == b || sameNumber(Number(a), Number(b))
}

// Where is the rows with the cells of selection (column to cell), as a table. Error: no such
// column.
func (t *Table) Where(selection map[string]string) (*Table, error) {
	names := SortedKeys(selection)
	at, err := t.Places(names)
	if err != nil {
		return nil, err
	}
	some := &Table{Columns: t.Columns}
	for _, row := range t.Rows {
		matches := true
		for i, name := range names {
			matches = matches && SameCell(row[at[i]], selection[name])
		}
		if matches {
			some.Rows = append(some.Rows, row)
		}
	}
	return some, nil
}

// Unmet says why no row meets a selection: a column lacks the value, or no row holds all values.
func (t *Table) Unmet(selection map[string]string) error {
	const most = 20
	for _, name := range SortedKeys(selection) {
		held, err := t.Distinct([]string{name})
		if err != nil {
			return err
		}
		values := lists.Map(held, func(cells []string) string { return cells[0] })
		if slices.ContainsFunc(values, func(v string) bool { return SameCell(v, selection[name]) }) {
			continue
		}
		more := ""
		if len(values) > most {
			more = fmt.Sprintf(" and %d more", len(values)-most)
		}
		return fmt.Errorf("no row has %s = %s%s: there are %s%s", name, selection[name], param.DidYouMean(selection[name], values), strings.Join(values[:min(most, len(values))], ", "), more)
	}
	return fmt.Errorf("no row has %s together", DescribeSelection(selection))
}

// Numbers is a column as numbers; empty cells are NaN.
func (t *Table) Numbers(name string) ([]float64, error) {
	i, err := t.Column(name)
	if err != nil {
		return nil, err
	}
	values := lists.Map(t.Rows, func(row []string) float64 { return Number(row[i]) })
	return values, nil
}

// TableFormats are the forms in which tables of results can be written.
var TableFormats = []string{"csv", "jsonl"}

// Encode is the table in one of [TableFormats].
func (t *Table) Encode(format string) ([]byte, error) {
	switch format {
	case "csv":
		var b bytes.Buffer
		err := t.Write(&b)
		return b.Bytes(), err
	case "jsonl":
		return t.jsonLines()
	}
	return nil, fmt.Errorf("no format %q of tables", format)
}

// jsonLines is a JSON object a row, members in the order of the columns: cells in JSON's spelling
// of numbers or booleans as such, empty ones null, others strings.
func (t *Table) jsonLines() ([]byte, error) {
	var b bytes.Buffer
	for _, row := range t.Rows {
		for i, cell := range row {
			name, err := json.Marshal(t.Columns[i])
			if err != nil {
				return nil, fmt.Errorf("column %q: %w", t.Columns[i], err)
			}
			value, err := jsonCell(cell)
			if err != nil {
				return nil, fmt.Errorf("cell %q: %w", cell, err)
			}
			b.WriteByte("{,"[min(i, 1)])
			b.Write(name)
			b.WriteByte(':')
			b.Write(value)
		}
		b.WriteString("}\n")
	}
	return b.Bytes(), nil
}

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

// SeedKey is swept for replications: rows that differ only in it are estimates of the same numbers.
const SeedKey = "seed"

// FormatCell writes a value for CSV: the shortest text that reads back as the same number, up to
// 1e15 with all digits, so that a column has one form; nothing for NaN.
func FormatCell(value any) string {
	switch x := value.(type) {
	case float64:
		switch size := math.Abs(x); {
		case x != x:
			return ""
		case size >= 1e6 && size < 1e15:
			return strconv.FormatFloat(x, 'f', -1, 64)
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	case string:
		return x
	case []any:
		return lists.Join(x, "x", FormatCell)
	}
	return fmt.Sprint(value)
}

// CanonicalCell writes numbers in one way, so that 0.30 matches 0.3.
func CanonicalCell(cell string) string {
	if x, err := strconv.ParseInt(cell, 10, 64); err == nil {
		return strconv.FormatInt(x, 10)
	}
	if x := Number(cell); x == x {
		return FormatCell(x)
	}
	return cell
}

// SweptKeys lists the swept keys of a table: settings have dots in their names, a kind's columns
// none.
func (t *Table) SweptKeys() []string {
	return lists.Filter(t.Columns, func(name string) bool { return strings.Contains(name, ".") || name == SeedKey })
}

// OfResults tells a table with one row a point from the further ones of a kind.
func (t *Table) OfResults() bool { return slices.Contains(t.Columns, "replications") }

// Distinct lists the sets of cells that rows have in some columns, in order of first rows.
func (t *Table) Distinct(columns []string) ([][]string, error) {
	index, err := t.Places(columns)
	if err != nil {
		return nil, err
	}
	var sets [][]string
	for _, row := range t.Rows {
		cells := Pick(row, index)
		if !slices.ContainsFunc(sets, func(s []string) bool { return slices.EqualFunc(s, cells, SameCell) }) {
			sets = append(sets, cells)
		}
	}
	return sets, nil
}

// Joined is the table with columns of the results that it lacks, matched by the point.
func (t *Table) Joined(results *Table, columns []string) *Table {
	at, of := slices.Index(t.Columns, "point"), slices.Index(results.Columns, "point")
	if at < 0 || of < 0 {
		return t
	}
	rows := lists.Table(results.Rows, func(row []string) (string, []string) { return row[of], row })
	all := &Table{Columns: slices.Clone(t.Columns)}
	var from []int
	for _, name := range columns {
		if i := slices.Index(results.Columns, name); i >= 0 && !slices.Contains(t.Columns, name) {
			all.Columns, from = append(all.Columns, name), append(from, i)
		}
	}
	for _, row := range t.Rows {
		row = slices.Clone(row)
		for _, i := range from {
			cell := ""
			if result := rows[row[at]]; result != nil {
				cell = result[i]
			}
			row = append(row, cell)
		}
		all.Rows = append(all.Rows, row)
	}
	return all
}

// DescribeSelection writes a selection of rows for messages: column = cell, column = cell.
func DescribeSelection(selection map[string]string) string {
	return lists.Join(SortedKeys(selection), ", ", func(name string) string { return name + " = " + selection[name] })
}

// IsTime tells whether a column holds times.
func IsTime(column string) bool { return unitScales[0][ColumnUnit(column)] != 0 }

// unitScales lists the units that convert into one another.
var unitScales = []map[string]float64{
	{"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1},
	{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "mib": 1 << 20},
}

// ColumnUnit is the unit that ends a column's name, "ns" of latency_mean_ns, or empty.
func ColumnUnit(column string) string {
	unit := column[strings.LastIndexByte(column, '_')+1:]
	for _, scale := range unitScales {
		if _, ok := scale[unit]; ok && unit != column {
			return unit
		}
	}
	return ""
}

// UnitFactor converts from one unit to another; 1 where they do not convert.
func UnitFactor(from, to string) float64 {
	for _, scale := range unitScales {
		a, okA := scale[from]
		b, okB := scale[to]
		if okA && okB {
			return a / b
		}
	}
	return 1
}

// SortedKeys lists the keys of a map in order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
