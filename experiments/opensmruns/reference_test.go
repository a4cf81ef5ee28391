package opensmruns

import (
	"strings"
	"testing"
)

const reference = "testdata/reference"

// open lists what is not equal yet, and why.
func open(r *Run) string {
	switch {
	case r.Engine == "nue":
		return "nue's tables are not repeated"
	case strings.Contains(r.Options, "do_mesh_analysis") && strings.HasPrefix(r.Fabric, "torus"):
		return "lash's analysis of meshes is not repeated"
	}
	return ""
}

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
		switch why := open(r); {
		case why == "" && row.Verdict == Differs:
			t.Errorf("%s/%s: %s", r.Fabric, r.Variant, row.Note)
		case why != "" && row.Verdict != Differs:
			t.Errorf("%s/%s is %s: take it from the list of what is open", r.Fabric, r.Variant, row.Verdict)
		case r.Refused && row.Verdict == Equal:
			t.Errorf("%s/%s: equal to nothing", r.Fabric, r.Variant)
		}
	}
}
