package core_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// player is the models of a domain's terminals in a game: a terminal that gets a packet
// thinks for a time, then sends one to another, so many times in all. Every tenth thought
// takes a millisecond. It also tells the sender, past the network and in thanks later.
type player struct {
	*game
	kernel  *sim.Kernel
	handler sim.HandlerID
	thanks  [2][][]int32 // of the windows in turn, by domain: the terminals that are thanked
	side    int
	soonest sim.Time
}

type game struct {
	f       *core.Fabric
	players []*player
	streams []sim.Stream
	left    []int    // packets that a terminal will still send
	waiting []int    // that it has to send now
	log     []string // by terminal
	stops   int      // windows before the game is ended; 0: it is not
	windows int
	flits   int32  // of a packet
	asked   func() // with each window; nil: nobody wants to know
}

// thanked is how much later than the arrival of its packet a terminal is thanked.
const thanked = 700 * sim.Nanosecond

// newGame is a game with packets of so many flits, in which terminals have not begun.
func newGame(t testing.TB, n network, threads int, flits int32, set ...func(*fabric.Config)) *game {
	config := fabric.DefaultConfig()
	config.Channels = map[string]fabric.ChannelConfig{"global": {Latency: 20 * sim.Nanosecond}}
	for _, set := range set {
		set(&config)
	}
	g := &game{f: n.fabric(t, config), flits: flits}
	why := g.f.DivideFor(threads, int64(thanked/g.f.Clock()), 0, nil)
	simtest.FatalIf(t, (why == "") != (threads > 1) || g.f.Threads() != threads, "%d threads of %d: %q", g.f.Threads(), threads, why)
	terminals := n.topo.Graph().Terminals()
	g.left, g.waiting, g.log = make([]int, terminals), make([]int, terminals), make([]string, terminals)
	for i := range terminals {
		g.streams = append(g.streams, sim.NewStream(1, "game", i))
		g.left[i] = 20
	}
	for domain := range g.f.Domains() {
		p := &player{game: g, kernel: sim.NewKernel(), thanks: [2][][]int32{make([][]int32, g.f.Domains()), make([][]int32, g.f.Domains())}, soonest: sim.MaxTime}
		p.handler = p.kernel.Register(p)
		p.kernel.RegisterClocked(g.f.Clocked(domain))
		g.players = append(g.players, p)
	}
	simtest.Check(t, g.f.Attach(g))
	return g
}

// Part implements [fabric.Host].
func (g *game) Part(domain int) fabric.Ends {
	return fabric.Ends{Source: g.players[domain], Sink: g.players[domain]}
}

// begin lets half of the terminals begin.
func (g *game) begin() *game {
	for i := range len(g.left) / 2 {
		p := g.players[g.f.DomainOf(topology.TerminalID(i))]
		p.kernel.Schedule(0, p.handler, 0, int32(i), 0)
	}
	return g
}

func (g *game) play() {
	var kernels []*sim.Kernel
	for _, p := range g.players {
		kernels = append(kernels, p.kernel)
	}
	g.f.RunKernels(kernels, g)
}

// Handle of kind 0 ends a thought; 1 is thanks.
func (p *player) Handle(k *sim.Kernel, e sim.Event) {
	if e.Kind == 1 {
		p.log[e.Target] += fmt.Sprint("thanks ", k.Now(), "\n")
		return
	}
	if p.left[e.Target]--; p.left[e.Target] >= 0 {
		p.waiting[e.Target]++
		clock := p.f.Clock()
		p.f.WakeAt(topology.TerminalID(e.Target), int64((k.Now()+clock-1)/clock))
	}
}

func (p *player) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	if spec.Birth = fabric.Never; p.waiting[t] == 0 {
		return false
	}
	if spec.Birth = 0; until < 0 {
		return false
	}
	p.waiting[t]--
	*spec = fabric.PacketSpec{Birth: until, Dst: topology.TerminalID(p.streams[t].IntN(len(p.left))), Flits: p.flits, Tag: uint64(t) << 32}
	return true
}

func (p *player) Deliver(d *fabric.Delivery) {
	now := p.kernel.Now()
	p.log[d.Dst] += fmt.Sprint(now, " from ", d.Src, "\n")
	think := sim.Time(p.streams[d.Dst].IntN(100)) * sim.Nanosecond
	if p.streams[d.Dst].IntN(10) == 0 {
		think = sim.Millisecond
	}
	p.kernel.Schedule(now+think, p.handler, 0, int32(d.Dst), 0)
	to := p.f.DomainOf(d.Src)
	if p.players[to] == p {
		p.kernel.ScheduleKeyed(now+thanked, p.handler, 1, int32(d.Src), 0, uint64(d.Dst))
		return
	}
	p.thanks[p.side][to] = append(p.thanks[p.side][to], int32(d.Src), int32(d.Dst), int32(now/sim.Nanosecond))
	p.soonest = min(p.soonest, now+thanked)
}

// Take implements core.Models.
func (g *game) Take(domain int) {
	me := g.players[domain]
	last := me.side
	me.side ^= 1
	for i, p := range g.players {
		me.thanks[me.side][i] = me.thanks[me.side][i][:0]
		for x := range slices.Chunk(p.thanks[last][domain], 3) {
			me.kernel.ScheduleKeyed(sim.Time(x[2])*sim.Nanosecond+thanked, me.handler, 1, x[0], 0, uint64(x[1]))
		}
	}
}

// Next implements core.Models.
func (g *game) Next(domain int) sim.Time {
	next := g.players[domain].soonest
	g.players[domain].soonest = sim.MaxTime
	return next
}

// Stop implements core.Models.
func (g *game) Stop() bool {
	g.windows++
	if g.asked != nil {
		g.asked()
	}
	return g.windows == g.stops
}

// TestKernelsOnThreads: a network beside kernels of its terminals' models: every terminal hears of the same things at
// the same times on any number of threads, windows without events are left out, and in the end everything is at rest.
func TestKernelsOnThreads(t *testing.T) {
	var want []string
	for _, threads := range simtest.Threads(t, 0) {
		g := newGame(t, dragonflyNetwork(t, "val", 2, 4, 2), threads, 2).begin()
		g.play()
		simtest.Check(t, g.f.Rest())
		if want == nil {
			want = g.log
			simtest.ErrorIf(t, g.f.Packets < 300 || g.f.Cycle() < 1_000_000, "%d packets in %d cycles; want a longer game", g.f.Packets, g.f.Cycle())
		}
		for i := range want {
			simtest.FatalIf(t, g.log[i] != want[i], "%d threads: terminal %d heard\n%swant\n%s", threads, i, g.log[i], want[i])
		}
		// A window is of 21 cycles. A single kernel has none, and is asked now and then.
		simtest.ErrorIf(t, (g.windows < 10) != (threads == 1) || int64(g.windows) > g.f.Cycle()/21/4,
			"%d threads: %d windows in %d cycles, few of which have anything in them", threads, g.windows, g.f.Cycle())
	}
	g := newGame(t, dragonflyNetwork(t, "val", 2, 4, 2), 2, 2).begin()
	g.stops = 5
	g.play()
	simtest.ErrorIf(t, g.windows != 5, "%d windows, want 5", g.windows)
}

// archive archives a game between two windows: terminals, fabric, kernels.
func (g *game) archive(a *snapshot.Archive) {
	var kernels []*sim.Kernel
	now := sim.Time(0)
	for i, p := range g.players {
		g.Take(i)
		kernels, now = append(kernels, p.kernel), max(now, p.kernel.Now())
	}
	for i := range g.left {
		sim.ArchiveStream(a, &g.streams[i])
		snapshot.Int(a, &g.left[i])
		snapshot.Int(a, &g.waiting[i])
	}
	g.f.Archive(a, now, g)
	sim.ArchiveKernels(a, kernels, func(a *snapshot.Archive, e *sim.Event) int {
		snapshot.Int(a, &e.Arg)
		a.Check(e.Kind <= 1 && e.Target >= 0 && int(e.Target) < len(g.left), "an event of kind %d for terminal %d", e.Kind, e.Target)
		if a.Err() != nil {
			return 0
		}
		return g.f.DomainOf(topology.TerminalID(e.Target))
	})
}

// ArchiveTag implements core.Packets.
func (g *game) ArchiveTag(a *snapshot.Archive, tag *uint64) {
	src := *tag >> 32
	snapshot.Int(a, &src)
	*tag = src << 32
}

func (g *game) state(t testing.TB) []byte {
	t.Helper()
	w := snapshot.Writer()
	g.archive(w)
	simtest.FatalIf(t, w.Err() != nil, "%v", w.Err())
	return w.Bytes()
}

func (g *game) restore(b []byte) error {
	r := snapshot.Reader(b)
	g.archive(r)
	return r.End()
}

// keptGames are games that are kept: with flits and with packets as the unit.
var keptGames = map[string]func(*fabric.Config){
	"flits": func(*fabric.Config) {},
	"packets": func(c *fabric.Config) {
		c.Fabric.Unit, c.Switch.Hold, c.Switch.FlowControl, c.Switch.BufferFlits = fabric.UnitPacket, true, fabric.CutThrough, 32
	},
}

// TestKernelsGoOn: a network beside kernels that writes its state goes on as if it had not, and another one that reads
// it, on any number of threads, comes to the same; the state of a moment is the same for any number of threads.
func TestKernelsGoOn(t *testing.T) {
	for name, set := range keptGames {
		n := dragonflyNetwork(t, "val", 2, 4, 2)
		const flits = 12
		whole := newGame(t, n, 1, flits, set).begin()
		whole.play()
		moments := 3
		if simtest.Soak() {
			moments = 40
		}
		r := sim.NewStream(1, "moments "+name, 0)
		for range moments {
			at, g := 5+r.IntN(1000), newGame(t, n, 2+r.IntN(2), flits, set).begin()
			var kept []byte
			var before []int
			var now sim.Time
			g.asked = func() {
				if g.windows != at {
					return
				}
				kept = bytes.Clone(g.state(t))
				for i := range g.log {
					before = append(before, len(g.log[i]))
				}
				for _, p := range g.players {
					now = max(now, p.kernel.Now())
				}
			}
			g.play()
			simtest.FatalIf(t, kept == nil, "%s: %d windows", name, g.windows)
			simtest.FatalIf(t, !slices.Equal(g.log, whole.log),
				"%s: a snapshot in window %d changes what terminals hear:\n%s", name, at, difference(fmt.Sprint(g.log), fmt.Sprint(whole.log)))
			one := newGame(t, n, 1, flits, set).begin()
			one.players[0].kernel.Run(now)
			simtest.ErrorIf(t, !bytes.Equal(one.state(t), kept), "%s: one thread writes another state at %v, of window %d", name, now, at)
			for _, threads := range simtest.Some(t, at, 1, 2, 3) {
				other := newGame(t, n, threads, flits, set)
				err := other.restore(kept)
				simtest.FatalIf(t, err != nil, "%s, %d threads: %v", name, threads, err)
				simtest.ErrorIf(t, !bytes.Equal(other.state(t), kept), "%s: the state that %d threads read is another", name, threads)
				other.play()
				for i := range other.log {
					simtest.FatalIf(t, other.log[i] != whole.log[i][before[i]:],
						"%s: from window %d on, on %d threads, terminal %d hears\n%swant\n%s", name, at, threads, i, other.log[i], whole.log[i][before[i]:])
				}
				if err := other.f.Rest(); err != nil || other.f.Counters != whole.f.Counters || other.f.Cycle() != whole.f.Cycle() {
					t.Errorf("%s: %v; %+v in %d cycles, want %+v in %d", name, err, other.f.Counters, other.f.Cycle(), whole.f.Counters, whole.f.Cycle())
				}
			}
			for cut := range 20 { // what is no state is an error
				b := kept[:len(kept)*cut/20]
				simtest.ErrorIf(t, newGame(t, n, 2, flits, set).restore(b) == nil, "%d bytes of %d are taken for a state", len(b), len(kept))
			}
		}
	}
}
