package kinds

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestCyclesAsTimes: settings in cycles take times, in any table, swept or given with --set.
// With a clock of 3 ns, 1.5 us are 500 cycles and 100 ns are 34, since 33 are 99 ns.
func TestCyclesAsTimes(t *testing.T) {
	const text = `kind = "traffic"
[topology]
type = "torus"
dims = [4, 4]
[routing]
type = "table"
[fabric]
clock = "3ns"
[fault.a]
fraction = 0.1
at = AT
[recovery]
reroute = REROUTE
[measure]
warmup = 100
window = 300
[sweep]
"measure.warmup" = WARMUP
`
	row := func(replace []string, set ...string) []string {
		rows := execute(t, load(t, strings.NewReplacer(replace...).Replace(text), experiments.Options{Set: set}), experiments.Execution{}).Results.Rows
		return rows[len(rows)-1][2:] // behind the point and what is swept
	}
	times := row([]string{"AT", `"600ns"`, "REROUTE", `"100ns"`, "WARMUP", `["1us", "1.5us"]`}, "switch.credit_cycles=4ns", "terminal.injection_cycles=6ns")
	cycles := row([]string{"AT", "200", "REROUTE", "34", "WARMUP", "[334, 500]"}, "switch.credit_cycles=2", "terminal.injection_cycles=2")
	if !slices.Equal(times, cycles) {
		t.Errorf("as times\n%v\nas cycles\n%v", times, cycles)
	}
	_, err := experiments.Load("x.toml", strings.NewReplacer("AT", `"-1us"`, "REROUTE", `"2"`, "WARMUP", "[334]").Replace(text), experiments.Options{})
	for _, want := range []string{"x.toml:11:1: fault.a.at = -333: want at least 0", `x.toml:13:1: recovery.reroute = "2": want an integer, in cycles, or a time with its unit in quotes, for example "2us"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
