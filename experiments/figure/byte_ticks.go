package figure

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Bytes writes a number of bytes with the prefix of IEC 80000-13 that leaves a
// small number: 64 B, 1 KiB.
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

// Ticks implements plot.Ticker.
func (byteTicks) Ticks(least, most float64) []plot.Tick {
	step := math.Exp2(math.Floor(math.Log2((most - least) / 4)))
	var all []plot.Tick
	for i := math.Ceil(2*least/step - 1e-9); i*step/2 <= most*(1+1e-9); i++ {
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

// Ticks implements plot.Ticker.
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
