package experiments

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// placeholder stands in a title for what a setting has come to, {traffic.pattern},
// or for a number of the network, {terminals} or {switches}.
var placeholder = input.Pattern(`\{(?:"[^"{}]*"|[^{}\s,"])+\}`)

// fillTitles puts settings in the place of their names in titles. Settings that
// --set gives and a title does not name are added to it, so that no figure shows
// other settings than it says. A title that --set gives stays as it is.
func (f *File) fillTitles(set []string) {
	var added []string
	given := ""
	for _, s := range set {
		key, value, err := document.ParseSetting(s)
		if err != nil {
			continue // a problem already
		}
		if key == "title" {
			given = f.Title
		}
		swept, isSweep := strings.CutPrefix(key, "sweep.")
		leaves := []document.Setting{{Key: swept, Value: value}}
		if table, isTable := value.(map[string]any); isTable && !isSweep {
			leaves = f.doc.Flatten(key, table, func(map[string]any) bool { return false })
		}
		for _, leaf := range leaves {
			if f.asksOnly(leaf) {
				continue
			}
			values := f.valuesOf(leaf.Key)
			severalSeeds := leaf.Key == results.SeedKey && len(values) > 1
			if len(values) > 0 && !(isSweep && len(values) > 1) && !severalSeeds {
				added = results.AddNew(added, leaf.Key)
			}
		}
	}
	complete := func(title string) string {
		if title == given {
			return title
		}
		for _, key := range added {
			if !strings.Contains(title, "{"+key+"}") {
				title += ", " + key + " = {" + key + "}"
			}
		}
		return title
	}
	f.rawTitle = complete(f.Title)
	f.Title = f.fill("title", f.rawTitle)
	for i := range f.Plots {
		p := &f.Plots[i]
		p.Title = complete(p.Title)
		p.Raw = map[string]string{}
		for _, one := range []struct {
			key  string
			text *string
		}{{"title", &p.Title}, {"x_label", &p.XLabel}, {"y_label", &p.YLabel}, {"z_label", &p.ZLabel}} {
			p.Raw[one.key] = *one.text
			if *one.text == f.rawTitle {
				*one.text = f.Title + p.Selection() // the title's problems are told
				continue
			}
			*one.text = f.fill("plot["+strconv.Itoa(i)+"]."+one.key, *one.text)
		}
	}
}

// asksOnly tells whether a setting asks for more output and changes nothing else.
func (f *File) asksOnly(s document.Setting) bool {
	if slices.Contains(f.kind.silent, s.Key) {
		return true
	}
	if _, mode := s.Value.(string); mode {
		return false // such as a search in place of a sweep
	}
	return slices.ContainsFunc(f.kind.tables, func(t FurtherTable) bool { return t.Asked == s.Key })
}

// fill replaces the placeholders of a title or label; key is where it was given. Those of a
// finished run stay as they are where nothing has their name.
func (f *File) fill(key, title string) string {
	return placeholder().ReplaceAllStringFunc(title, func(word string) string {
		name := strings.Trim(word, "{}")
		if values := f.valuesOf(name); len(values) > 0 {
			return listValues(values)
		}
		known := append(f.settingNames(), results.SeedKey, "terminals", "switches")
		f.doc.Problem(key, "= %q: {%s} is not a setting of this experiment%s: want a setting of a point, as weft check --resolved lists them, or seed, terminals or switches", title, name, param.DidYouMean(name, known))
		return word
	})
}

func (f *File) settingNames() []string {
	var names []string
	for _, p := range f.Points {
		for _, s := range p.settings.all() {
			names = results.AddNew(names, s.Key)
		}
	}
	return names
}

// valuesOf lists the values that a setting has in the points, or a number of their networks, in the
// order of first appearance; none if there is no such setting.
func (f *File) valuesOf(key string) []string {
	var values []string
	for _, p := range f.Points {
		if value, known := f.valueAt(p, key); known {
			values = results.AddNew(values, value)
		}
	}
	return values
}

func (f *File) valueAt(p *Point, key string) (value string, known bool) {
	switch key {
	case results.SeedKey:
		return strconv.FormatUint(p.Seed, 10), true
	case "terminals", "switches":
		t, err := f.TopologyOf(p)
		if err != nil {
			return "", false
		}
		return strconv.Itoa(map[string]int{"terminals": t.Graph().Terminals(), "switches": t.Graph().Switches()}[key]), true
	}
	if v := p.valueOf(key); v != nil {
		return figures.CellName(key, results.FormatCell(v)), true
	}
	return "", false
}

// listValues writes some values in a title: all of a few, the ends of many.
func listValues(values []string) string {
	const most = 3
	if len(values) > most {
		return values[0] + " to " + values[len(values)-1]
	}
	return strings.Join(values, ", ")
}
