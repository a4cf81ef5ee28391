package catalogue

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/param"
)

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
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all
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

// List prints what is registered: everything, one category, or one entry with
// its settings.
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
	var list []string
	for _, p := range params {
		list = append(list, p.Key+" = "+p.Default)
	}
	return strings.Join(list, ", ")
}
