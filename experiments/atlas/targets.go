package atlas

import (
	"errors"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/judge"
)

// JudgeTargets computes every number that can be. Exact numbers must be met in all digits
// given. So must bounds that follow from a formula; of a cut that was found and of a bound
// of a whole family, weft's may be on the right side only. Published numbers that are counts
// of networks are met too; others are not judged.
func (r *Reference) JudgeTargets() []judge.Row {
	networks := map[string]*subject{} // by instance
	rows := make([]judge.Row, len(r.Targets))
	for i := range r.Targets {
		rows[i] = r.judgeTarget(&r.Targets[i], networks)
	}
	return rows
}

func (r *Reference) judgeTarget(t *Target, networks map[string]*subject) judge.Row {
	own, verdict, note := r.own(t, networks)
	return judge.Row{Cells: []string{t.ID, t.Topology, t.Instance, t.Metric, t.Kind, t.Value, own}, Verdict: verdict, Note: note}
}

// own is weft's number for a target, as it is compared, and the verdict on it.
func (r *Reference) own(t *Target, networks map[string]*subject) (own, verdict, note string) {
	if len(t.Faults) > 0 {
		return "", judge.Unreadable, judge.Note(t.Faults)
	}
	if law, ok := laws[t.ID]; ok {
		if problem := law(); problem != nil {
			return "", judge.Differs, problem.Error()
		}
		return t.Value, judge.Agrees, "a formula: holds on weft's networks of several sizes"
	}
	metric, ok := metrics[t.Metric]
	if !ok {
		return "", judge.NotJudged, "a statement, or a number of no network"
	}
	key := t.Topology + "\n" + t.Instance
	n := networks[key]
	if n == nil {
		var err error
		n, err = r.instance(t)
		switch {
		case errors.As(err, new(errNoInstance)):
			return "", judge.NotJudged, err.Error()
		case errors.Is(err, fs.ErrNotExist):
			return "", judge.NotRun, "the folder has no such graph"
		case err != nil:
			return "", uncomputed(err), err.Error()
		}
		networks[key] = n
	}
	text, x, err := metric(r, n)
	if err != nil {
		return "", uncomputed(err), err.Error()
	}
	verdict = judge.Agrees
	if !agrees(t, text, x) {
		verdict = judge.Differs
	}
	if text == "" {
		text = strconv.FormatFloat(x, 'f', digits(t.Value), 64)
	}
	return text, verdict, ""
}

// uncomputed is the verdict on a number that cannot be computed: because of a file, or of weft.
func uncomputed(err error) string {
	if errors.As(err, new(*dataError)) && !errors.Is(err, fs.ErrNotExist) {
		return judge.Unreadable
	}
	return judge.NotRun
}

// digits is the number of digits behind the point of a number as it is written.
func digits(value string) int {
	_, behind, _ := strings.Cut(value, ".")
	return len(behind)
}

// agrees compares in the digits given; of a cut that was found weft's may be smaller.
func agrees(t *Target, text string, x float64) bool {
	if text != "" {
		return text == t.Value
	}
	want, err := strconv.ParseFloat(t.Value, 64)
	if err != nil {
		return false
	}
	if t.Metric == "bisection_best_cut_found" {
		return x <= want
	}
	return math.Abs(x-want) <= 0.5*math.Pow(10, -float64(digits(t.Value)))*(1+1e-6)+1e-12
}
