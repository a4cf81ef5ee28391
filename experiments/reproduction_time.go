package experiments

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// reproductionTimesCSV says what the experiments of each paper took, whole and in their quick
// variants: seconds of one core of weft's own machine.
//
//go:embed papers/times.csv
var reproductionTimesCSV string

var reproductionTimes = sync.OnceValue(func() map[string][2]float64 {
	t, err := ReadTable("times.csv", strings.NewReader(reproductionTimesCSV))
	if err != nil {
		panic("experiments: " + err.Error())
	}
	all := map[string][2]float64{}
	for _, r := range t.Rows {
		all[r[0]] = [2]float64{number(r[1]), number(r[2])}
	}
	return all
})

// ReproductionTime says how long some of the files of papers take, or their quick variants, on
// so many processors: of whole papers together, and for others what all of their paper takes.
func ReproductionTime(paths []string, quick bool, processors int) string {
	all, some := map[string]int{}, map[string]int{}
	for _, path := range Embedded("papers") {
		all[paperOf(path)]++
	}
	for _, path := range paths {
		some[paperOf(path)]++
	}
	column := 0
	if quick {
		column = 1
	}
	whole, seconds := 0, 0.0
	var parts []string
	for _, paper := range sortedKeys(some) {
		took, known := reproductionTimes()[paper]
		if !known {
			panic("experiments: papers/times.csv lacks " + paper)
		}
		if some[paper] == all[paper] {
			whole += some[paper]
			seconds += took[column]
			continue
		}
		parts = append(parts, fmt.Sprintf("%d of the %d experiments of %s, all of which take %s", some[paper], all[paper], paper, processorTime(took[column], processors)))
	}
	if whole > 0 {
		parts = append([]string{fmt.Sprintf("%d experiments: %s", whole, processorTime(seconds, processors))}, parts...)
	}
	return strings.Join(parts, "; ") + " (on weft's own machine)"
}

// paperOf is the paper that a file such as papers/dragonfly/fig9.toml is of.
func paperOf(path string) string {
	paper, _, _ := strings.Cut(strings.TrimPrefix(path, "papers/"), "/")
	return paper
}

// processorTime says what some seconds of one processor are on several.
func processorTime(seconds float64, processors int) string {
	text := func(seconds float64) string {
		if seconds < 100 {
			return fmt.Sprintf("%.0f s", seconds)
		}
		return fmt.Sprintf("%.0f minutes", seconds/60)
	}
	return fmt.Sprintf("roughly %s of processor time, %s on %d idle processors", text(seconds), text(seconds/float64(processors)), processors)
}
