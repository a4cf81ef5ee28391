package opensmruns

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/judge"
)

const reference = "testdata/reference"

// TestReference repeats every run of OpenSM: the tables must be equal to the last
// entry, refusals must have the same reason.
func TestReference(t *testing.T) {
	f, err := ReadFolder(reference)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Runs) != 220 {
		t.Errorf("%d runs, want 220", len(f.Runs))
	}
	for i := range f.Runs {
		r := &f.Runs[i]
		row := f.Judge(r)
		switch {
		case row.Verdict != judge.Agrees:
			t.Errorf("%s/%s: %s", r.Fabric, r.Variant, row.Note)
		case r.Refused && !strings.HasPrefix(row.Note, "refused, as by OpenSM: "):
			t.Errorf("%s/%s: equal to nothing", r.Fabric, r.Variant)
		}
	}
}
