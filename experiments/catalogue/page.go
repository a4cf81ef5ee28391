package catalogue

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// section is a part of the reference: a heading, text, and a table of keys or columns.
type section struct {
	ID, Title string
	Level     int // of its heading: 2 or 3
	Text      string
	Head      []string
	Rows      [][]string
}

// reference is every table, key and column of experiment files, and everything that they can name.
func reference() (all []section) {
	add := func(level int, id, title, text string, head []string, rows [][]string) {
		all = append(all, section{id, title, level, text, head, rows})
	}
	fixed := experiments.CommonTables()
	add(2, "top", "Keys outside tables", "", paramHead, paramRows(fixed[0].Params))
	var kept [][]string
	for _, k := range experiments.DescribeKinds() {
		add(2, "kind-"+k.Name, "Kind "+k.Name, sentence(k.Doc), nil, nil)
		for _, t := range k.Tables {
			text := sentence(t.Doc)
			for _, c := range t.Choices {
				text += fmt.Sprintf(" `%s` names one of the %s, whose parameters stand in the same table.", c.Key, plural(c.Registry))
			}
			add(3, anchor(k.Name+" "+t.Header()), fmt.Sprintf("[%s] of kind %s", t.Header(), k.Name), text, paramHead, paramRows(t.Params))
		}
		columns := lists.Map(k.Columns, func(c experiments.Column) []string { return []string{"`" + c.Name + "`", c.Doc} })
		add(3, k.Name+"-columns", "Columns of kind "+k.Name, "", []string{"column", "meaning"}, columns)
		kept = append(kept, []string{"`" + k.Name + "`", becomes(k)})
	}
	for _, c := range registered() {
		if c.Name == "kinds" {
			continue
		}
		add(2, anchor(c.Name), strings.TrimSuffix(sentence(c.Name), "."), "", nil, nil)
		for _, e := range c.Entries {
			add(3, anchor(c.Name+" "+e.Name), e.Name, sentence(e.Doc), paramHead, paramRows(e.Params))
		}
	}
	for _, d := range fixed[1:] {
		t := table{"", d}
		level := 2 + min(1, strings.Count(t.Name, "."))
		add(level, anchor(strings.ReplaceAll(t.Name, ".", " ")), t.title(), sentence(t.Doc), paramHead, paramRows(t.Params))
	}
	add(2, "kept", "Points that were killed", "What becomes of them with `--resume`.", []string{"kind", "its points"}, kept)
	glossary := lists.Map(wordGroups()[len(wordGroups())-1].words, func(t term) []string { return []string{t.word, t.doc} })
	add(2, "glossary", "Glossary", "Terms and abbreviations as weft uses them; `weft explain TERM` prints one.", []string{"term", "meaning"}, glossary)
	return all
}

// becomes tells what becomes of the points of a kind that are killed.
func becomes(k experiments.KindDescription) string {
	switch {
	case k.BeginsAgain != "":
		return "begin again: " + k.BeginsAgain
	case k.SomeBeginAgain:
		return "go on, but for some, of which `weft run --snapshot-every` says why they begin again"
	}
	return "go on"
}

var paramHead = []string{"key", "default", "meaning", "unit", "allowed"}

func paramRows(params []param.Param) (rows [][]string) {
	for _, p := range params {
		value := "`" + p.Default + "`"
		if p.Default == "" || p.Default == `""` || p.Default == "[]" {
			value = ""
		}
		rows = append(rows, []string{"`" + p.Key + "`", value, p.Doc, p.Unit, p.Allowed})
	}
	return rows
}

// anchor is the name under which a heading can be linked to, as forges make it: in
// lower case, hyphens for spaces, without punctuation.
func anchor(heading string) string {
	return notInAnchors().ReplaceAllString(strings.ReplaceAll(strings.ToLower(heading), " ", "-"), "")
}

var (
	notInAnchors = input.Pattern(`[^-_a-z0-9\x{80}-\x{10FFFF}]`)
	codeSpan     = input.Pattern("`([^`]*)`")
)

//go:embed page.html
var pageHTML string

// marked is text as HTML, with code where it stands between backquotes.
func marked(text string) template.HTML {
	return template.HTML(codeSpan().ReplaceAllString(template.HTMLEscapeString(text), "<code>$1</code>"))
}

// Page writes docs/reference.html: the reference as a page without scripts.
func Page(w io.Writer) error {
	page := template.Must(template.New("reference").Funcs(template.FuncMap{"marked": marked}).Parse(pageHTML))
	return page.Execute(w, reference())
}

// Manual is the reference as weft-experiment(5), in the Markdown that go-md2man takes.
func Manual() string {
	var b strings.Builder
	b.WriteString(manualHead)
	for _, s := range reference() {
		fmt.Fprintf(&b, "%s %s\n%s\n\n", strings.Repeat("#", s.Level-1), s.Title, s.Text)
		for _, row := range s.Rows {
			text := ""
			for i, cell := range row[1:] {
				switch head := s.Head[i+1]; {
				case cell == "":
				case head == "meaning" || len(row) == 2:
					text = cell + text
				default:
					text += "; " + head + " " + cell
				}
			}
			fmt.Fprintf(&b, "**%s**\n\t%s\n\n", strings.Trim(row[0], "`"), text)
		}
	}
	return b.String()
}

//go:embed manual_head.txt
var manualHead string
