package experiments

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/results"
)

// finding is something found out about a point: a [Note] or a [Warning].
type finding[T comparable] struct {
	what  T
	point *Point
}

// joined has each finding once, told which points it is about.
func joined[T comparable](f *File, found []finding[T], tell func(what *T, where string)) (all []T) {
	for _, same := range results.Grouped(found, func(one finding[T]) T { return one.what }) {
		what := same[0].what
		var points []*Point
		for _, one := range same {
			points = append(points, one.point)
		}
		tell(&what, f.where(points))
		all = append(all, what)
	}
	return all
}

// joinedWarnings is joined for warnings.
func (f *File) joinedWarnings(found []finding[Warning]) []Warning {
	return joined(f, found, func(w *Warning, where string) { w.Where = where })
}

// where describes points by their swept settings, in those that do not have all of their
// values among them: "" for all points. Where that is true of further points, too, it says of
// how many.
func (f *File) where(points []*Point) string {
	var parts []string
	matching := f.Points
	for i, key := range f.keys {
		own := valuesOf(points, i)
		if len(own) == len(valuesOf(f.Points, i)) {
			continue
		}
		parts = append(parts, key+" = "+listed(own))
		var left []*Point
		for _, p := range matching {
			if slices.Contains(own, p.Swept[i]) {
				left = append(left, p)
			}
		}
		matching = left
	}
	if len(points) < len(matching) {
		parts = append(parts, fmt.Sprintf("%d of %d points, the first with %s", len(points), len(matching), f.Describe(points[0])))
	}
	return strings.Join(parts, ", ")
}

// valuesOf are the values that swept key i has among points, in their order.
func valuesOf(points []*Point, i int) (values []string) {
	for _, p := range points {
		values = results.AddNew(values, p.Swept[i])
	}
	return values
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
	notes    []finding[Note]
	warnings []finding[Warning]
	cyclic   []string
	curves   []string
	points   map[string][]*Point // by curve
	lowest   map[string]curve
	beyond   int
}

func (m *merger) add(p *Preflight, point *Point) {
	for _, n := range p.notes {
		m.notes = append(m.notes, finding[Note]{n, point})
	}
	m.allow(p.cyclic)
	for _, w := range p.warnings {
		m.warnings = append(m.warnings, finding[Warning]{w, point})
	}
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
	notes := joined(m.file, m.notes, func(n *Note, where string) { n.Where = where })
	for _, name := range m.curves {
		c := m.lowest[name]
		if c.load <= c.bound {
			continue
		}
		w := Warning{Key: "traffic.load", Message: fmt.Sprintf(
			"is never below what the channels can carry: from %.4g on, with a bound of %.4g flits per terminal and cycle; every point will be saturated", c.load, c.bound)}
		for _, point := range m.points[name] {
			m.warnings = append(m.warnings, finding[Warning]{w, point})
		}
	}
	slices.SortStableFunc(notes, func(a, b Note) int { return slices.Index(topics, a.Topic) - slices.Index(topics, b.Topic) })
	return &Report{Notes: notes, Warnings: m.file.joinedWarnings(m.warnings), Beyond: m.beyond}
}
