package allocator_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/allocator/allocatortest"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// TestConformance holds everything registered to the suite.
func TestConformance(t *testing.T) {
	for _, name := range allocator.Registry.Names() {
		t.Run(name, func(t *testing.T) { allocatortest.Conform(t, name) })
	}
}

// build makes a registered allocator.
func build(t *testing.T, name string, ports, vcs, iterations int) allocator.Allocator {
	t.Helper()
	a := simtest.Must(allocator.Registry.New(name, allocator.Env{Ports: ports, VCs: vcs, Iterations: iterations}))(t)
	return a
}

// steps compares what an allocator chooses, step by step from the same requests, as input, virtual channel and output.
func steps(t *testing.T, a allocator.Allocator, requests []allocator.Request, want ...[][3]int) {
	t.Helper()
	for step, matches := range want {
		got := map[[3]int]bool{}
		for _, k := range a.Allocate(requests, nil) {
			r := requests[k]
			got[[3]int{int(r.Input), int(r.VC), int(r.Output)}] = true
		}
		same := len(got) == len(matches)
		for _, m := range matches {
			same = same && got[m]
		}
		simtest.FatalIf(t, !same, "step %d: %v cross, want %v", step, got, matches)
	}
}

// ask is a request of a packet without an age.
func ask(input, vc, output uint16) allocator.Request {
	return allocator.Request{Input: input, VC: vc, Output: output}
}

// An input with three virtual channels, of which the first two want output 0 and the third output 1. Output 0 grants
// the virtual channel next in the input's round robin. In iSLIP the input accepts the outputs in turn. Virtual channel
// 0 crosses, then 2, behind which 0 is next: 1 starves, as the documentation says.
func TestISLIPSharesTheRoundRobin(t *testing.T) {
	requests := []allocator.Request{ask(0, 0, 0), ask(0, 1, 0), ask(0, 2, 1)}
	first, third := [][3]int{{0, 0, 0}}, [][3]int{{0, 2, 1}}
	steps(t, build(t, "islip", 2, 3, 1), requests, first, third, first, third, first, third)
}

// As above, input-first: virtual channels have their turns, whatever they want.
func TestInputFirst(t *testing.T) {
	requests := []allocator.Request{ask(0, 0, 0), ask(0, 1, 0), ask(0, 2, 1)}
	first, second, third := [][3]int{{0, 0, 0}}, [][3]int{{0, 1, 0}}, [][3]int{{0, 2, 1}}
	steps(t, build(t, "input-first", 2, 3, 1), requests, first, second, third, first, second, third)
}

// As in iSLIP, virtual channel 0 crosses, then 2. But of an input that has flits for outputs 0 and 1, and another with
// one for output 0, the first puts output 0 forward, which takes input 0, and output 1 is asked by nobody; its round
// robins have not moved. In the next step output 0 has input 1 in turn.
func TestInputFirstOutput(t *testing.T) {
	requests := []allocator.Request{ask(0, 0, 0), ask(0, 1, 0), ask(0, 2, 1)}
	first, third := [][3]int{{0, 0, 0}}, [][3]int{{0, 2, 1}}
	steps(t, build(t, "input-first-output", 2, 3, 1), requests, first, third, first, third)
	requests = []allocator.Request{ask(0, 0, 0), ask(1, 0, 0), ask(1, 1, 1)}
	steps(t, build(t, "input-first-output", 2, 2, 1), requests, [][3]int{{0, 0, 0}}, [][3]int{{1, 0, 0}})
	steps(t, build(t, "islip", 2, 2, 1), requests, [][3]int{{0, 0, 0}, {1, 1, 1}})
}

// Inputs 0 and 1 put forward a flit for output 0 each; only a second iteration finds that input 1 has one for output 1,
// too. It does not move the round robins: input 1 is next at output 0, with virtual channel 0 still in turn. Input 0
// has nothing else. Nor does output 1 remember input 1, which goes before input 2 there.
func TestIterations(t *testing.T) {
	requests := []allocator.Request{ask(0, 0, 0), ask(1, 0, 0), ask(1, 1, 1)}
	for _, name := range []string{"input-first", "matrix"} {
		steps(t, build(t, name, 2, 2, 1), requests, [][3]int{{0, 0, 0}}, [][3]int{{1, 0, 0}})
	}
	steps(t, build(t, "input-first", 2, 2, 2), requests, [][3]int{{0, 0, 0}, {1, 1, 1}}, [][3]int{{1, 0, 0}})
	a := build(t, "matrix", 3, 2, 2)
	steps(t, a, requests, [][3]int{{0, 0, 0}, {1, 1, 1}})
	steps(t, a, []allocator.Request{ask(1, 1, 1), ask(2, 0, 1)}, [][3]int{{1, 1, 1}})
}

// Three inputs, each with a flit for each output: the crosspoints on the diagonal
// (input + output) mod 3 = s cross in step s, and no others are left with free ports.
func TestWavefrontDiagonals(t *testing.T) {
	var requests []allocator.Request
	for input := range uint16(3) {
		for output := range uint16(3) {
			requests = append(requests, ask(input, output, output))
		}
	}
	steps(t, build(t, "wavefront", 3, 3, 1), requests,
		[][3]int{{0, 0, 0}, {1, 2, 2}, {2, 1, 1}},
		[][3]int{{0, 1, 1}, {1, 0, 0}, {2, 2, 2}},
		[][3]int{{0, 2, 2}, {1, 1, 1}, {2, 0, 0}},
		[][3]int{{0, 0, 0}, {1, 2, 2}, {2, 1, 1}})
}

// Behind the first diagonal come the others: in step 0, of 0 -> 1 and 1 -> 1 the one on
// diagonal 1 crosses, and 1 -> 0, which is on diagonal 1, too, does. In step 1 these two
// are on the first diagonal. The virtual channels of crosspoint 0 -> 1 take turns.
func TestWavefrontTurns(t *testing.T) {
	requests := []allocator.Request{ask(0, 0, 1), ask(0, 1, 1), ask(1, 0, 0), ask(1, 1, 1)}
	steps(t, build(t, "wavefront", 3, 2, 1), requests,
		[][3]int{{0, 0, 1}, {1, 0, 0}},
		[][3]int{{0, 1, 1}, {1, 0, 0}},
		[][3]int{{1, 1, 1}}) // diagonal 2
}

// The packet born in cycle 3 is the oldest. The one born in 4 shares its input, the one born in 5
// its output; the one born in 6 shares neither. Of equal ages the lower input goes first.
func TestAge(t *testing.T) {
	requests := []allocator.Request{ask(0, 0, 0), ask(1, 0, 0), ask(1, 1, 1), ask(2, 0, 1)}
	for i, born := range []int64{5, 3, 4, 6} {
		requests[i].Born = born
	}
	steps(t, build(t, "age", 3, 2, 1), requests, [][3]int{{1, 0, 0}, {2, 0, 1}})
	steps(t, build(t, "age", 3, 1, 1), []allocator.Request{ask(0, 0, 2), ask(1, 0, 2)}, [][3]int{{0, 0, 2}})
}

// Inputs 0 and 2 have been served in this order when all three ask for an output: 1,
// which has never been, goes first, then 0, then 2. A round robin would stand behind 2.
func TestMatrix(t *testing.T) {
	a := build(t, "matrix", 3, 1, 1)
	steps(t, a, []allocator.Request{ask(0, 0, 0), ask(2, 0, 0)}, [][3]int{{0, 0, 0}}, [][3]int{{2, 0, 0}})
	steps(t, a, []allocator.Request{ask(0, 0, 0), ask(1, 0, 0), ask(2, 0, 0)}, [][3]int{{1, 0, 0}}, [][3]int{{0, 0, 0}}, [][3]int{{2, 0, 0}})
}

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

// Terminals 0 and 1 send three flits each to terminal 2, which takes one a cycle. Queues before each choice, the lower
// input first where they are equal: 1 1, then with the next arrivals 1 2, 2 2, and then 1 2, 1 1, 0 1: they take turns.
// An allocator that saw no lengths would let all of terminal 0 go first.
func TestAllocatorSeesQueues(t *testing.T) {
	topo := simtest.Must(param.Make(topology.Registry, "single-switch", struct{}{}, func(c *topology.SingleSwitchConfig) { c.Terminals = 4 }))(t)
	table := simtest.Must(param.Make(routing.Registry, "table", routing.Env{Topology: topo}, func(*routing.TableConfig) {}))(t)
	config, s := fabric.DefaultConfig(), &routingtest.Script{}
	for i := range topology.TerminalID(6) {
		s.Send(i%2, fabric.PacketSpec{Dst: 2, Flits: 1})
	}
	config.Switch.Allocator, config.Switch.Speedup, config.Switch.VCs = allocator.Named("longest-queue"), 1, 1
	f := simtest.Must(core.New(topo.Graph(), config, table, 1))(t)
	f.Attach(fabric.Ends{Source: s, Sink: s})
	f.Advance(100)
	var sources []topology.TerminalID
	for _, d := range s.Delivered {
		sources = append(sources, d.Src)
	}
	simtest.EqualSlices(t, sources, []topology.TerminalID{0, 1, 0, 1, 0, 1}, "from terminals")
	config.Fabric.Unit, config.Switch.Hold, config.Switch.FlowControl = fabric.UnitPacket, true, fabric.CutThrough
	simtest.Refuse(core.New(topo.Graph(), config, table, 1))(t, "longest-queue")
}

// told is the configuration of an allocator with a setting.
type told struct {
	Share float64 `toml:"share" doc:"for tests" min:"0" max:"1"`
}

// TestAllocatorKnowsItsSwitch: allocators are told of their switch, the seed and their settings,
// which stand beside their name.
func TestAllocatorKnowsItsSwitch(t *testing.T) {
	topo := simtest.Must(param.Make(topology.Registry, "torus", struct{}{}, func(c *topology.GridConfig) { c.Dims = []int{3} }))(t)
	r := simtest.Must(param.Make(routing.Registry, "dor", routing.Env{Topology: topo}, func(*routing.DORConfig) {}))(t)
	var made []allocator.Env
	var shares []float64
	allocator.Register("told", "for tests: notes what it is told", allocator.Traits{Queues: true, Maximal: true}, told{0.5}, func(c told, env allocator.Env) allocator.Allocator {
		made, shares = append(made, env), append(shares, c.Share)
		return newLongestQueue(struct{}{}, env)
	})
	config := fabric.DefaultConfig()
	config.Switch.Allocator = allocator.Named("told")
	simtest.Must(core.New(topo.Graph(), config, r, 7))(t)
	for s, env := range made {
		simtest.ErrorIf(t, env.Switch != s || env.Seed != 7, "switch %d of the run with seed 7 is told %+v", s, env)
	}
	simtest.Check(t, config.Switch.Allocator.Choose("told"))
	config.Switch.Allocator.Config().(*told).Share = 0.25
	simtest.Must(core.New(topo.Graph(), config, r, 7))(t)
	want := []float64{0.5, 0.5, 0.5, 0.25, 0.25, 0.25}
	simtest.ErrorIf(t, len(made) != 6 || !slices.Equal(shares, want),
		"%d allocators for 3 switches and 3 others have shares %v, want %v", len(made), shares, want)
	config.Switch.Allocator.Config().(*told).Share = 2
	_, err := core.New(topo.Graph(), config, r, 7)
	simtest.ErrorIf(t, err == nil || err.Error() != "switch.share = 2: want 0 to 1", "a share of 2: %v", err)
}
