package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/experiments"
)

// knee is a row of the table that answers a load sweep.
type knee struct {
	Variant, Steady, Not, Accepted, Idle, Bound string
}

// mostBound is the largest network, in terminals, of which a report computes the
// load that its channels can carry, where the run has not.
const mostBound = 300

// knees lists where each variant ceases to keep up, and says it in a sentence.
func knees(f *experiments.Folder) (rows []knee, sentence string, bounds bool) {
	found := f.Results.Knees()
	for _, k := range found {
		row := knee{Variant: k.Variant, Steady: "none of the loads", Not: "none of the loads", Idle: measured(k.Idle, k.IdleHalf)}
		if !math.IsNaN(k.Steady) {
			row.Steady, row.Accepted = short(k.Steady), measured(k.Accepted, k.AcceptedHalf)
		}
		if !math.IsNaN(k.Not) {
			row.Not = short(k.Not)
		}
		if row.Idle != "" {
			row.Idle += " at " + short(k.IdleLoad)
		}
		if b := bound(f, k.Point); b > 0 {
			row.Bound, bounds = short(min(b, 1)), true // a terminal sends a flit a cycle at most
		}
		if row.Variant == "" {
			row.Variant = "the only one"
		}
		rows = append(rows, row)
	}
	return rows, sentenceOf(found), bounds
}

// bound is the highest load that the channels of a point can carry; 0: not known.
func bound(f *experiments.Folder, point int) float64 {
	if known := f.Manifest.Bounds[point]; known > 0 {
		return known
	}
	for _, p := range f.File.Points {
		if p.Index != point {
			continue
		}
		if t, err := f.File.TopologyOf(p); err != nil || t.Graph().Terminals() > mostBound {
			return 0
		}
		return f.File.LoadBound(p)
	}
	return 0
}

// sentenceOf says between which loads the variants cease to keep up.
func sentenceOf(found []experiments.Knee) string {
	if len(found) == 0 {
		return ""
	}
	of := func(k experiments.Knee) string {
		switch {
		case math.IsNaN(k.Steady) && math.IsNaN(k.Not):
			return "is neither steady nor saturated at any load"
		case math.IsNaN(k.Steady):
			return fmt.Sprintf("keeps up at none of the loads and is saturated at %s", short(k.Not))
		case math.IsNaN(k.Not):
			return fmt.Sprintf("keeps up to the load of %s and is saturated at none", short(k.Steady))
		}
		return fmt.Sprintf("keeps up to a load of %s and is saturated at %s", short(k.Steady), short(k.Not))
	}
	seeds := ""
	if found[0].Seeds > 1 {
		seeds = fmt.Sprintf(" A load counts where all %d seeds are steady.", found[0].Seeds)
	}
	if len(found) == 1 {
		return "The network " + of(found[0]) + "." + seeds
	}
	all := len(found)
	found = slices.DeleteFunc(slices.Clone(found), func(k experiments.Knee) bool { return math.IsNaN(k.Steady) && math.IsNaN(k.Not) })
	if open := all - len(found); open == all {
		return fmt.Sprintf("The verdict on all %d variants is open: none is steady or saturated at any load.", all) + seeds
	} else if open > 0 {
		seeds += fmt.Sprintf(" The verdict on %d is open at every load.", open)
	}
	value := func(k experiments.Knee) float64 {
		if math.IsNaN(k.Steady) {
			return 0
		}
		return k.Steady
	}
	best, worst := found[0], found[0]
	for _, k := range found[1:] {
		if value(k) > value(best) {
			best = k
		}
		if value(k) < value(worst) {
			worst = k
		}
	}
	if value(best) == value(worst) {
		if value(best) == 0 {
			return fmt.Sprintf("None of %d variants is steady at any load.", all) + seeds
		}
		if len(found) == 1 {
			return fmt.Sprintf("Of %d variants, %s %s.", all, best.Variant, of(best)) + seeds
		}
		return fmt.Sprintf("%d variants keep up to the same of the loads, %s.", len(found), short(value(best))) + seeds
	}
	return fmt.Sprintf("Of %d variants, %s carries most: it %s. %s carries least: it %s.", all, best.Variant, of(best), worst.Variant, of(worst)) + seeds
}

// measured prints a number with its interval; empty where there is none.
func measured(x, half float64) string {
	if math.IsNaN(x) {
		return ""
	}
	text := short(x)
	if half > 0 && !math.IsInf(half, 0) {
		text += " ± " + strconv.FormatFloat(half, 'g', 2, 64)
	}
	return text
}
