package skeletons_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestTimelineOfSettings: whatever the library, connections, noise and memory are, what ranks do and wait
// for adds up, and so does the critical path; and the run is the run without a timeline.
func TestTimelineOfSettings(t *testing.T) {
	// Ranks that begin late, whose connections others close, or who connect when a message is staged.
	pauses := map[string]bool{"noise": true, "torn down": true, "staging": true}
	for name, set := range map[string]func(c *mpi.Config){
		"datagrams":      func(c *mpi.Config) { c.Connections.Mode = mpi.UD },
		"xrc, on demand": func(c *mpi.Config) { c.Connections.Mode, c.Connections.OnDemand = mpi.XRCS, true },
		"groups":         func(c *mpi.Config) { c.Connections.Group = 4 },
		"proxies":        func(c *mpi.Config) { c.Connections.Group, c.Connections.Proxy = 4, true },
		"torn down":      func(c *mpi.Config) { c.Connections.OnDemand, c.Connections.TearDown = true, true },
		"few buffers":    func(c *mpi.Config) { c.Connections.Mode, c.Connections.Preposted = mpi.RC, 1 },
		"staging":        func(c *mpi.Config) { c.Protocols.StagingPage, c.Connections.OnDemand = 300*sim.Nanosecond, true },
		"no overheads": func(c *mpi.Config) {
			c.Protocols.SendOverhead, c.Protocols.RecvOverhead, c.Protocols.PollOverhead = 0, 0, 0
		},
		"rendezvous": func(c *mpi.Config) { c.Protocols.EagerLimit, c.Protocols.RegisterTime = 0, sim.Microsecond },
		"noise": func(c *mpi.Config) {
			c.Noise = mpi.Noise{StartSkew: 5 * sim.Microsecond, Call: 100 * sim.Nanosecond, CallLaw: mpi.Exponential, DaemonEvery: 20 * sim.Microsecond, DaemonTime: 2 * sim.Microsecond}
		},
		"pieces":        func(c *mpi.Config) { c.Protocols.EagerSegment, c.Protocols.SegmentOverhead = 100, 50 },
		"shared memory": func(c *mpi.Config) { c.Memory = mpi.Memory{Bandwidth: 60e9, Domains: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			for _, skeleton := range []string{"halo", "osu-alltoall", "nas-lu", "stencil", "many-to-one", "traffic", "goal"} {
				config := machine
				set(&config)
				program := sample(t, skeleton)
				without := simtest.Must(config.Run(program.Run(sim.Picosecond, mpi.Costs{})))(t)
				config.Timeline = mpi.NewTimeline(1 << 20)
				r := simtest.Must(config.Run(program.Run(sim.Picosecond, mpi.Costs{})))(t)
				simtest.ErrorIf(t, fmt.Sprint(r) != fmt.Sprint(without), "%s: %+v, without a timeline %+v", skeleton, r, without)
				checkTimeline(t, config.Timeline, &r)
				for rank := range config.Timeline.Ranks() {
					config.Timeline.Of(rank, func(a mpi.Activity) {
						simtest.FatalIf(t, a.What == mpi.Pausing && skeleton != "traffic" && !pauses[name],
							"%s: rank %d waits for nothing: %+v", skeleton, rank, a)
					})
				}
			}
		})
	}
}

// counted counts what a program hands out, by kind of operation.
func counted(w mpi.Workload) (n, size [3]int64) {
	for r := range int32(w.Ranks()) {
		for ops := w.Start(r, nil); len(ops) > 0; {
			op := ops[0]
			n[op.Kind]++
			size[op.Kind] += op.Size
			ops = w.Done(r, op.ID, 0, w.Started(r, op.ID, 0, ops[1:]))
		}
	}
	return n, size
}

// checkExport: the schedule of a program has its messages, is the same from text and from
// binary, and goes to its end on the LogGOPS machine; it returns when its ranks do.
func checkExport(t *testing.T, programs []mpi.Job) []int64 {
	t.Helper()
	g, _ := simtest.Must2(trace.Export("x", programs))(t)
	written := func(write func(io.Writer) error) string {
		var b strings.Builder
		simtest.Check(t, write(&b))
		return b.String()
	}
	text, binary := written(g.WriteText), written(g.WriteBinary)
	fromText := simtest.Must(goal.Parse("text", strings.NewReader(text)))(t)
	fromBinary := simtest.Must(goal.Parse("binary", strings.NewReader(binary)))(t)
	simtest.ErrorIf(t, written(fromBinary.WriteText) != text || written(fromText.WriteBinary) != binary,
		"the text or the binary form is another schedule")
	var n, size [3]int64
	for _, p := range programs {
		for range p.Repeat {
			a, b := counted(p.Program())
			for k := range n {
				n[k] += a[k]
				size[k] += b[k]
			}
		}
	}
	for _, kind := range []mpi.Kind{mpi.Send, mpi.Recv} {
		if a, b := fromText.Count(kind); a != n[kind] || b != size[kind] {
			t.Errorf("%d %vs of %d B, want %d of %d", a, kind, b, n[kind], size[kind])
		}
	}
	r := simtest.Must(mpi.DefaultLogGOPS.Run(fromText.Replay(1), nil))(t)
	simtest.ErrorIf(t, r.Messages != n[mpi.Send], "%d messages in the replay, want %d", r.Messages, n[mpi.Send])
	return r.Finish
}

// TestExport: every skeleton becomes a schedule that ends when the skeleton does, to the
// nanosecond, but for traffic: it sends at times of its own, which the time of earlier messages
// moves in a schedule.
func TestExport(t *testing.T) {
	for _, name := range append(skeletons.Registry.Names(), "goal") {
		t.Run(name, func(t *testing.T) {
			program := sample(t, name)
			run := func() mpi.Workload { return program.Run(sim.Nanosecond, mpi.Costs{Combine: 500}) }
			finish := checkExport(t, []mpi.Job{{Program: run, Repeat: 1}})
			want := simtest.Must(mpi.DefaultLogGOPS.Run(run(), nil))(t)
			simtest.ErrorIf(t, name != "traffic" && !slices.Equal(finish, want.Finish),
				"ends at %v, want %v", finish, want.Finish)
		})
	}
}

// TestExportOfJobs: jobs follow each other in ranks, begin at their times, and each rank
// repeats its program when it is through with it.
func TestExportOfJobs(t *testing.T) {
	var programs []mpi.Job
	for i, name := range []string{"halo", "goal", "traffic"} {
		program := sample(t, name)
		programs = append(programs, mpi.Job{Program: func() mpi.Workload { return program.Run(sim.Nanosecond, mpi.Costs{}) }, Start: sim.Time(i) * sim.Microsecond, Repeat: 1 + i})
	}
	checkExport(t, programs)
}
