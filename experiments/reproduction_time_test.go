package experiments

import (
	"strings"
	"testing"
)

// TestReproductionTime: every experiment of a paper has been timed, whole and in its quick variant,
// and the whole takes longer on fewer processors.
func TestReproductionTime(t *testing.T) {
	paths := Embedded("papers")
	for name, took := range reproductionTimes() {
		if took[0] <= 0 || took[1] <= 0 {
			t.Errorf("%s took %v s", name, took)
		}
	}
	if len(reproductionTimes()) != len(paths) {
		t.Errorf("%d times of %d experiments", len(reproductionTimes()), len(paths))
	}
	// The whole reproduction takes between a quarter of an hour and two hours of a processor.
	for _, c := range []struct {
		quick bool
		want  string
	}{{false, " minutes of processor time, "}, {true, " of processor time, "}} {
		if got := ReproductionTime(paths, c.quick, 2); !strings.Contains(got, c.want) || strings.Contains(got, "some seconds of") {
			t.Errorf("quick %v: %s", c.quick, got)
		}
	}
	if got := ReproductionTime(paths[:1], true, 2); !strings.HasPrefix(got, "1 experiment: roughly ") {
		t.Error(got)
	}
}
