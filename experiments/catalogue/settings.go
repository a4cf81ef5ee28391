// Package catalogue is what experiment files and results may say: one walk of the
// declarations that read and write them ([Settings]), and its printers: what a word
// means ([Explain]), what is registered ([List]), what a file may hold, for editors
// ([Schema]) and readers ([Page], [Manual]), and how one begins ([Start]).
package catalogue

import (
	"fmt"
	"strings"

	"github.com/weft-sim/weft/experiments"
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

// Settings lists the keys of all files, then kind by kind those of its tables, with what
// the entries of registries bring along behind the keys of their table.
func Settings() (all []Setting) {
	for _, t := range tables() {
		all = append(all, t.settings()...)
	}
	return all
}

// table is a table of the files of a kind, or of every kind.
type table struct {
	kind string
	experiments.TableDescription
}

// tables lists all tables. The first is the part of a file outside tables.
func tables() (all []table) {
	for _, t := range experiments.CommonTables() {
		all = append(all, table{"", t})
	}
	for _, k := range experiments.DescribeKinds() {
		for _, t := range k.Tables {
			all = append(all, table{k.Name, t})
		}
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

// settings lists the settings of a table.
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
	var facts []string
	for _, fact := range []string{p.Unit, p.Allowed} {
		if fact != "" {
			facts = append(facts, fact)
		}
	}
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

// wrap breaks a text into lines of at most so many bytes, where its words allow it.
func wrap(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) > width:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}
