package kinds

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
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
	divideAlways(t)
	o := sameOnThreads(t, "losses", load(t, losses), simtest.Threads(t, 0), true, "program")
	for _, lost := range numbers(t, o.Results, "packets_lost") {
		if lost == 0 {
			t.Error("no packet was lost")
		}
	}
	counts := numbers(t, o.Tables["program"], "count")
	if len(counts) != 2 || counts[0] < 1_000 || counts[1] == 0 {
		t.Errorf("%v packets without a mark, with one", counts)
	}
	refused(t, strings.Replace(losses, "bearing", "heeding", 1), `program.type "heeding" does not go with faults that come or go during the run: it would wait for answers to packets that are lost`)
}

const marked = fatTree + `
program = { type = "heeding" }
traffic = { packet_flits = [2, 5] }
measure = { warmup = 500, window = 3000 }
[switch]
flow_control = "cut-through"
hold = true
mark_flits = 4
mark_from_flits = 2
mark_to_flits = 12
cc_sw_cong_setting_packet_size = 1
[sweep]
"fabric.unit" = ["flit", "packet"]
"switch.marking" = ["threshold", "red", "infiniband", "none"]
`

// TestMarksReachPrograms: programs are told of marks by all policies, and of none without one;
// results do not depend on threads, nor, where all times are whole cycles, on the unit.
func TestMarksReachPrograms(t *testing.T) {
	divideAlways(t)
	o := sameOnThreads(t, "marks", load(t, marked), simtest.Threads(t, 0), true, "program")
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
}

// TestInfiniBandVictim: seven terminals of a leaf send 0.4 each to one terminal, and the eighth
// sends 0.4 to another one over the same cables up. Without congestion control the hot terminal's
// link is full, and the victim has less than half of its load, as its packets wait behind the
// others'. With marks, notifications and a timer of 31 us it has its load to within 5 %, or more,
// as what waits from before goes, too, and the hot link stays full to more than 0.8. Results do
// not depend on threads.
func TestInfiniBandVictim(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hot.csv")
	simtest.Check(t, os.WriteFile(path, []byte("8\n8\n8\n8\n8\n8\n8\n15\n0\n1\n2\n3\n4\n5\n6\n7\n"), 0o600))
	text := fmt.Sprintf(`
topology = { type = "xgft", m = [8, 2], w = [1, 4] }
routing = { type = "nca" }
fabric = { flit_bytes = "64B", clock = "5120ps" }
program = { type = "infiniband", cc_ca_cong_setting_ccti_timer = 30 }
switch = { buffer_flits = 256, flow_control = "cut-through", hold = true }
traffic = { pattern = "file", path = %q, load = 0.4, packet_flits = [32] }
measure = { warmup = 60000, window = 60000, links = true }
[sweep]
"switch.marking" = ["none", "infiniband"]
`, path)
	links := sameOnThreads(t, "hot terminal", load(t, text), simtest.Threads(t, 0), false, "links").Tables["links"]
	var rates []float64
	all, to := numbers(t, links, "flits_per_cycle"), column(t, links, "to")
	for i := range to {
		if to[i] == "terminal 8" || to[i] == "terminal 15" {
			rates = append(rates, all[i])
		}
	}
	plain, controlled := rates[:2], rates[2:]
	if len(rates) != 4 || plain[0] < 0.99 || plain[1] > 0.2 || controlled[0] < 0.8 || controlled[1] < 0.38 {
		t.Errorf("hot terminal and victim: %v without congestion control, %v with it", plain, controlled)
	}
}
