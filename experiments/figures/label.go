package figures

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/param"
)

//go:embed labels.txt
var labelsText string

// knownLabels are the labels of columns whose names do not give them: a line "COLUMN: LABEL" each.
var knownLabels = func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(labelsText) {
		column, label, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all[column] = label
	}
	return all
}()

// knownCells are the names in legends of values that stand for something else.
var knownCells = map[string]string{"connections.group 0": "ungrouped"}

// unitNames are the endings of column names that are units.
var unitNames = map[string]string{
	"ps": "ps", "ns": "ns", "us": "µs", "ms": "ms", "s": "s", "seconds": "s",
	"bytes": "B", "b": "B", "kib": "KiB", "mib": "MiB", "mb": "MB", "gbps": "Gb/s", "flits": "flits", "cycles": "cycles",
}

// statisticNames are the parts of column names that say which statistic it is.
var statisticNames = map[string]string{
	"mean": "mean", "max": "maximum", "min": "minimum", "p50": "median", "p95": "95th percentile of", "p99": "99th percentile of",
}

// splitColumn divides "network_latency_p99_ns" into "network latency", "99th percentile of", "ns".
func splitColumn(column string) (noun, statistic, unit string) {
	column = column[strings.LastIndexByte(column, '.')+1:]
	words := strings.Split(column, "_")
	if n := len(words); n > 1 && unitNames[words[n-1]] != "" {
		unit, words = unitNames[words[n-1]], words[:n-1]
		if n > 2 && words[n-2] == "per" { // of a rate
			of := "1"
			if words = words[:n-2]; n > 3 && unitNames[words[n-3]] != "" {
				of, words = unitNames[words[n-3]], words[:n-3]
			}
			unit = of + "/" + unit
		}
	}
	var rest []string
	for _, w := range words {
		if s := statisticNames[w]; s != "" && len(words) > 1 {
			statistic = s
		} else {
			rest = append(rest, w)
		}
	}
	return strings.Join(rest, " "), statistic, unit
}

// quantity names a column without its unit: "mean latency".
func quantity(column string) string {
	noun, statistic, _ := splitColumn(column)
	return strings.TrimSpace(statistic + " " + noun)
}

// AxisLabel is the label of an axis that shows a column: "Mean latency (ns)" of latency_mean_ns.
func AxisLabel(column string) string {
	if label := knownLabels[column]; label != "" {
		return label
	}
	if table, is := strings.CutSuffix(column, ".type"); is {
		return capital(settingName(table)) // what is chosen by name
	}
	if strings.Contains(column, ".") && !results.IsFormula(column) {
		return settingLabel(column)
	}
	_, _, unit := splitColumn(column)
	return withUnit(capital(quantity(column)), unit)
}

// commonLabel labels an axis of several columns: with what they share, or with all of them.
func commonLabel(columns []string) string {
	if len(columns) == 1 {
		return AxisLabel(columns[0])
	}
	var nouns []string // without what stands in the legend: statistic and unit
	var labels []string
	var units []string
	for _, c := range columns {
		noun, _, unit := splitColumn(c)
		if known := knownLabels[c]; known != "" {
			noun, unit = splitLabel(known)
		}
		nouns, units = append(nouns, strings.ToLower(noun)), append(units, unit)
		label := AxisLabel(c)
		if len(labels) > 0 {
			label = strings.ToLower(label[:1]) + label[1:]
		}
		labels = append(labels, label)
	}
	if len(slices.Compact(units)) > 1 {
		return strings.Join(labels, ", ")
	}
	if common := commonWords(nouns); common != "" {
		return withUnit(capital(common), units[0])
	}
	return withUnit(capital(strings.Join(nouns, ", ")), units[0])
}

// splitLabel parts a label from the unit at its end.
func splitLabel(label string) (text, unit string) {
	text, unit, _ = strings.Cut(strings.TrimSuffix(label, ")"), " (")
	return text, unit
}

// commonWords is the words of the first text that all others have, too, in the same order.
func commonWords(texts []string) string {
	common := strings.Fields(texts[0])
	for _, text := range texts[1:] {
		words := strings.Fields(text)
		common = slices.DeleteFunc(common, func(word string) bool {
			at := slices.Index(words, word)
			words = words[at+1:]
			return at < 0
		})
	}
	return strings.Join(common, " ")
}

func withUnit(text, unit string) string {
	if unit == "" {
		return text
	}
	return strings.TrimSpace(text + " (" + unit + ")")
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// settingsCalled lists the settings with a dotted key: several kinds may have one.
var settingsCalled = func(key string) []param.Param { return nil }

// LabelSettings tells how settings are documented, which gives their labels.
func LabelSettings(called func(key string) []param.Param) { settingsCalled = called }

// documented are labels of settings along an axis, by dotted key; see documentedLabel.
var documented sync.Map

// documentedLabel is the label of a setting from the beginning of its documentation: "Members of a group" of
// groups.size; none if that is too long, or differs between kinds.
func documentedLabel(key string) string {
	if label, known := documented.Load(key); known {
		return label.(string)
	}
	label := ""
	for i, p := range settingsCalled(key) {
		if own := beginning(p); i == 0 || own == label {
			label = own
		} else {
			label = ""
			break
		}
	}
	documented.Store(key, label)
	return label
}

// longestLabel is the most letters of a label that is taken from documentation.
const longestLabel = 40

// beginning is what a setting's documentation says before the first comma, with its unit, and
// behind a word such as "poisson: "; empty if no name.
func beginning(p param.Param) string {
	label := p.Doc
	if condition, rest, ok := strings.Cut(label, ": "); ok && p.Choices == nil && !strings.ContainsAny(condition, " ,;") {
		label = rest
	}
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

// settingLabel is a setting's label: what it is, or its name with its table, as a short name says
// too little.
func settingLabel(column string) string {
	if label := documentedLabel(column); label != "" {
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
