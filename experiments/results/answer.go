package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/lists"
)

// mostDemands is up to how many the answer is written out, mostNamed how many variants are named.
const (
	mostDemands = 6
	mostNamed   = 5
)

// Answer says in a paragraph for each demand which variant is the best, by how much, and which are
// tied; for many demands, how often each is. Empty without a ranking.
func (r *Rankings) Answer() (paragraphs []string) {
	demands := Grouped(r.All, func(x Ranking) string { return strings.Join(x.Demand, "\x00") })
	alone := !slices.ContainsFunc(r.All, func(x Ranking) bool { return x.Of > 1 })
	knees := slices.ContainsFunc(r.All, func(x Ranking) bool { return len(x.Places) > 0 && x.Places[0].Knee != nil })
	if len(demands) > mostDemands || alone && !knees && len(demands) > 1 {
		return r.overview()
	}
	seeds := 0
	for _, of := range demands {
		var sentences []string
		for i, x := range of {
			text := r.text(&x)
			for _, p := range x.Places {
				if p.Knee != nil {
					seeds = max(seeds, p.Knee.Seeds)
				}
			}
			switch {
			case text == "":
			case i == 0 && len(demands) > 1:
				sentences = append(sentences, "Under "+equations(r.Demand, x.Demand)+", "+text+".")
			default:
				sentences = append(sentences, strings.ToUpper(text[:1])+text[1:]+".")
			}
		}
		if len(sentences) > 0 {
			paragraphs = append(paragraphs, strings.Join(sentences, " "))
		}
	}
	if seeds > 1 {
		paragraphs = append(paragraphs, fmt.Sprintf("A load counts where all %d seeds are steady.", seeds))
	}
	return paragraphs
}

// text says one ranking, and begins with a small letter; "" where it adds nothing.
func (r *Rankings) text(x *Ranking) string {
	at := ""
	if !math.IsNaN(x.Load) {
		at = fmt.Sprintf("at a load of %s, ", Short(x.Load))
	}
	switch {
	case len(x.Places) == 0 && x.Of == 1:
		return ""
	case len(x.Places) == 0:
		return fmt.Sprintf("none of %d variants is steady at any load", x.Of)
	}
	first, all := x.Places[0], fmt.Sprintf("all %d variants", len(x.Places))
	if len(x.Places) == 2 {
		all = "both variants"
	}
	tried := "the highest load tried"
	if x.Cut {
		tried = "the highest that all were tried at"
	}
	switch full := len(lists.Filter(x.Places, func(p Place) bool { return p.Full })); {
	case x.Of == 1 && first.Knee == nil:
		return fmt.Sprintf("%sthe %s is %s", at, x.Name, withUnit(Measured(first.Mean, first.HalfWidth), x.Column))
	case x.Of == 1 && x.Most:
		return "the network " + reach(first.Knee)
	case x.Of == 1:
		return ""
	case len(x.Places) == 1 && at != "":
		return fmt.Sprintf("%sonly %s is steady", at, r.named(x.Places))
	case len(x.Places) == 1:
		return fmt.Sprintf("only %s has a %s", r.named(x.Places), x.Name)
	case full == x.Of && first.Knee != nil:
		return fmt.Sprintf("%s keep up to a load of %s, %s", all, Short(x.Highest), tried)
	case full == x.Of:
		return fmt.Sprintf("%s keep up with a load of %s", all, Short(x.Highest))
	}
	switch {
	case x.Cut:
		at = fmt.Sprintf("up to a load of %s, %s, ", Short(x.Highest), tried)
	case at == "" && slices.ContainsFunc(x.Places, func(p Place) bool { return p.Judgement != Tie }):
		at = fmt.Sprintf("of %d variants, ", x.Of)
	case at == "":
	case first.Knee != nil && len(x.Places) < x.Of:
		at += fmt.Sprintf("the highest at which %d of %d variants are steady, ", len(x.Places), x.Of)
	case first.Knee != nil:
		at += "the highest at which all are steady, "
	}
	return at + r.order(x, all)
}

// order says which variants are first and which one is next.
func (r *Rankings) order(x *Ranking, all string) string {
	first, last := x.Places[0], x.Places[len(x.Places)-1]
	behind := lists.Filter(x.Places[1:], func(p Place) bool { return p.Judgement != Tie })
	tied := lists.Filter(x.Places, func(p Place) bool { return p.Judgement == Tie })
	value := withUnit(Short(first.Mean), x.Column)
	switch {
	case len(behind) == 0 && first.Mean == last.Mean:
		return fmt.Sprintf("%s have the same %s, %s", all, x.Name, value)
	case len(behind) == 0:
		return fmt.Sprintf("%s tie in the %s, %s to %s: no difference from the first is significant", all, x.Name, Short(first.Mean), withUnit(Short(last.Mean), x.Column))
	}
	extreme, more := "lowest", "more"
	if x.Most {
		extreme, more = "highest", "less"
	}
	next := r.named(behind[:1])
	by := fmt.Sprintf("%s %s", x.ahead(behind[0]), more)
	if behind[0].Judgement == NoInterval {
		by += " (no interval: chance is not judged)"
	}
	if len(tied) > 1 {
		return fmt.Sprintf("%s tie for the %s %s, %s at %s; %s has %s than that", r.named(tied), extreme, x.Name, value, r.named(tied[:1]), next, by)
	}
	if first.Knee != nil && x.Most {
		value += " (it " + reach(first.Knee) + ")"
	}
	return fmt.Sprintf("%s has the %s %s, %s; %s is next with %s", r.named(x.Places[:1]), extreme, x.Name, value, next, by)
}

// ahead says by how much the first place is better than another.
func (x *Ranking) ahead(p Place) string {
	d := p.From
	text := Measured(math.Abs(d.Delta), d.HalfWidth)
	if digits := 1 - int(math.Floor(math.Log10(d.HalfWidth))); d.HalfWidth > 1e-4*math.Abs(d.Delta) && digits >= 0 { // as many as the interval has
		text = strconv.FormatFloat(math.Abs(d.Delta), 'f', digits, 64) + " ± " + strconv.FormatFloat(d.HalfWidth, 'f', digits, 64)
	}
	text = withUnit(text, x.Column)
	if x.Places[0].Full {
		text = "at least " + text
	}
	if d.A != 0 {
		text += fmt.Sprintf(" (%s %%)", strconv.FormatFloat(math.Abs(100*d.Delta/d.A), 'f', 1, 64))
	}
	return text
}

// overview says how often each variant is the best, or over which range a goal goes.
func (r *Rankings) overview() (sentences []string) {
	for _, of := range Grouped(r.All, func(x Ranking) string { return x.Column }) {
		var best []string
		times := map[string]int{}
		ties, compared := 0, 0
		low, high := of[0], of[0]
		for _, x := range of {
			if len(x.Places) == 0 {
				continue
			}
			if len(low.Places) == 0 || x.Places[0].Mean < low.Places[0].Mean {
				low = x
			}
			if len(high.Places) == 0 || x.Places[0].Mean > high.Places[0].Mean {
				high = x
			}
			if len(x.Places) < 2 {
				continue
			}
			compared++
			if x.Places[0].Judgement == Tie {
				ties++
				continue
			}
			name := r.named(x.Places[:1])
			best = AddNew(best, name)
			times[name]++
		}
		switch {
		case compared > 0:
			slices.SortStableFunc(best, func(a, b string) int { return times[b] - times[a] })
			parts := lists.Map(best, func(name string) string { return fmt.Sprintf("%s under %d", name, times[name]) })
			if ties > 0 {
				parts = append(parts, fmt.Sprintf("a tie under %d", ties))
			}
			sentences = append(sentences, fmt.Sprintf("The best %s under %d demands: %s.", of[0].Name, compared, strings.Join(parts, ", ")))
		case len(low.Places) > 0:
			at := func(x Ranking) string {
				return fmt.Sprintf("%s under %s", withUnit(Measured(x.Places[0].Mean, x.Places[0].HalfWidth), x.Column), equations(r.Demand, x.Demand))
			}
			sentences = append(sentences, fmt.Sprintf("The %s is from %s to %s.", of[0].Name, at(low), at(high)))
		}
	}
	return sentences
}

// equations are columns with their cells.
func equations(columns, cells []string) string {
	return strings.Join(lists.Make(len(columns), func(i int) string { return columns[i] + " = " + cells[i] }), ", ")
}

// named lists variants in words: where one setting tells them apart, words by their values.
func (r *Rankings) named(places []Place) string {
	var names []string
	for _, p := range places {
		name := equations(r.Design[:1], p.Design)
		switch {
		case len(r.Design) > 1:
			name += " (" + equations(r.Design[1:], p.Design[1:]) + ")"
		case math.IsNaN(Number(p.Design[0])) && !slices.Contains([]string{"", "true", "false", "none", "all"}, p.Design[0]):
			name = p.Design[0]
		}
		names = append(names, name)
	}
	switch n := len(names); {
	case n == 1:
		return names[0]
	case n > mostNamed:
		return fmt.Sprintf("%s and %d others", names[0], n-1)
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// reach says to which load a variant keeps up, and from where on it is saturated.
func reach(k *Knee) string {
	text := "keeps up to a load of " + Short(k.Steady)
	if math.IsNaN(k.Steady) {
		text = "keeps up at none of the loads"
	}
	switch {
	case math.IsNaN(k.Steady) && math.IsNaN(k.Not):
		return "is neither steady nor saturated at any load"
	case math.IsNaN(k.Not) && k.Steady == k.Highest:
		return text + ", the highest load tried"
	case math.IsNaN(k.Not):
		return text + "; no load tried is saturated"
	}
	return text + " and is saturated at " + Short(k.Not)
}

// Short prints a number with the digits that a reader compares.
func Short(x float64) string { return significant(x, 5) }

// significant prints a number with so many digits, without an exponent below ten million.
func significant(x float64, digits int) string {
	text := strconv.FormatFloat(x, 'g', digits, 64)
	if rounded, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(rounded) >= 1 && math.Abs(rounded) < 1e7 {
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	return text
}

// Measured prints a number with the half-width of its interval, if it has one; nothing for NaN.
func Measured(x, half float64) string {
	if math.IsNaN(x) {
		return ""
	}
	text := Short(x)
	if half > 0 && !math.IsInf(half, 0) {
		text += " ± " + significant(half, 2)
	}
	return text
}

func withUnit(number, column string) string {
	return strings.TrimSpace(number + " " + ColumnUnit(column))
}
