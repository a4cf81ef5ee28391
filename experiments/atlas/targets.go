package atlas

import (
	"errors"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/judge"
)

// Verdict is what is found of a target.
type Verdict struct {
	*Target
	Own     string // weft's number, as it is compared
	Verdict string
	Note    string
}

// JudgeTargets computes every number that can be. Exact numbers must be met in all digits
// given. So must bounds that follow from a formula; of a cut that was found and of a bound
// of a whole family, weft's may be on the right side only. Published numbers that are counts
// of networks are met too; others are not judged.
func (r *Reference) JudgeTargets() []Verdict {
	networks := map[string]*subject{} // by instance
	verdicts := make([]Verdict, len(r.Targets))
	for i := range r.Targets {
		verdicts[i] = r.judgeTarget(&r.Targets[i], networks)
	}
	return verdicts
}

func (r *Reference) judgeTarget(t *Target, networks map[string]*subject) Verdict {
	v := Verdict{Target: t, Verdict: judge.NotJudged}
	if len(t.Faults) > 0 {
		v.Verdict, v.Note = judge.Unreadable, judge.Note(t.Faults)
		return v
	}
	if law, ok := laws[t.ID]; ok {
		if problem := law(); problem != nil {
			v.Verdict, v.Note = judge.Differs, problem.Error()
		} else {
			v.Verdict, v.Own, v.Note = judge.Agrees, t.Value, "a formula: holds on weft's networks of several sizes"
		}
		return v
	}
	metric, ok := metrics[t.Metric]
	if !ok {
		v.Note = "a statement, or a number of no network"
		return v
	}
	key := t.Topology + "\n" + t.Instance
	n := networks[key]
	if n == nil {
		var err error
		n, err = r.instance(t)
		switch {
		case errors.As(err, new(errNoInstance)):
			v.Note = err.Error()
			return v
		case errors.Is(err, fs.ErrNotExist):
			v.Verdict, v.Note = judge.NotRun, "the folder has no such graph"
			return v
		case err != nil:
			v.fail(err)
			return v
		}
		networks[key] = n
	}
	text, x, err := metric(r, n)
	if err != nil {
		v.fail(err)
		return v
	}
	v.Own, v.Verdict = text, judge.Agrees
	if text == "" {
		v.Own = strconv.FormatFloat(x, 'f', digits(t.Value), 64)
	}
	if !agrees(t, text, x) {
		v.Verdict = judge.Differs
	}
	return v
}

// fail notes why a number could not be computed: because of a file, or of weft.
func (v *Verdict) fail(err error) {
	v.Verdict, v.Note = judge.NotRun, err.Error()
	if errors.As(err, new(*dataError)) && !errors.Is(err, fs.ErrNotExist) {
		v.Verdict = judge.Unreadable
	}
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

// TargetTable is the content of targets.csv of a judgement.
func TargetTable(verdicts []Verdict) *experiments.Table {
	t := &experiments.Table{Columns: []string{"id", "topology", "instance", "metric", "kind", "reference", "weft", "verdict", "note"}}
	for _, v := range verdicts {
		t.Rows = append(t.Rows, []string{v.ID, v.Topology, v.Instance, v.Metric, v.Kind, v.Value, v.Own, v.Verdict, v.Note})
	}
	return t
}
