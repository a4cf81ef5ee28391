package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/lists"
)

// knee is a row of the table that answers a load sweep.
type knee struct {
	Variant, Steady, Not, Accepted, Idle, Bound string
}

// mostBound is the largest network, in terminals, of which a report computes the
// load that its channels can carry, where the run has not.
const mostBound = 300

// answer says which variants are the best, as weft compare --best does.
func answer(f *engine.Folder) (sentences []string) {
	rankings, err := f.Results.Rank(experiments.Goals(f.Results), nil)
	if err != nil {
		return nil // not a table of its kind
	}
	return rankings.Answer()
}

// knees lists where each variant ceases to keep up.
func knees(f *engine.Folder) (rows []knee, bounds bool) {
	for _, k := range f.Results.Knees() {
		row := knee{Variant: k.Variant, Steady: "none of the loads", Not: "none of the loads", Idle: results.Measured(k.Idle, k.IdleHalf)}
		if !math.IsNaN(k.Steady) {
			row.Steady, row.Accepted = results.Short(k.Steady), results.Measured(k.Accepted, k.AcceptedHalf)
		}
		if !math.IsNaN(k.Not) {
			row.Not = results.Short(k.Not)
		}
		if row.Idle != "" {
			row.Idle += " at " + results.Short(k.IdleLoad)
		}
		if b := bound(f, k.Point); b > 0 {
			row.Bound, bounds = results.Short(min(b, 1)), true // a terminal sends a flit a cycle at most
		}
		row.Variant = cmp.Or(row.Variant, "the only one")
		rows = append(rows, row)
	}
	return rows, bounds
}

// bound is the highest load that the channels of a point can carry; 0: not known.
func bound(f *engine.Folder, point int) float64 {
	if known := f.Manifest.Bounds[point]; known > 0 {
		return known
	}
	for _, p := range f.File.Points {
		if p.Index != point {
			continue
		}
		if t, err := f.File.TopologyOf(p); err != nil || t.Graph().Terminals() > mostBound {
			return 0
		}
		return f.File.LoadBound(p)
	}
	return 0
}

func printVerdicts(verdicts []verdict.Verdict) []verdictRow {
	var all []verdictRow
	for _, v := range verdicts {
		t := v.Target
		unit := t.Unit
		if unit == "fraction" {
			unit = ""
		}
		p := verdictRow{
			Paper: t.Paper, Artifact: t.Artifact, Case: t.Case, Metric: strings.ReplaceAll(t.Metric, "_", " "), Kind: t.Kind, Verdict: v.Verdict, Note: v.Note,
			Target: strings.TrimSpace(results.Short(t.Value) + " " + unit), Measured: "not measured",
		}
		if !math.IsNaN(v.Measured) {
			p.Measured = strings.TrimSpace(results.Measured(v.Measured, v.Half) + " " + unit)
			if t.Value != 0 {
				p.Difference = percent(v.Measured/t.Value - 1)
			}
		}
		all = append(all, p)
	}
	return all
}

// number is a cell's; 0 where it is empty: there was nothing to measure.
func number(cell string) float64 {
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		return 0
	}
	return x
}

func percent(x float64) string {
	x = math.Round(1000*x) / 10
	if x == 0 {
		return "0.0 %" // neither +0 nor -0
	}
	return fmt.Sprintf("%+.1f %%", x)
}

// printResults parts the columns that have one value in all rows from the
// table, which they would only make wide.
func printResults(t *results.Table) (shared []cell, rest table) {
	narrow := &results.Table{Rows: make([][]string, len(t.Rows))}
	for i, name := range t.Columns {
		if name == "state" || name == "saturated" {
			continue // marked in the first column
		}
		if len(t.Rows) > 1 && !slices.ContainsFunc(t.Rows, func(r []string) bool { return r[i] != t.Rows[0][i] }) {
			if value := t.Rows[0][i]; value != "" {
				shared = append(shared, cell{name, shortCell(value)})
			}
			continue
		}
		narrow.Columns = append(narrow.Columns, name)
		for j, r := range t.Rows {
			narrow.Rows[j] = append(narrow.Rows[j], r[i])
		}
	}
	rest = printTable(narrow)
	for j := range t.Rows {
		if state := t.State(j); state != measure.Steady {
			rest.Rows[j].State = state.String()
		}
	}
	return shared, rest
}

// printTable shortens the numbers of a table.
func printTable(t *results.Table) table {
	p := table{Numeric: make([]bool, len(t.Columns))}
	for i, name := range t.Columns {
		p.Columns = append(p.Columns, strings.SplitAfter(name, "_"))
		p.Numeric[i] = !slices.ContainsFunc(t.Rows, func(r []string) bool {
			_, err := strconv.ParseFloat(r[i], 64)
			return err != nil && r[i] != ""
		})
	}
	for _, r := range t.Rows {
		cells := lists.Make(len(r), func(i int) string { return shortCell(r[i]) })
		p.Rows = append(p.Rows, row{Cells: cells})
	}
	return p
}

func shortCell(cell string) string {
	if x, err := strconv.ParseFloat(cell, 64); err == nil && x != math.Trunc(x) {
		return results.Short(x)
	}
	return cell
}

// commandOf writes a command line as a shell takes it.
func commandOf(line []string) string {
	words := make([]string, len(line))
	for i, word := range line {
		if strings.ContainsAny(word, " \t\n'\"\\$*?[]{}()<>|&;#~`!") || word == "" {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words[i] = word
	}
	return strings.Join(words, " ")
}

// shortList prints some numbers: of many the ends.
func shortList(list []uint64) []string {
	const most = 12
	var words []string
	for i, x := range list {
		switch {
		case len(list) <= most || i < 2 || i == len(list)-1:
			words = append(words, strconv.FormatUint(x, 10))
		case i == 2:
			words = append(words, "…")
		}
	}
	return words
}

// file is a file of a result folder that the page links to.
type file struct{ Name, Link string }

// linker makes links from the page, which it names, to files. A page that stands nowhere has none.
type linker string

// to is the link to a file that is there; empty otherwise.
func (l linker) to(dir, name string) string {
	base, err := filepath.Abs(filepath.Dir(string(l)))
	path, err2 := filepath.Abs(filepath.Join(dir, name))
	info, err3 := os.Stat(path)
	if l == "" || errors.Join(err, err2, err3) != nil || !info.Mode().IsRegular() {
		return ""
	}
	relative, err := filepath.Rel(base, path)
	if err != nil {
		return ""
	}
	link := (&url.URL{Path: filepath.ToSlash(relative)}).EscapedPath()
	if !strings.HasPrefix(link, "../") {
		link = "./" + link // no part of a name is a scheme
	}
	return link
}

func (l linker) files(dir string, names ...string) []file {
	var all []file
	for _, name := range names {
		if link := l.to(dir, name); link != "" {
			all = append(all, file{name, link})
		}
	}
	return all
}

// ofRun lists the files of a run: tables, settings and provenance.
func (l linker) ofRun(f *engine.Folder) []file {
	names := []string{"results.csv"}
	for _, table := range f.Manifest.Tables {
		names = append(names, filepath.Base(table)+".csv")
	}
	slices.Sort(names[1:])
	return l.files(f.Dir, append(names, "performance.csv", "failures.csv", "resolved.toml", "manifest.json")...)
}
