package traffic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/sim/simtest"
)

// Networks of several tests, with which files begin.
const (
	torusDOR  = "topology = { type = \"torus\" }\nrouting = { type = \"dor\" }\n"
	filling   = enginetest.Dragonfly + "[channel.global]\nlatency = \"100ns\"\n[switch]\nbuffer_flits = 256\n"
	oneSwitch = "routing = { type = \"table\" }\n[topology]\ntype = \"single-switch\"\n"
)

// notesOf are the notes of a report, a line each.
func notesOf(report *experiments.Report) string {
	var b strings.Builder
	for _, n := range report.Notes {
		fmt.Fprintf(&b, "%s %s: %s\n", n.Topic, n.Where, n.Text)
	}
	return b.String()
}

// warnings counts those of a file that are about a key.
func warnings(f *experiments.File, key string) (n int) {
	for _, w := range f.Warnings {
		if w.Key == key {
			n++
		}
	}
	return n
}

// single is the cell of a table of one row.
func single(t *testing.T, o *engine.Outcome, column string) float64 {
	t.Helper()
	x, err := o.Results.Numbers(column)
	simtest.FatalIf(t, err != nil || len(x) != 1, "%v %v", x, err)
	return x[0]
}
