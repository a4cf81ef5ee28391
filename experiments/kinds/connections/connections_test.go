package connections

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/simtest"
)

// Every memory figure of the connections paper is met, but one: section 3.2 claims two orders of magnitude and names no
// number of processes a node, and with 8 of them the ratio is 90.58 (181 with 16).
func TestPaperMemory(t *testing.T) {
	for _, name := range []string{"section1", "section2", "table1", "section4.2", "table2-memory"} {
		f := simtest.Must(experiments.Open("papers/connections/"+name, experiments.Options{}))(t)
		o := enginetest.Execute(t, f, engine.Execution{})
		verdicts := f.Verdicts(o.Results, o.Tables)
		simtest.ErrorIf(t, len(verdicts) == 0, "%s expects nothing", name)
		for _, v := range verdicts {
			want := verdict.Met
			if v.Target.Case == "RC over XRC_M m=1000 c=8 per node: two orders of magnitude" {
				want = verdict.Missed
			}
			simtest.ErrorIf(t, v.Verdict != want, "%s: %s %s: %v, target %v: %s %s", name, v.Target.Case, v.Target.Metric, v.Measured, v.Target.Value, v.Verdict, v.Note)
		}
	}
}

// TestConnectionsOnDemand: 16 processes, four a node, have 15 peers, or four nodes with XRC; with groups of four they begin
// with 3 + 3 QPs, or 1 + 3. More cannot be made, nor any of datagrams. Settings that no formula of the mode has are told.
func TestConnectionsOnDemand(t *testing.T) {
	const head = "kind = \"connections\"\n[job]\nranks = 16\nper_node = 4\n[connections]\nmode = "
	for _, c := range []struct {
		mode string
		most int
	}{{`"rc"`, 0}, {"\"rc\"\non_demand = true", 15}, {"\"rc-srq\"\ngroup = 4", 9}, {"\"xrc-s\"\ngroup = 4", 0}, {"\"xrc-m\"\non_demand = true", 4}, {`"ud"`, 0}} {
		enginetest.Load(t, head+c.mode, fmt.Sprint("job.on_demand_qps=", c.most))
		enginetest.Refused(t, strings.Replace(head, "ranks", fmt.Sprintf("on_demand_qps = %d\nranks", c.most+1), 1)+c.mode, fmt.Sprintf("want at most %d:", c.most))
	}
	simtest.Says(t, enginetest.Idle(enginetest.Load(t, head+"\"rc\"\nsrq_buffers = 5\ngroup = 4\nproxy = true").Warnings), "connections.srq_buffers ", "connections.proxy ")
}
