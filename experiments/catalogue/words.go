package catalogue

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/mpi/systems"
	"github.com/weft-sim/weft/sim/lists"
)

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
