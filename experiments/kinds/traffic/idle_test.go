package traffic

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
)

// TestIdleSettings: a setting that changes nothing beside the others is named, once, with the
// reason; and it changes nothing: the results are those of the file without it. Where it
// changes something, at its default, or where another point makes use of it, nothing is said.
func TestIdleSettings(t *testing.T) {
	const marks = "switch.marking=threshold switch.mark_flits=1"
	for _, c := range []struct {
		beside, set string
		want        string // "": nothing
	}{
		{"", marks, "switch.marking changes nothing: nothing reacts to marks: neither the routing nor what the terminals do"},
		{"program.type=closed-loop", marks, "switch.marking changes nothing: nothing reacts to marks: neither the routing nor what the terminals do"},
		{"program.type=infiniband", marks, ""},
		{"measure.queues=100ns measure.queue_samples=marked", marks, ""},
		{"", "switch.marking=none", ""},
		{"", "switch.pipeline=serial", "switch.pipeline changes nothing: route_cycles and vc_alloc_cycles are 0"},
		{"switch.route_cycles=1", "switch.pipeline=serial", ""},
		{"", "switch.credits_undelayed=local", "switch.credits_undelayed changes nothing: no credits are delayed: switch.credit_sensing is off"},
		{"switch.credit_sensing=on", "switch.credits_undelayed=local", ""},
		{"", "recovery.retries=3", "recovery.retries changes nothing: nothing fails"},
		{"fault.x.fraction=0.1 fault.x.at=500 recovery.reroute=10 routing.type=table", "recovery.timeout=1us", "recovery.timeout changes nothing: recovery.retries is 0"},
		{"routing.type=ugal-l", "routing.decision=sequential", "routing.decision changes nothing: terminals decide, which see what the cycle before has left (routing.decided_at)"},
		{"routing.type=ugal-l routing.decided_at=switch", "routing.decision=sequential", ""},
		{"routing.type=par", "routing.decision=sequential", ""},
		{"", "measure.budget=5000", "measure.budget changes nothing: measure.warmup and measure.window are given"},
		{"measure.window=0", "measure.budget=5000", ""},
		{"", "measure.load_precision=0.1", "measure.load_precision changes nothing: measure.find looks for no load"},
		{"measure.find=saturation measure.load_precision=0.5", "traffic.load=0.3", "traffic.load changes nothing: measure.find looks for the load"},
		{"program.type=closed-loop", "traffic.load=0.3", "traffic.load changes nothing: the program is closed and offers no load"},
		{"program.type=closed-loop", "traffic.process=on-off", "traffic.process changes nothing: the program is closed and offers no load"},
		{"", "measure.queue_ports=global", "measure.queue_ports changes nothing: measure.queues is 0"},
		{"", "trace.every=7", "trace.every changes nothing: trace.packets is 0"},
	} {
		file := func(set string) *experiments.File {
			return enginetest.Load(t, enginetest.Dragonfly+"[measure]\nwarmup = 300\nwindow = 600\n", append(strings.Fields(c.beside), strings.Fields(set)...)...)
		}
		f := file(c.set)
		var said []string
		for _, w := range f.Warnings {
			if w.Idle {
				said = append(said, w.Key+" "+w.Message)
			}
		}
		if got := strings.Join(said, "; "); got != c.want {
			t.Errorf("%s beside %q: %q, want %q", c.set, c.beside, got, c.want)
		}
		if c.want == "" {
			continue
		}
		rows := func(f *experiments.File) []string {
			o := enginetest.Execute(t, f, engine.Execution{})
			return o.Results.Rows[0]
		}
		if with, without := rows(f), rows(file("")); !slices.Equal(with, without) {
			t.Errorf("%s beside %q changes the results:\n%v\n%v", c.set, c.beside, with, without)
		}
	}
	if w := enginetest.Load(t, enginetest.Random16, "routing.type=ugal-l", "routing.decision=sequential").Warnings; len(w) != 1 || w[0].Key != "routing.decision" {
		t.Errorf("on any graph: %v", w)
	}
	// A setting that some point uses is not named, one that none does is named once.
	const swept = enginetest.Dragonfly + "[sweep]\n\"program.type\" = [\"open-loop\", \"infiniband\"]\n"
	for set, want := range map[string]string{"switch.marking=threshold": "", "switch.pipeline=serial": "switch.pipeline"} {
		var said []string
		for _, w := range enginetest.Load(t, swept, set).Warnings {
			said = append(said, w.Key)
		}
		if got := strings.Join(said, " "); got != want {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}
