package measure

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
	"github.com/weft-sim/weft/sim/stats"
)

// TestHasLearned: switches that learn have learned when the last quarter of the slices is like
// the one before, in latency within 10 % and in hops within 1 %.
func TestHasLearned(t *testing.T) {
	same := func(x float64) []float64 { return slices.Repeat([]float64{x}, 80) }
	ends := func(first, last float64) []float64 { return append(same(first)[:60], same(last)[:20]...) }
	gap := same(20)
	gap[79] = math.Inf(1) // nothing was delivered
	for _, c := range []struct {
		name          string
		latency, hops []float64
		want          bool
	}{
		{"level", same(20), same(3), true},
		{"latency falls by a ninth", ends(20, 17.8), same(3), false},
		{"by a twelfth", ends(20, 18.3), same(3), true},
		{"rises by a ninth", ends(20, 22.3), same(3), false},
		{"hops rise by 2 %", same(20), ends(3, 3.06), false},
		{"an empty slice", gap, slices.Clone(gap), true},
	} {
		simtest.Equal(t, hasLearned(c.latency, c.hops), c.want, "%s:", c.name)
	}
}

// TestSettles: a mean that falls through the first half of 64 slices and is level then, but for
// noise that alternates, has settled; one that falls through three quarters has not, nor one whose
// second half is one slow wave: its neighbours are correlated by nearly 1.
func TestSettles(t *testing.T) {
	series := func(at func(i float64) float64) []float64 {
		var y []float64
		for i := range 64 {
			y = append(y, at(float64(i))+float64(i%2))
		}
		return y
	}
	for name, c := range map[string]struct {
		at   func(i float64) float64
		want bool
	}{
		"falls through three eighths": {func(i float64) float64 { return 100 + max(0, 24-i) }, true},
		"through three quarters":      {func(i float64) float64 { return 100 + 2*max(0, 48-i) }, false},
		"a wave":                      {func(i float64) float64 { return 100 + 20*math.Sin(i/10) }, false},
	} {
		simtest.Equal(t, settles(series(c.at)), c.want, "%s:", name)
	}
}

// run of slices of 100 cycles with 10 packets each.
func slicesOf(n int, latency, behind, delivered func(i int) float64) (all []progressSlice) {
	for i := range n {
		all = append(all, progressSlice{
			end: int64(100 * (i + 1)), cycles: 100, packets: 10, latency: int64(10 * latency(i)), behind: 100 * behind(i),
			delivered: int64(delivered(i)), entered: int64(delivered(i)),
		})
	}
	return all
}

func always(x float64) func(int) float64 { return func(int) float64 { return x } }

// TestEvidenceOfGrowth: slices in which sources are behind by as many cycles as have gone by show the exponent 1
// without an error, and as much of the latency, 20 + t/10, has above the idle 20; level ones show 0. Growth of a
// quarter of the latency and less is measured against that quarter: sources behind by t/1000 beside a latency of 40
// have the slope 1/1000 times 2,000 cycles over 10, 0.2.
func TestEvidenceOfGrowth(t *testing.T) {
	middle := func(i int) float64 { return float64(100*i + 50) }
	for _, c := range []struct {
		name                     string
		latency, behind          func(int) float64
		growing, behindBy, grows float64
	}{
		{"level", always(40), always(7), 0, 0, 0},
		{"growing", func(i int) float64 { return 20 + middle(i)/10 }, middle, 1, 1, 1},
		{"small", always(40), func(i int) float64 { return middle(i) / 1000 }, 1, 0.2, 0},
	} {
		var e Evidence
		e.measure(slicesOf(40, c.latency, c.behind, always(100)), 1, 20)
		for _, x := range []struct {
			what string
			got  estimate
			want float64
		}{{"growing", e.growing, c.growing}, {"behind", e.behind, c.behindBy}, {"latency", e.latency, c.grows}} {
			simtest.ErrorIf(t, math.Abs(x.got.mean-x.want) > 0.002 || x.got.half > 0.01,
				"%s: %s %v +- %v, want %v", c.name, x.what, x.got.mean, x.got.half, x.want)
		}
	}
}

// TestEvidenceOfFill: 150 flits in the network where 100 were, of 10,000 offered, packets of a
// flit: 0.5 % has stayed, and births that are independent make that vary by sqrt(250) flits, which
// counts 2.5758 times at 99 %. Packets of 4 flits double it.
func TestEvidenceOfFill(t *testing.T) {
	for flits, times := range map[float64]float64{1: 1, 4: 2} {
		var e Evidence
		e.fill(100, 150, flits, 10_000)
		want := times * 2.5758 * math.Sqrt(250) / 10_000
		simtest.ErrorIf(t, math.Abs(e.filled.mean-0.005) > 1e-12 || math.Abs(e.filled.half-want) > 1e-6,
			"packets of %v flits: filled %v +- %v, want 0.005 +- %v", flits, e.filled.mean, e.filled.half, want)
	}
}

// TestEvidenceOfShortfall: of 1 flit a cycle offered 40 slices of 100 cycles were delivered 95 and 99
// in turn: 3 % less, and what entered varies by 2.026 in a slice, whose mean is known to
// 2.7079 (Student, 39 degrees of freedom, 99 %) times 2.026/sqrt(40), in hundredths.
func TestEvidenceOfShortfall(t *testing.T) {
	e := Evidence{Offered: 1}
	e.measure(slicesOf(40, always(40), always(1), func(i int) float64 { return 95 + 4*float64(i%2) }), 1, 20)
	half := 2.7079 * 2 * math.Sqrt(40.0/39) / math.Sqrt(40) / 100
	simtest.ErrorIf(t, math.Abs(e.short.mean-0.03) > 1e-9 || math.Abs(e.short.half-half) > 1e-6,
		"short of %v +- %v, want 0.03 +- %v", e.short.mean, e.short.half, half)
}

// TestJudge: each verdict wants the whole interval on its side: exponents below 1/3 or above 1/2,
// an accepted load within 1 % of the offered one, 100 packets, and a run that is worth it.
func TestJudge(t *testing.T) {
	sure := func(x float64) estimate { return estimate{mean: x, half: 0.01, runs: 1} }
	steady := Evidence{Offered: 0.5, Bound: 0.5, Packets: 100, worth: 1, runs: 1, measured: 1,
		growing: sure(0.2), behind: sure(0.32), latency: sure(0.32), short: sure(0.019), filled: sure(0.019), missing: estimate{mean: 0.5}}
	for _, c := range []struct {
		name   string
		change func(*Evidence)
		want   State
		reason string
	}{
		{"steady", func(*Evidence) {}, Steady, ByTests},
		{"above the bound", func(e *Evidence) { e.Offered = 0.5001 }, Saturated, ByBound},
		{"stuck", func(e *Evidence) { e.Stuck = true }, Saturated, ByDrain},
		{"grows", func(e *Evidence) { e.growing = sure(0.511) }, Saturated, ByGrowth},
		{"grows perhaps", func(e *Evidence) { e.growing = sure(0.509) }, Steady, ByTests},
		{"grows too early", func(e *Evidence) { e.growing, e.worth = sure(2), 0.99 }, Undecided, ByWindow},
		{"packets", func(e *Evidence) { e.Packets = 99 }, Undecided, ByPackets},
		{"too early", func(e *Evidence) { e.worth = 0.99 }, Undecided, ByWindow},
		{"a run of few slices", func(e *Evidence) { e.runs = 2 }, Undecided, ByWindow},
		{"grows in one of two runs", func(e *Evidence) { e.growing, e.runs = sure(2), 2 }, Undecided, ByWindow},
		{"backlog", func(e *Evidence) { e.behind = sure(0.33) }, Undecided, ByBacklog},
		{"latency", func(e *Evidence) { e.latency = sure(0.33) }, Undecided, ByLatency},
		{"short", func(e *Evidence) { e.short = sure(0.021) }, Undecided, ByAccepting},
		{"filled", func(e *Evidence) { e.filled = sure(0.021) }, Undecided, ByAccepting},
		{"filled, but nothing is missing", func(e *Evidence) { e.filled, e.missing = sure(0.021), sure(0.009) }, Steady, ByTests},
	} {
		e := steady
		c.change(&e)
		state, reason := e.Judge()
		simtest.ErrorIf(t, state != c.want || reason != c.reason, "%s: %v (%s), want %v (%s)", c.name, state, reason, c.want, c.reason)
	}
}

// TestProgressJoins: slices are joined in pairs when there are 128, so that none is lost and the
// sums stay, and the half-open one is joined with its neighbour.
func TestProgressJoins(t *testing.T) {
	p := &progress{each: 16}
	for i := range int64(300) {
		p.add(progressSlice{end: 16 * (i + 1), cycles: 16, packets: 1, delivered: i})
	}
	last := p.slices[len(p.slices)-1]
	simtest.ErrorIf(t, p.each != 64 || len(p.slices) != 75 || last.end != 4800 || last.cycles != 64 || last.delivered != 296+297+298+299,
		"slices of %d cycles, %d of them, the last %+v", p.each, len(p.slices), last)
	since := p.since(100)
	simtest.ErrorIf(t, since[0].end != 192, "the first slice from cycle 100 on ends at %d, want 192", since[0].end)
}

// TestSuffices: where a half-width of 1 is wanted, 0.9 suffices at the second look in a row, as 0.25 does, and 0.2 at
// once; a look that is not steady, or not narrow, begins anew. Where a verdict is all, four steady looks do,
// whatever the interval.
func TestSuffices(t *testing.T) {
	none := math.Inf(1)
	for _, c := range []struct {
		name   string
		halves []float64 // negative: not steady
		decide bool
		want   []bool
	}{
		{"twice", []float64{none, 0.9, 1}, false, []bool{false, false, true}},
		{"far narrower", []float64{none, 0.2}, false, []bool{false, true}},
		{"not far narrower", []float64{none, 0.25, 0.25}, false, []bool{false, false, true}},
		{"wide between", []float64{0.9, 1.1, 0.9, 0.9}, false, []bool{false, false, false, true}},
		{"not steady between", []float64{0.9, -1, 0.9, 0.9}, false, []bool{false, false, false, true}},
		{"verdict", []float64{none, none, none, none}, true, []bool{false, false, false, true}},
		{"verdict that pauses", []float64{none, none, -1, none, none, none, none}, true, []bool{false, false, false, false, false, false, true}},
		{"no verdict asked for", []float64{none, none, none, none, none}, false, []bool{false, false, false, false, false}},
	} {
		var run course
		for i, half := range c.halves {
			simtest.Equal(t, run.suffices(half >= 0, math.Abs(half), 1, c.decide), c.want[i], "%s: look %d:", c.name, i)
		}
	}
}

// TestProves: growth seen at cycle 1,000 proves a run saturated from 1,400 on, if no look between has
// another verdict; a bound does at once.
func TestProves(t *testing.T) {
	for _, c := range []struct {
		name   string
		states []State
		reason string
		want   []bool // at cycles 1,000, 1,399, 1,400 and 1,960
	}{
		{"growth", []State{Saturated, Saturated, Saturated, Saturated}, ByGrowth, []bool{false, false, true, true}},
		{"growth that pauses", []State{Saturated, Undecided, Saturated, Saturated}, ByGrowth, []bool{false, false, false, true}},
		{"bound", []State{Saturated, Saturated, Undecided, Saturated}, ByBound, []bool{true, true, false, true}},
	} {
		var run course
		for i, now := range []int64{1000, 1399, 1400, 1960} {
			simtest.Equal(t, run.proves(c.states[i], c.reason, now), c.want[i], "%s: at cycle %d", c.name, now)
		}
	}
}

// TestRate: of slices of 16 cycles with 0, 10, 20 and 30 flits, those from cycle 16 to 48 are the second
// and the third, 30 flits in 32 cycles; slices that are cut count for nothing.
func TestRate(t *testing.T) {
	p := &progress{each: 16}
	for i := range int64(4) {
		p.add(progressSlice{end: 16 * (i + 1), cycles: 16, delivered: 10 * i})
	}
	for _, c := range []struct {
		from, to int64
		want     float64
		ok       bool
	}{{16, 48, 30.0 / 32, true}, {15, 49, 30.0 / 32, true}, {17, 47, 0, false}} {
		got, ok := p.rate(c.from, c.to)
		simtest.ErrorIf(t, got != c.want || ok != c.ok, "from %d to %d: %v, %v", c.from, c.to, got, ok)
	}
}

// TestDefaultBudget: 4,000 packet times of 64 flits at load 0.5 are 512,000 cycles; 200 times a latency of 5,000 a
// million; never less than 100,000. A closed workload has no load, and packets count by themselves.
func TestDefaultBudget(t *testing.T) {
	for _, c := range []struct {
		longest int
		offered float64
		latency int64
		want    int64
	}{{1, 0.5, 1, 100_000}, {64, 0.5, 1, 512_000}, {64, 0, 1, 256_000}, {1, 0.5, 5000, 1_000_000}} {
		simtest.Equal(t, DefaultBudget(c.longest, c.offered, c.latency), c.want, "%+v:", c)
	}
}

// TestHalfWhenFull: batches of 0.001 and twice a drift of 0.002 are 0.005. Three swings of 0.004 are
// 0.012, with the drift 0.016; of 0.01 more than the 0.02 that is wanted, 0.024; a network that accepts
// the same in every slice has none.
func TestHalfWhenFull(t *testing.T) {
	for _, c := range []struct{ batches, drift, swing, want float64 }{
		{0.001, 0.002, 0, 0.005}, {0.001, 0.002, 0.004, 0.016}, {0.001, 0.002, 0.01, 0.024}, {0.03, 0.002, 0.01, 0.034},
	} {
		simtest.Near(t, halfWhenFull(c.batches, c.drift, c.swing, 0.02), c.want, 1e-15, "%+v:", c)
	}
}

// TestHasFull: of two switches with a terminal each, joined by a channel that takes 2 cycles for a flit, that channel
// is full with 495 flits in 1,000 cycles, on both virtual channels together; those of terminals do not count.
func TestHasFull(t *testing.T) {
	g := simtest.Must(param.Make(topology.Registry, "mesh", struct{}{}, func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{2}, 1 }))(t).Graph()
	timings := make([]fabric.ChannelTiming, len(g.Classes))
	for i := range timings {
		timings[i].CyclesPerFlit = 2
	}
	for want, each := range map[bool]uint32{false: 247, true: 248} {
		flits := make([]uint32, 2*(g.NumPorts()+g.Terminals()))
		for p := range g.NumPorts() {
			if _, ends := g.PeerTerminal(topology.PortID(p)); ends {
				flits[2*p] = 1000
			} else {
				flits[2*p], flits[2*p+1] = each, each
			}
		}
		simtest.Equal(t, hasFull(g, timings, flits, 1000), want, "%d flits:", 2*each)
	}
}

// TestIsLong: 400 flits inside are exchanged four times by 1,600 delivered ones; of 20,000 the window
// need not hold 80,000.
func TestIsLong(t *testing.T) {
	for _, c := range []struct {
		delivered, inside float64
		want              bool
	}{{1599, 400, false}, {1600, 400, true}, {49_999, 20_000, false}, {50_000, 20_000, true}} {
		simtest.Equal(t, isLong(c.delivered, c.inside), c.want, "%+v:", c)
	}
}

// TestMeterSums: of four packets of a window [100, 200),
//
//	birth  inject  tail  hops  path
//	 100    103    110    2    minimal      latency 10, in the network  7
//	 129    129    149    3    not minimal          20                 20
//	 150    160    171    4    not minimal          21                 11
//	 199    200    212    2    minimal              13                 12
//
// the mean latency is (10+20+21+13)/4 = 16, in the network (7+20+11+12)/4 = 12.5, the mean of the hops (2+3+4+2)/4 =
// 2.75, and 2 of 4 took a minimal path. Packets born before and after count for nothing, nor what was measured before
// the window was opened anew. Four of all seven arrive in the window, at 100, 110, 149 and 171, whenever born: 12 flits
// of a pair's, and of level 0, which all are; of intervals of 50 cycles the first has three, not minimal one of them,
// the second one. It is the same with the packets divided among the meters of two domains.
func TestMeterSums(t *testing.T) {
	packets := []fabric.Delivery{
		{Birth: 99, Inject: 99, Cycle: 1000, Hops: 9, NonMinimal: true},
		{Birth: 100, Inject: 103, Cycle: 110, Hops: 2},
		{Birth: 129, Inject: 129, Cycle: 149, Hops: 3, NonMinimal: true},
		{Birth: 150, Inject: 160, Cycle: 171, Hops: 4, NonMinimal: true},
		{Birth: 199, Inject: 200, Cycle: 212, Hops: 2},
		{Birth: 200, Inject: 205, Cycle: 220, Hops: 8},
		{Birth: 90, Inject: 95, Cycle: 100, Hops: 8},
	}
	for name, domains := range map[string]int{"alone": 0, "two domains": 2} {
		m := NewMeter(10)
		m.tellPairs([]Pair{{AnyTerminal, AnyTerminal}})
		m.tellLevels(nil)
		m.lapse.Every = 50
		to := []*Meter{m}
		if domains > 0 {
			to = to[:0]
		}
		for range domains {
			to = append(to, m.Part())
		}
		m.Open(0)
		to[0].Deliver(&packets[1])
		m.gather()
		to[0].Deliver(&packets[1])
		m.Open(100)
		m.Close(200)
		for _, began := range []int64{99, 100, 199, 200} { // two of them in the window
			to[0].Note(0, began, 5)
		}
		for i := range packets {
			packets[i].Flits = 3
			to[i%len(to)].Deliver(&packets[i])
		}
		m.gather()
		m.gather() // nothing is counted twice
		pair, steps := m.Pairs()[0], m.Lapse()
		simtest.Alike(t, name, steps, []LapseStep{{9, 3, 40, 1}, {3, 1, 21, 1}}, m.Levels()[0], pair, m.notes[0].Cycles.N(), 2)
		for _, c := range []struct {
			what      string
			got, want float64
		}{
			{"packets", float64(m.Packets()), 4},
			{"mean latency", m.MeanLatency(), 16},
			{"mean latency in the network", m.MeanNetworkLatency(), 12.5},
			{"mean hops", m.MeanHops(), 2.75},
			{"minimal fraction", m.MinimalFraction(), 0.5},
			{"largest latency", float64(m.Latency().Max()), 21},
			{"packets of the pair", float64(pair.Packets), 4},
			{"latencies of the pair", float64(pair.Sum), 64},
			{"flits of the pair", float64(pair.Flits), 12},
		} {
			simtest.ErrorIf(t, c.got != c.want, "%s: %s is %v, want %v", name, c.what, c.got, c.want)
		}
	}
}

// TestArrived: over channels of 1,000 cycles the packets of a window that have all arrived were born before the oldest in
// the network, 2,000 cycles ago and more: in slices before the one that it is of.
func TestArrived(t *testing.T) {
	topo := simtest.Must(param.Make(topology.Registry, "single-switch", struct{}{}, func(c *topology.SingleSwitchConfig) { c.Terminals = 4 }))(t)
	table := simtest.Must(param.Make(routing.Registry, "table", routing.Env{Topology: topo}, func(*routing.TableConfig) {}))(t)
	config := fabric.DefaultConfig()
	config.Switch.BufferFlits, config.Channels = 4000, map[string]fabric.ChannelConfig{"terminal": {Latency: sim.Microsecond}}
	f := simtest.Must(core.New(topo.Graph(), config, table, 1))(t)
	r := simtest.Must(prepare(t.Context(), f, NewOpenLoop(4, toOne(1), everyThird{}, oneFlit{}, 1), 1.0/3, Plan{}))(t)
	simtest.Check(t, errors.Join(r.begin(), r.advanceTo(100)))
	r.open()
	simtest.Check(t, r.advanceTo(5000))
	oldest, slice := f.OldestBirth(), r.result.slice
	simtest.Equal(t, r.arrived(), 100+(oldest-100)/slice*slice, "all born before the slice of %d have arrived:", oldest)
	simtest.ErrorIf(t, oldest < 100 || oldest > 3000, "the oldest packet was born in %d", oldest)
	// What is accepted has an interval by five batches of two slices, though those here, which grow, are too few for one.
	for slices, infinite := range map[int]bool{9: true, 10: false} {
		r.statistics.start, r.statistics.progress.slices = 0, slicesOf(slices, always(1), always(0), func(i int) float64 { return float64(i) })
		simtest.Equal(t, math.IsInf(r.statistics.acceptance(), 1), infinite, "%d slices: without an interval is", slices)
	}
}

// TestEstimate: six slices with a packet of latency 10 and four with three of 30 have the mean (60 + 360)/18 = 70/3.
// The interval is of what slices have beyond that: 10 - 70/3 = -40/3 and 90 - 70 = 20, times the ten slices over 18
// packets, whichever slice has the packets; and wider by five times its share of the mean; where a channel is full 2.5
// times as wide. Packets born later, or in slices that are not over, count for nothing.
func TestEstimate(t *testing.T) {
	m := NewMeter(10)
	m.Open(100)
	var beyond []float64
	for i := range int64(11) {
		packets, latency := int64(1), int64(10)
		if i%4 >= 2 {
			packets, latency = 3, 30
		}
		for range packets {
			m.Deliver(&fabric.Delivery{Birth: 100 + 10*i, Inject: 100 + 10*i, Cycle: 100 + 10*i + latency})
		}
		if i < 10 {
			beyond = append(beyond, (float64(packets*latency)-70.0/3*float64(packets))*10/18)
		}
	}
	m.Close(210)
	want := stats.MeanInterval(beyond, 0.95, 5)
	want *= 1 + 5*want/(70.0/3)
	if mean, half, of := m.estimate(205, 5); math.Abs(mean-70.0/3) > 1e-12 || math.Abs(half-want) > 1e-9 || of != 5 || !(want > 1) {
		t.Errorf("%v +- %v by %d batches, want %v +- %v by 5", mean, half, of, 70.0/3, want)
	}
	m.full = true
	_, half, _ := m.estimate(205, 5)
	simtest.ErrorIf(t, math.Abs(half-2.5*want) > 1e-9, "%v beside a full channel, want %v", half, 2.5*want)
	mean, half, _ := m.estimate(105, 0)
	simtest.ErrorIf(t, !math.IsNaN(mean) || !math.IsInf(half, 1), "%v +- %v without a slice", mean, half)
}

// TestStatesAreWhole: no field is forgotten in snapshots, of types whose state is more than their fields. What is named here is
// no part of the state, for the reason given.
func TestStatesAreWhole(t *testing.T) {
	snapshottest.Names[runner](t, "f", "plan", "ctx", "watch", "statistics", "result", "course", "write", "trace")
	snapshottest.Names[OpenLoop](t, "sources", "pattern", "process", "sizes", "stop")
	snapshottest.Names[openSource](t, "next", "births", "contents", "state")
}

// toOne sends all to one terminal.
type toOne topology.TerminalID

func (p toOne) Destination(topology.TerminalID, *sim.Stream) topology.TerminalID {
	return topology.TerminalID(p)
}

// everyThird has a birth in every third cycle: gaps of 3, the first counted from the cycle before
// the first, give births in cycles 2, 5, 8 of a phase.
type everyThird struct{}

func (everyThird) NextGap(*sim.Stream, *uint32) int64 { return 3 }

type oneFlit struct{}

func (oneFlit) Draw(*sim.Stream) int { return 1 }

type never struct{}

func (never) NextGap(*sim.Stream, *uint32) int64 { return 0 }

// TestOpenLoopMisuse: a destination beside the 4 terminals is named, as is a gap of which births never come to an end.
func TestOpenLoopMisuse(t *testing.T) {
	for dst, want := range map[toOne]string{4: "to 4: want 0 to 3", -1: "to -1: want 0 to 3"} {
		loop := NewOpenLoop(4, dst, everyThird{}, oneFlit{}, 1)
		simtest.Panics(t, func() { loop.Next(2, 100, &fabric.PacketSpec{}) }, "pattern measure.toOne sends a packet from terminal 2 "+want)
	}
	simtest.Panics(t, func() { NewOpenLoop(4, toOne(1), never{}, oneFlit{}, 1) }, "process measure.never lets a packet follow another after 0 cycles: want at least 1")
}

// TestPhasedLoop: destination 1 from cycle 0, 2 from 7, 3 from 10: births in 2 and 5; 9; 12, 15, and
// so on; and a source that goes on from a state has the others.
func TestPhasedLoop(t *testing.T) {
	fresh := func() *PhasedLoop {
		return NewPhasedLoop(4, toOne(1), []Phase{{From: 7, Pattern: toOne(2)}, {From: 10, Pattern: toOne(3)}}, everyThird{}, oneFlit{}, 1)
	}
	p := fresh()
	want := []struct {
		birth int64
		dst   topology.TerminalID
	}{{2, 1}, {5, 1}, {9, 2}, {12, 3}, {15, 3}}
	var spec fabric.PacketSpec
	for i, w := range want {
		simtest.ErrorIf(t, p.Next(0, w.birth-1, &spec) || spec.Birth != w.birth, "packet %d: told of cycle %d, want %d", i, spec.Birth, w.birth)
		simtest.ErrorIf(t, !p.Behind(w.birth+1) || w.birth > 5 && p.loops[0].sources[0].next < 7, "packet %d waits, and nothing is behind", i)
		if i == 3 { // 12 of one terminal, and 2 of the three others, seen from cycle 14
			simtest.Equal(t, p.BehindBy(14), math.Sqrt((2*2+3*12*12)/4.0), "behind by")
			state := snapshottest.State(p)
			p = fresh()
			simtest.Check(t, snapshottest.Restore(p, state))
		}
		simtest.ErrorIf(t, !p.Next(0, 100, &spec) || spec.Birth != w.birth || spec.Dst != w.dst,
			"packet %d: born in %d to %d, want %+v", i, spec.Birth, spec.Dst, w)
	}
	for other := range topology.TerminalID(3) {
		for p.Next(other+1, 17, &spec) {
		}
	}
	simtest.ErrorIf(t, p.Behind(18) || p.BehindBy(18) != 0, "all is sent, and something is behind")
	p.Stop(18) // the next birth
	simtest.ErrorIf(t, p.Next(0, 100, &spec) || spec.Birth != fabric.Never, "born in %d after the end", spec.Birth)
}
