package kinds

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/engine"
)

// ownFaults has a cable that is down from the start, and faults that begin after the warm-up.
const ownFaults = random16 + `
[switch]
vcs = 9
[fault.always]
links = ["switch 3 port 5"]
[fault.cables]
since = "warmup"
fraction = 0.1
[fault.switch]
since = "warmup"
switches = ["switch 5"]
at = 100
until = 500
[recovery]
unreachable = "count"
reroute = 100
retries = 3
timeout = "300ns"
[measure]
warmup = 600
window = 700
`

// TestFaultsAfterWarmup: faults that count from the end of a warm-up of 600 cycles are those
// that begin 600 cycles later from the start.
func TestFaultsAfterWarmup(t *testing.T) {
	fromStart := strings.NewReplacer("since = \"warmup\"\nfraction = 0.1", "at = 600\nfraction = 0.1",
		"since = \"warmup\"\nswitches", "switches", "at = 100", "at = 700", "until = 500", "until = 1100").Replace(ownFaults)
	for _, more := range []string{"", "[sweep]\nseed = [1, 2]\n\"traffic.load\" = [0.1, 0.4]\n"} {
		got := execute(t, load(t, ownFaults+more), engine.Execution{Threads: 2}).Results
		want := outcomeOf(t, fromStart+more).Results
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v\nwant\n%v", got.Rows, want.Rows)
		}
		for _, column := range []string{"packets_dropped", "packets_retransmitted"} {
			for i, n := range numbers(t, got, column) {
				if n == 0 {
					t.Errorf("point %d: no %s", i, column)
				}
			}
		}
	}
}

// TestSinceProblems: what cannot count from the end of the warm-up is refused.
func TestSinceProblems(t *testing.T) {
	refusals(t, "", map[string]string{
		dragonfly + "[fault.a]\nsince = \"warmup\"\n[fault.b]\nat = 7\n": "fault.b comes or goes at a cycle of the run",
		dragonfly + "[fault.a]\nsince = \"later\"\n":                     "fault.a.since",
		"kind = \"exchange\"\n[fault.a]\nsince = \"warmup\"\n":           "fault.a.since = warmup: want \"\": this kind has no warm-up",
	})
}
