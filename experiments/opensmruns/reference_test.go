package opensmruns

<<<<<<< HEAD
import "testing"
=======
import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/judge"
)
>>>>>>> main

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
<<<<<<< HEAD
		row, err := f.Judge(r)
		if err != nil {
			t.Errorf("%s/%s: %v", r.Fabric, r.Variant, err)
			continue
		}
		switch {
		case row.Verdict == Differs:
			t.Errorf("%s/%s: %s", r.Fabric, r.Variant, row.Note)
		case r.Refused && row.Verdict == Equal:
=======
		row := f.Judge(r)
		switch why := open(r); {
		case why == "" && row.Verdict != judge.Agrees:
			t.Errorf("%s/%s: %s", r.Fabric, r.Variant, row.Note)
		case why != "" && row.Verdict != judge.Differs:
			t.Errorf("%s/%s is %s: take it from the list of what is open", r.Fabric, r.Variant, row.Verdict)
		case r.Refused && row.Verdict == judge.Agrees && !strings.HasPrefix(row.Note, "refused, as by OpenSM: "):
>>>>>>> main
			t.Errorf("%s/%s: equal to nothing", r.Fabric, r.Variant)
		}
	}
}
