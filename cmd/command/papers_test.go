package command

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/simtest"
)

// judgedRow is a row of docs/verdicts.csv, the verdicts.csv of a full run of weft
// reproduce.
type judgedRow struct {
	target         experiments.Target
	measured, half float64 // NaN: empty
	verdict, note  string
	rests, variant string
}

// readVerdicts reads docs/verdicts.csv and checks that it is whole: every target
// once, as it stands in the data, and judged as it would be today.
func readVerdicts(t *testing.T) []judgedRow {
	file := simtest.Must(os.Open(filepath.Join(root, "docs", "verdicts.csv")))(t)
	defer file.Close()
	table := simtest.Must(experiments.ReadTable("verdicts.csv", file))(t)
	if want := experiments.VerdictTable(nil).Columns; !slices.Equal(table.Columns, want) {
		t.Fatalf("columns %v, want %v", table.Columns, want)
	}
	measured := simtest.Must(table.Numbers("measured"))(t)
	half := simtest.Must(table.Numbers("ci95"))(t)
	byID := map[string]judgedRow{}
	for i, cells := range table.Rows {
		byID[cells[0]] = judgedRow{measured: measured[i], half: half[i], verdict: cells[len(cells)-2], note: cells[len(cells)-1], rests: cells[len(cells)-4], variant: cells[len(cells)-3]}
	}
	var rows []judgedRow
	for _, target := range experiments.Targets() {
		row, ok := byID[target.ID]
		if !ok {
			t.Errorf("docs/verdicts.csv lacks %s: make verdicts", target.ID)
			continue
		}
		row.target = target
		if today := target.Judge(row.measured); row.verdict != today && (row.verdict == experiments.Met || row.verdict == experiments.Missed) {
			t.Errorf("%s: %v is called %s, which is %s", target.ID, row.measured, row.verdict, today)
		}
		if !slices.Contains(experiments.VerdictNames(), row.verdict) {
			t.Errorf("%s: no verdict is called %q", target.ID, row.verdict)
		}
		rows = append(rows, row)
	}
	if len(table.Rows) != len(rows) {
		t.Errorf("docs/verdicts.csv has %d rows for %d targets", len(table.Rows), len(rows))
	}
	return rows
}

// TestPapersPage: the counts and tables of docs/papers.md are those of
// docs/verdicts.csv. With -update they are written anew.
func TestPapersPage(t *testing.T) {
	rows := readVerdicts(t)
	path := filepath.Join(root, "docs", "papers.md")
	text := simtest.Must(os.ReadFile(path))(t)
	block := regexp.MustCompile(`(?s)<!-- verdicts: (\S+) -->\n.*?<!-- end of verdicts -->`)
	page := block.ReplaceAllStringFunc(string(text), func(found string) string {
		name := block.FindStringSubmatch(found)[1]
		if name != "counts" && !slices.ContainsFunc(rows, func(r judgedRow) bool { return r.target.Paper == name }) {
			t.Errorf("docs/papers.md asks for the verdicts of %q, a paper without targets", name)
		}
		body := countsTable(rows)
		if name != "counts" {
			body = paperTable(rows, name)
		}
		if body == "" {
			body = "\nNo row is missed or refuted.\n\n"
		}
		return "<!-- verdicts: " + name + " -->\n" + body + "<!-- end of verdicts -->"
	})
	if !strings.Contains(page, "<!-- verdicts: counts -->") {
		t.Error("docs/papers.md has no counts")
	}
	golden(t, path, []byte(page))
}

// countsTable counts verdicts by paper.
func countsTable(rows []judgedRow) string {
	var b strings.Builder
	names := experiments.VerdictNames()
	fmt.Fprintf(&b, "| paper | rows | %s |\n|---|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	var papers []string
	for _, r := range rows {
		if !slices.Contains(papers, r.target.Paper) {
			papers = append(papers, r.target.Paper)
		}
	}
	slices.Sort(papers)
	for _, paper := range append(papers, "") {
		counts, all := map[string]int{}, 0
		for _, r := range rows {
			if paper == "" || r.target.Paper == paper {
				counts[r.verdict]++
				all++
			}
		}
		cells := []string{paper, strconv.Itoa(all)}
		if paper == "" {
			cells[0] = "all"
		}
		for _, name := range names {
			cells = append(cells, strconv.Itoa(counts[name]))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	b.WriteString("\nWhat the rows met rest on: ")
	for i, name := range experiments.RestsOnNames() {
		n := 0
		for _, r := range rows {
			if r.verdict == experiments.Met && r.rests == name {
				n++
			}
		}
		fmt.Fprintf(&b, "%s%d %s", map[bool]string{true: ", "}[i > 0], n, name)
	}
	b.WriteString(".\n")
	undecided, idle := 0, 0
	for _, r := range rows {
		if strings.Contains(r.note, experiments.IntervalHasBound) {
			undecided++
		}
		if r.verdict == experiments.Met && strings.Contains(r.note, "also met ") {
			idle++
		}
	}
	fmt.Fprintf(&b, "\nOf the rows met or missed, %d have their bound within the 95 %% interval; %d of those met are\nalso met by a model without what they are about.\n", undecided, idle)
	return b.String()
}

// paperTable is the table of a paper's rows that are missed or refuted.
func paperTable(rows []judgedRow, paper string) string {
	var table strings.Builder
	above := ""
	for _, r := range rows {
		if x := r.target; x.Paper == paper && (r.verdict == experiments.Missed || r.verdict == experiments.Refuted) {
			remark := withoutLists(r.note)
			if remark != "" && remark == above {
				remark = "likewise"
			} else {
				above = remark
			}
			fmt.Fprintf(&table, "| %s | %s: %s | %s | %s | %s | %s | %s |\n", x.Artifact, cell(x.Case), strings.ReplaceAll(x.Metric, "_", " "), published(x), measuredCell(r), r.verdict, rests(r), cell(remark))
		}
	}
	if table.Len() == 0 {
		return ""
	}
	return "| where | case | published | measured | verdict | rests on | remark |\n|---|---|---|---|---|---|---|\n" + table.String()
}

// withoutLists is a remark without the values that a row sums up, which verdicts.csv has.
func withoutLists(note string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(note, "; "), func(part string) bool {
		return strings.HasPrefix(part, "every of ") || strings.HasPrefix(part, "mean of ")
	}), "; ")
}

// rests is what a row rests on.
func rests(r judgedRow) string {
	if r.variant == "quick" {
		return r.rests + ", quick"
	}
	return r.rests
}

// published is the target as a reader would put it.
func published(x experiments.Target) string {
	value := strconv.FormatFloat(x.Value, 'g', 5, 64)
	if x.Unit != "ratio" && x.Unit != "fraction" {
		value += " " + x.Unit
	}
	switch x.ToleranceKind {
	case "at_least":
		return "at least " + value
	case "at_most":
		return "at most " + value
	}
	return value
}

// measuredCell is the measured value with its interval.
func measuredCell(r judgedRow) string {
	if math.IsNaN(r.measured) {
		return "none"
	}
	value := strconv.FormatFloat(r.measured, 'g', 5, 64)
	if r.half > 0 {
		value += " ± " + strconv.FormatFloat(r.half, 'g', 2, 64)
	}
	return value
}

// cell escapes what would end a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// TestTrials: docs/papers-tried.csv names experiments that there are.
func TestTrials(t *testing.T) {
	table := simtest.Must(experiments.ReadTableFile(filepath.Join(root, "docs", "papers-tried.csv")))(t)
	if want := []string{"paper", "experiment", "case", "quantity", "value", "ci95"}; !slices.Equal(table.Columns, want) {
		t.Fatalf("columns %v, want %v", table.Columns, want)
	}
	checked := map[string]bool{}
	for _, row := range table.Rows {
		name := "papers/" + row[0] + "/" + row[1]
		if checked[name] {
			continue
		}
		checked[name] = true
		if _, err := experiments.Open(name, experiments.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
