package core_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

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
	if g.archive(w); w.Err() != nil {
		t.Fatal(w.Err())
	}
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

// TestKernelsGoOn: a network beside kernels that writes its state goes on as if it had not,
// and another one that reads it, on any number of threads, comes to the same; the state of
// a moment is the same for any number of threads.
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
			at := 5 + r.IntN(1000)
			g := newGame(t, n, 2+r.IntN(2), flits, set).begin()
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
			if g.play(); kept == nil {
				t.Fatalf("%s: %d windows", name, g.windows)
			}
			if !slices.Equal(g.log, whole.log) {
				t.Fatalf("%s: a snapshot in window %d changes what terminals hear:\n%s", name, at, difference(fmt.Sprint(g.log), fmt.Sprint(whole.log)))
			}
			one := newGame(t, n, 1, flits, set).begin()
			one.players[0].kernel.Run(now)
			simtest.ErrorIf(t, !bytes.Equal(one.state(t), kept),
				"%s: one thread writes another state at %v, of window %d", name, now, at)
			for _, threads := range simtest.Some(t, at, 1, 2, 3) {
				other := newGame(t, n, threads, flits, set)
				if err := other.restore(kept); err != nil {
					t.Fatalf("%s, %d threads: %v", name, threads, err)
				}
				simtest.ErrorIf(t, !bytes.Equal(other.state(t), kept),
					"%s: the state that %d threads read is another", name, threads)
				other.play()
				for i := range other.log {
					if other.log[i] != whole.log[i][before[i]:] {
						t.Fatalf("%s: from window %d on, on %d threads, terminal %d hears\n%swant\n%s", name, at, threads, i, other.log[i], whole.log[i][before[i]:])
					}
				}
				if err := other.f.Rest(); err != nil || other.f.Counters != whole.f.Counters || other.f.Cycle() != whole.f.Cycle() {
					t.Errorf("%s: %v; %+v in %d cycles, want %+v in %d", name, err, other.f.Counters, other.f.Cycle(), whole.f.Counters, whole.f.Cycle())
				}
			}
			for cut := range 20 { // what is no state is an error
				b := kept[:len(kept)*cut/20]
				simtest.ErrorIf(t, newGame(t, n, 2, flits, set).restore(b) == nil,
					"%d bytes of %d are taken for a state", len(b), len(kept))
			}
		}
	}
}
