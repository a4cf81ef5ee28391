package kinds

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

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
[topology]
type = "fat-tree"
k = 4
n = 3
[routing]
type = "lossy"
[program]
type = "aimd"
[switch]
buffer_flits = 24
marking = "threshold"
mark_flits = 8
[traffic]
pattern = "hot-spot"
[measure]
warmup = 500
window = 4000
[sweep]
"switch.vc_alloc_cycles" = [0, 1]
"switch.flow_control" = ["cut-through", "wormhole"]
"routing.limit" = [10, 30]
`

// TestSwitchesDropAndTrim: a window-controlled program with retransmission hears of marks, drops
// and trims; results do not depend on threads. TestInterrupted and TestKilled run it, too.
func TestSwitchesDropAndTrim(t *testing.T) {
	var want string
	for threads := 1; threads <= 3; threads++ {
		o := execute(t, load(t, lossyTree, experiments.Options{}), experiments.Execution{Threads: threads})
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
		var text strings.Builder
		if err := o.Tables["program"].Write(&text); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = text.String()
			t.Log(want)
		}
		if text.String() != want {
			t.Errorf("%d threads:\n%s\nwant\n%s", threads, text.String(), want)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`"aimd"`, `"heeding"`, `program.type "heeding" does not go with routing "lossy", which drops packets`},
		{"[measure]", "[measure]\nblame = true", `measure.blame does not go with routing "lossy", which drops packets`},
		{"[measure]", "[fabric]\nunit = \"packet\"\n[measure]", `want "flit" with this routing, which drops packets`},
	} {
		_, err := experiments.Load("x.toml", strings.Replace(lossyTree, c.old, c.new, 1), experiments.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}
