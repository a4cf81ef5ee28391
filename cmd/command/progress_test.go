package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestProgress: what is said about a sweep of 10 points, 4 of them done in 40 s, one of
// these taken over, while two are under way.
func TestProgress(t *testing.T) {
	now := engine.Progress{
		Points: 10, Done: 4, Reused: 1, Events: 80e6, Elapsed: 40 * time.Second,
		Running: []experiments.PointProgress{
			{Point: 4, Name: "traffic.load = 0.4", Done: 5000, Total: 20_000, Unit: "cycles", Elapsed: 10 * time.Second},
			{Point: 5, Done: 300, Total: 100_000, Unit: "cycles", AtMost: true, Elapsed: time.Second},
			{Point: 6, Done: 7000, Unit: "events", Elapsed: 2 * time.Second},
			{Point: 7},
		},
	}
	// 3.25 points in 40 s, 9 - 3.25 = 5.75 to go: 70.8 s. Point 4: 500 cycles a second,
	// 15,000 to go. Point 5: 300 a second, at most 99,700 to go.
	want := []string{
		"x.toml: 4 of 10 points, 2.0 M events/s, about 1m11s left",
		"point 4: 5000 of 20000 cycles, 500/s, about 30s left",
		"point 5: 300 of at most 100000 cycles, 300/s, at most 5m32s left",
		"point 6: 7000 events, 3500/s", "point 7: begins",
	}
	var plain bytes.Buffer
	p := &progress{w: &plain, name: "x.toml"}
	p.update(now)
	p.update(now) // too soon for another line
	p.finish()
	simtest.Equal(t, strings.TrimSpace(plain.String()), strings.Join(want, "; "), "got\n")

	var terminal bytes.Buffer
	p = &progress{w: &terminal, name: "x.toml"}
	p.newBar(10, "title")
	p.update(now)
	first := terminal.String()
	for _, want := range []string{"2.0 M events/s, about 1m11s left", "4/10", "point 4     [#####...............] 5000 of 20000 cycles, 500/s, about 30s left; traffic.load = 0.4\n", "point 5     [....................] 300 of at most"} {
		simtest.ErrorIf(t, !strings.Contains(first, want), "no %q in\n%q", want, first)
	}
	n := strings.Count(first, "\n")
	simtest.ErrorIf(t, n != 5, "%d lines, want the bar and one a point:\n%q", n, first)
	terminal.Reset()
	now.Running = now.Running[:1]
	p.update(now)
	if got := terminal.String(); !strings.Contains(got, "\r\x1b[5A\x1b[J") || strings.Count(got, "\n") != 2 {
		t.Errorf("the second drawing is not in the place of the first: %q", got)
	}
	terminal.Reset()
	p.finish()
	if got := terminal.String(); got != "\r\x1b[2A\x1b[J" {
		t.Errorf("at the end %q", got)
	}
}
