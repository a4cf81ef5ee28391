package plot

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/weft-sim/weft/sim/lists"
)

// ticks labels five to nine multiples of 1, 2 or 5 times a power of ten, with small ticks between.
type ticks struct{ unit string }

func (t ticks) Ticks(least, most float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((most-least)/4)))
	minor := 5
	for _, s := range []struct{ times, minor int }{{5, 5}, {2, 4}, {1, 5}} {
		if (most-least)/(step*float64(s.times)) >= 4 {
			step, minor = step*float64(s.times), s.minor
			break
		}
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	size := math.Max(math.Abs(least), math.Abs(most))
	digits := int(math.Floor(math.Log10(size))) + 1 - int(math.Floor(math.Log10(step)+1e-9))
	label := numberLabel(size, step, t.unit, digits)
	if digits > mostDigits {
		return []plot.Tick{{Value: least, Label: label(least, decimals)}}
	}
	var all []plot.Tick
	small := step / float64(minor)
	for i := math.Ceil(least/small-1e-9) + 0; i*small <= most+1e-9*small; i++ {
		tick := plot.Tick{Value: i * small}
		if int64(i)%int64(minor) == 0 {
			tick.Label = label(i*small, decimals)
		}
		all = append(all, tick)
	}
	return all
}

// Digits of labels: as many as neighbours differ by, usually few, at most what numbers have.
const (
	fewDigits  = 6
	mostDigits = 15
)

// manyDigits tells whether an axis' numbers, from least to most in size, are too long with all
// digits.
func manyDigits(most, least float64, unit string) bool {
	return most >= 1e7 || least < 1e-4 || unit == "s" && most < 0.05
}

// numberLabel chooses how an axis' numbers are written: with all digits, or if many with SI's
// prefixes and the unit.
func numberLabel(most, least float64, unit string, digits int) func(x float64, decimals int) string {
	digits = min(max(digits, fewDigits), mostDigits)
	switch {
	case unit == "" && most < 1 && digits > fewDigits: // all have the same power of ten
	case unit == "" && most < 1 && manyDigits(most, least, unit):
		return func(x float64, _ int) string {
			if rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64); err == nil && x != 0 {
				return strconv.FormatFloat(rounded, 'e', -1, 64)
			}
			return "0"
		}
	case manyDigits(most, least, unit):
		return func(x float64, _ int) string { return prefixed(x, unit, digits) }
	}
	return func(x float64, decimals int) string { return thousands(strconv.FormatFloat(x, 'f', decimals, 64)) }
}

// unitOf finds the unit at the end of an axis label, if it takes SI's prefixes, and the rest.
func unitOf(label string) (unit, bare string) {
	for _, unit := range []string{"s", "B"} {
		if bare, ok := strings.CutSuffix(label, " ("+unit+")"); ok {
			return unit, bare
		}
	}
	return "", label
}

// along is where the values of an axis are, from 0 at its least to 1 at its most.
func along(least, most float64, log bool) func(x float64) float64 {
	if log {
		return func(x float64) float64 { return math.Log(x/least) / math.Log(most/least) }
	}
	return func(x float64) float64 { return (x - least) / (most - least) }
}

// valueTicks are at values that are powers, if a logarithmic axis has room for every one, second,
// third and so on, or a linear one for all; else another axis' ticks.
type valueTicks struct {
	plot.Ticker
	values []float64
	unit   string
	log    bool
	space  labelSpace
}

func (v valueTicks) Ticks(least, most float64) []plot.Tick {
	values := v.values
	if !v.log && least <= 0 {
		values = append([]float64{0}, values...)
	}
	var all []plot.Tick
	for every := 1; every <= len(v.values); every++ {
		all = v.each(every, values, least, most)
		if len(v.space.crowded(all, along(least, most, v.log))) == 0 {
			break
		}
		if !v.log {
			return v.Ticker.Ticks(least, most)
		}
	}
	if v.log && len(all) < 2 { // of a range that is given
		return v.Ticker.Ticks(least, most)
	}
	return all
}

// each are ticks at values between the ends of the axis, every so many of them with a label.
func (v valueTicks) each(every int, values []float64, least, most float64) (all []plot.Tick) {
	label := numberLabel(most, v.values[0], v.unit, fewDigits)
	for i, x := range values {
		if x < least*(1-1e-9) || x > most*(1+1e-9) {
			continue
		}
		tick := plot.Tick{Value: x}
		switch {
		case i%every != 0:
		case v.unit == "B":
			tick.Label = Bytes(x)
		default:
			tick.Label = label(x, -1)
		}
		all = append(all, tick)
	}
	return all
}

// labelSpace is the room along an axis for labels of a style.
type labelSpace struct {
	style text.Style
	room  vg.Length
}

// crowded lists the ticks whose labels run into the one before that stays.
func (l labelSpace) crowded(all []plot.Tick, place func(x float64) float64) (some []int) {
	const gap = 5
	end := math.Inf(-1)
	for i, t := range all {
		half := float64((l.style.Width(t.Label) + gap) / 2 / l.room)
		switch at := place(t.Value); {
		case t.Label == "":
		case at-half < end:
			some = append(some, i)
		default:
			end = at + half
		}
	}
	return some
}

// uncrowded leaves out labels that run into others.
type uncrowded struct {
	plot.Ticker
	space labelSpace
	log   bool
}

func (u uncrowded) Ticks(least, most float64) []plot.Tick {
	all := u.Ticker.Ticks(least, most)
	for _, i := range u.space.crowded(all, along(least, most, u.log)) {
		all[i].Label = ""
	}
	return all
}

// nines labels an axis with equal lengths for every nine of a percentage.
type nines struct{}

func (nines) Ticks(least, most float64) []plot.Tick {
	all := []plot.Tick{{Value: 0, Label: "0 %"}, {Value: -math.Log10(0.5), Label: "50 %"}}
	for n, label := range []string{"90", "99", "99.9", "99.99", "99.999", "99.9999", "99.99999", "99.999999", "99.9999999"} {
		all = append(all, plot.Tick{Value: float64(n + 1), Label: label + " %"})
	}
	return slices.DeleteFunc(all, func(t plot.Tick) bool { return t.Value < least || t.Value > most })
}

// below leaves out ticks above a limit, where the axis has none, and labels over each other: all
// but each second, fifth and so on.
type below struct {
	plot.Ticker
	limit          float64
	log            bool
	length, height vg.Length // of the axis, about, and of a label
}

func (b below) Ticks(least, most float64) []plot.Tick {
	all := b.Ticker.Ticks(least, min(most, b.limit))
	place := along(least, most, b.log)
	labelled := lists.Places(len(all), func(i int) bool { return all[i].Label != "" })
	first := 0 // of those that stay, a multiple of what is between them
	if len(labelled) < 3 {
		return all
	}
	room := place(all[labelled[len(labelled)-1]].Value) - place(all[labelled[0]].Value)
	each := float64(b.length) * room / float64(len(labelled)-1)
	every := 1
	for _, k := range []int{1, 2, 5, 10} {
		if every = k; each*float64(k) >= float64(b.height) {
			break
		}
	}
	if step := all[labelled[1]].Value - all[labelled[0]].Value; !b.log {
		first = -int(math.Round(all[labelled[0]].Value/step)) % every
	}
	for j, i := range labelled {
		if (j-first)%every != 0 {
			all[i].Label = ""
		}
	}
	return all
}

// prefixed writes a number of some digits with a prefix of SI and its unit: 20 MB, 5 µs.
func prefixed(x float64, unit string, digits int) string {
	prefixes := []string{"f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P"}
	const one = 5
	if x == 0 {
		return "0"
	}
	group := int(math.Floor(math.Log10(math.Abs(x))/3 + 1e-9))
	group = min(max(group, -one), len(prefixes)-1-one)
	number := strconv.FormatFloat(x/math.Pow(1000, float64(group)), 'g', digits, 64)
	return strings.TrimSpace(number + " " + prefixes[one+group] + unit)
}

// thousands separates groups of three digits by commas.
func thousands(number string) string {
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "-", number[1:]
	}
	whole, fraction, has := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if has {
		whole += "." + fraction
	}
	return sign + whole
}

// logTicks labels the powers of ten, and 2 and 5 times them, or more, where there are few powers.
type logTicks struct{ unit string }

func (t logTicks) Ticks(least, most float64) []plot.Tick {
	decades := math.Log10(most / least)
	label := numberLabel(most, least, t.unit, fewDigits)
	for _, digits := range []string{"1", "125", "1235", "123456789"} {
		if digits == "1" && decades < 2 || digits == "125" && decades < 0.5 {
			continue
		}
		var all []plot.Tick
		labels := 0
		for e := math.Floor(math.Log10(least)); e <= math.Ceil(math.Log10(most)); e++ {
			for digit := 1; digit < 10; digit++ {
				value := float64(digit) * math.Pow(10, e)
				if value < least*(1-1e-9) || value > most*(1+1e-9) {
					continue
				}
				tick := plot.Tick{Value: value}
				if strings.Contains(digits, strconv.Itoa(digit)) {
					tick.Label = label(value, max(0, -int(e)))
					labels++
				}
				all = append(all, tick)
			}
		}
		const enough = 3
		if labels >= enough || len(digits) == 9 && labels > 1 {
			return all
		}
	}
	return ticks(t).Ticks(least, most) // of less than a digit of the first place
}

// categories labels the integers from 0.
type categories []string

func (c categories) Ticks(float64, float64) []plot.Tick {
	all := make([]plot.Tick, len(c))
	for i, name := range c {
		all[i] = plot.Tick{Value: float64(i), Label: name}
	}
	return all
}

// Bytes writes a number of bytes with the prefix of IEC 80000-13 for a small number: 64 B, 1 KiB.
func Bytes(x float64) string {
	prefixes := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	if x == 0 {
		return "0"
	}
	i := 0
	for math.Abs(x) >= 1024 && i+1 < len(prefixes) {
		x /= 1024
		i++
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + " " + prefixes[i]
}

// byteTicks puts labels at multiples of a power of two, five to nine of them.
type byteTicks struct{}

func (byteTicks) Ticks(least, most float64) []plot.Tick {
	step := math.Exp2(math.Floor(math.Log2((most - least) / 4)))
	if most > step*1e15 {
		return []plot.Tick{{Value: least, Label: Bytes(least)}}
	}
	var all []plot.Tick
	for i := math.Ceil(2*least/step - 1e-9); i*step/2 <= most+1e-9*step; i++ {
		tick := plot.Tick{Value: i * step / 2}
		if math.Mod(i, 2) == 0 {
			tick.Label = Bytes(tick.Value)
		}
		all = append(all, tick)
	}
	return all
}

// logByteTicks labels powers of two, at most nine of them, at equal distances.
type logByteTicks struct{}

func (logByteTicks) Ticks(least, most float64) []plot.Tick {
	first, last := math.Ceil(math.Log2(least)-1e-9), math.Floor(math.Log2(most)+1e-9)
	if last-first < 2 {
		return byteTicks{}.Ticks(least, most)
	}
	every := 1.0
	for math.Floor(last/every)-math.Ceil(first/every) >= 9 {
		every++
	}
	var all []plot.Tick
	for e := first; e <= last; e++ {
		tick := plot.Tick{Value: math.Exp2(e)}
		if math.Mod(e, every) == 0 {
			tick.Label = Bytes(tick.Value)
		}
		all = append(all, tick)
	}
	return all
}
