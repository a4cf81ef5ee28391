package intervals

import (
	"fmt"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/results"
)

// likely tells whether chance allows that so many or more of n intervals miss, at 95 %, once in
// 1,000 times.
func likely(missed, n int) bool {
	if missed == 0 {
		return true
	}
	return 1-distuv.Binomial{N: float64(n), P: 0.05}.CDF(float64(missed-1)) >= 0.001
}

// conclude adds up what the rows count: of all intervals of means 93 to 97 % may hold, no verdict
// may be wrong, equal networks may differ in 5 %, as far as chance allows.
func conclude(table *results.Table, count judge.Count, failed bool) (judge.Conclusion, error) {
	type tally struct{ of, held int }
	sums := map[string]*tally{}
	for _, r := range judge.RowsOf(table) {
		of, err := strconv.Atoi(r.Cells[5])
		held, err2 := strconv.Atoi(r.Cells[6])
		if err != nil || err2 != nil || r.Verdict == judge.NotJudged {
			continue
		}
		if sums[r.Cells[2]] == nil {
			sums[r.Cells[2]] = &tally{}
		}
		sums[r.Cells[2]].of += of
		sums[r.Cells[2]].held += held
	}
	c := judge.Conclusion{Shown: table, Failed: failed || count[judge.Differs] > 0}
	for _, x := range []struct{ metric, text string }{
		{"latency_mean_ns", "intervals of the mean latency hold it"}, {"accepted_load", "intervals of the accepted load hold it"},
		{"pairs", "pairs of equal networks are called equal"}, {"state", "verdicts are not wrong"},
	} {
		if t := sums[x.metric]; t != nil {
			c.Text += fmt.Sprintf("%d of %d (%s %%) %s; ", t.held, t.of, percent(t.held, t.of), x.text)
		}
	}
	if t := sums["latency_mean_ns"]; t != nil && t.of >= 1000 {
		share := float64(t.held) / float64(t.of)
		c.Failed = c.Failed || share < 0.93 || share > 0.97
	}
	c.Text += count.String()
	return c, nil
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}

func percent(part, of int) string {
	if of == 0 {
		return ""
	}
	return strconv.FormatFloat(100*float64(part)/float64(of), 'f', 1, 64)
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
