package opensmruns

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/simtest"
)

const reference = "testdata/reference"

// TestReference repeats every run of OpenSM: the tables must be equal to the last
// entry, refusals must have the same reason.
func TestReference(t *testing.T) {
	f := simtest.Must(ReadFolder(reference))(t)
	simtest.ErrorIf(t, len(f.Runs) != 220, "%d runs, want 220", len(f.Runs))
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

// TestDumps: the dumps are OpenSM's own files, byte for byte.
func TestDumps(t *testing.T) {
	f := simtest.Must(ReadFolder(reference))(t)
	i := slices.IndexFunc(f.Runs, func(r Run) bool { return r.Fabric == "ft2_8" && r.Variant == "dfsssp" })
	s, c, err := f.subnet(&f.Runs[i], nil)
	simtest.Check(t, err)
	engine := simtest.Must(opensm.EngineOf("dfsssp"))(t)
	tables := simtest.Must(engine.Route(s, &c.Options))(t)
	for name, write := range map[string]func(io.Writer) error{
		"lfts":  tables.WriteLFTDump,
		"sl2vl": func(w io.Writer) error { return tables.WriteSL2VL(w, &c.Options) },
	} {
		want := simtest.Must(input.ReadInput("testdata/raw/ft2_8.dfsssp.opensm-"+name+".dump.gz", input.MaxInput))(t)
		var b strings.Builder
		simtest.Check(t, write(&b))
		got, lines := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
		for i := range lines {
			if i >= len(got) || got[i] != lines[i] {
				t.Errorf("%s differs in line %d: want %q", name, i+1, lines[i])
				break
			}
		}
		simtest.ErrorIf(t, len(got) != len(lines), "%s has %d lines, want %d", name, len(got), len(lines))
	}
}
