package experiments

import (
	"fmt"
	"html/template"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/weft-sim/weft/sim/param"
)

// referenceSection is a part of the reference: a heading, text, and a table.
type referenceSection struct {
	ID, Title string
	Level     int // of its heading: 2 or 3
	Text      string
	Head      []string
	Rows      [][]string
}

// Reference writes docs/reference.html: every table, key and column of experiment files,
// and everything that they can name, from the registries, as a page without scripts.
func Reference(w io.Writer) error {
	var all []referenceSection
	add := func(level int, id, title, text string, head []string, rows [][]string) {
		all = append(all, referenceSection{id, title, level, text, head, rows})
	}
	add(2, "top", "Keys outside tables", "", paramHead, paramRows(HeaderParams()))
	for _, name := range KindNames() {
		k := kinds[name]
		add(2, "kind-"+name, "Kind "+name, capital(k.doc)+".", nil, nil)
		for _, t := range k.settings() {
			text := capital(t.Doc) + "."
			for _, c := range t.Choices {
				text += fmt.Sprintf(" `%s` names one of the %s, whose parameters stand in the same table.", c.Key, pluralOf(c.Registry))
			}
			add(3, anchor(name+" "+t.Header()), fmt.Sprintf("[%s] of kind %s", t.Header(), name), text, paramHead, paramRows(t.Params))
		}
		var columns [][]string
		for _, c := range k.columns {
			columns = append(columns, []string{"`" + c.Name + "`", c.Doc})
		}
		add(3, name+"-columns", "Columns of kind "+name, "", []string{"column", "meaning"}, columns)
	}
	for _, c := range Registered() {
		if c.Name == "kinds" {
			continue
		}
		add(2, anchor(c.Name), capital(c.Name), "", nil, nil)
		for _, e := range c.Entries {
			add(3, anchor(c.Name+" "+e.Name), e.Name, capital(e.Doc)+".", paramHead, paramRows(e.Params))
		}
	}
	add(2, "plot", "[[plot]]", "A figure beside the results.", paramHead, paramRows(PlotParams()))
	add(3, "plot-reference", "[[plot.reference]]", "Numbers from elsewhere, drawn into it.", paramHead, paramRows(ReferenceParams()))
	add(2, "expect", "[[expect]]", "What a paper's row follows from.", paramHead, paramRows(ExpectParams()))
	add(2, "kept", "Points that were killed", "What becomes of them with `--resume`.", []string{"kind", "its points"}, keptRows())
	return referencePage.Execute(w, all)
}

// keptRows tells what becomes of points that are killed, by kind.
func keptRows() (rows [][]string) {
	for _, name := range KindNames() {
		k := kinds[name]
		does := "go on"
		switch {
		case k.again != "":
			does = "begin again: " + k.again
		case k.someAgain:
			does = "go on, but for some, of which `weft run --snapshot-every` says why they begin again"
		}
		rows = append(rows, []string{"`" + name + "`", does})
	}
	return rows
}

var paramHead = []string{"key", "default", "meaning", "unit", "allowed"}

func paramRows(params []param.Param) (rows [][]string) {
	for _, p := range params {
		value := "`" + p.Default + "`"
		if reflect.ValueOf(p.Default).IsZero() || p.Default == `""` || p.Default == "[]" {
			value = ""
		}
		rows = append(rows, []string{"`" + p.Key + "`", value, p.Doc, p.Unit, p.Allowed})
	}
	return rows
}

// anchor is the name under which a heading can be linked to, as forges make it: in
// lower case, hyphens for spaces, without punctuation.
func anchor(heading string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(heading) {
		switch {
		case c == ' ':
			b.WriteByte('-')
		case c == '-' || c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c > 127:
			b.WriteRune(c)
		}
	}
	return b.String()
}

var codeSpan = regexp.MustCompile("`([^`]*)`")

// marked is text as HTML, with code where it stands between backquotes.
func marked(text string) template.HTML {
	return template.HTML(codeSpan.ReplaceAllString(template.HTMLEscapeString(text), "<code>$1</code>"))
}

var referencePage = template.Must(template.New("reference").Funcs(template.FuncMap{"marked": marked}).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>weft: experiment files, every key and column</title>
<style>
:root { color-scheme: light dark }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8884; padding: .25rem .5rem; text-align: left; vertical-align: top; overflow-wrap: anywhere }
td:nth-child(3) { min-width: 40% }
nav { columns: 16rem }
nav a { display: block }
nav .l3 { padding-left: 1rem }
</style>
</head>
<body>
<h1>Experiment files: every key and column</h1>
<p>Made by <code>weft explain --html</code> from the declarations that read the files. How files are written is in <a href="experiments.md">experiments.md</a>.</p>
<nav>
{{range .}}<a class="l{{.Level}}" href="#{{.ID}}">{{.Title}}</a>
{{end}}</nav>
{{range .}}
<h{{.Level}} id="{{.ID}}">{{.Title}}</h{{.Level}}>
{{if .Text}}<p>{{marked .Text}}</p>
{{end}}{{if .Rows}}<table>
<tr>{{range .Head}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range .}}<td>{{marked .}}</td>{{end}}</tr>
{{end}}</table>
{{end}}{{end}}</body>
</html>
`))
