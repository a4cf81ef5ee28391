package experiments

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/weft-sim/weft/sim/param"
)

// Category is a group of things that experiment files can name.
type Category struct {
	Name    string // plural: "routings"
	Entries []param.Description
}

// Categories lists what is registered, as [Registered] does, and the experiment files
// that come with weft.
func Categories() []Category {
	files := Category{Name: "experiments"}
	for _, name := range Embedded("") {
		files.Entries = append(files.Entries, param.Description{Name: strings.TrimSuffix(name, ".toml"), Doc: embeddedTitle(name)})
	}
	return append(Registered(), files)
}

// Registered lists everything registered: the kinds, and every registry that a
// table of a kind chooses from, in alphabetical order.
func Registered() []Category {
	byName := map[string]Category{"kinds": {Name: "kinds"}}
	for _, name := range KindNames() {
		k := kinds[name]
		c := byName["kinds"]
		c.Entries = append(c.Entries, param.Description{Name: name, Doc: k.doc})
		byName["kinds"] = c
		for _, t := range k.settings() {
			for _, choice := range t.Choices {
				plural := pluralOf(choice.Registry)
				byName[plural] = Category{plural, choice.Entries}
			}
		}
	}
	var all []Category
	for _, name := range sortedKeys(byName) {
		all = append(all, byName[name])
	}
	return all
}

// pluralOf is the name of a category: topologies, routings, processes.
func pluralOf(name string) string {
	switch {
	case strings.HasSuffix(name, "y"):
		return strings.TrimSuffix(name, "y") + "ies"
	case strings.HasSuffix(name, "s"):
		return name + "es"
	}
	return name + "s"
}

// List prints what is registered: everything, one category, or one entry with
// its settings.
func List(w io.Writer, names ...string) error {
	categories := Categories()
	if len(names) == 0 {
		for i, c := range categories {
			if i > 0 {
				fmt.Fprintln(w)
			}
			listCategory(w, c)
		}
		return nil
	}
	var known []string
	for _, c := range categories {
		known = append(known, c.Name)
	}
	i := slices.Index(known, names[0])
	if i < 0 {
		return fmt.Errorf("nothing is called %q%s: there are %s", names[0], param.DidYouMean(names[0], known), strings.Join(known, ", "))
	}
	if len(names) == 1 {
		listCategory(w, categories[i])
		return nil
	}
	var entries []string
	for _, e := range categories[i].Entries {
		if e.Name == names[1] {
			listEntry(w, categories[i].Name, e)
			return nil
		}
		entries = append(entries, e.Name)
	}
	return fmt.Errorf("no %q among the %s%s: there are %s", names[1], known[i], param.DidYouMean(names[1], entries), strings.Join(entries, ", "))
}

func listCategory(w io.Writer, c Category) {
	fmt.Fprintf(w, "%s\n", c.Name)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range c.Entries {
		var params []string
		for _, p := range e.Params {
			params = append(params, p.Key+" = "+p.Default)
		}
		fmt.Fprintf(t, "  %s\t%s\n", e.Name, e.Doc)
		if len(params) > 0 {
			fmt.Fprintf(t, "  \t  %s\n", strings.Join(params, ", "))
		}
	}
	t.Flush() // writes to w, whose errors the caller's last write shows
}

func listEntry(w io.Writer, category string, e param.Description) {
	fmt.Fprintf(w, "%s: %s\n", e.Name, e.Doc)
	listParams(w, "", e.Params)
	k := kinds[e.Name]
	if category != "kinds" || k == nil {
		return
	}
	for _, t := range k.settings() {
		fmt.Fprintf(w, "\n[%s]  %s\n", t.Header(), t.Doc)
		listParams(w, "  ", t.Params)
	}
	fmt.Fprintf(w, "\ncolumns of results.csv\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range k.columns {
		fmt.Fprintf(t, "  %s\t%s\n", c.Name, c.Doc)
	}
	t.Flush()
}

func listParams(w io.Writer, indent string, params []param.Param) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range params {
		fmt.Fprintf(t, "%s%s = %s\t%s\n", indent, p.Key, p.Default, paramText(p))
	}
	t.Flush()
}

// paramText says what a setting means and may be.
func paramText(p param.Param) string {
	text := p.Doc
	var facts []string
	if p.Unit != "" {
		facts = append(facts, p.Unit)
	}
	if p.Allowed != "" {
		facts = append(facts, p.Allowed)
	}
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, "; ") + ")"
	}
	return text
}
