package kinds

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// heeding sends a packet at a time, and the next one a while after its acknowledgement: a long
// while, if the packet has been marked.
type heeding struct {
	env      *terminal.Env `snap:"-"`
	contents sim.Stream
}

func init() {
	param.Register(terminal.Registry, "heeding", "for tests of marks", struct{}{}, func(_ struct{}, env terminal.Env) (fabric.Workload, error) {
		return terminal.NewHost(env, true, []string{"unmarked", "marked"}, func(t topology.TerminalID) terminal.Program {
			return &heeding{&env, sim.NewStream(env.Seed, "heeding", int(t))}
		}), nil
	})
	param.Register(terminal.Registry, "bearing", "for tests of losses", struct{}{}, func(_ struct{}, env terminal.Env) (fabric.Workload, error) {
		return terminal.NewHost(env, true, []string{"unmarked", "marked"}, func(t topology.TerminalID) terminal.Program {
			return &bearing{heeding{&env, sim.NewStream(env.Seed, "heeding", int(t))}}
		}), nil
	})
	longRuns["losses"] = longRun{"traffic", losses, "measure.window=200000", []string{"program.csv"}}
	longRuns["marks"] = longRun{"traffic", marked, "measure.window=200000", []string{"program.csv"}}
}

func (h *heeding) Start(p *terminal.Port) { h.Timer(p) }

func (h *heeding) Timer(p *terminal.Port) {
	p.Send(terminal.Packet{Dst: h.env.Pattern.Destination(p.Terminal(), &h.contents), Flits: h.env.Sizes.Draw(&h.contents)})
}

func (h *heeding) Arrived(p *terminal.Port, a *terminal.Arrival) {
	mark := uint64(0)
	if a.Marked {
		mark = 1
	}
	if a.Class == terminal.Low {
		p.Record(int(mark), a.Born)
		p.Send(terminal.Packet{Dst: a.Src, Flits: 1, Class: terminal.High, Tag: mark})
		return
	}
	p.SetTimer(p.Now() + 3*sim.Nanosecond + sim.Time(a.Tag)*40*sim.Nanosecond)
}

func (h *heeding) Pending() sim.Time { return sim.MaxTime }

func (h *heeding) Archive(a *snapshot.Archive) { snapshot.Fields(a, h) }

// bearing sends what is lost again, from whichever end.
type bearing struct{ heeding }

func (b *bearing) Lost(p *terminal.Port, lost *terminal.Packet) { p.Send(*lost) }

// losses are cables and a switch that fail, without retries of the network's.
var losses = strings.NewReplacer("retries = 3\ntimeout = \"300ns\"", "retries = 0", "vcs = 9", "vcs = 9\nflow_control = \"cut-through\"\nhold = true\nmarking = \"threshold\"\nmark_flits = 6",
	"window = 700", "window = 3000").Replace(ownFaults) + `
[program]
type = "bearing"
[traffic]
packet_flits = [2, 5]
`

// TestProgramsBearLosses: a program that does not bear losses is refused where there may be
// some; one that sends again what was lost goes on, the same on any number of threads.
func TestProgramsBearLosses(t *testing.T) {
	var want string
	for threads := 1; threads <= 3; threads++ {
		o := execute(t, load(t, losses, experiments.Options{}), experiments.Execution{Threads: threads})
		for _, lost := range numbers(t, o.Results, "packets_lost") {
			if lost == 0 {
				t.Error("no packet was lost")
			}
		}
		counts := numbers(t, o.Tables["program"], "count")
		if len(counts) != 2 || counts[0] < 1_000 || counts[1] == 0 {
			t.Errorf("%v packets without a mark, with one", counts)
		}
		var text strings.Builder
		if err := o.Tables["program"].Write(&text); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = text.String()
		}
		if text.String() != want {
			t.Errorf("%d threads:\n%s\nwant\n%s", threads, text.String(), want)
		}
	}
	_, err := experiments.Load("x.toml", strings.Replace(losses, "bearing", "heeding", 1), experiments.Options{})
	if err == nil || !strings.Contains(err.Error(), `program.type "heeding" does not go with faults that come or go during the run: it would wait for answers to packets that are lost`) {
		t.Errorf("a program that does not bear losses: %v", err)
	}
}

const marked = `
[topology]
type = "fat-tree"
k = 4
n = 3
[routing]
type = "nca"
[program]
type = "heeding"
[switch]
flow_control = "cut-through"
hold = true
mark_flits = 4
mark_from_flits = 2
mark_to_flits = 12
cc_sw_cong_setting_packet_size = 1
[traffic]
packet_flits = [2, 5]
[measure]
warmup = 500
window = 3000
[sweep]
"fabric.unit" = ["flit", "packet"]
"switch.marking" = ["threshold", "red", "infiniband", "none"]
`

// TestMarksReachPrograms: programs are told of marks by all policies, and of none without one;
// results do not depend on threads, nor, where all times are whole cycles, on the unit.
func TestMarksReachPrograms(t *testing.T) {
	var want string
	for threads := 1; threads <= 3; threads++ {
		f := load(t, marked, experiments.Options{})
		o := execute(t, f, experiments.Execution{Threads: threads})
		counts := numbers(t, o.Tables["program"], "count")
		if len(counts) != 16 { // two measures of eight points
			t.Fatalf("%d rows", len(counts))
		}
		for point := range 8 {
			unmarked, marks := counts[2*point], counts[2*point+1]
			if none := point%4 == 3; unmarked == 0 || (marks == 0) != none {
				t.Errorf("point %d: %g packets without a mark, %g with one", point, unmarked, marks)
			}
			if unit := counts[2*(point%4)]; unmarked != unit {
				t.Errorf("point %d: %g packets without a mark; with flits as the unit %g", point, unmarked, unit)
			}
		}
		var text strings.Builder
		if err := o.Tables["program"].Write(&text); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = text.String()
		}
		if text.String() != want {
			t.Errorf("%d threads:\n%s\nwant\n%s", threads, text.String(), want)
		}
	}
}
