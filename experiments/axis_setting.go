package experiments

import (
	"strings"
	"sync"

	"github.com/weft-sim/weft/sim/param"
)

// settingLabels are the labels of settings along an axis, from what their documentation
// begins with: "Members of a group" of groups.size. Settings whose documentation begins
// with too much, or with different words in different kinds, have none.
var settingLabels = sync.OnceValue(func() map[string]string {
	labels := map[string]string{}
	add := func(key string, p param.Param) {
		label := beginning(p)
		if known, twice := labels[key]; twice && known != label {
			label = ""
		}
		labels[key] = label
	}
	for _, k := range DescribeKinds() {
		for _, t := range k.Tables {
			for _, p := range t.Params {
				add(t.Header()+"."+p.Key, p)
			}
			for _, choice := range t.Choices {
				for _, e := range choice.Entries {
					for _, p := range e.Params {
						add(t.Header()+"."+p.Key, p)
					}
				}
			}
		}
	}
	return labels
})

// longestLabel is that of a label that documentation gives, in letters.
const longestLabel = 40

// beginning is what a setting's documentation says before the first comma, with its unit;
// empty where that is no name.
func beginning(p param.Param) string {
	label := p.Doc
	if at := strings.IndexAny(label, ",;:"); at >= 0 {
		label = label[:at]
	}
	if open, close := strings.Index(label, " ("), strings.Index(label, ")"); open >= 0 && close > open {
		label = label[:open] + label[close+1:]
	}
	if label = strings.TrimSpace(label); len(label) < 2 || label[1] != ' ' { // no letter of a formula
		label = capital(label)
	}
	for _, word := range []string{"Of ", "In ", "With ", "The ", "How ", "What ", "Where ", "Which ", "Whether ", "At "} {
		if strings.HasPrefix(label, word) {
			return ""
		}
	}
	if label == "" || len(label) > longestLabel {
		return ""
	}
	unit := p.Unit
	switch {
	case p.Type == "size":
		unit = "B"
	case p.Type == "time":
		unit = "ns"
	case strings.Contains(strings.ToLower(label), strings.ToLower(strings.TrimSuffix(unit, "s"))):
		unit = ""
	}
	return withUnit(label, unit)
}

// settingLabel is the label of a setting: what it is, or its name and the table that it
// belongs to, which a short name alone does not say.
func settingLabel(column string) string {
	if label := settingLabels()[column]; label != "" {
		return label
	}
	_, _, unit := splitColumn(column)
	name := capital(quantity(column))
	table, _, _ := strings.Cut(column, ".")
	if len(name) <= 2 || !strings.Contains(name, " ") && !strings.Contains(name, table) {
		name = capital(table) + ": " + strings.ToLower(name)
	}
	return withUnit(name, unit)
}
