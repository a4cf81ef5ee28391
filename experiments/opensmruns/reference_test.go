package opensmruns

import "testing"

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
		row, err := f.Judge(r)
		if err != nil {
			t.Errorf("%s/%s: %v", r.Fabric, r.Variant, err)
			continue
		}
		switch {
		case row.Verdict == Differs:
			t.Errorf("%s/%s: %s", r.Fabric, r.Variant, row.Note)
		case r.Refused && row.Verdict == Equal:
			t.Errorf("%s/%s: equal to nothing", r.Fabric, r.Variant)
		}
	}
}
