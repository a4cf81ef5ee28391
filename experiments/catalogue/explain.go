package catalogue

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/mpi/systems"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// meaning is what there is to say about a word in one of its uses.
type meaning struct {
	word  string // traffic.load, latency_p99_ns, saturated
	what  string // what the word is: "a setting of [traffic]"
	doc   string
	facts []string // a line each: unit, default, bounds, where it is used
	kinds []string // of experiments that use it
}

// Explain writes what a word of experiment files and results means, in each of its uses: a key
// (traffic.load, or load alone), a table, the name of a routing or another thing that files name, a
// column of a table of results, a verdict. The error names words that are alike.
func Explain(w io.Writer, word string) error {
	all := meanings()
	key, value, _ := strings.Cut(strings.NewReplacer(`"`, "", "'", "").Replace(word), "=") // routing.type=val
	found := lookUp(all, key)
	for _, m := range all {
		if len(found) > 0 && m.word == strings.TrimSpace(value) {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("%q is no key, column, verdict or name that weft knows%s%s; weft list names what files can name, and completes with the shell", word, param.DidYouMean(word, words(all)), mentions(all, key))
	}
	texts := lists.Map(found, func(m meaning) string { return m.String() })
	_, err := io.WriteString(w, strings.Join(texts, "\n"))
	return err
}

// mentions names a few words in whose names or texts a word stands, or the last part of a dotted one.
func mentions(all []meaning, word string) string {
	const least, most = 3, 6
	word = strings.ToLower(strings.Trim(word[strings.LastIndexByte(word, '.')+1:], " []"))
	var about, named []string
	for _, m := range all {
		switch {
		case len(word) < least || slices.Contains(about, m.word) || slices.Contains(named, m.word):
		case strings.Contains(strings.ToLower(m.word), word):
			named = append(named, m.word)
		case strings.Contains(strings.ToLower(m.doc), word):
			about = append(about, m.word)
		}
	}
	if about = append(named, about...); len(about) == 0 {
		return ""
	}
	return fmt.Sprintf("; %q stands in what weft explain says of %s", word, strings.Join(about[:min(most, len(about))], ", "))
}

// Words lists all that can be explained, in alphabetical order.
func Words() []string { return words(meanings()) }

func words(all []meaning) []string {
	list := lists.Map(all, func(m meaning) string { return m.word })
	slices.Sort(list)
	return slices.Compact(list)
}

// lookUp finds the uses of a word: to the letter or, where there are none, those
// that end in it behind a dot, or whose text begins with it as a symbol, "G: ".
func lookUp(all []meaning, word string) []meaning {
	word = strings.Trim(strings.TrimSpace(word), "[]")
	word = strings.TrimPrefix(strings.TrimPrefix(word, "sweep."), "quick.")
	var exact, behind []meaning
	for _, m := range all {
		switch {
		case strings.EqualFold(m.word, word), strings.EqualFold(m.word, word+".NAME"):
			exact = append(exact, m)
		case word != "" && (strings.HasSuffix(m.word, "."+word) || strings.HasPrefix(m.doc, word+": ")):
			behind = append(behind, m)
		}
	}
	return append(exact, behind...)
}

func (m *meaning) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", m.word, m.what)
	for _, line := range Wrap(sentence(m.doc), 78) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	for _, fact := range fact(m.facts, "kinds", strings.Join(m.kinds, ", ")) {
		label, text, _ := strings.Cut(fact, " ")
		for _, line := range Wrap(text, 66) {
			fmt.Fprintf(&b, "    %-9s %s\n", label, line)
			label = ""
		}
	}
	return b.String()
}

// fact adds a line to facts; none without a text.
func fact(facts []string, label, text string) []string {
	if text == "" {
		return facts
	}
	return append(slices.Clone(facts), label+" "+text)
}

// meanings gathers every use of every word. Uses that differ in nothing but the kind are one.
func meanings() (all []meaning) {
	add := func(m meaning) {
		for i := range all {
			o := &all[i]
			if o.word == m.word && o.what == m.what && o.doc == m.doc && slices.Equal(o.facts, m.facts) {
				for _, kind := range m.kinds {
					if !slices.Contains(o.kinds, kind) {
						o.kinds = append(o.kinds, kind)
					}
				}
				return
			}
		}
		all = append(all, m)
	}
	addSettings(add)
	addNames(add)
	addColumns(add)
	for _, group := range wordGroups() {
		for _, t := range group.words {
			for word := range strings.SplitSeq(t.word, ", ") {
				add(meaning{word: word, what: group.what, doc: t.doc, facts: group.facts})
			}
		}
	}
	return all
}

// addSettings adds the keys of files, and the tables that they stand in.
func addSettings(add func(meaning)) {
	used := map[string][]string{} // examples by key
	for _, file := range experiments.Embedded("examples") {
		for _, key := range experiments.EmbeddedKeys(file) {
			used[key] = append(used[key], strings.TrimSuffix(file, ".toml"))
		}
	}
	for _, t := range tables() {
		what, kinds := "a table of every kind", []string(nil)
		if t.kind != "" {
			what, kinds = "a table of experiment files", []string{t.kind}
		}
		if t.Header() != "" {
			add(meaning{word: t.Header(), what: what, doc: t.Doc, kinds: kinds})
		}
		for _, s := range t.settings() {
			m := meaning{word: s.Path(), what: "a setting", doc: s.Doc, facts: s.facts(), kinds: kinds}
			switch {
			case s.Table == "":
				m.what = "a key outside all tables"
			case s.Kind == "":
				m.what = "a key of " + t.title()
			case !s.Own:
				m.what = fmt.Sprintf("a setting of %s %q", s.Registry, s.Entry)
			}
			if s.Kind != "" {
				m.facts = fact(m.facts, "values", strings.Join(s.Names, ", "))
				m.facts = fact(m.facts, "used", examples(used[m.word]))
			}
			add(m)
		}
	}
}

// facts are a setting's type, unit, default and bounds.
func (s *Setting) facts() []string {
	list := []string{"type " + s.Type}
	if s.Unit == param.Cycles {
		list = append(list, `unit cycles; or a time, such as "2us": the cycles of fabric.clock that it takes, rounded up`)
	} else {
		list = fact(list, "unit", s.Unit)
	}
	list = fact(list, "unit", written[strings.TrimPrefix(s.Type, "list of ")])
	return fact(fact(list, "default", s.Default), "allowed", s.Allowed)
}

// written says how values with units are written, by type.
var written = map[string]string{
	"time": `written with the value: "10ns" (ps, ns, us, ms, s)`,
	"size": `written with the value: "64B", "8KiB" (B, kB, MB, GB, KiB, MiB, GiB)`,
	"rate": `written with the value: "100Gb/s" (b/s, kb/s, Mb/s, Gb/s, Tb/s)`,
}

// examples names some of the files that come with weft and use a key.
func examples(files []string) string {
	const most = 3
	switch {
	case len(files) == 0:
		return ""
	case len(files) > most:
		return fmt.Sprintf("in %s and %d more examples", strings.Join(files[:most], ", "), len(files)-most)
	}
	return "in " + strings.Join(files, ", ")
}

// addNames adds what files can name: the entries of registries, and kinds.
func addNames(add func(meaning)) {
	for _, t := range tables() {
		for _, c := range t.Choices {
			for _, e := range c.Entries {
				m := meaning{word: e.Name, what: article(c.Registry), doc: e.Doc, kinds: []string{t.kind},
					facts: append(fact(nil, "settings", assigned(e.Params)), fmt.Sprintf("written %s.%s = %q", t.Header(), c.Key, e.Name))}
				if plural(c.Registry) == systemsCategory {
					m.facts = append(m.facts, sources(e.Name)...)
				}
				add(m)
			}
		}
	}
	for _, k := range experiments.DescribeKinds() {
		add(meaning{word: k.Name, what: "a kind of experiment", doc: k.Doc, facts: []string{
			fmt.Sprintf("written kind = %q", k.Name), "settings weft list kinds " + k.Name, "begin weft init " + k.Name}})
	}
}

func article(noun string) string {
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// addColumns adds the tables of results and their columns.
func addColumns(add func(meaning)) {
	columns := func(table string, all []experiments.Column, kinds ...string) {
		for _, c := range slices.DeleteFunc(slices.Clone(all), func(c experiments.Column) bool { return c.Doc == "" }) {
			add(meaning{word: c.Name, what: "a column of " + table, doc: c.Doc, kinds: kinds, facts: fact(nil, "unit", unitOf(c.Name))})
		}
	}
	for _, t := range commonTables {
		columns(t.Name, t.Columns)
	}
	for _, o := range experiments.CommandTables() {
		add(meaning{word: o.Name, what: "a table that " + o.Command + " writes", doc: o.Doc})
		columns(o.Name+" of "+o.Command, o.Columns)
	}
	for _, k := range experiments.DescribeKinds() {
		columns("results.csv", k.Columns, k.Name)
		for _, f := range k.Further {
			if f.Asked != "" {
				f.Doc += "; written where " + f.Asked + " asks for it"
			}
			add(meaning{word: f.Name + ".csv", what: "a table of results", doc: f.Doc, kinds: []string{k.Name}})
			columns(f.Name+".csv", f.Columns, k.Name)
		}
	}
}

// unitOf reads the unit off the name of a column.
func unitOf(column string) string {
	for _, u := range []struct{ end, unit string }{
		{"_ns", "nanoseconds"}, {"_ms", "milliseconds"}, {"_per_us", "per microsecond"}, {"_bytes_per_s", "bytes per second"}, {"_per_s", "per second"}, {"_us", "microseconds"}, {"_s", "seconds"}, {"_bytes", "bytes"}, {"_mib", "MiB"},
		{"_seconds", "seconds"}, {"_flits_per_cycle", "flits per cycle"}, {"_cycles", "cycles"}, {"_gbps", "gigabits per second"}, {"_m", "metres"}, {"_w", "watts"},
	} {
		if strings.HasSuffix(column, u.end) {
			return u.unit
		}
	}
	return ""
}

//go:embed tables.txt
var commonText string

// commonTables have columns of tables of every kind, and in front of all tables.
var commonTables = experiments.ReadTables(commonText, nil)

// term is a word of the field, or an abbreviation, as weft uses it.
type term struct{ word, doc string }

// wordGroup is words of one kind, with what is said of each of them.
type wordGroup struct {
	what  string
	facts []string
	words []term
}

// wordsText has the words of every judgement (of points, of targets, of differences, and the topics of weft check), and
// the glossary last, in alphabetical order, capitals counting as small letters: of each group a line "WHAT; FACT; FACT",
// and then a line "  WORD: meaning", or "  WORD, WORD: meaning", for each of its words.
//
//go:embed words.txt
var wordsText string

var wordGroups = sync.OnceValue(func() (all []wordGroup) {
	for line := range strings.Lines(wordsText) {
		if word, doc, is := strings.Cut(strings.TrimSpace(line), ": "); is {
			g := &all[len(all)-1]
			g.words = append(g.words, term{word, doc})
		} else {
			facts := strings.Split(word, "; ")
			all = append(all, wordGroup{what: facts[0], facts: facts[1:]})
		}
	}
	return all
})

// systemsCategory is the category of presets of machines, of which there is more to say than their settings.
const systemsCategory = "systems"

// listErrors says how far a preset is from measurements, and what of it is not known.
func listErrors(t *tabwriter.Writer, name string) {
	p, err := systems.Registry.New(name, struct{}{})
	if err != nil {
		return
	}
	for _, e := range p.Errors() {
		fmt.Fprintf(t, "  \t  %s, %s: median of errors %s %%, nine in ten within %s %%, %s rows\n", e.Class, e.Sizes, e.Median, e.P90, e.Rows)
	}
	if len(p.Errors()) == 0 {
		fmt.Fprintf(t, "  \t  held against no row\n")
	}
	if p.Unknown != "" {
		fmt.Fprintf(t, "  \t  not known: %s\n", p.Unknown)
	}
}

// sources are the values of a preset with where they come from.
func sources(name string) (facts []string) {
	p, err := systems.Registry.New(name, struct{}{})
	if err != nil {
		return nil
	}
	facts = append(facts, lists.Map(p.Value, func(v systems.Value) string { return fmt.Sprintf("%s %s; %s", v.Key, v.Value, v.Source) })...)
	facts = append(facts, lists.Map(p.Fitted, func(f systems.Fit) string { return fmt.Sprintf("fitted %s", f) })...)
	return facts
}
