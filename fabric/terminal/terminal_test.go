package terminal_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/terminal/programtest"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestConformance puts every registered program to the suite.
func TestConformance(t *testing.T) {
	for _, name := range terminal.Registry.Names() {
		t.Run(name, func(t *testing.T) { programtest.Conform(t, name) })
	}
}

// pair is a network of two terminals on one switch, whose packets have a latency of
// zeroLoad(flits) when nobody else sends.
func pair(t testing.TB) *core.Fabric {
	t.Helper()
	return pairOver(t, fabric.ChannelConfig{Latency: 10 * sim.Nanosecond})
}

// pairOver is a pair with channels of its own.
func pairOver(t testing.TB, channel fabric.ChannelConfig) *core.Fabric {
	t.Helper()
	topo := simtest.Must(topology.Registry.New("single-switch", struct{}{}, param.Set("terminals", 2)))(t)
	r := simtest.Must(routing.Registry.New("table", routing.Env{Topology: topo, Seed: 1}))(t)
	config := fabric.DefaultConfig()
	config.Channels = map[string]fabric.ChannelConfig{"terminal": channel}
	return simtest.Must(core.New(topo.Graph(), config, r, 1))(t)
}

// zeroLoad is a packet's latency in an idle pair, in cycles: 1 of injection, 10 of
// the channel to the switch, 1 in the switch (2 steps at speedup 2), 10 of the channel
// to the terminal, and the flits behind the head.
func zeroLoad(flits int64) int64 { return 22 + flits - 1 }

// env is of packets of a fixed size for the other terminal of a pair.
func env(flits int, process measure.Process) terminal.Env {
	return terminal.Env{
		Terminals: 2, Pattern: other{}, Sizes: size(flits), MeanFlits: float64(flits), Seed: 1, Clock: sim.Nanosecond,
		Process: func(float64) (measure.Process, error) { return process, nil },
	}
}

// answers runs a program at a load in a pair.
func answers(t *testing.T, program string, load float64, plan measure.Plan, e terminal.Env, settings ...param.Setting) *measure.Result {
	t.Helper()
	w := simtest.Must(terminal.Registry.New(program, e, settings...))(t)
	return simtest.Must(measure.Run(t.Context(), pair(t), w, load, plan))(t)
}

type other struct{}

func (other) Destination(src topology.TerminalID, _ *sim.Stream) topology.TerminalID { return 1 - src }

type size int

func (s size) Draw(*sim.Stream) int { return int(s) }

// every is a process with a fixed gap.
type every int64

func (e every) NextGap(*sim.Stream, *uint32) int64 { return int64(e) }

// TestClosedLoopIdle: with a window of 1 a terminal sends a packet a round trip. The
// trip is the latency of a packet of 4 flits, 25 cycles, and of an acknowledgement of
// 2 flits, 23 cycles: both terminals begin in cycle 0 and stay in step, so that no two
// packets meet. In a trip each terminal takes 4+2 flits: 6/48 a cycle.
func TestClosedLoopIdle(t *testing.T) {
	trip := zeroLoad(4) + zeroLoad(2)
	result := answers(t, "closed-loop", 0, measure.Plan{Warmup: 10 * trip, Window: 200 * trip}, env(4, nil), param.Set("ack_flits", 2))
	want := 6 / float64(trip)
	simtest.ErrorIf(t, math.Abs(result.Accepted-want) > 1e-12, "accepted %v flits a terminal and cycle, want %v", result.Accepted, want)
	expectMeasures(t, result, map[string]int64{"packet": 25, "acknowledgement": 23, "round trip": 48}, 400)
	simtest.ErrorIf(t, result.Offered != 0 || result.State != measure.Steady, "offered %v, %v (%s)", result.Offered, result.State, result.Reason)
}

// TestClosedLoopWindow: a window of 4 packets of one flit each sends four times as
// much as one: packets leave one behind the other, and the answers to them as well.
func TestClosedLoopWindow(t *testing.T) {
	trip := 2 * zeroLoad(1)
	result := answers(t, "closed-loop", 0, measure.Plan{Warmup: 10 * trip, Window: 100 * trip}, env(1, nil), param.Set("window", 4))
	want := 4 * 2 / float64(trip)
	simtest.ErrorIf(t, math.Abs(result.Accepted-want) > 1e-12, "accepted %v flits a terminal and cycle, want %v", result.Accepted, want)
}

// TestRequestReplyIdle: a request of 3 flits every 100 cycles, and a reply of 5. They
// meet nobody: the latencies are 24 and 26 cycles, and a round trip is their sum.
// A terminal takes 8 flits in 100 cycles.
func TestRequestReplyIdle(t *testing.T) {
	result := answers(t, "request-reply", 0.08, measure.Plan{Warmup: 1000, Window: 20000}, env(3, every(100)), param.Set("reply_flits", 5))
	want := 0.08
	simtest.ErrorIf(t, math.Abs(result.Accepted-want) > 1e-12, "accepted %v flits a terminal and cycle, want %v", result.Accepted, want)
	expectMeasures(t, result, map[string]int64{"request": 24, "reply": 26, "round trip": 50}, 400)
	simtest.ErrorIf(t, result.State != measure.Steady, "%v (%s)", result.State, result.Reason)
}

// TestRequestReplyBehind: a request of 3 flits every 4 cycles and a reply of 5 are 8 flits in 4
// cycles, twice what a channel carries. Replies go first, so requests wait longer and longer.
func TestRequestReplyBehind(t *testing.T) {
	result := answers(t, "request-reply", 2, measure.Plan{Warmup: 1000, Window: 20000}, env(3, every(4)), param.Set("reply_flits", 5))
	simtest.ErrorIf(t, result.State != measure.Saturated || result.Reason != measure.ByGrowth, "%v (%s)", result.State, result.Reason)
	simtest.ErrorIf(t, math.Abs(result.Accepted-1) > 0.01, "accepted %v flits a terminal and cycle, want 1: the channel is full", result.Accepted)
}

// TestInfiniBandRate: a queue pair without delays fills its channel; entry i of the table of delays is i packet times, whatever injection takes.
func TestInfiniBandRate(t *testing.T) {
	for index, want := range []float64{1, 1. / 2, 1. / 3} {
		result := answers(t, "infiniband", 1, measure.Plan{Warmup: 960, Window: 4800}, env(8, every(8)), param.Set("cc_ca_cong_setting_ccti_min", index))
		simtest.Near(t, result.Accepted, want, 1e-12, "flits a terminal and cycle at index %d", index)
	}
}

// expectMeasures: every exchange takes the same time, and all of the window count.
func expectMeasures(t *testing.T, r *measure.Result, want map[string]int64, count int64) {
	t.Helper()
	simtest.FatalIf(t, len(r.Measures) != len(want), "%d measures", len(r.Measures))
	for _, m := range r.Measures {
		simtest.ErrorIf(t, m.Mean() != float64(want[m.Name]) || m.Cycles.Max() != want[m.Name] || m.Cycles.N() != count,
			"%s: %d of %v cycles in the mean, %d at most; want %d of %d", m.Name, m.Cycles.N(), m.Mean(), m.Cycles.Max(), count, want[m.Name])
	}
}

// scripted records what a program is told, and says what to do at the start.
type scripted struct {
	start func(p *terminal.Port)
	timer func(p *terminal.Port)
	log   []event
}

type event struct {
	what string
	at   sim.Time
	tag  uint64
}

func (s *scripted) Start(p *terminal.Port) {
	if s.start != nil {
		s.start(p)
	}
}

func (s *scripted) Timer(p *terminal.Port) {
	s.log = append(s.log, event{"timer", p.Now(), 0})
	if s.timer != nil {
		s.timer(p)
	}
}

func (s *scripted) Arrived(p *terminal.Port, a *terminal.Arrival) {
	s.log = append(s.log, event{"arrived", p.Now(), a.Tag})
}

func (s *scripted) Departed(p *terminal.Port, sent *terminal.Packet) {
	s.log = append(s.log, event{"departed", p.Now(), sent.Tag})
}

func (s *scripted) Pending() sim.Time         { return sim.MaxTime }
func (s *scripted) Archive(*snapshot.Archive) {}

// TestHost: timers ring in the first cycle that begins no earlier, the last setting
// counts; of what waits, class High is sent first, each class in its order; a packet
// that is on its way when another comes is not held up.
func TestHost(t *testing.T) {
	f := pair(t)
	programs := []*scripted{{}, {}}
	programs[0].start = func(p *terminal.Port) {
		p.SetTimer(50 * sim.Nanosecond)
		p.SetTimer(99*sim.Nanosecond + 1) // in cycle 100
	}
	programs[0].timer = func(p *terminal.Port) {
		for tag, class := range []terminal.Class{terminal.Low, terminal.Low, terminal.High, terminal.High} {
			p.Send(terminal.Packet{Dst: 1, Flits: 2, Class: class, Tag: uint64(tag)})
		}
		simtest.ErrorIf(t, p.Waiting(terminal.Low) != 2 || p.Waiting(terminal.High) != 2,
			"%d and %d packets wait", p.Waiting(terminal.Low), p.Waiting(terminal.High))
	}
	h := terminal.NewHost(env(1, nil), false, nil, func(id topology.TerminalID) terminal.Program { return programs[id] })
	simtest.Must(measure.Run(t.Context(), f, h, 0.1, measure.Plan{Warmup: 10, Window: 300}))(t)
	// Sent in cycle 100, the head of the first leaves in cycle 101 and its tail in
	// 102, when the terminal takes the next. Packets of two flits arrive 23 cycles
	// after a birth that does not wait, and then two cycles apart.
	ns := sim.Nanosecond
	want := [][]event{
		{{"timer", 100 * ns, 0}, {"departed", 101 * ns, 2}, {"departed", 102 * ns, 3}, {"departed", 104 * ns, 0}, {"departed", 106 * ns, 1}},
		{{"arrived", 123 * ns, 2}, {"arrived", 125 * ns, 3}, {"arrived", 127 * ns, 0}, {"arrived", 129 * ns, 1}},
	}
	for i := range programs {
		simtest.EqualSlices(t, programs[i].log, want[i], "terminal %d:", i)
	}
}

// TestSendMisuse: what cannot be sent is a broken contract.
func TestSendMisuse(t *testing.T) {
	for _, packet := range []terminal.Packet{{Dst: 2, Flits: 1}, {Dst: -1, Flits: 1}, {Dst: 1}, {Dst: 1, Flits: 1, Class: 2}, {Dst: 1, Flits: 1, Tag: 1 << 63}} {
		f := pair(t)
		bad := &scripted{start: func(p *terminal.Port) { p.Send(packet) }}
		h := terminal.NewHost(env(1, nil), false, nil, func(topology.TerminalID) terminal.Program { return bad })
		simtest.Panics(t, func() { start(t, f, h) }, fmt.Sprintf("program *terminal_test.scripted on terminal 0 sends the packet %+v: want", packet))
	}
}

// start runs programs for some cycles.
func start(t *testing.T, f *core.Fabric, h *terminal.Host) {
	_, _ = measure.Run(t.Context(), f, h, 0.1, measure.Plan{Warmup: 10, Window: 10})
}

// slow is a pair whose channels take a cycle and a half for each flit.
func slow(t *testing.T) *core.Fabric {
	t.Helper()
	return pairOver(t, fabric.ChannelConfig{CyclesPerFlit: 1.5})
}

// TestPortCounts: a program that sends three packets of two flits in cycle 100 knows in cycle 200
// what it has sent and the other what has arrived, also when the program has been restored; it
// knows the rate of its channel: 3 flits take 4.5 ns. What it samples in the window counts: one
// value a timer in cycles 100 and 200, of which the window from cycle 150 on has one.
func TestPortCounts(t *testing.T) {
	var seen [2]terminal.Counters
	program := func(id topology.TerminalID) terminal.Program {
		s := &scripted{start: func(p *terminal.Port) { p.SetTimer(100 * sim.Nanosecond) }}
		s.timer = func(p *terminal.Port) {
			p.Sample(0, int64(p.Now()/sim.Nanosecond))
			p.Count(1)
			if seen[id] = p.Counters(); p.Now() == 100*sim.Nanosecond {
				for i := uint64(0); id == 0 && i < 3; i++ {
					p.Send(terminal.Packet{Dst: 1, Flits: 2, Tag: i})
				}
				p.SetTimer(200 * sim.Nanosecond)
			}
			simtest.Equal(t, p.LinkTime(3), 4500, "3 flits take")
		}
		return s
	}
	host := func() *terminal.Host {
		return terminal.NewHost(env(1, nil), false, []string{"size [flits]", "timers [1]"}, program)
	}
	run := func(h *terminal.Host, plan measure.Plan) *measure.Result {
		return simtest.Must(measure.Run(t.Context(), slow(t), h, 0.1, plan))(t)
	}
	h := host()
	run(h, measure.Plan{Warmup: 50, Window: 100}) // up to cycle 150
	state := snapshottest.State(h)
	want := [2]terminal.Counters{{SentPackets: 3, SentFlits: 6}, {ReceivedPackets: 3, ReceivedFlits: 6}}
	r := run(host(), measure.Plan{Warmup: 150, Window: 150})
	simtest.ErrorIf(t, seen != want, "%+v, want %+v", seen, want)
	for i, value := range []float64{200, 1} {
		m := &r.Measures[i]
		simtest.ErrorIf(t, m.Cycles.N() != 2 || m.Mean() != value, "%s: %d values, mean %v, want 2 and %v", m.Name, m.Cycles.N(), m.Mean(), value)
	}
	seen = [2]terminal.Counters{}
	again := host()
	simtest.Check(t, snapshottest.Restore(again, state))
	run(again, measure.Plan{Warmup: 50, Window: 250})
	simtest.ErrorIf(t, seen != want, "restored: %+v, want %+v", seen, want)
}

// TestMeasureMisuse: times are not values, and values not below 0.
func TestMeasureMisuse(t *testing.T) {
	for want, do := range map[string]func(p *terminal.Port){
		`notes measure "window [packets]"`:                                func(p *terminal.Port) { p.Record(0, 0) },
		`notes measure "round trip"`:                                      func(p *terminal.Port) { p.Count(1) },
		"samples -1 for measure":                                          func(p *terminal.Port) { p.Sample(0, -1) },
		"notes measure 2: want one that it names to NewHost, from 0 to 1": func(p *terminal.Port) { p.Sample(2, 0) },
	} {
		h := terminal.NewHost(env(1, nil), false, []string{"window [packets]", "round trip"}, func(topology.TerminalID) terminal.Program { return &scripted{start: do} })
		simtest.Panics(t, func() { start(t, slow(t), h) }, want)
	}
}

// TestUnits: programs that answer measure the same through flits as through packets.
func TestUnits(t *testing.T) {
	topo := simtest.Must(topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 2), param.Set("a", 4), param.Set("h", 2)))(t)
	n := topo.Graph().Terminals()
	for _, c := range []struct {
		program string
		set     param.Setting
	}{{"closed-loop", param.Set("window", 3)}, {"request-reply", param.Set("reply_flits", 7)}} {
		var got []string
		for _, unit := range []string{fabric.UnitFlit, fabric.UnitPacket} {
			r := simtest.Must(routing.Registry.New("ugal-l", routing.Env{Topology: topo, Seed: 1}))(t)
			config := fabric.DefaultConfig()
			config.Fabric.Unit, config.Switch.Hold, config.Switch.FlowControl = unit, true, fabric.CutThrough
			f := simtest.Must(core.New(topo.Graph(), config, r, 1))(t)
			w, err := terminal.Registry.New(c.program, terminal.Env{
				Terminals: n, Pattern: shift(n), Sizes: size(5), MeanFlits: 5, Seed: 1, Clock: sim.Nanosecond,
				Process: func(float64) (measure.Process, error) { return every(40), nil },
			}, c.set)
			simtest.Check(t, err)
			result := simtest.Must(measure.Run(t.Context(), f, w, 0.3, measure.Plan{Warmup: 500, Window: 2000}))(t)
			line := fmt.Sprint(result.MeanLatency(), result.Packets(), f.Counters)
			for i := range result.Measures {
				m := &result.Measures[i]
				line += fmt.Sprint(" ", m.Name, m.Cycles.N(), m.Mean(), m.Cycles.Quantile(0.99), m.Cycles.Max())
			}
			got = append(got, line)
		}
		simtest.ErrorIf(t, got[0] != got[1] || got[0] == "", "%s:\n%s\n%s", c.program, got[0], got[1])
	}
}

// shift sends to the terminal half of the network away.
type shift int

func (n shift) Destination(src topology.TerminalID, _ *sim.Stream) topology.TerminalID {
	return topology.TerminalID((int(src) + int(n)/2) % int(n))
}
