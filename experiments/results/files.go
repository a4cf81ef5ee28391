// Package results holds what runs leave: tables of results as CSV (table.go), where load
// sweeps cease to keep up (knees.go), which differences are significant (compare.go), which variants
// are the best (best.go) in words (answer.go), and files that are complete or absent (files.go). It
// knows no experiment.
package results

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/param"
)

// WriteError says that a file cannot be written. Before: that was known before anything was
// written, as there is no such folder, or no access.
type WriteError struct {
	Path, Reason string
	Before       bool
}

func (e *WriteError) Error() string { return e.Path + ": cannot be written: " + e.Reason }

// WriteFile writes a file that is complete or absent: to a temporary name beside it, to disk, then
// renamed. A symbolic link stays, what it leads to is written; devices and pipes (/dev/stdout,
// /dev/null) are written into. The error is a *WriteError.
func WriteFile(path string, content []byte) error {
	target := path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		target = resolved
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return &WriteError{path, "is a folder", true}
	case err == nil && !info.Mode().IsRegular():
		return writeInto(path, content)
	}
	return replaceFile(path, target, whole(content))
}

// WriteInside writes a file of a result folder, by its name there, without following links. The
// error is a *WriteError.
func WriteInside(dir, name string, content []byte) error {
	return StreamInside(dir, name, whole(content))
}

// StreamInside is WriteInside of what write writes.
func StreamInside(dir, name string, write func(*os.File) error) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	below := filepath.Dir(filepath.FromSlash(name))
	if err := InsideOnly(dir, below); err != nil {
		return &WriteError{path, err.Error(), true}
	}
	if err := os.MkdirAll(filepath.Join(dir, below), 0o777); err != nil {
		return &WriteError{path, Reason(err), true}
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return &WriteError{path, "is a folder", true}
	}
	return replaceFile(path, path, write)
}

// InsideOnly refuses a folder below dir whose way is through a link, or that is no folder.
func InsideOnly(dir, below string) error {
	if !filepath.IsLocal(below) {
		return errors.New("leads out of the result folder")
	}
	at := dir
	for part := range strings.SplitSeq(below, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return errors.New(Reason(err))
		case part != "." && !info.IsDir():
			return fmt.Errorf("%s is not a folder", at)
		}
	}
	return nil
}

// temporaryFiles is the pattern of files being written. Killed processes leave them to
// RemoveTemporary.
const temporaryFiles = ".weft-*"

// RemoveTemporary removes what a killed process has left in a result folder and its points'
// folders. The caller holds the journal.
func RemoveTemporary(dir string) {
	for _, pattern := range []string{temporaryFiles, filepath.Join("*", temporaryFiles)} {
		left, _ := fs.Glob(os.DirFS(dir), filepath.ToSlash(pattern))
		for _, name := range left {
			path := filepath.Join(dir, filepath.FromSlash(name))
			info, err := os.Lstat(path)
			if err == nil && info.Mode().IsRegular() && InsideOnly(dir, filepath.Dir(filepath.FromSlash(name))) == nil {
				_ = os.Remove(path) // it hurts nobody if it stays
			}
		}
	}
}

// WriteBelow is [WriteFile], and makes the folder of the file.
func WriteBelow(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return WriteFile(path, content)
}

func whole(content []byte) func(*os.File) error {
	return func(f *os.File) error {
		_, err := f.Write(content)
		return err
	}
}

// replaceFile writes target, which messages call path.
func replaceFile(path, target string, write func(*os.File) error) error {
	temporary, err := createTemporary(filepath.Dir(target))
	if err != nil {
		return &WriteError{path, Reason(err), true}
	}
	err = errors.Join(write(temporary), temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), target)
	}
	if err != nil {
		os.Remove(temporary.Name())
		return &WriteError{path, Reason(err), false}
	}
	return nil
}

// createTemporary makes a file that others may read as the user's mask allows.
func createTemporary(dir string) (*os.File, error) {
	for {
		name := strings.Replace(temporaryFiles, "*", strconv.FormatUint(rand.Uint64(), 36), 1)
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// writeInto writes to what is no regular file and must not be replaced by one.
func writeInto(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return &WriteError{path, Reason(err), true}
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		return &WriteError{path, Reason(err), false}
	}
	return nil
}

// Reason is the cause of a file error without the path, which messages have, or a temporary name.
func Reason(err error) string {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		err = at.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return err.Error()
}

// Formula is arithmetic over named values: + - * /, parentheses, numbers, min and max of two.
type Formula func(of map[string]float64) float64

// ParseFormula reads a formula in which only the given names may occur, each at least once.
func ParseFormula(text string, names []string) (Formula, error) {
	f, used, err := parseFormula(text, names, "the names under of")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.Contains(used, name) {
			return nil, fmt.Errorf("does not use %q, which is under of", name)
		}
	}
	return f, nil
}

// ParseFormulaOver reads a formula over some of the given names, and lists those.
func ParseFormulaOver(text string, names []string) (Formula, []string, error) {
	return parseFormula(text, names, "columns")
}

// parseFormula lists the names that a formula has; what says what they are.
func parseFormula(text string, names []string, what string) (Formula, []string, error) {
	root, err := parser.ParseExpr(text)
	if err != nil || strings.Contains(text, "//") || strings.Contains(text, "/*") { // comments of the parser
		return nil, nil, fmt.Errorf("not a formula: want + - * /, parentheses, min(a, b) and max(a, b) over numbers and %s", what)
	}
	used := map[string]bool{}
	f, err := compile(root, names, used)
	if err != nil {
		return nil, nil, err
	}
	return f, SortedKeys(used), nil
}

// The operators and the functions of formulas.
var (
	operators = map[token.Token]func(a, b float64) float64{
		token.ADD: func(a, b float64) float64 { return a + b },
		token.SUB: func(a, b float64) float64 { return a - b },
		token.MUL: func(a, b float64) float64 { return a * b },
		token.QUO: func(a, b float64) float64 { return a / b },
	}
	functions = map[string]func(a, b float64) float64{"min": math.Min, "max": math.Max}
)

// compile makes the formula of an expression over some names, and notes those that it has.
func compile(e ast.Expr, names []string, used map[string]bool) (Formula, error) {
	var combine func(a, b float64) float64
	var operands []ast.Expr
	switch x := e.(type) {
	case *ast.ParenExpr:
		return compile(x.X, names, used)
	case *ast.UnaryExpr:
		if x.Op == token.SUB {
			f, err := compile(x.X, names, used)
			return func(of map[string]float64) float64 { return -f(of) }, err
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseFloat(x.Value, 64); err == nil && (x.Kind == token.INT || x.Kind == token.FLOAT) {
			return func(map[string]float64) float64 { return v }, nil
		}
	case *ast.Ident:
		if !slices.Contains(names, x.Name) {
			return nil, fmt.Errorf("has the unknown name %q%s: there are %s", x.Name, param.DidYouMean(x.Name, names), strings.Join(names, ", "))
		}
		used[x.Name] = true
		return func(of map[string]float64) float64 { return of[x.Name] }, nil
	case *ast.BinaryExpr:
		combine, operands = operators[x.Op], []ast.Expr{x.X, x.Y}
	case *ast.CallExpr:
		if name, is := x.Fun.(*ast.Ident); is && len(x.Args) == 2 && !x.Ellipsis.IsValid() {
			combine, operands = functions[name.Name], x.Args
		}
	}
	if combine == nil {
		return nil, fmt.Errorf("not a formula: want + - * /, parentheses, min(a, b) and max(a, b) over numbers and names")
	}
	a, err := compile(operands[0], names, used)
	b, err2 := compile(operands[1], names, used)
	return func(of map[string]float64) float64 { return combine(a(of), b(of)) }, cmp.Or(err, err2)
}

// Values is a column as numbers, or arithmetic over columns.
func (t *Table) Values(y string) ([]float64, error) {
	if slices.Contains(t.Columns, y) || !IsFormula(y) {
		return t.Numbers(y)
	}
	f, names, err := ParseFormulaOver(y, t.Columns)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", y, err)
	}
	columns := make([][]float64, len(names))
	for i, name := range names {
		if columns[i], err = t.Numbers(name); err != nil {
			return nil, err
		}
	}
	values := make([]float64, len(t.Rows))
	of := map[string]float64{}
	for i := range values {
		for j, name := range names {
			of[name] = columns[j][i]
		}
		values[i] = f(of)
	}
	return values, nil
}

// IsFormula tells arithmetic from a name.
func IsFormula(text string) bool { return strings.ContainsAny(text, "+*/() ") }

// ChannelLoad is what a channel carried in a point's window, over its virtual channels.
type ChannelLoad struct {
	From, To string
	Load     float64 // share of what it can carry; of tables without that, flits per cycle
	Between  bool    // it joins two switches
}

// LinksName is the table of what channels have carried.
const LinksName = "links"

// ChannelLoads reads links.csv: channels' loads by the point's index, by switch port, then by
// terminal, with virtual channels added up.
func ChannelLoads(t *Table) (map[int][]ChannelLoad, error) {
	load, unit, between := "percent", 100.0, slices.Index(t.Columns, "between_switches")
	if !slices.Contains(t.Columns, load) { // of an earlier weft
		load, unit = "flits_per_cycle", 1
	}
	at, err := t.Places([]string{"point", "from", "to", load})
	if err != nil {
		return nil, err
	}
	loads := map[int][]ChannelLoad{}
	for _, r := range t.Rows {
		point, err := strconv.Atoi(r[at[0]])
		if err != nil {
			return nil, fmt.Errorf("point %q: want a number", r[at[0]])
		}
		carried, err := strconv.ParseFloat(r[at[3]], 64)
		if err != nil {
			return nil, fmt.Errorf("%s %q: want a number", load, r[at[3]])
		}
		carried /= unit
		list := loads[point]
		if n := len(list); n > 0 && list[n-1].From == r[at[1]] && list[n-1].To == r[at[2]] {
			list[n-1].Load += carried
			continue
		}
		loads[point] = append(list, ChannelLoad{r[at[1]], r[at[2]], carried, between >= 0 && r[between] == "true"})
	}
	return loads, nil
}

// Hottest finds the first channel that carried the most of all points, or between switches, in a
// run's table links; not ok without one.
func Hottest(links *Table, between bool) (point int, channel ChannelLoad, ok bool) {
	loads, err := ChannelLoads(links)
	if err != nil {
		return 0, ChannelLoad{}, false
	}
	for _, p := range slices.Sorted(maps.Keys(loads)) {
		for _, c := range loads[p] {
			if (c.Between || !between) && (!ok || c.Load > channel.Load) {
				point, channel, ok = p, c, true
			}
		}
	}
	return point, channel, ok
}

// SeriesFolder holds a file for each point of what channels carried in the window's intervals: a
// row a channel, as in links.csv, with its ends and class, and a column of flits an interval,
// FROM-TO in cycles.
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

// ParseSeries reads a file of [SeriesFolder].
func ParseSeries(t *Table) (*LoadSeries, error) {
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
