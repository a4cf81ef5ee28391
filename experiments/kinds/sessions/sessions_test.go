package sessions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
)

// The paper's example and the counterexample to its theorem 2, by file. PK_2: m^k = 9 sessions of
// 15*3 broadcast packets; overhead 9 - 15/3 = 4 sessions, where the paper allows m^(k-1) = 3.
func TestSessionsKind(t *testing.T) {
	f := enginetest.Load(t, `kind = "sessions"
sweep.lockstep = { "topology.cascades" = [2, 3], "topology.inner" = [[], [15]] }
`)
	rows := enginetest.ResultCells(t, enginetest.Execute(t, f, engine.Execution{Jobs: 1}))
	for i, want := range []map[string]string{
		{"network": "PK_2(15, 3, 1|3)", "sessions": "9", "sessions_to_complete": "9", "packets_received": "14", "packets_injected": "405",
			"overhead_sessions": "4", "overhead_over_bound": "1.3333333333333333", "missing_pairs": "0", "complete_graph_channels": "105"},
		{"network": "PK_3(35, 3, 1|9)", "sessions": "27", "sessions_to_complete": "", "missing_pairs": "84", "access_lost_pairs": "84"},
	} {
		enginetest.CheckCells(t, "point "+fmt.Sprint(i), rows[i], want)
	}
}

// What is known to go wrong is said before anything runs.
func TestSessionsWarnings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[topology]\ntype = \"pk\"\n", ""},
		{"[topology]\ncascades = 3\ninner = [14]\n", ""},
		{"[topology]\ncascades = 3\n", "with 3 cascades whose PK_2 have a partial group (topology.inner not a multiple of N): theorem 2 does not hold"},
		{"[topology]\ncascades = 4\ninner = [14, 28]\n", "loses packets to multiple access with 4 cascades: theorem 2"},
		{"[topology]\ncascades = 3\n[sessions]\nschedule = \"accelerated\"\n", ""},
		{"[sessions]\nschedule = \"digits-printed\"\n", "digit a_1 of the printed formula steers nothing"},
		{"[topology]\ntype = \"pcc\"\nm = 5\nsigma = 2\n", "brings every packet 2 times"},
		{"[topology]\ntype = \"pcc\"\nm = 5\nsigma = 2\n[sessions]\nschedule = \"sigma\"\naddressing = \"direct\"\n", ""},
	} {
		f := enginetest.Load(t, "kind = \"sessions\"\n"+c.text)
		switch {
		case c.want == "" && len(f.Warnings) > 0:
			t.Errorf("%q: warned of %v", c.text, f.Warnings)
		case c.want != "" && (len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0].Message, c.want)):
			t.Errorf("%q: warnings %v, want %q", c.text, f.Warnings, c.want)
		}
	}
}

func TestSessionsProblemsOfFile(t *testing.T) {
	enginetest.Refusals(t, "kind = \"sessions\"\n", map[string]string{
		"[topology]\ntype = \"torus\"\n":                             `x.toml:3:1: topology.type = "torus": sessions need a distributed full switch, pcc or pk`,
		"[topology]\nm = 7\n":                                        "topology.m",
		"[sessions]\nschedule = \"sigma\"\n":                         "sessions.schedule = sigma: want another on this topology",
		"[sessions]\nfirst_stage = \"single\"\nfail_switches = 50\n": "sessions.fail_switches = 50: want at most 49",
	})
}
