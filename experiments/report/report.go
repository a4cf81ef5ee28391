// Package report puts result folders into one HTML page without external resources: question,
// verdicts, figures, link maps, results, settings. The page is well-formed XML too.
package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
)

//go:embed page.html
var pageHTML string

//go:embed style.css
var styleCSS string

// The scripts of the page, none of which it needs to be read.
var (
	//go:embed figures.js
	figuresJS string
	//go:embed tables.js
	tablesJS string
	//go:embed maps.js
	mapsJS string
)

// script is all of them, in a form that is XML, too.
func script() template.JS {
	colours, err := json.Marshal(plot.LoadColours)
	if err != nil {
		panic("report: " + err.Error())
	}
	return template.JS("//<![CDATA[\nconst loadColours = " + string(colours) + ";\n" + figuresJS + tablesJS + mapsJS + "//]]>\n")
}

// content is what the page shows.
type content struct {
	Title       string
	Style       template.CSS
	Version     string
	Counts      []verdict.Tally // of all experiments
	Verdicts    [][]verdictRow  // by paper
	Experiments []experiment
	Interrupted []string // folders without results
	Script      template.JS
	Several     bool // experiments
	Quick       bool // the only experiment
}

// experiment is the part of the page about one result folder.
type experiment struct {
	ID, Title, Folder string
	Beside            bool
	Opens             int      // the number of the first one beside others; of all others 0
	Question          []string // paragraphs
	Manifest          engine.Manifest
	Sections          []section
	Answer            []string // sentences
	Knees             []knee
	Bounds            bool // of the channels are known
	Verdicts          []verdictRow
	Figures           []drawnFigure
	Missing           []string // figures that could not be drawn, with the reason
	Maps              []networkFigure
	MapNote           string
	Lapses            []networkFigure
	LapseNote         string
	Timelines         []timeline
	TimelineNote      string
	Blame             *blame
	Jobs              *jobBlame
	Shared            []cell // columns with one value
	Results           table
	Failures          *table
	Command           string
	Seeds             []string
	Files             []file
	Settings          []block
}

// HasAnswer and HasWhy tell whether there is anything to say.
func (e *experiment) HasAnswer() bool { return len(e.Answer)+len(e.Knees)+len(e.Verdicts) > 0 }
func (e *experiment) HasWhy() bool {
	return e.Blame != nil || e.Jobs != nil || len(e.Maps) > 0 || e.MapNote != "" || e.LapseNote != "" || len(e.Timelines) > 0
}

// section is an entry of the list of contents.
type section struct{ ID, Name string }

// verdict is a row of a verdict table, ready to print.
type verdictRow struct {
	Paper, Artifact, Case, Metric, Target, Measured, Difference, Kind, Verdict, Note string
}

// table is a table ready to print.
type table struct {
	Columns [][]string // each name in the parts between which it may be broken
	Rows    []row
	Numeric []bool // len = columns
}

type row struct {
	Cells []string
	State string // where the network did not show that it keeps up: saturated or undecided
}

type cell struct{ Name, Value string }

// block is a table of the resolved settings.
type block struct{ Name, Text string }

// Make writes the report of the result folders in and below some directories. out
// is where the page will stand, for links to the files of the folders; empty: it has
// none. Errors are *engine.FolderError.
func Make(dirs []string, out string) ([]byte, error) {
	c := content{Style: template.CSS(styleCSS), Script: script(), Version: experiments.Version()}
	links := linker(out)
	var verdicts []verdict.Verdict
	for _, dir := range dirs {
		finished, interrupted, err := engine.FindFolders(dir)
		if err != nil {
			return nil, err
		}
		c.Interrupted = append(c.Interrupted, interrupted...)
		for _, name := range finished {
			folder, err := engine.ReadFolder(name)
			if err != nil {
				return nil, err
			}
			e, judged := newExperiment(folder, links)
			short, err := filepath.Rel(dir, name) // its place below the folder that the user named, which says paper and artifact
			if err != nil || short == "." {
				short = filepath.Base(name)
			}
			e.Folder = filepath.ToSlash(short)
			c.Experiments = append(c.Experiments, e)
			verdicts = append(verdicts, judged...)
		}
	}
	c.order()
	c.Title = "Results of weft"
	c.Several = len(c.Experiments) != 1
	if !c.Several {
		c.Title, c.Quick = c.Experiments[0].Title, c.Experiments[0].Manifest.Quick
	}
	c.sum(verdicts)
	var b bytes.Buffer
	if err := template.Must(template.New("page").Parse(pageHTML)).Execute(&b, &c); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return b.Bytes(), nil
}

// order puts the experiments that stand beside others behind them, and numbers all.
func (c *content) order() {
	slices.SortStableFunc(c.Experiments, func(a, b experiment) int {
		switch {
		case b.Beside && !a.Beside:
			return -1
		case a.Beside && !b.Beside:
			return 1
		}
		return 0
	})
	for i := range c.Experiments {
		e := &c.Experiments[i]
		if e.Beside && i > 0 && !c.Experiments[i-1].Beside {
			e.Opens = i + 1
		}
		e.ID = fmt.Sprintf("experiment%d", i+1)
		e.list()
	}
}

// list names the sections that there are, in the order in which a reader asks.
func (e *experiment) list() {
	for _, s := range []struct {
		id, name string
		there    bool
	}{
		{"answer", "Answer", e.HasAnswer()},
		{"figures", "Figures", len(e.Figures)+len(e.Missing) > 0},
		{"why", "Why", e.HasWhy()},
		{"points", "Every point", true},
		{"how", "How", true},
	} {
		if s.there {
			e.Sections = append(e.Sections, section{e.ID + "-" + s.id, s.name})
		}
	}
}

// sum counts the verdicts and gathers them by paper for the head of the page.
func (c *content) sum(verdicts []verdict.Verdict) {
	c.Counts = verdict.Tallies(verdicts)
	if len(c.Experiments) < 2 {
		return // the only experiment shows them
	}
	c.Verdicts = results.Grouped(printVerdicts(verdicts), func(v verdictRow) string { return v.Paper })
}

func newExperiment(f *engine.Folder, links linker) (experiment, []verdict.Verdict) {
	verdicts := f.Verdicts()
	e := experiment{
		Title: f.Manifest.Title, Beside: f.File.Beside, Question: paragraphs(f.File.Question()), Manifest: f.Manifest,
		Verdicts: printVerdicts(verdicts), Settings: blocks(f.Manifest.Resolved),
		Command: commandOf(f.Manifest.Command), Seeds: shortList(f.Manifest.Seeds), Files: links.ofRun(f),
	}
	e.Answer = answer(f)
	e.Knees, e.Bounds = knees(f)
	for i := range f.File.Plots {
		p := &f.File.Plots[i]
		drawn, err := drawFigure(f, p)
		if err != nil {
			e.Missing = append(e.Missing, p.File+": "+err.Error())
			continue
		}
		drawn.Files = links.files(f.Dir, p.File+".svg", p.File+".png", p.File+".pdf", p.File+".data.csv")
		e.Figures = append(e.Figures, drawn)
	}
	e.Maps, e.MapNote = linkMaps(f)
	e.Lapses, e.LapseNote = timelapses(f)
	e.Timelines, e.TimelineNote = timelines(f)
	e.Blame, e.Jobs = newBlame(f), newJobBlame(f)
	e.Shared, e.Results = printResults(f.Results)
	if f.Failures != nil {
		failures := printTable(f.Failures)
		e.Failures = &failures
	}
	return e, verdicts
}

// paragraphs joins the lines of a comment; empty lines part paragraphs.
func paragraphs(lines []string) []string {
	var all []string
	fresh := true
	for _, line := range lines {
		switch {
		case line == "":
			fresh = true
		case fresh:
			all, fresh = append(all, line), false
		default:
			all[len(all)-1] += " " + line
		}
	}
	return all
}

// blocks divides a resolved file into its tables.
func blocks(resolved string) []block {
	var all []block
	for part := range strings.SplitSeq(strings.TrimSpace(resolved), "\n\n") {
		var lines []string
		for line := range strings.Lines(part) {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		b := block{Name: "experiment"}
		if len(lines) > 0 && strings.HasPrefix(lines[0], "[") {
			b.Name, lines = strings.Trim(strings.TrimSpace(lines[0]), "[]"), lines[1:]
		}
		b.Text = strings.TrimRight(strings.Join(lines, ""), "\n")
		all = append(all, b)
	}
	return all
}
