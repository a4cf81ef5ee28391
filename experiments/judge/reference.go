// Package judge holds weft against data: the numbers of papers, and curves, numbers and tables
// of other programs. All are a [Reference] of named entries, whose rows of verdicts a [Session]
// selects, runs, writes and counts.
//
// An entry keeps the problems of its own files; it is [Unreadable] then, and all others are judged.
package judge

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/lists"
)

// Verdicts on the data of other programs; those on papers are [verdict.Names].
const (
	Agrees     = "agrees"
	Differs    = "differs"
	NotJudged  = "not-judged"   // nothing to compare, or more noise than a judgement allows
	NotRun     = verdict.NotRun // weft has no counterpart, or its run failed
	Unreadable = "unreadable"   // the data of the entry has problems
)

var verdicts = append([]string{Agrees, Differs, NotJudged, Unreadable}, verdict.Names()...)

// Count says how often each verdict was reached.
type Count map[string]int

func (c Count) String() string {
	text := fmt.Sprintf("%d agree, %d differ, %d not judged, %d not run", c[Agrees], c[Differs], c[NotJudged], c[NotRun])
	if n := c[Unreadable]; n > 0 {
		text += fmt.Sprintf(", %d unreadable", n)
	}
	return text
}

// Add counts a verdict. One that is not of the vocabulary is a mistake of the program.
func (c Count) Add(verdict string) {
	if !slices.Contains(verdicts, verdict) {
		panic("judge: no verdict " + verdict)
	}
	c[verdict]++
}

// Note is what stands beside the verdict unreadable: the first problem.
func Note(problems document.Problems) string {
	text, _, _ := strings.Cut(problems[0].Error(), "\n")
	if more := len(problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Merged are the problems of all entries, each once.
func Merged(entries ...document.Problems) (all document.Problems) {
	seen := map[string]bool{}
	for _, problems := range entries {
		for _, p := range problems {
			if text := p.Error(); !seen[text] {
				seen[text] = true
				all = append(all, p)
			}
		}
	}
	return all
}

// Reference is data that weft is held against: what weft reproduce is given the name of.
type Reference struct {
	Name     string // such as booksim, above the names of its entries; "": the papers
	Place    string // of the data, in messages
	Entry    string // what an entry is called in messages: a curve
	Sections []*Section
	Warnings []string          // of what lies beside the data
	Faults   document.Problems // of the data, and of no entry alone
}

// Source is where a reference comes from: weft reproduce opens the one that it is given the name of.
type Source struct {
	Name    string
	Help    string // what it is, and of what form its data: paragraphs of the help of weft reproduce
	Example string // a command line of it
	Needs   string // what the folder of data has to be of; "": some come with weft
	// Open reads a folder of data; "": those that come with weft.
	Open func(data string) (*Reference, error)
}

var sources = map[string]Source{}

// Register makes a source known by its name. It panics if there is one of this name.
func Register(s Source) {
	if _, known := sources[s.Name]; known {
		panic("judge: source " + s.Name + " is registered twice")
	}
	sources[s.Name] = s
}

// Sources are the registered sources, by name.
func Sources() map[string]Source { return maps.Clone(sources) }

// Section is a table of verdicts.
type Section struct {
	File    string   // of the table, in the folder of results
	Columns []string // the verdict and the note follow
	Entries []*Entry
	// SideBySide tells that entries may be judged at the same time.
	SideBySide bool
	// Prepare, unless it is nil, is called before any entry is judged.
	Prepare func(entries []*Entry) error
	// Conclude says what follows from the rows; failed tells that a point was not computed. nil:
	// the table is shown, and no row may differ.
	Conclude func(table *results.Table, count Count, failed bool) (Conclusion, error)
}

// Conclusion is what a section comes to.
type Conclusion struct {
	Shown  *results.Table // to the reader; nil: nothing
	File   string         // that Shown is written to, too; "": none
	Text   string
	Failed bool
}

// Entry is what can be judged alone: a curve, a run, an experiment of a paper.
type Entry struct {
	Name   string // below the name of the reference
	Listed string // what a list of names has for it; "": the name
	Aside  bool   // has no rows: left out, unless it is named itself
	// Faults are the problems of its data, if it has any of its own; judging may find more. With
	// some, nothing of it can be judged, unless it is readable in part.
	Faults *document.Problems
	Partly bool
	Judge  func(s *Session) (rows []Row, failed bool, err error)
}

// Row is a verdict: on a number, the points of a load, the tables of a run.
type Row struct {
	Cells   []string // in the columns of its section
	Verdict string
	Note    string
}

// TableOf is a table of verdicts.
func TableOf(columns []string, rows []Row) *results.Table {
	return &results.Table{
		Columns: append(slices.Clone(columns), "verdict", "note"),
		Rows:    lists.Map(rows, func(r Row) []string { return append(slices.Clone(r.Cells), r.Verdict, r.Note) }),
	}
}

// RowsOf are the rows of a table of verdicts.
func RowsOf(t *results.Table) []Row {
	of := len(t.Columns) - 2
	return lists.Map(t.Rows, func(cells []string) Row { return Row{cells[:of:of], cells[of], cells[of+1]} })
}

// Embedded is a folder among files that come with weft. It panics if there is none.
func Embedded(files embed.FS, folder string) fs.FS {
	own, err := fs.Sub(files, folder)
	if err != nil {
		panic("judge: " + err.Error())
	}
	return own
}

// Folder is a folder of data with its name, or the one that comes with weft where none is given.
func Folder(data string, own fs.FS, place string) (fs.FS, string) {
	if data == "" {
		return own, place
	}
	return os.DirFS(data), data
}

// entries lists the entries of all sections.
func (r *Reference) entries() (all []*Entry) {
	return slices.Concat(lists.Map(r.Sections, func(s *Section) []*Entry { return s.Entries })...)
}

// Check fails if no entry can be judged, with the problems of all.
func (r *Reference) Check() error {
	if slices.ContainsFunc(r.entries(), func(e *Entry) bool { return e.Partly || e.Faults == nil || len(*e.Faults) == 0 }) {
		return nil
	}
	if problems := r.problems(); len(problems) > 0 {
		return problems
	}
	return document.Problems{{At: r.Place, Message: "holds no " + r.Entry}}
}

// problems lists the problems of all entries.
func (r *Reference) problems() document.Problems {
	all := []document.Problems{r.Faults}
	for _, e := range r.entries() {
		if e.Faults != nil {
			all = append(all, *e.Faults)
		}
	}
	return Merged(all...)
}

// Select leaves the entries that are named, in the order of the names: NAME for all of the
// reference, NAME/ENTRY, or NAME/PART for the entries below it. No names leave all. Entries that
// stand aside are left only where they are named themselves.
func (r *Reference) Select(names []string) (*Reference, error) {
	all := len(names) == 0
	if all {
		names = []string{r.Name}
	}
	some := *r
	some.Sections = make([]*Section, len(r.Sections))
	for i, s := range r.Sections {
		part := *s
		part.Entries, some.Sections[i] = nil, &part
	}
	for _, name := range names {
		below := strings.TrimPrefix(strings.TrimPrefix(name, r.Name), "/")
		found := false
		for i, s := range r.Sections {
			for _, e := range s.Entries {
				if below != e.Name && (e.Aside || below != "" && !strings.HasPrefix(e.Name, below+"/")) {
					continue
				}
				if found = true; !slices.Contains(some.Sections[i].Entries, e) {
					some.Sections[i].Entries = append(some.Sections[i].Entries, e)
				}
			}
		}
		if !found && !all {
			return nil, r.unknown(below)
		}
	}
	return &some, nil
}

func (r *Reference) unknown(name string) error {
	known := lists.Map(r.entries(), func(e *Entry) string { return cmp.Or(e.Listed, e.Name) })
	in := ""
	if r.Place != "" {
		in = " in " + r.Place
	}
	return fmt.Errorf("no %s %q%s: there are %s", r.Entry, name, in, strings.Join(slices.Compact(known), ", "))
}
