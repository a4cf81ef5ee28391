package experiments

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"time"
)

// reproductionTimesCSV says what the experiments of the papers took.
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
// so many processors like those that they were timed on, each experiment once.
func ReproductionTime(paths []string, quick bool, processors int) string {
	column, seconds := 0, 0.0
	if quick {
		column = 1
	}
	for _, path := range paths {
		took, known := reproductionTimes()[strings.TrimSuffix(strings.TrimPrefix(path, "papers/"), ".toml")]
		if !known {
			panic("experiments: papers/times.csv lacks " + path)
		}
		seconds += took[column]
	}
	text := func(seconds float64) string {
		d := time.Duration(seconds * float64(time.Second))
		switch {
		case d < 10*time.Second:
			return "some seconds"
		case d < 2*time.Minute:
			return fmt.Sprintf("%d seconds", int(d.Round(10*time.Second).Seconds()))
		}
		return fmt.Sprintf("%d minutes", int(d.Round(time.Minute).Minutes()))
	}
	experiments := "experiments"
	if len(paths) == 1 {
		experiments = "experiment"
	}
	return fmt.Sprintf("%d %s, roughly %s of processor time, %s on %d processors that do nothing else (as on weft's own machine)",
		len(paths), experiments, text(seconds), text(seconds/float64(processors)), processors)
}
