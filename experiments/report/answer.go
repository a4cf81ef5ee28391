package report

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/fabric/measure"
)

// knee is a row of the table that answers a load sweep.
type knee struct {
	Variant, Steady, Not, Accepted, Idle, Bound string
}

// mostBound is the largest network, in terminals, of which a report computes the
// load that its channels can carry, where the run has not.
const mostBound = 300

// knees lists where each variant ceases to keep up, and says it in a sentence.
func knees(f *engine.Folder) (rows []knee, sentence string, bounds bool) {
	found := f.Results.Knees()
	for _, k := range found {
		row := knee{Variant: k.Variant, Steady: "none of the loads", Not: "none of the loads", Idle: measured(k.Idle, k.IdleHalf)}
		if !math.IsNaN(k.Steady) {
			row.Steady, row.Accepted = short(k.Steady), measured(k.Accepted, k.AcceptedHalf)
		}
		if !math.IsNaN(k.Not) {
			row.Not = short(k.Not)
		}
		if row.Idle != "" {
			row.Idle += " at " + short(k.IdleLoad)
		}
		if b := bound(f, k.Point); b > 0 {
			row.Bound, bounds = short(min(b, 1)), true // a terminal sends a flit a cycle at most
		}
		if row.Variant == "" {
			row.Variant = "the only one"
		}
		rows = append(rows, row)
	}
	return rows, sentenceOf(found), bounds
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

// sentenceOf says between which loads the variants cease to keep up: for each pattern
// and other demand by itself, since those are no designs to choose from.
func sentenceOf(found []results.Knee) string {
	if len(found) == 0 {
		return ""
	}
	var demands []string
	of := map[string][]results.Knee{}
	for _, k := range found {
		if of[k.Demand] == nil {
			demands = append(demands, k.Demand)
		}
		of[k.Demand] = append(of[k.Demand], k)
	}
	var all []string
	for i, demand := range demands {
		if i == mostDemands {
			all = append(all, fmt.Sprintf("The table has %d more.", len(demands)-i))
			break
		}
		text := ofDemand(of[demand])
		if demand != "" && len(demands) > 1 {
			text = "Under " + demand + ", " + strings.ToLower(text[:1]) + text[1:]
		}
		all = append(all, text)
	}
	if found[0].Seeds > 1 {
		all = append(all, fmt.Sprintf("A load counts where all %d seeds are steady.", found[0].Seeds))
	}
	return strings.Join(all, " ")
}

// mostDemands is for how many of them the answer is written out.
const mostDemands = 6

// carried is the load to which a variant keeps up; 0 where it does at none.
func carried(k results.Knee) float64 {
	if math.IsNaN(k.Steady) {
		return 0
	}
	return k.Steady
}

// open tells whether there is no verdict on a variant at any load.
func open(k results.Knee) bool { return math.IsNaN(k.Steady) && math.IsNaN(k.Not) }

// ofDemand compares the variants under one demand.
func ofDemand(found []results.Knee) string {
	if len(found) == 1 {
		if open(found[0]) {
			return "The network is neither steady nor saturated at any load."
		}
		return "The network keeps " + reach(found) + "."
	}
	all := len(found)
	undecided := slices.DeleteFunc(slices.Clone(found), func(k results.Knee) bool { return !open(k) })
	found = slices.DeleteFunc(slices.Clone(found), open)
	if len(found) == 0 {
		return fmt.Sprintf("The verdict on all %d variants is open: none is steady or saturated at any load.", all)
	}
	slices.SortStableFunc(found, func(a, b results.Knee) int { return cmp.Compare(carried(b), carried(a)) })
	ties := func(of results.Knee) []results.Knee {
		return slices.DeleteFunc(slices.Clone(found), func(k results.Knee) bool { return carried(k) != carried(of) })
	}
	best, worst := ties(found[0]), ties(found[len(found)-1])
	var text string
	switch {
	case len(best) == len(found) && carried(best[0]) == 0:
		text = fmt.Sprintf("None of %d variants is steady at any load.", all)
	case len(found) == 1:
		text = fmt.Sprintf("Of %d variants, %s keeps %s.", all, named(best), reach(best))
	case len(best) == len(found):
		text = fmt.Sprintf("All %d variants keep %s.", len(found), reach(best))
		if len(found) == 2 {
			text = fmt.Sprintf("Both variants keep %s.", reach(best))
		}
	default:
		text = fmt.Sprintf("Of %d variants, %s most: %s keeps %s. %s least: %s keeps %s.", all, carry(best), each(best), reach(best), carry(worst), each(worst), reach(worst))
	}
	if len(undecided) > 0 {
		text += fmt.Sprintf(" The verdict on %s is open at every load.", named(undecided))
	}
	return text
}

// carry names the variants that do.
func carry(some []results.Knee) string {
	if len(some) == 1 {
		return named(some) + " carries"
	}
	return named(some) + " carry"
}

// each stands for the variants that were named.
func each(some []results.Knee) string {
	if len(some) == 1 {
		return "it"
	}
	return "each"
}

// reach says to which load some variants keep up, which is the same, and from where on
// they are saturated.
func reach(some []results.Knee) string {
	k := some[0]
	text := "up to a load of " + short(k.Steady)
	if math.IsNaN(k.Steady) {
		text = "up at none of the loads"
	}
	same := !slices.ContainsFunc(some, func(other results.Knee) bool { return other.Not != k.Not })
	none := !slices.ContainsFunc(some, func(other results.Knee) bool { return !math.IsNaN(other.Not) })
	switch {
	case none && k.Steady == k.Highest:
		return text + ", the highest load tried"
	case none:
		return text + "; no load tried is saturated"
	case same && len(some) == 1:
		return text + " and is saturated at " + short(k.Not)
	case same:
		return text + ", all are saturated at " + short(k.Not)
	}
	return text + " of those tried"
}

// mostNamed is how many variants are named one by one.
const mostNamed = 5

// named lists variants in words.
func named(some []results.Knee) string {
	var names []string
	for _, k := range some {
		names = append(names, cmp.Or(k.Design, k.Variant))
	}
	switch {
	case len(names) > mostNamed:
		return fmt.Sprintf("%d of them", len(names))
	case len(names) == 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// measured prints a number with its interval; empty where there is none.
func measured(x, half float64) string {
	if math.IsNaN(x) {
		return ""
	}
	text := short(x)
	if half > 0 && !math.IsInf(half, 0) {
		text += " ± " + strconv.FormatFloat(half, 'g', 2, 64)
	}
	return text
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
			Target: strings.TrimSpace(short(t.Value) + " " + unit), Measured: "not measured",
		}
		if !math.IsNaN(v.Measured) {
			p.Measured = strings.TrimSpace(measured(v.Measured, v.Half) + " " + unit)
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

// percent prints a relative difference with its sign.
func percent(x float64) string {
	x = math.Round(1000*x) / 10
	if x == 0 {
		return "0.0 %" // neither +0 nor -0
	}
	return fmt.Sprintf("%+.1f %%", x)
}

// short prints a number with the digits that a reader compares.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

// printResults parts the columns that have one value in all rows from the
// table, which they would only make wide.
func printResults(t *results.Table) (shared []cell, rest table) {
	narrow := &results.Table{Rows: make([][]string, len(t.Rows))}
	for i, name := range t.Columns {
		if name == "state" || name == "saturated" {
			continue // marked in the first column
		}
		same := len(t.Rows) > 1
		for _, r := range t.Rows {
			same = same && r[i] == t.Rows[0][i]
		}
		if same {
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
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = shortCell(c)
		}
		p.Rows = append(p.Rows, row{Cells: cells})
	}
	return p
}

func shortCell(cell string) string {
	if x, err := strconv.ParseFloat(cell, 64); err == nil && x != math.Trunc(x) {
		return short(x)
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

// linker makes links from the page to files, relative to where the page stands.
type linker struct{ base string }

// newLinker is for a page at out; without one, the page has no links to files.
func newLinker(out string) linker {
	if out == "" {
		return linker{}
	}
	base, err := filepath.Abs(filepath.Dir(out))
	if err != nil {
		return linker{}
	}
	return linker{base}
}

// to is the link to a file that is there; empty otherwise.
func (l linker) to(dir, name string) string {
	if l.base == "" {
		return ""
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	relative, err := filepath.Rel(l.base, path)
	if err != nil {
		return ""
	}
	link := (&url.URL{Path: filepath.ToSlash(relative)}).EscapedPath()
	if !strings.HasPrefix(link, "../") {
		link = "./" + link // no part of a name is a scheme
	}
	return link
}

// files lists those of the names that are there.
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

// ofFigure lists the forms of a figure and its data.
func (l linker) ofFigure(f *engine.Folder, p *figures.PlotConfig) []file {
	return l.files(f.Dir, p.File+".svg", p.File+".png", p.File+".pdf", p.File+".data.csv")
}
