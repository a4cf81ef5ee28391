package reference

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
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

// Explain writes what a word of experiment files and results means, in each of its
// uses: a key (traffic.load, or load alone), a table, the name of a routing or
// another thing that files name, a column of a table of results, a verdict. The
// error names words that are alike.
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
		return fmt.Errorf("%q is no key, column, verdict or name that weft knows%s; weft list names what files can name, and completes with the shell", word, param.DidYouMean(word, words(all)))
	}
	var b strings.Builder
	for i, m := range found {
		if i > 0 {
			b.WriteString("\n")
		}
		m.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Words lists all that can be explained, in alphabetical order.
func Words() []string { return words(meanings()) }

func words(all []meaning) []string {
	var list []string
	for _, m := range all {
		list = append(list, m.word)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// lookUp finds the uses of a word: to the letter or, where there are none, those
// that end in it behind a dot.
func lookUp(all []meaning, word string) []meaning {
	word = strings.Trim(strings.TrimSpace(word), "[]")
	word = strings.TrimPrefix(strings.TrimPrefix(word, "sweep."), "quick.")
	var exact, behind []meaning
	for _, m := range all {
		switch {
		case strings.EqualFold(m.word, word):
			exact = append(exact, m)
		case word != "" && strings.HasSuffix(m.word, "."+word):
			behind = append(behind, m)
		}
	}
	return append(exact, behind...)
}

func (m *meaning) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s\n", m.word, m.what)
	for _, line := range wrap(capital(m.doc)+".", 78) {
		fmt.Fprintf(b, "  %s\n", line)
	}
	facts := m.facts
	if len(m.kinds) > 0 {
		facts = append(slices.Clone(facts), "kinds    "+strings.Join(m.kinds, ", "))
	}
	for _, fact := range facts {
		label, text, _ := strings.Cut(fact, " ")
		for i, line := range wrap(strings.TrimSpace(text), 66) {
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(b, "    %-9s %s\n", label, line)
		}
	}
}

// meanings gathers every use of every word. Uses that differ in nothing but the kind
// are one.
func meanings() []meaning {
	var all []meaning
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
	used := filesByKey()
	addSettings(add, used)
	addNames(add)
	addColumns(add)
	addVerdicts(add)
	addTerms(add)
	return all
}

// filesByKey lists the examples that set or sweep each key.
func filesByKey() map[string][]string {
	used := map[string][]string{}
	for _, file := range experiments.Embedded("examples") {
		for _, key := range experiments.EmbeddedKeys(file) {
			used[key] = append(used[key], strings.TrimSuffix(file, ".toml"))
		}
	}
	return used
}

// capital begins a sentence.
func capital(text string) string {
	if text == "" {
		return text
	}
	if first, _, _ := strings.Cut(text, " "); strings.ContainsAny(first, "_./=:") {
		return text // a name
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// wrap breaks a text into lines of at most so many bytes, where its words allow it.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
