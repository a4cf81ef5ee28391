package experiments

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/measure"
)

// refinement adds points to a sweep where the network ceases to be steady: between the last value
// of an axis at which it is and the first at which it is not, by bisection, until they are at most
// spacing apart. Which points those are follows from the results of the others and from nothing
// else, so that a run, one resumed, and a result folder read back agree on them.
type refinement struct {
	key     string
	axis    int // of File.sweep
	spacing float64
	whole   bool // values are integers
}

// readSweep reads [sweep]. After problems, of which some may be the sweep's own, the file
// counts as one without a sweep, so that the rest of it is judged.
func (f *File) readSweep() {
	var refine []document.Setting
	f.sweep, refine = readAxes(f.doc)
	f.readRefinement(refine)
	if len(f.doc.Problems) > 0 {
		f.sweep = nil
	}
}

// readRefinement reads [sweep.refine].
func (f *File) readRefinement(given []document.Setting) {
	d := f.doc
	for i, s := range given {
		key := document.KeyUnder("sweep.refine", s.Key)
		if i > 0 {
			d.Problem(s.Key, "is a second key to refine; one is possible")
			continue
		}
		r := &refinement{key: key, axis: -1}
		switch x := s.Value.(type) {
		case int64:
			r.spacing, r.whole = float64(x), true
		case float64:
			r.spacing = x
		}
		if !(r.spacing > 0) {
			d.Problem(s.Key, "= %s: want the largest distance left between two points, for example 0.01", document.Show(s.Value))
			continue
		}
		for i, a := range f.sweep {
			if len(a.keys) == 1 && a.keys[0] == key {
				r.axis = i
			}
		}
		if r.axis < 0 {
			d.Problem(s.Key, "is not swept by a list of its own: give %q a list or a range under [sweep]", key)
			continue
		}
		for _, v := range f.sweep[r.axis].values {
			_, integer := v[0].(int64)
			r.whole = r.whole && integer
			if _, float := v[0].(float64); !integer && !float {
				d.Problem(s.Key, "cannot be refined: %s is not a number", document.Show(v[0]))
				break
			}
		}
		if f.stateCell() < 0 {
			d.Problem(s.Key, "cannot be refined: kind %q does not tell whether a network keeps up", f.kind.name)
		}
		f.refine = r
	}
}

// value is a value of the axis as the file would give it.
func (r *refinement) value(x float64) any {
	if r.whole {
		return int64(x)
	}
	return x
}

// Added is where a point added by refinement lies: the steps on the axes, with
// -1 on the refined one, and the value there.
type Added struct {
	Steps []int   `json:"steps"`
	Value float64 `json:"value"`
}

// position of a point on the refined axis.
func (r *refinement) position(f *File, p *Point) float64 {
	if step := p.steps[r.axis]; step >= 0 {
		return results.Number(results.FormatCell(f.sweep[r.axis].values[step][0]))
	}
	return p.refined
}

// next lists the points that one more step of bisection adds to those that there are, variant by
// variant; none at the end. steady tells of a point whether the network was, if that is known.
func (r *refinement) next(f *File, points []*Point, steady func(*Point) (steady, known bool)) []Added {
	var all []Added
	for _, variant := range r.variants(points) {
		if value, ok := r.middle(f, variant, steady); ok {
			all = append(all, Added{r.variant(variant[0]), value})
		}
	}
	return all
}

// variant is a point's steps without the one on the refined axis.
func (r *refinement) variant(p *Point) []int {
	steps := slices.Clone(p.steps)
	steps[r.axis] = -1
	return steps
}

// variants lists the points of each variant, in their order.
func (r *refinement) variants(points []*Point) [][]*Point {
	return results.Grouped(points, func(p *Point) string { return fmt.Sprint(r.variant(p)) })
}

// middle is the value to try next among the points of a variant. The values
// tried are whole spacings above the last at which the network was steady.
func (r *refinement) middle(f *File, points []*Point, steady func(*Point) (steady, known bool)) (value float64, ok bool) {
	low, high := math.Inf(-1), math.Inf(1)
	for _, p := range points {
		if good, known := steady(p); known && !good {
			high = min(high, r.position(f, p))
		}
	}
	for _, p := range points {
		if good, known := steady(p); known && good && r.position(f, p) < high {
			low = max(low, r.position(f, p))
		}
	}
	if math.IsInf(low, 0) || math.IsInf(high, 0) {
		return 0, false
	}
	gaps := r.gaps(low, high)
	if gaps < 2 {
		return 0, false
	}
	value = RoundDecimal(low + r.spacing*math.Floor(gaps/2))
	// A point there that is not known has failed.
	taken := slices.ContainsFunc(points, func(p *Point) bool { return r.position(f, p) == value })
	return value, !taken
}

// gaps is the number of spacings between two values, the last one perhaps shorter.
func (r *refinement) gaps(low, high float64) float64 { return math.Ceil((high-low)/r.spacing - 1e-9) }

// Refines tells whether the file adds points by refinement.
func (f *File) Refines() bool { return f.refine != nil }

// Added is where a point that refinement has added lies.
func (p *Point) Added() Added { return Added{p.steps, p.refined} }

// Refined makes a point that refinement adds. The error says what is wrong with its settings, of
// which the point is complete otherwise; there is none where the place is of another sweep.
func (f *File) Refined(a Added, index int) (*Point, error) {
	if f.refine == nil || len(a.Steps) != len(f.sweep) {
		return nil, errors.New("the sweep has changed")
	}
	values := make([][]any, len(f.sweep))
	for i, step := range a.Steps {
		if step >= 0 {
			values[i] = f.sweep[i].values[step]
		} else {
			values[i] = []any{f.refine.value(a.Value)}
		}
	}
	settled := f.settle(values, false)
	p, problems := f.point(settled, values, index)
	p.steps, p.refined = a.Steps, a.Value
	if err := append(problems, settled.problems...).Err(); err != nil {
		return p, err
	}
	_, err := f.kind.check(p.config, p.Seed)
	return p, err
}

// stateCell is where a row of the kind tells whether the network keeps up.
func (f *File) stateCell() int {
	return slices.IndexFunc(f.kind.columns, func(c Column) bool { return c.Name == results.StateColumn })
}

// Refinement lists the points that one more step of refinement adds to those that there
// are, by the records of those that are finished; none at the end.
func (f *File) Refinement(points []*Point, finished map[string]*Record) []Added {
	if f.refine == nil {
		return nil
	}
	cell := f.stateCell()
	return f.refine.next(f, points, func(p *Point) (bool, bool) {
		rec := finished[p.Hash]
		return rec != nil && rec.Cells[cell] == measure.Steady.String(), rec != nil
	})
}

// Replay adds the points to the file that refinement has added to what a run has found.
func (f *File) Replay(found *results.Table) error {
	if f.refine == nil {
		return nil
	}
	point, err := found.Column("point")
	state, err2 := found.Column(results.StateColumn)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	known := map[int]bool{}
	for _, row := range found.Rows {
		i, err := strconv.Atoi(row[point])
		if err != nil {
			return fmt.Errorf("point %q: want a number", row[point])
		}
		known[i] = row[state] == measure.Steady.String()
	}
	for {
		list := f.refine.next(f, f.Points, func(p *Point) (bool, bool) {
			good, ok := known[p.Index]
			return good, ok
		})
		if len(list) == 0 {
			return nil
		}
		for _, a := range list {
			p, err := f.Refined(a, len(f.Points))
			if err != nil {
				return err
			}
			f.Points = append(f.Points, p)
		}
	}
}
