// Package catalogue is what experiment files and results may say: one walk of the
// declarations that read and write them ([Settings]), and its printers: what a word
// means ([Explain]), what is registered ([List]), what a file may hold, for editors
// ([Schema]) and readers ([Page], [Manual]), and how one begins ([Start]).
package catalogue

import (
	"embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Setting is a key of experiment files in one of its uses.
type Setting struct {
	param.Param
	Kind  string // of the experiments that have it; "": every kind
	Table string // header of its table: "traffic", "channel.CLASS"; "": none
	Own   bool   // of the table itself; others come with an entry of a registry:

	Registry, Entry string // "topology", "torus"
	Choice          string // the key of the table that names the entry

	Names  []string // entries of a registry that it can name; nil: it names none
	ByUser bool     // its table has a name of the user's
}

// Path is the dotted key: "traffic.load".
func (s *Setting) Path() string { return strings.TrimPrefix(s.Table+"."+s.Key, ".") }

// Values are what a setting can be, where they are few.
func (s *Setting) Values() []string {
	switch {
	case s.Names != nil:
		return s.Names
	case s.Type == "boolean":
		return []string{"true", "false"}
	}
	return s.Choices
}

// Settings lists the keys of all files, then kind by kind the keys of its tables. Keys that
// entries of registries bring along stand behind the keys of their table.
func Settings() (all []Setting) {
	return slices.Concat(lists.Map(tables(), func(t table) []Setting { return t.settings() })...)
}

// table is a table of the files of a kind, or of every kind.
type table struct {
	kind string
	experiments.TableDescription
}

// tables lists all tables. The first is the part of a file outside tables.
func tables() (all []table) {
	all = lists.Map(experiments.CommonTables(), func(t experiments.TableDescription) table { return table{"", t} })
	for _, k := range experiments.DescribeKinds() {
		all = append(all, lists.Map(k.Tables, func(t experiments.TableDescription) table { return table{k.Name, t} })...)
	}
	return all
}

// common is a table of every kind.
func common(name string) table {
	for _, t := range tables() {
		if t.kind == "" && t.Name == name {
			return t
		}
	}
	panic("catalogue: no table " + name)
}

func (t *table) settings() (all []Setting) {
	names := map[string][]string{}
	for _, c := range t.Choices {
		for _, e := range c.Entries {
			names[c.Key] = append(names[c.Key], e.Name)
		}
	}
	add := func(s Setting, params []param.Param) {
		for _, p := range params {
			s.Param, s.Names = p, names[p.Key]
			all = append(all, s)
		}
	}
	add(Setting{Kind: t.kind, Table: t.Header(), Own: true, ByUser: t.Names != ""}, t.Params)
	for _, c := range t.Choices {
		for _, e := range c.Entries {
			add(Setting{Kind: t.kind, Table: t.Header(), Registry: c.Registry, Entry: e.Name, Choice: c.Key, ByUser: t.Names != ""}, e.Params)
		}
	}
	return all
}

// within is the table of a kind that another stands in: "transport" of "transport.nscc"; "": none.
func (t *table) within() string {
	if at := strings.LastIndexByte(t.Name, '.'); at >= 0 {
		return t.Name[:at]
	}
	return ""
}

// title is the header of a table as a file has it: [traffic], [[plot]].
func (t *table) title() string {
	if t.Repeated {
		return "[[" + t.Header() + "]]"
	}
	return "[" + t.Header() + "]"
}

// Completions lists the dotted keys of a kind, those under names of the user's apart,
// with the values to choose from where they are few.
func Completions(kind string) map[string][]string {
	keys := map[string][]string{"seed": nil}
	for _, s := range Settings() {
		if _, known := keys[s.Path()]; s.Kind == kind && !s.ByUser && (!known || s.Values() != nil) {
			keys[s.Path()] = s.Values()
		}
	}
	return keys
}

// brief is what a setting means and may be, in a line.
func brief(p param.Param) string {
	facts := lists.Filter([]string{p.Unit, p.Allowed}, func(fact string) bool { return fact != "" })
	if facts == nil {
		return p.Doc
	}
	return fmt.Sprintf("%s (%s)", p.Doc, strings.Join(facts, "; "))
}

// sentence begins with a capital and ends with a full stop; a name at its head stays.
func sentence(text string) string {
	if first, _, _ := strings.Cut(text, " "); text != "" && !strings.ContainsAny(strings.TrimSuffix(first, ":"), "_./=:") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text + "."
}

// Wrap breaks a text into lines of at most so many columns, where its words allow it.
func Wrap(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}

// Category is a group of things that experiment files can name.
type Category struct {
	Name    string // plural: "routings"
	Entries []param.Description
}

// Categories lists the kinds and every registry that a table of a kind chooses from, in
// alphabetical order, and the experiment files that come with weft.
func Categories() []Category {
	files := Category{Name: "experiments"}
	for _, name := range experiments.Embedded("") {
		files.Entries = append(files.Entries, param.Description{Name: strings.TrimSuffix(name, ".toml"), Doc: experiments.EmbeddedTitle(name)})
	}
	return append(registered(), files)
}

func registered() (all []Category) {
	kinds := Category{Name: "kinds"}
	byName := map[string]Category{}
	for _, k := range experiments.DescribeKinds() {
		kinds.Entries = append(kinds.Entries, param.Description{Name: k.Name, Doc: k.Doc})
		for _, t := range k.Tables {
			for _, c := range t.Choices {
				byName[plural(c.Registry)] = Category{plural(c.Registry), c.Entries}
			}
		}
	}
	byName[kinds.Name] = kinds
	return lists.Map(slices.Sorted(maps.Keys(byName)), func(name string) Category { return byName[name] })
}

// plural is the name of a category: topologies, routings, processes.
func plural(name string) string {
	switch {
	case strings.HasSuffix(name, "y"):
		return strings.TrimSuffix(name, "y") + "ies"
	case strings.HasSuffix(name, "s"):
		return name + "es"
	}
	return name + "s"
}

// find is the element of a name; the error names those that there are.
func find[E any](all []E, name string, nameOf func(E) string, none string) (e E, err error) {
	var known []string
	for _, e := range all {
		if nameOf(e) == name {
			return e, nil
		}
		known = append(known, nameOf(e))
	}
	return e, fmt.Errorf("%s%s: there are %s", none, param.DidYouMean(name, known), strings.Join(known, ", "))
}

// List prints what is registered: everything, one category, or one entry with its settings.
func List(w io.Writer, names ...string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush() // writes to w, whose errors the caller's last write shows
	if len(names) == 0 {
		for i, c := range Categories() {
			if i > 0 {
				t.Flush()
				fmt.Fprintln(w)
			}
			listCategory(t, c)
		}
		return nil
	}
	c, err := find(Categories(), names[0], func(c Category) string { return c.Name }, fmt.Sprintf("nothing is called %q", names[0]))
	if err != nil {
		return err
	}
	if len(names) == 1 {
		listCategory(t, c)
		return nil
	}
	e, err := find(c.Entries, names[1], func(e param.Description) string { return e.Name }, fmt.Sprintf("no %q among the %s", names[1], c.Name))
	if err != nil {
		return err
	}
	fmt.Fprintf(t, "%s: %s\n", e.Name, e.Doc)
	t.Flush()
	listParams(t, "", e.Params)
	if c.Name == systemsCategory {
		listErrors(t, e.Name)
	}
	for _, k := range experiments.DescribeKinds() {
		if c.Name != "kinds" || k.Name != e.Name {
			continue
		}
		for _, table := range k.Tables {
			fmt.Fprintf(t, "\n[%s]  %s\n", table.Header(), table.Doc)
			t.Flush()
			listParams(t, "  ", table.Params)
		}
		fmt.Fprintf(t, "\ncolumns of results.csv\n")
		for _, column := range k.Columns {
			fmt.Fprintf(t, "  %s\t%s\n", column.Name, column.Doc)
		}
	}
	return nil
}

func listCategory(t *tabwriter.Writer, c Category) {
	fmt.Fprintf(t, "%s\n", c.Name)
	for _, e := range c.Entries {
		fmt.Fprintf(t, "  %s\t%s\n", e.Name, e.Doc)
		if settings := assigned(e.Params); settings != "" {
			fmt.Fprintf(t, "  \t  %s\n", settings)
		}
		if c.Name == systemsCategory {
			listErrors(t, e.Name)
		}
	}
}

func listParams(t *tabwriter.Writer, indent string, params []param.Param) {
	for _, p := range params {
		fmt.Fprintf(t, "%s%s = %s\t%s\n", indent, p.Key, p.Default, brief(p))
	}
	t.Flush()
}

// assigned lists settings with their defaults: "p = 4, q = 2".
func assigned(params []param.Param) string {
	return lists.Join(params, ", ", func(p param.Param) string { return p.Key + " = " + p.Default })
}

// starts holds what [Start] begins with, a file a kind: KIND.toml. A kind without
// one begins with its defaults.
//
//go:embed starts
var starts embed.FS

// Start is an experiment of a kind to begin with: a question, a network, a sweep and
// a figure, and behind them every other setting as a comment, with its default and
// meaning. The error names the kinds that there are.
func Start(kind string) (string, error) {
	var names, lines []string
	for _, k := range experiments.DescribeKinds() {
		if k.Name == kind {
			return start(k), nil
		}
		names = append(names, k.Name)
		lines = append(lines, fmt.Sprintf("  %-18s %s", k.Name, k.Doc))
	}
	return "", fmt.Errorf("no kind %q%s; there are\n%s", kind, param.DidYouMean(kind, names), strings.Join(lines, "\n"))
}

// start adds to the file that a kind begins with what it does not say: to each of its
// tables the other settings, and the other tables of the kind before the tables of every kind.
func start(k experiments.KindDescription) string {
	text, err := starts.ReadFile("starts/" + k.Name + ".toml")
	if err != nil { // there is none
		text = fmt.Appendf(nil, "# The question: ...\ntitle = %q\nkind  = %q\nseed  = 1\n", strings.TrimSuffix(sentence(k.Doc), "."), k.Name)
	}
	var given map[string]any
	if _, err := toml.Decode(string(text), &given); err != nil {
		panic("catalogue: " + err.Error()) // a test reads them all
	}
	var b strings.Builder
	rest := slices.Clone(k.Tables)
	begin := 0
	for _, at := range append(header().FindAllIndex(text, -1), []int{len(text)}) {
		part := string(text[begin:at[0]])
		name := ""
		if m := header().FindStringSubmatch(part); m != nil {
			name = m[1]
		}
		if name == "sweep" || name == "plot" || name == "quick" {
			writeTables(&b, rest)
			rest = nil
		}
		b.WriteString(strings.TrimRight(part, "\n") + "\n")
		if i := slices.IndexFunc(rest, func(t experiments.TableDescription) bool { return t.Name == name }); i >= 0 {
			keys, _ := given[name].(map[string]any)
			writeSettings(&b, &rest[i], keys)
			rest = slices.Delete(rest, i, i+1)
		}
		b.WriteString("\n")
		begin = at[0]
	}
	writeTables(&b, rest)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// header is the line that begins a table: [traffic], [[plot]].
var header = input.Pattern(`(?m)^\[+([^]]+)\]`)

// writeTables writes tables of which the file says nothing. Those of names that the
// user gives are comments altogether.
func writeTables(b *strings.Builder, tables []experiments.TableDescription) {
	for i := range tables {
		t := &tables[i]
		mark := ""
		if t.Names != "" {
			mark = "#"
		}
		for _, line := range Wrap(sentence(t.Doc), 86) {
			fmt.Fprintf(b, "# %s\n", line)
		}
		fmt.Fprintf(b, "%s[%s]\n", mark, t.Header())
		writeSettings(b, t, nil)
		b.WriteString("\n")
	}
}

// writeSettings writes the settings of a table that are not given, as comments; those
// of the entries that it names stand behind the key that names them.
func writeSettings(b *strings.Builder, d *experiments.TableDescription, given map[string]any) {
	write := func(s Setting) {
		text := "#" + s.Key + " = " + s.Default
		switch _, is := given[s.Key]; {
		case is || s.Default == "":
			return
		case s.Default == `"0Gb/s"`: // stands for none, and cannot be written
			text = "# " + s.Key + ": not set"
		}
		fmt.Fprintf(b, "%-28s # %s\n", text, brief(s.Param))
	}
	all := (&table{"", *d}).settings()
	for _, s := range all {
		if !s.Own {
			continue
		}
		write(s)
		name, is := given[s.Key]
		for _, e := range all {
			if e.Choice == s.Key && (e.Entry == name || !is && strconv.Quote(e.Entry) == s.Default) {
				write(e)
			}
		}
	}
}
