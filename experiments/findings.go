package experiments

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
)

// findings are things found out, a [Note] or a [Warning] each, in their order, with the points that
// they are about.
type findings[T comparable] struct {
	order  []T
	points map[T][]*Point
}

// add notes a thing about some points.
func (f *findings[T]) add(what T, about ...*Point) {
	if f.points == nil {
		f.points = map[T][]*Point{}
	}
	if f.points[what] == nil {
		f.order = append(f.order, what)
	}
	f.points[what] = append(f.points[what], about...)
}

// joined has each finding once, told which points it is about.
func joined[T comparable](f *File, found *findings[T], tell func(what *T, where string)) (all []T) {
	have := sync.OnceValue(f.byValue)
	for _, what := range found.order {
		tell(&what, f.where(found.points[what], have))
		all = append(all, what)
	}
	return all
}

// joinedWarnings is joined for warnings.
func (f *File) joinedWarnings(found *findings[Warning]) []Warning {
	return joined(f, found, func(w *Warning, where string) { w.Where = where })
}

// byValue are the points that have each value of each swept key.
func (f *File) byValue() []map[string][]*Point {
	all := make([]map[string][]*Point, len(f.keys))
	for i := range all {
		all[i] = map[string][]*Point{}
		for _, p := range f.Points {
			all[i][p.Swept[i]] = append(all[i][p.Swept[i]], p)
		}
	}
	return all
}

// where describes points by their swept settings, in those that do not have all of their
// values among them: "" for all points. Where that is true of further points, too, it says of
// how many. byValue is [File.byValue].
func (f *File) where(points []*Point, byValue func() []map[string][]*Point) string {
	if slices.Equal(points, f.Points) {
		return ""
	}
	have := byValue()
	var parts []string
	matching, told := f.Points, map[int]map[string]bool{} // by key
	for i, key := range f.keys {
		own, known := valuesOf(points, i)
		if len(own) == len(have[i]) {
			continue
		}
		parts, told[i] = append(parts, key+" = "+listed(own)), known
		var some []*Point
		for _, value := range own {
			if some = append(some, have[i][value]...); len(some) >= len(matching) {
				break
			}
		}
		if len(some) < len(matching) {
			matching = some
		}
	}
	n := 0
	for _, p := range matching {
		within := true
		for i, known := range told {
			within = within && known[p.Swept[i]]
		}
		if within {
			n++
		}
	}
	if len(points) < n {
		parts = append(parts, fmt.Sprintf("%d of %d points, the first with %s", len(points), n, f.Describe(points[0])))
	}
	return strings.Join(parts, ", ")
}

// valuesOf are the values that swept key i has among points, in their order, and their set.
func valuesOf(points []*Point, i int) (values []string, known map[string]bool) {
	known = map[string]bool{}
	for _, p := range points {
		if value := p.Swept[i]; !known[value] {
			known[value], values = true, append(values, value)
		}
	}
	return values, known
}

// listed is a list of values in words, cut short if it is long.
func listed(values []string) string {
	const most = 4
	n := len(values)
	switch {
	case n == 1:
		return values[0]
	case n > most:
		return fmt.Sprintf("%s to %s (%d values)", values[0], values[n-1], n)
	}
	return strings.Join(values[:n-1], ", ") + " or " + values[n-1]
}

// merger joins the findings of all points, each said once.
type merger struct {
	file     *File
	notes    findings[Note]
	warnings findings[Warning]
	cyclic   []string
	curves   []string
	points   map[string][]*Point // by curve
	lowest   map[string]curve
	beyond   int
}

func (m *merger) add(p *Preflight, point *Point) {
	for _, n := range p.notes {
		m.notes.add(n, point)
	}
	m.allow(p.cyclic)
	if slices.ContainsFunc(p.curves, func(c curve) bool { return c.load > c.bound }) {
		m.beyond++
	}
	for _, c := range p.curves {
		least, known := m.lowest[c.name]
		if !known {
			m.curves = append(m.curves, c.name)
		}
		if !known || c.load < least.load {
			m.lowest[c.name] = c
		}
		m.points[c.name] = append(m.points[c.name], point)
	}
}

// allow notes networks that can deadlock and may.
func (m *merger) allow(networks []string) {
	for _, text := range networks {
		m.cyclic = results.AddNew(m.cyclic, text)
	}
}

func (m *merger) report() *Report {
	notes := joined(m.file, &m.notes, func(n *Note, where string) { n.Where = where })
	for _, name := range m.curves {
		c := m.lowest[name]
		if c.load <= c.bound {
			continue
		}
		w := Warning{Key: "traffic.load", Message: fmt.Sprintf(
			"is never below what the channels can carry: from %.4g on, with a bound of %.4g flits per terminal and cycle; every point will be saturated", c.load, c.bound)}
		m.warnings.add(w, m.points[name]...)
	}
	slices.SortStableFunc(notes, func(a, b Note) int { return slices.Index(topics, a.Topic) - slices.Index(topics, b.Topic) })
	return &Report{Notes: notes, Warnings: m.file.joinedWarnings(&m.warnings), Beyond: m.beyond}
}

// Idle is a setting that changes nothing beside others, of a kind's configuration or of a part
// of it.
type Idle[C any] struct {
	Key     string         // dotted; "switch.*": all of a table; several with blanks between
	When    func(c C) bool // nil: always
	Because string         // follows "changes nothing: "
}

// IdleOf adds to warnings those of the settings of a list that change nothing in c, for Check to pass
// on, which need not look at their values: see [Warning].
func IdleOf[C any](warnings []Warning, list []Idle[C], c C) []Warning {
	warnings = slices.Grow(warnings, len(list))
	for _, x := range list {
		if x.When == nil || x.When(c) {
			warnings = append(warnings, Warning{Key: x.Key, Message: x.Because, Idle: true})
		}
	}
	return warnings
}

// idleKeys leaves of warnings of settings that change nothing those that somebody has chosen, one by one,
// with the first reason of each.
func idleKeys(warnings []Warning, d *document.Tree) (kept []Warning) {
	for _, w := range warnings {
		if !w.Idle {
			kept = append(kept, w)
			continue
		}
		for key := range strings.FieldsSeq(w.Key) {
			table, all := strings.CutSuffix(key, "*")
			if all {
				for _, key := range lists.Filter(d.SetUnder(table), d.Chosen) {
					kept = addIdle(kept, key, w.Message)
				}
			} else if d.Chosen(key) {
				kept = addIdle(kept, key, w.Message)
			}
		}
	}
	return kept
}

// addIdle warns of a setting once.
func addIdle(kept []Warning, key, because string) []Warning {
	if slices.ContainsFunc(kept, func(k Warning) bool { return k.Idle && k.Key == key }) {
		return kept
	}
	return append(kept, Warning{Key: key, Message: "changes nothing: " + because, Idle: true})
}

// reallyIdle are the warnings of points without those that a setting changes nothing where that has
// its default, or where a point makes use of another value.
func (f *File) reallyIdle(byPoint [][]Warning) (found findings[Warning]) {
	defaults := map[string]any{}
	for _, s := range resolve(f.kind.defaults()) {
		defaults[s.Key] = s.Value
	}
	differs := func(p *Point, key string) bool {
		return document.Format(p.valueOf(key)) != document.Format(defaults[key])
	}
	used := map[string]bool{}
	for i, p := range f.Points {
		for _, w := range byPoint[i] {
			if _, known := used[w.Key]; w.Idle && !known {
				used[w.Key] = slices.ContainsFunc(f.Points, func(p *Point) bool {
					idle := slices.ContainsFunc(byPoint[p.Index], func(of Warning) bool { return of.Idle && of.Key == w.Key })
					return !idle && differs(p, w.Key)
				})
			}
			if !w.Idle || !used[w.Key] && differs(p, w.Key) {
				found.add(w, p)
			}
		}
	}
	return found
}

// valueOf is the value that a setting has come to; nil: the point has none.
func (p *Point) valueOf(key string) any {
	for _, s := range p.settings.all() {
		if s.Key == key {
			return s.Value
		}
	}
	return nil
}
