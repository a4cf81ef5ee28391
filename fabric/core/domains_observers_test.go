package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestThreadsObserved: what observers say is the same for any number of threads, to the
// digit: every part of every channel and class of packets, the roots of waiting, and the
// lives of the first packets and of the slowest.
func TestThreadsObserved(t *testing.T) {
	core.DivideAlways(t.Cleanup)
	for _, c := range []struct {
		name    string
		network func(t testing.TB) network
		timing  string
		flits   int
		load    float64
		slowest bool
	}{
		{"dragonfly", dragonfly("min"), "default", 1, 0.4, false},
		{"dragonfly, saturated", dragonfly("min"), "deep", 5, 1, true},
		{"dragonfly, stages", dragonfly("val"), "cut, stages", 4, 0.5, true},
		{"dragonfly, escape", dragonfly("adaptive-escape"), "fraction", 3, 0.4, false},
		{"dragonfly, held", dragonfly("val"), "hold", 3, 0.6, false},
		{"dragonfly, packets", dragonfly("val"), "packets", 3, 0.6, false},
		{"dragonfly, packets, stages", dragonfly("ugal-l"), "packets, stages", 6, 0.9, true},
		{"tree", func(t testing.TB) network {
			return newNetwork(t, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })
		}, "output queue", 2, 0.6, false},
		{"torus", func(t testing.TB) network {
			return newNetwork(t, "torus", "dor", func(c *topology.GridConfig) { c.Dims = []int{5, 4}; c.Terminals = 2 })
		}, "deep", 20, 0.8, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			sameForThreads(t, func(t *testing.T, threads int) string {
				n, config := c.network(t), fabric.DefaultConfig()
				config.Switch.BufferFlits = 6
				if c.flits > 6 && config.Switch.FlowControl != "cut-through" {
					config.Switch.BufferFlits = 5 // packets are in several switches at once
				}
				timings[c.timing](&config)
				f, r := n.run(t, config, c.load, c.flits, measure.Plan{
					Warmup: 100, Window: 250, Blame: true, Levels: true, Threads: threads, Trace: observe.TracePlan{Packets: 40, Every: 2, Slowest: c.slowest},
				})
				if f.Threads() != threads {
					t.Errorf("%d threads, want %d", f.Threads(), threads)
				}
				if len(r.Traces) != 40 || r.Blame.Packets[0]+r.Blame.Packets[1] != r.Packets() && r.State != measure.Saturated {
					t.Errorf("%d traces, %v packets in parts, %d measured", len(r.Traces), r.Blame.Packets, r.Packets())
				}
				return observed(r.Blame, r.Traces)
			})
		})
	}
}

// sameForThreads runs something on several numbers of threads and wants the same of all.
func sameForThreads(t *testing.T, run func(t *testing.T, threads int) string) {
	t.Helper()
	want := ""
	for _, threads := range simtest.Threads(t, 0) {
		got := run(t, threads)
		if threads == 1 {
			want = got
		}
		if got == want {
			continue
		}
		a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("%d threads:\n%.600s\nwant\n%.600s", threads, a[i], b[i])
				break
			}
		}
	}
}

// observed is all that observers say.
func observed(b *observe.Blame, traces []*observe.PacketTrace) string {
	var s strings.Builder
	fmt.Fprintln(&s, b.Packets, b.Classes, b.Levels)
	fmt.Fprintln(&s, b.Links())
	fmt.Fprintln(&s, b.Roots())
	return s.String() + lives(traces)
}

func lives(traces []*observe.PacketTrace) string {
	var s strings.Builder
	for _, p := range traces {
		fmt.Fprintf(&s, "%+v\n", *p)
	}
	return s.String()
}
