package mpi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/engine/enginetest"
)

// TestIdleMPISettings: likewise of kind mpi: tables of another machine, modes of connections,
// noise without an amount.
func TestIdleMPISettings(t *testing.T) {
	for set, want := range map[string]string{
		"switch.vcs=2": `[switch.vcs changes nothing: it is of job.machine = "fabric"]`,
		"switch.vcs=2 job.machine=fabric topology.type=single-switch topology.terminals=8 routing.type=table": "[]",
		"protocol.eager_limit=1KiB job.machine=loggops":                                                       `[protocol.eager_limit changes nothing: it is of job.machine = "loggp" or "fabric"]`,
		"connections.preposted=9":                                        `[connections.preposted changes nothing: it is of connections.mode = "rc"]`,
		"connections.preposted=9 connections.mode=rc":                    "[]",
		"connections.tear_down=true":                                     "[connections.tear_down changes nothing: no connections are made on demand]",
		"connections.tear_down=true connections.on_demand=true":          "[]",
		"noise.spread=0.5 noise.call=1us":                                "[noise.spread changes nothing: nothing is drawn from a normal distribution]",
		"noise.spread=0.5 noise.call=1us noise.call_distribution=normal": "[]",
		"memory.domains=2":                                               "[memory.domains changes nothing: memory.bandwidth is without limit, and memory.domain_latency and domain_rate are not given]",
	} {
		said := []string{}
		for _, w := range enginetest.Load(t, "kind = \"mpi\"\njob = { ranks = 8 }\n", strings.Fields(set)...).Warnings {
			if w.Idle {
				said = append(said, w.Key+" "+w.Message)
			}
		}
		if got := fmt.Sprint(said); got != want {
			t.Errorf("%s: %s, want %s", set, got, want)
		}
	}
}
