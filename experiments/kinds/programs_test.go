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
	"github.com/weft-sim/weft/routing"
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

// lossy is nca with switches that drop packets of level 0 for ports that many flits wait for,
// and trim them from half as many on.
type lossy struct {
	fabric.Routing
	fabric.Explorer
	limit int
}

func (l *lossy) Needs() fabric.Needs {
	return fabric.Needs{Queues: true, Packets: true, Losses: true}
}

func (l *lossy) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	hop := l.Routing.Route(v, h)
	if h.Level > 0 {
		return hop
	}
	switch waiting := v.WaitingAll(hop.Port); {
	case waiting > l.limit:
		return fabric.Discard
	case waiting > l.limit*2/3:
		hop.Trim = true
	}
	return hop
}

type lossyConfig struct {
	Limit int `toml:"limit" doc:"flits" min:"1"`
}

// aimd sends packets to one destination, as many at a time as its window holds. The window
// grows by a packet for each one full of unmarked acknowledgements, and halves with a mark, a
// trim or a loss; what was trimmed or lost is sent again. Acknowledgements have level 1.
type aimd struct {
	to     topology.TerminalID
	flits  int `snap:"-"`
	window float64
	out    int // packets without an acknowledgement
}

// What the tag of an acknowledgement says of its packet.
const (
	whole = iota
	wholeMarked
	cut
)

func (a *aimd) Start(p *terminal.Port) { a.fill(p) }
func (a *aimd) Timer(*terminal.Port)   {}

func (a *aimd) fill(p *terminal.Port) {
	for ; a.out < int(a.window); a.out++ {
		a.send(p)
	}
}

func (a *aimd) send(p *terminal.Port) { p.Send(terminal.Packet{Dst: a.to, Flits: a.flits}) }

func (a *aimd) Arrived(p *terminal.Port, v *terminal.Arrival) {
	if v.Class == terminal.Low {
		tag := whole
		switch {
		case v.Trimmed && v.Flits == 1:
			tag = cut
		case v.Marked:
			tag = wholeMarked
		}
		p.Record(tag, v.Born)
		p.Send(terminal.Packet{Dst: v.Src, Flits: 1, Class: terminal.High, Level: 1, Tag: uint64(tag)})
		return
	}
	switch v.Tag {
	case whole:
		a.out--
		a.window = min(a.window+1/a.window, 16)
	case wholeMarked:
		a.out--
		a.window = max(1, a.window/2)
	case cut:
		a.window = max(1, a.window/2)
		a.send(p)
	}
	a.fill(p)
}

func (a *aimd) Lost(p *terminal.Port, lost *terminal.Packet) {
	p.Record(3, p.Now())
	a.window = max(1, a.window/2)
	p.Send(*lost)
}

func (a *aimd) Pending() sim.Time { return sim.MaxTime }

func (a *aimd) Archive(s *snapshot.Archive) { snapshot.Fields(s, a) }

func init() {
	routing.Register("lossy", "for tests: nca that drops and trims", routing.Use{On: routing.Levels}, lossyConfig{24}, func(c lossyConfig, env routing.Env) (fabric.Routing, error) {
		r, err := param.Make(routing.Registry, "nca", env, func(*routing.NCAConfig) {})
		if err != nil {
			return nil, err
		}
		return &lossy{r, r.(fabric.Explorer), c.Limit}, nil
	})
	param.Register(terminal.Registry, "aimd", "for tests of losses", struct{}{}, func(_ struct{}, env terminal.Env) (fabric.Workload, error) {
		return terminal.NewHost(env, true, []string{"whole", "marked", "trimmed", "lost"}, func(t topology.TerminalID) terminal.Program {
			contents := sim.NewStream(env.Seed, "aimd", int(t))
			return &aimd{to: env.Pattern.Destination(t, &contents), flits: 8, window: 4}
		}), nil
	})
	longRuns["lossy"] = longRun{"traffic", lossyTree, "measure.window=200000", []string{"program.csv"}}
}

const lossyTree = `
topology = { type = "fat-tree", k = 4, n = 3 }
routing = { type = "lossy" }
program = { type = "aimd" }
switch = { buffer_flits = 24, marking = "threshold", mark_flits = 8 }
traffic = { pattern = "hot-spot" }
measure = { warmup = 500, window = 4000 }
[sweep]
"switch.vc_alloc_cycles" = [0, 1]
"switch.flow_control" = ["cut-through", "wormhole"]
"routing.limit" = [10, 30]
`

// TestSwitchesDropAndTrim: a window-controlled program with retransmission hears of marks, drops
// and trims; results do not depend on threads. TestInterrupted and TestKilled run it, too.
func TestSwitchesDropAndTrim(t *testing.T) {
	divideAlways(t)
	o := sameOnThreads(t, "drops and trims", load(t, lossyTree), simtest.Threads(t, 0), true, "program")
	counts := numbers(t, o.Tables["program"], "count")
	if len(counts) != 4*8 { // four measures of eight points
		t.Fatalf("%d rows", len(counts))
	}
	sums := [4]float64{}
	for i, n := range counts {
		sums[i%4] += n
	}
	for i, n := range sums {
		if n < 20 {
			t.Errorf("measure %d: %g packets in all", i, n)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`"aimd"`, `"heeding"`, `program.type "heeding" does not go with routing "lossy", which drops packets`},
		{"measure = {", "measure = { blame = true,", `measure.blame does not go with routing "lossy", which drops packets`},
		{"[sweep]", "[fabric]\nunit = \"packet\"\n[sweep]", `want "flit" with this routing, which drops packets`},
	} {
		refused(t, strings.Replace(lossyTree, c.old, c.new, 1), c.want)
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
