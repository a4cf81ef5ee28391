package reference

import (
	"fmt"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/param"
)

// addSettings adds the keys of files, and the tables that they stand in.
func addSettings(add func(meaning), used map[string][]string) {
	for _, p := range experiments.HeaderParams() {
		add(meaning{word: p.Key, what: "a key outside all tables", doc: p.Doc, facts: facts(p)})
	}
	for _, table := range fixedTables {
		add(meaning{word: table.name, what: "a table of every kind", doc: table.doc})
		for _, p := range table.params() {
			add(meaning{word: table.name + "." + p.Key, what: "a key of [[" + table.name + "]]", doc: p.Doc, facts: facts(p)})
		}
	}
	for _, k := range experiments.DescribeKinds() {
		kind := []string{k.Name}
		for _, t := range k.Tables {
			add(meaning{word: t.Header(), what: "a table of experiment files", doc: t.Doc, kinds: kind})
			for _, p := range t.Params {
				key := t.Header() + "." + p.Key
				add(meaning{word: key, what: "a setting", doc: p.Doc, facts: append(append(facts(p), values(t.Choices, p.Key)...), examples(used, key)...), kinds: kind})
			}
			for _, c := range t.Choices {
				for _, e := range c.Entries {
					for _, p := range e.Params {
						key := t.Header() + "." + p.Key
						add(meaning{
							word: key, what: fmt.Sprintf("a setting of %s %q", c.Registry, e.Name),
							doc: p.Doc, facts: append(append(facts(p), values(t.Choices, p.Key)...), examples(used, key)...), kinds: kind,
						})
					}
				}
			}
		}
	}
}

// fixedTables are the tables that do not belong to a kind.
var fixedTables = []struct {
	name, doc string
	params    func() []param.Param
}{
	{"plot", "a figure that is drawn when the points are done; may be repeated, as [[plot]]", experiments.PlotParams},
	{"plot.reference", "numbers from elsewhere, such as measurements, beside those of a figure; may be repeated, as [[plot.reference]]", experiments.ReferenceParams},
	{"expect", "a row of the papers' targets and how its value follows from the results; may be repeated, as [[expect]]", experiments.ExpectParams},
	{"sweep", "dotted keys with a list each, or a range { from, to, step }: every combination is a point", none},
	{"sweep.lockstep", "lists of equal length whose values are taken together, step by step", none},
	{"sweep.one_at_a_time", "lists whose values are points in which all other keys keep the values that the file gives; keys of one table depart together; may be repeated", none},
	{"sweep.fork", "lets points go on from a common warm-up: warmup, a table of the settings of the warm-up, and settle, the time in which the network becomes used to those of a point", none},
	{"sweep.refine", "a key and a spacing: points are added by bisection where the network ceases to be steady", none},
	{"quick", "dotted keys that --quick lays over the file: a variant that takes seconds", none},
}

func none() []param.Param { return nil }

// facts are a setting's type, unit, default and bounds.
func facts(p param.Param) []string {
	list := []string{"type " + p.Type}
	switch p.Unit {
	case "":
	case param.Cycles:
		list = append(list, `unit cycles; or a time, such as "2us": the cycles of fabric.clock that it takes, rounded up`)
	default:
		list = append(list, "unit "+p.Unit)
	}
	if example := units[strings.TrimPrefix(p.Type, "list of ")]; example != "" {
		list = append(list, "unit "+example)
	}
	if p.Default != "" {
		list = append(list, "default "+p.Default)
	}
	if p.Allowed != "" {
		list = append(list, "allowed "+p.Allowed)
	}
	return list
}

// values lists what a setting can name: the entries of a registry.
func values(choices []experiments.ChoiceDescription, inTable string) []string {
	var names []string
	for _, c := range choices {
		if c.Key == inTable {
			for _, e := range c.Entries {
				names = append(names, e.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"values " + strings.Join(names, ", ")}
}

// units say how values with units are written, by type.
var units = map[string]string{
	"time": `written with the value: "10ns" (ps, ns, us, ms, s)`,
	"size": `written with the value: "64B", "8KiB" (B, kB, MB, GB, KiB, MiB, GiB)`,
	"rate": `written with the value: "100Gb/s" (b/s, kb/s, Mb/s, Gb/s, Tb/s)`,
}

// examples names files that come with weft and use a key.
func examples(used map[string][]string, key string) []string {
	const most = 3
	files := used[key]
	switch {
	case len(files) == 0:
		return nil
	case len(files) > most:
		return []string{fmt.Sprintf("used in %s and %d more examples", strings.Join(files[:most], ", "), len(files)-most)}
	}
	return []string{"used in " + strings.Join(files, ", ")}
}

// addNames adds what files can name: kinds, and the entries of registries.
func addNames(add func(meaning)) {
	for _, k := range experiments.DescribeKinds() {
		for _, t := range k.Tables {
			for _, c := range t.Choices {
				for _, e := range c.Entries {
					add(meaning{word: e.Name, what: article(c.Registry), doc: e.Doc, facts: append(entryFacts(e), fmt.Sprintf("written %s.%s = %q", t.Header(), c.Key, e.Name)), kinds: []string{k.Name}})
				}
			}
		}
	}
	for _, k := range experiments.DescribeKinds() {
		add(meaning{word: k.Name, what: "a kind of experiment", doc: k.Doc, facts: []string{
			fmt.Sprintf("written kind = %q", k.Name), "settings weft list kinds " + k.Name, "begin weft init " + k.Name}})
	}
}

func entryFacts(e param.Description) []string {
	var settings []string
	for _, p := range e.Params {
		settings = append(settings, p.Key+" = "+p.Default)
	}
	if len(settings) == 0 {
		return nil
	}
	return []string{"settings " + strings.Join(settings, ", ")}
}

// article is a noun with its article.
func article(noun string) string {
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// FileSection is a table of experiment files, or what a name in it brings along.
type FileSection struct {
	Name, Doc string
	Params    []param.Param
}

// FileSections lists all that experiment files may hold: keys outside tables, the
// tables of every kind, what registered names bring along, figures and expectations.
func FileSections() []FileSection {
	all := []FileSection{{"keys outside tables", "These stand at the top of a file.", experiments.HeaderParams()}}
	for _, k := range experiments.DescribeKinds() {
		for _, t := range k.Tables {
			all = append(all, FileSection{fmt.Sprintf("kind %s: [%s]", k.Name, t.Header()), capital(t.Doc) + ".", t.Params})
		}
	}
	for _, c := range experiments.Registered() {
		for _, e := range c.Entries {
			if len(e.Params) > 0 {
				all = append(all, FileSection{c.Name + ": " + e.Name, capital(e.Doc) + ".", e.Params})
			}
		}
	}
	for _, t := range fixedTables {
		name := "[" + t.name + "]"
		if t.params() != nil {
			name = "[" + name + "]"
		}
		all = append(all, FileSection{name, capital(t.doc) + ".", t.params()})
	}
	return all
}

// Settings lists the dotted keys of a kind, those under names of the user's apart, with
// the values to choose from where they are few.
func Settings(kind string) map[string][]string {
	keys := map[string][]string{"seed": nil}
	for _, k := range experiments.DescribeKinds() {
		if k.Name != kind {
			continue
		}
		for _, t := range k.Tables {
			if t.Names != "" {
				continue
			}
			add := func(params []param.Param) {
				for _, p := range params {
					values := p.Choices
					if p.Type == "boolean" {
						values = []string{"true", "false"}
					}
					keys[t.Name+"."+p.Key] = values
				}
			}
			for _, c := range t.Choices {
				for _, e := range c.Entries {
					add(e.Params)
				}
			}
			add(t.Params)
			for _, c := range t.Choices {
				var names []string
				for _, e := range c.Entries {
					names = append(names, e.Name)
				}
				keys[t.Name+"."+c.Key] = names
			}
		}
	}
	return keys
}
