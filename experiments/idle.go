package experiments

import (
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
)

// Idle is a setting that changes nothing beside others, of a kind's configuration or of a part
// of it.
type Idle[C any] struct {
	Key     string // dotted; "switch.*": all of a table
	When    func(c C) bool
	Because string // follows "changes nothing: "
}

// IdleOf warns of the settings of a list that change nothing in c, for Check to pass on, which
// need not look at their values: see [Warning].
func IdleOf[C any](list []Idle[C], c C) (warnings []Warning) {
	for _, x := range list {
		if x.When(c) {
			warnings = append(warnings, Warning{Key: x.Key, Message: "changes nothing: " + x.Because, Idle: true})
		}
	}
	return warnings
}

// idleKeys leaves of warnings of settings that change nothing those that d has, one by one, with
// the first reason of each.
func idleKeys(warnings []Warning, d *document.Tree) (kept []Warning) {
	for _, w := range warnings {
		keys := []string{w.Key}
		if table, all := strings.CutSuffix(w.Key, "*"); all {
			keys = d.SetUnder(table)
		}
		for _, w.Key = range keys {
			known := func(k Warning) bool { return k.Idle && k.Key == w.Key }
			if !w.Idle || d.Sets(w.Key) && !slices.ContainsFunc(kept, known) {
				kept = append(kept, w)
			}
		}
	}
	return kept
}

// reallyIdle leaves out what says that a setting changes nothing where that has its default, and
// where a point makes use of another value.
func (f *File) reallyIdle(found []finding[Warning], byHash map[string][]Warning) []finding[Warning] {
	defaults := resolve(f.kind.defaults())
	differs := func(p *Point, key string) bool {
		return document.Format(valueOf(resolve(p.config), key)) != document.Format(valueOf(defaults, key))
	}
	used := map[string]bool{}
	for _, one := range found {
		key := one.what.Key
		if _, known := used[key]; known || !one.what.Idle {
			continue
		}
		used[key] = slices.ContainsFunc(f.Points, func(p *Point) bool {
			idle := slices.ContainsFunc(byHash[p.Hash], func(w Warning) bool { return w.Idle && w.Key == key })
			return !idle && differs(p, key)
		})
	}
	return slices.DeleteFunc(found, func(one finding[Warning]) bool {
		return one.what.Idle && (used[one.what.Key] || !differs(one.point, one.what.Key))
	})
}

// valueOf is the value of a setting among all; nil: it is not there.
func valueOf(all []document.Setting, key string) any {
	for _, s := range all {
		if s.Key == key {
			return s.Value
		}
	}
	return nil
}
