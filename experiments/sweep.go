package experiments

import (
	"iter"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// MaxPoints bounds a sweep: more is a mistake in a range.
const MaxPoints = 100_000

// axis is one dimension of a sweep: keys that take their values together.
type axis struct {
	keys   []string
	values [][]any // per step, one value a key
	places []string
}

// refuseTwice refuses steps that are there twice: their points would count as replications of each other.
func (a *axis) refuseTwice(d *document.Tree) {
	seen := map[string]bool{}
	for _, values := range a.values {
		step := lists.Join(values, ", ", results.FormatCell)
		if seen[step] {
			d.Problem(a.places[0], "has %s twice", step)
			return
		}
		seen[step] = true
	}
}

// refinePrefix leads the keys of [sweep.refine].
const refinePrefix = "sweep.refine."

// readAxes reads [sweep]: every list or range is an axis of its own, in the order of the file; the
// lists of [sweep.lockstep] (or of each [[sweep.lockstep]]) are one axis together, and so are the
// lists of [[sweep.one_at_a_time]]. refine is what stands under [sweep.refine].
func readAxes(d *document.Tree) (all []axis, refine []document.Setting) {
	raw, given := d.Root["sweep"]
	if !given {
		return nil, nil
	}
	sweep, ok := raw.(map[string]any)
	if !ok {
		d.Problem("sweep", "= %s: want a table, [sweep]", document.Show(raw))
		return nil, nil
	}
	plain := document.Clone(sweep)
	delete(plain, "lockstep")
	delete(plain, "one_at_a_time")
	for _, key := range results.SortedKeys(plain) {
		if key == "fork" || strings.HasPrefix(key, "fork.") {
			d.Problem(document.Join("sweep", key), "%s", hasGone("sweep.fork"))
			delete(plain, key)
		}
	}
	for _, s := range d.Flatten("sweep", plain, document.IsSweepValue) {
		s.Key = document.Join("sweep", document.KeyUnder("sweep", s.Key))
		if s.Key+"." == refinePrefix {
			d.Problem(s.Key, "= %s: want a table such as { \"traffic.load\" = 0.01 }", document.Show(s.Value))
			continue
		}
		if strings.HasPrefix(s.Key, refinePrefix) {
			refine = append(refine, s)
			continue
		}
		if values, ok := sweepValues(d, s); ok {
			a := axis{keys: []string{strings.TrimPrefix(s.Key, "sweep.")}, places: []string{s.Key}}
			for _, v := range values {
				a.values = append(a.values, []any{v})
			}
			a.refuseTwice(d)
			all = append(all, a)
		}
	}
	for path, group := range sweepGroups(d, "sweep.lockstep", sweep["lockstep"], "a table of lists") {
		if a, ok := readLockstep(d, path, group); ok {
			a.refuseTwice(d)
			all = append(all, a)
		}
	}
	if a, ok := readOneAtATime(d, sweep); ok {
		all = append(all, a)
	}
	return checkAxes(d, all), refine
}

// checkAxes refuses keys that cannot be swept or are swept twice, and sweeps that are too large.
func checkAxes(d *document.Tree, all []axis) []axis {
	seen := map[string]bool{}
	points := 1
	for _, a := range all {
		for i, key := range a.keys {
			first, _, _ := strings.Cut(key, ".")
			switch first {
			case "title", "kind", "inputs", "sweep", "plot", "expect", "quick":
				d.Problem(a.places[i], "cannot be swept")
			}
			if seen[key] {
				d.Problem(a.places[i], "is swept twice")
			}
			seen[key] = true
		}
		if points > MaxPoints/len(a.values) {
			d.Problem("sweep", "gives more than %d points", MaxPoints)
			return nil
		}
		points *= len(a.values)
	}
	return all
}

// sweepGroups ranges over the groups of lists of a sweep with their keys: a table, or several.
func sweepGroups(d *document.Tree, path string, raw any, want string) iter.Seq2[string, map[string]any] {
	if single, is := raw.(map[string]any); is {
		return maps.All(map[string]map[string]any{path: single})
	}
	return d.Elements(path, raw, want)
}

// readLockstep reads lists that vary together.
func readLockstep(d *document.Tree, path string, group map[string]any) (axis, bool) {
	var a axis
	ok := true
	for _, s := range d.Flatten(path, group, document.IsSweepValue) {
		s.Key = document.Join(path, document.KeyUnder(path, s.Key))
		values, good := sweepValues(d, s)
		switch {
		case !good:
			ok = false
			continue
		case len(a.keys) == 0:
			a.values = make([][]any, len(values))
		case len(values) != len(a.values):
			d.Problem(s.Key, "has %d values; %s, in lockstep with it, has %d", len(values), a.places[0], len(a.values))
			ok = false
			continue
		}
		a.keys = append(a.keys, strings.TrimPrefix(s.Key, path+"."))
		a.places = append(a.places, s.Key)
		for i, v := range values {
			a.values[i] = append(a.values[i], v)
		}
	}
	return a, ok && len(a.keys) > 0
}

// sweepValues lists the values of a list or range.
func sweepValues(d *document.Tree, s document.Setting) ([]any, bool) {
	switch v := s.Value.(type) {
	case []any:
		if len(v) > 0 {
			return v, true
		}
		d.Problem(s.Key, "is an empty list: give at least one value")
	case map[string]any:
		return rangeValues(d, s.Key, v)
	default:
		d.Problem(s.Key, "= %s: want a list such as [%s] or a range { from = 0.1, to = 0.9, step = 0.1 }", document.Show(v), document.Show(v))
	}
	return nil, false
}

// rangeValues lists from, from+step, ... up to and including to.
func rangeValues(d *document.Tree, key string, table map[string]any) ([]any, bool) {
	numbers := map[string]float64{}
	integers, ok := true, true
	for _, name := range results.SortedKeys(table) {
		switch v := table[name].(type) {
		case int64:
			numbers[name] = float64(v)
		case float64:
			numbers[name], integers = v, false
		default:
			d.Problem(document.Join(key, name), "= %s: want a number", document.Show(v))
			ok = false
		}
		if name != "from" && name != "to" && name != "step" {
			d.Problem(document.Join(key, name), "is not a key of a range%s: allowed are from, to, step", param.DidYouMean(name, []string{"from", "to", "step"}))
			ok = false
		}
	}
	for _, name := range []string{"from", "to", "step"} {
		if _, given := table[name]; !given {
			d.Problem(key, "is a range without %q: write { from = 0.1, to = 0.9, step = 0.1 }", name)
			ok = false
		}
	}
	if !ok {
		return nil, false
	}
	from, to, step := numbers["from"], numbers["to"], numbers["step"]
	steps := math.Floor((to-from)/step + 1e-9)
	if !(step != 0 && steps >= 0 && steps < MaxPoints) {
		d.Problem(key, "= { from = %v, to = %v, step = %v }: want a step that leads from the first to the last in at most %d steps", from, to, step, MaxPoints)
		return nil, false
	}
	values := make([]any, int(steps)+1)
	for i := range values {
		x := from + float64(i)*step
		if integers {
			values[i] = int64(math.Round(x))
		} else {
			values[i] = RoundDecimal(x)
		}
	}
	return values, true
}

// RoundDecimal takes the noise of binary fractions off a sum of decimal steps:
// 0.30000000000000004 becomes 0.3.
func RoundDecimal(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		panic("experiments: " + err.Error()) // what FormatFloat writes can be read
	}
	return y
}

// expand calls visit for every point of the sweep with the step taken on each
// axis; the last axis varies fastest.
func expand(all []axis, visit func(steps []int)) {
	steps := make([]int, len(all))
	for {
		visit(steps)
		i := len(steps) - 1
		for ; i >= 0; i-- {
			if steps[i]++; steps[i] < len(all[i].values) {
				break
			}
			steps[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// readOneAtATime reads [[sweep.one_at_a_time]]: one axis whose first step has every key at the
// file's own value, and whose other steps depart from it by one table each, value by value. The
// keys of a table depart together. It is the usual sensitivity analysis, with 1 + the sum of the
// lists' lengths steps in place of their product.
func readOneAtATime(d *document.Tree, sweep map[string]any) (axis, bool) {
	all, ok := axis{values: [][]any{nil}}, true
	var groups []axis
	for at, table := range sweepGroups(d, "sweep.one_at_a_time", sweep["one_at_a_time"], "tables of lists") {
		if len(table) == 0 { // its keys are pinned
			continue
		}
		group, good := readLockstep(d, at, table)
		ok = ok && good
		for j, key := range group.keys {
			base := d.Own(key)
			if base == nil {
				d.Problem(group.places[j], "departs from a value that the file does not give: set %s outside of [sweep]", key)
				ok = false
			}
			all.values[0] = append(all.values[0], base)
		}
		all.keys = append(all.keys, group.keys...)
		all.places = append(all.places, group.places...)
		groups = append(groups, group)
	}
	first := 0
	for _, group := range groups {
		for _, values := range group.values {
			step := append([]any(nil), all.values[0]...)
			copy(step[first:], values)
			all.values = append(all.values, step)
		}
		first += len(group.keys)
	}
	return all, ok && len(all.keys) > 0
}
