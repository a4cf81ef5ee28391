package kinds

import (
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestPipelineNote: a switch with BookSim2's stages whose pipeline is left at the default is
// noted; one that says which it is, and the default switch, are not.
func TestPipelineNote(t *testing.T) {
	const stages = "kind = \"traffic\"\n[switch]\nvc_alloc_cycles = 1\nspeedup = 2\n"
	for text, want := range map[string]int{
		stages:                                 1,
		stages + "pipeline = \"serial\"\n":     0,
		stages + "pipeline = \"overlapped\"\n": 0,
		"kind = \"traffic\"\n":                 0,
	} {
		f, err := experiments.Load("test.toml", text, experiments.Options{})
		if err != nil {
			t.Fatal(err)
		}
		notes := 0
		for _, w := range f.Warnings {
			if w.Key == "switch.pipeline" {
				notes++
			}
		}
		if notes != want {
			t.Errorf("%d notes of the pipeline, want %d:\n%s", notes, want, text)
		}
	}
}
