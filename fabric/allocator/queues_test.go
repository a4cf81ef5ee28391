package allocator_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/core"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

func init() {
	allocator.Register("longest-queue", "for tests: the longest queue first", allocator.Traits{Queues: true, Maximal: true}, struct{}{}, newLongestQueue)
}

// longestQueue lets the longest queues cross first, of equal ones the lower input.
type longestQueue struct {
	env   allocator.Env
	order []int
}

func newLongestQueue(_ struct{}, env allocator.Env) allocator.Allocator {
	return &longestQueue{env, make([]int, 0, env.Ports*env.VCs)}
}

func (l *longestQueue) Allocate(requests []allocator.Request, matches []int) []int {
	inputs, outputs := [2]uint64{}, [2]uint64{} // of up to 128 ports
	l.order = l.order[:0]
	for k := range requests {
		l.order = append(l.order, k)
	}
	slices.SortStableFunc(l.order, func(x, y int) int { return cmp.Compare(requests[y].Queued, requests[x].Queued) })
	for _, k := range l.order {
		r := requests[k]
		in, out := &inputs[r.Input>>6], &outputs[r.Output>>6]
		if *in>>(r.Input&63)&1 == 0 && *out>>(r.Output&63)&1 == 0 {
			*in, *out = *in|1<<(r.Input&63), *out|1<<(r.Output&63)
			matches = append(matches, k)
		}
	}
	return matches
}

func (*longestQueue) Archive(*snapshot.Archive) {}

// burst is three packets of a flit from each of terminals 0 and 1 to terminal 2.
type burst struct {
	sent    [4]int
	sources []topology.TerminalID
}

func (b *burst) Next(t topology.TerminalID, _ int64, spec *fabric.PacketSpec) bool {
	if t > 1 || b.sent[t] == 3 {
		spec.Birth = fabric.Never
		return false
	}
	b.sent[t]++
	*spec = fabric.PacketSpec{Dst: 2, Flits: 1}
	return true
}

func (b *burst) Deliver(d *fabric.Delivery) { b.sources = append(b.sources, d.Src) }

// Terminals 0 and 1 send three flits each to terminal 2, which takes one a cycle. Queues
// before each choice, the lower input first where they are equal: 1 1, then with the next
// arrivals 1 2, 2 2, and then 1 2, 1 1, 0 1: they take turns. An allocator that saw no
// lengths would let all of terminal 0 go first.
func TestAllocatorSeesQueues(t *testing.T) {
	topo, err := param.Make(topology.Registry, "single-switch", struct{}{}, func(c *topology.SingleSwitchConfig) { c.Terminals = 4 })
	if err != nil {
		t.Fatal(err)
	}
	table, err := param.Make(routing.Registry, "table", routing.Env{Topology: topo}, func(*routing.TableConfig) {})
	if err != nil {
		t.Fatal(err)
	}
	config, b := fabric.DefaultConfig(), &burst{}
	config.Switch.Allocator, config.Switch.Speedup, config.Switch.VCs = allocator.Named("longest-queue"), 1, 1
	f, err := core.New(topo.Graph(), config, table, 1)
	if err != nil {
		t.Fatal(err)
	}
	f.Attach(b, b)
	f.Advance(100)
	if want := []topology.TerminalID{0, 1, 0, 1, 0, 1}; !slices.Equal(b.sources, want) {
		t.Errorf("from terminals %v, want %v", b.sources, want)
	}
	config.Fabric.Unit, config.Switch.Hold, config.Switch.FlowControl = fabric.UnitPacket, true, fabric.CutThrough
	if _, err := core.New(topo.Graph(), config, table, 1); err == nil || !strings.Contains(err.Error(), "longest-queue") {
		t.Errorf("packets as the unit: %v, want a refusal", err)
	}
}

// told is the configuration of an allocator with a setting.
type told struct {
	Share float64 `toml:"share" doc:"for tests" min:"0" max:"1"`
}

// TestAllocatorKnowsItsSwitch: allocators are told of their switch, the seed and their settings,
// which stand beside their name.
func TestAllocatorKnowsItsSwitch(t *testing.T) {
	topo, err := param.Make(topology.Registry, "torus", struct{}{}, func(c *topology.GridConfig) { c.Dims = []int{3} })
	if err != nil {
		t.Fatal(err)
	}
	r, err := param.Make(routing.Registry, "dor", routing.Env{Topology: topo}, func(*routing.DORConfig) {})
	if err != nil {
		t.Fatal(err)
	}
	var made []allocator.Env
	var shares []float64
	allocator.Register("told", "for tests: notes what it is told", allocator.Traits{Queues: true, Maximal: true}, told{0.5}, func(c told, env allocator.Env) allocator.Allocator {
		made, shares = append(made, env), append(shares, c.Share)
		return newLongestQueue(struct{}{}, env)
	})
	config := fabric.DefaultConfig()
	config.Switch.Allocator = allocator.Named("told")
	if _, err := core.New(topo.Graph(), config, r, 7); err != nil {
		t.Fatal(err)
	}
	for s, env := range made {
		if env.Switch != s || env.Seed != 7 {
			t.Errorf("switch %d of the run with seed 7 is told %+v", s, env)
		}
	}
	if err := config.Switch.Allocator.Choose("told"); err != nil {
		t.Fatal(err)
	}
	config.Switch.Allocator.Config().(*told).Share = 0.25
	if _, err := core.New(topo.Graph(), config, r, 7); err != nil {
		t.Fatal(err)
	}
	if want := []float64{0.5, 0.5, 0.5, 0.25, 0.25, 0.25}; len(made) != 6 || !slices.Equal(shares, want) {
		t.Errorf("%d allocators for 3 switches and 3 others have shares %v, want %v", len(made), shares, want)
	}
	config.Switch.Allocator.Config().(*told).Share = 2
	if _, err := core.New(topo.Graph(), config, r, 7); err == nil || err.Error() != "switch.share = 2: want 0 to 1" {
		t.Errorf("a share of 2: %v", err)
	}
}
