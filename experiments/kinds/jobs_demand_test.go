package kinds

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestWorkOfJobs: what weft check says jobs take is within a factor of 1.2 of the flits that cross
// switches in all simulations, together, alone and for blame.
func TestWorkOfJobs(t *testing.T) {
	text := strings.Replace(jobsNetwork, "clock", "UNIT\nclock", 1) + "[measure]\nreplications = 2\nblame = BLAME\n[routing]\ntype = \"min\"\n" +
		ranHalo("a", "placement = \"random\"\nrepeat = 2\n") + ranHalo("b", "placement = \"random\"\n") + ranHalo("c", "repeat = 0\n")
	for what, with := range map[string]*strings.Replacer{
		"plain": strings.NewReplacer("UNIT", "", "BLAME", "false"), "blame": strings.NewReplacer("UNIT", "", "BLAME", "true"),
		"packets": strings.NewReplacer("UNIT", "unit = \"packet\"", "BLAME", "true", "[measure]", "[switch]\nhold = true\nflow_control = \"cut-through\"\n[measure]"),
	} {
		f := load(t, with.Replace(text), experiments.Options{})
		report, err := f.Preflight(true)
		if err != nil {
			t.Fatal(err)
		}
		events := 0.0 // two for each flit and switch
		for _, note := range report.Notes {
			if at := strings.Index(note.Text, "roughly "); note.Topic == "cost" && at >= 0 {
				if _, err := fmt.Sscanf(note.Text[at:], "roughly %g events", &events); err != nil {
					t.Fatal(err)
				}
			}
		}
		dir := t.TempDir()
		execute(t, f, experiments.Execution{Dir: dir})
		_, row, _ := strings.Cut(read(t, dir, "performance.csv"), "\n") // of point, events, flit_hops
		counted, err := strconv.ParseFloat(strings.Split(row, ",")[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		flits := events / 2
		if what == "packets" {
			flits *= 8 // of 256 B, as the adapter's 2 KiB
		}
		if ratio := flits / counted; !(ratio > 1/1.2 && ratio < 1.2) {
			t.Errorf("%s: %v flit-hops are expected, %v counted", what, flits, counted)
		}
	}
}
